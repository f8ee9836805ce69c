"""What a module or an object holds under names: by itself, in registries, and in closures."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import FunctionType
from typing import Any, NamedTuple

_DEPTH = 3
_ITEMS = 1000
"""Entries of one registry; what is longer is data."""
_DATA = (str, bytes, int, float, type(None))


class Held(NamedTuple):
    """A value and where it stands."""

    place: str
    """As Python would write it: `TOOLS['search']`."""
    name: str
    """The variable or key; that of the registry where it has none of its own."""
    value: Any
    depth: int = 0


def held_in(namespace: Mapping[str, Any], is_open: Callable[[FunctionType], bool]) -> Iterator[Held]:
    """The values of a namespace, then those of its dicts, lists, tuples and sets, three deep at most.

    is_open: whether what a function encloses is looked at as well.
    """
    pending = deque(Held(name, name, value) for name, value in list(namespace.items()) if not name.startswith("__"))
    opened: set[int] = set()
    while pending:
        one = pending.popleft()
        if isinstance(one.value, _DATA):
            continue
        yield one
        if one.depth < _DEPTH and id(one.value) not in opened:
            opened.add(id(one.value))
            pending += _inner(one, is_open)


def _inner(one: Held, is_open: Callable[[FunctionType], bool]) -> Iterator[Held]:
    value, depth = one.value, one.depth + 1
    if type(value) is dict:
        for key, item in islice(list(value.items()), _ITEMS):
            yield Held(f"{one.place}[{key!r}]", key if isinstance(key, str) else one.name, item, depth)
    elif type(value) in (list, tuple, set, frozenset):
        for number, item in enumerate(islice(list(value), _ITEMS)):
            yield Held(f"{one.place}[{number}]", one.name, item, depth)
    elif isinstance(value, FunctionType) and is_open(value):
        yield from enclosed_in(value, one.place, depth)


def enclosed_in(function: FunctionType, place: str, depth: int = 0) -> Iterator[Held]:
    """What a function encloses, by the names that it has there."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        if cell != type(cell)():
            yield Held(f"{place} ({name})", name, cell.cell_contents, depth)
