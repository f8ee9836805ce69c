"""Tools that are marked in the code: `@pytest_statebase.tool`. Light, because production imports it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that was marked as a tool, for as long as it lives."""

    target: Callable[[], Any]
    """Gives it, or None where it is gone."""
    reads: bool
    live: bool


_marks: dict[int, Mark] = {}
watchers: list[Callable[[Mark], None]] = []
"""Told of what is marked from now on: replays that run stub it at once."""


@overload
def tool(target: T, /, *, reads: bool = False, live: bool = False) -> T: ...
@overload
def tool(*, reads: bool = False, live: bool = False) -> Callable[[T], T]: ...
def tool(target: Any = None, /, *, reads: bool = False, live: bool = False) -> Any:
    """Mark a function, a method, a class of tools or a tool object as a tool; it is found without `statebase_tools`.

    reads: it has no effect, and may be answered again. live: it may run for a call without an answer, under
    `statebase_unrecorded = call`. Returns what it was given, unchanged: a call costs in production what it did before.
    """
    if target is None:
        return lambda found: tool(found, reads=reads, live=live)
    inner = target.__func__ if isinstance(target, (staticmethod, classmethod)) else target
    key = id(inner)
    try:
        reference: Callable[[], Any] = weakref.ref(inner, lambda _: _marks.pop(key, None))
    except TypeError:  # an object without weak references lives as long as the program

        def reference() -> Any:
            return inner

    mark = _marks[key] = Mark(reference, reads, live)
    for watcher in list(watchers):
        watcher(mark)
    return target


def marks() -> list[Mark]:
    """Everything that is marked, in the order in which it was."""
    return list(_marks.values())
