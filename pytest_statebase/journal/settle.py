"""Values as a journal can hold them: strangers' objects become data, and what cannot be data a marker.

What a redactor is given is settled: beyond JSON it holds the types that have a tag (see `cassette.tags`), `TypedData`,
`Uncopied` and `ABSENT`, all of them exact, and nothing that holds itself.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..cassette.parts import MOST_BITS
from ..cassette.shapes import BY_EVENT
from ..cassette.tags import form_of, typed_data
from ..events import Event
from ..frames import Between, Frame, SessionOpened, TurnClosed, TurnOpened
from ..values import ABSENT, TypedData, Uncopied
from .weight import LOADED

MAX_DEPTH = 200
"""Containers inside one another; what is deeper is not stored."""

MAX_PARTS = 1_000_000
"""Parts of one frame; the rest is not stored: objects that hold each other twice and again have no end."""

_ATOMS = frozenset({str, int, float, bool, type(None), bytes, Uncopied})


class Settler:
    """Settles values; `uncopied` counts the parts that could not be stored."""

    def __init__(self) -> None:
        self.uncopied = 0
        self._parts = 0
        self._inside: set[int] = set()
        """The containers that lead here, by id: one of them again would have no end."""

    def value(self, value: Any) -> Any:
        kind = type(value)
        self._parts += 1
        if kind is int and value.bit_length() > MOST_BITS:
            return self._not_stored(kind)
        if kind in _ATOMS or value is ABSENT:
            self.uncopied += kind is Uncopied
            return value
        if id(value) in self._inside or len(self._inside) >= MAX_DEPTH or self._parts > MAX_PARTS:
            return self._not_stored(kind)
        self._inside.add(id(value))
        try:
            return self._container(kind, value)
        except RecursionError:
            raise
        except Exception:  # what strangers' objects raise when they are looked at may be anything
            return self._not_stored(kind)
        finally:
            self._inside.discard(id(value))

    def _container(self, kind: type, value: Any) -> Any:
        rebuild = _REBUILT.get(kind)
        if rebuild is not None:
            return rebuild(self, value)
        typed = value if kind is TypedData else typed_data(value)
        if typed is not None:
            return replace(typed, fields={key: self.value(item) for key, item in typed.fields.items()})
        # What has neither items nor fields is kept as it is, if it has a form.
        form_of(value)
        return value

    def pairs(self, value: Any) -> dict[Any, Any]:
        return {self.hashable(key): self.value(item) for key, item in value.items()}

    def hashable(self, value: Any) -> Any:
        """A key or an element of a set: what reads back as data with fields cannot be one."""
        kind = type(value)
        if kind is int and value.bit_length() > MOST_BITS:
            return self._not_stored(kind)
        if kind in _ATOMS:
            return value
        if kind is tuple or kind is frozenset:
            return kind(map(self.hashable, value))
        return self._not_stored(kind) if typed_data(value) is not None else self._container(kind, value)

    def _not_stored(self, kind: type) -> Uncopied:
        self.uncopied += 1
        return Uncopied(kind)


def _sequence(kind: Callable[[Iterable[Any]], Any]) -> Callable[[Settler, Any], Any]:
    return lambda settler, value: kind(map(settler.value, value))


def _unordered(kind: Callable[[Iterable[Any]], Any]) -> Callable[[Settler, Any], Any]:
    return lambda settler, value: kind(map(settler.hashable, value))


def _deque(settler: Settler, value: collections.deque[Any]) -> Any:
    if value.maxlen is not None:
        raise TypeError("a deque with a maxlen has no form")
    return collections.deque(map(settler.value, value))


_REBUILT: dict[type, Callable[[Settler, Any], Any]] = {
    dict: Settler.pairs,
    list: _sequence(list),
    tuple: _sequence(tuple),
    set: _unordered(set),
    frozenset: _unordered(frozenset),
    collections.deque: _deque,
    collections.OrderedDict: lambda settler, value: collections.OrderedDict(settler.pairs(value)),
    collections.Counter: lambda settler, value: collections.Counter(settler.pairs(value)),
}


def settled(frame: Frame) -> tuple[Frame, int]:
    """The frame with all its values settled, and how many parts of them could not be stored."""
    settler = Settler()
    if isinstance(frame, TurnClosed):
        before = settler.value(frame.state_before)
        frame = replace(frame, events=_events(settler, frame.events), state_before=before)
    elif isinstance(frame, Between):
        frame = replace(frame, events=_events(settler, frame.events))
    elif isinstance(frame, SessionOpened):
        (created,) = _events(settler, (frame.created,))
        frame = replace(frame, created=created)
    elif isinstance(frame, TurnOpened):
        frame = replace(frame, input=settler.value(frame.input))
    return frame, settler.uncopied


def _events(settler: Settler, events: Iterable[Event]) -> tuple[Any, ...]:
    return tuple(
        replace(event, **{name: _field(settler, event, name) for name in LOADED[type(event)]}) for event in events
    )


def _field(settler: Settler, event: Event, name: str) -> Any:
    value = getattr(event, name)
    if isinstance(value, str) and BY_EVENT[type(event)].types[name] is not None:
        # A name or a text of the event itself, which has no type to be kept.
        return str.__str__(value)
    return settler.value(value)
