"""How much memory frames take, reckoned on the thread of the agent: at once, and without a look at each value."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any

from ..cassette.shapes import BY_EVENT, Shape
from ..frames import Between, Frame, SessionOpened, TurnClosed, TurnOpened
from ..values import ABSENT
from ..wire.exchange import Exchange

_EVENT, _EXCHANGE, _FRAME = 400, 800, 400
"""Bytes that an object takes besides its values."""
_FACTOR = 3
"""Bytes of small values in memory for one of their packed form."""
_SHARED = (type, Enum, FunctionType, ModuleType)
"""What is not the value's own, and leads to anything in the program."""
_MOST = 20_000
"""Values that are looked at one by one, at most; what an object holds beyond is reckoned like them."""


def _loaded(shape: Shape) -> tuple[str, ...]:
    return tuple(name for name, types in shape.types.items() if types is None or {dict, list, str} & {*types})


LOADED: Mapping[type, tuple[str, ...]] = {kind: _loaded(shape) for kind, shape in BY_EVENT.items()}
"""By event, the fields that hold texts and values of any size."""
_VALUES: dict[type, Callable[[Any], Any]] = {kind: attrgetter(*names) for kind, names in LOADED.items()}


def weigh(frame: Frame) -> tuple[int, bool]:
    """The bytes that a frame takes in memory, roughly, and whether its values are of builtin types alone."""
    kind = type(frame)
    if kind is TurnClosed or kind is Between:
        events, exchanges = frame.events, frame.exchanges  # type: ignore[union-attr]
        values = list(map(_values, events))
        if kind is TurnClosed and frame.state_before is not ABSENT:  # type: ignore[union-attr]
            values.append(frame.state_before)  # type: ignore[union-attr]
        packed, plain = _packed(values)
        if exchanges:
            packed += sum(map(_body_bytes, exchanges))
        return packed + len(events) * _EVENT + len(exchanges) * _EXCHANGE + _FRAME, plain
    if kind is TurnOpened:
        packed, plain = _packed([frame.input])  # type: ignore[union-attr]
        return packed + _FRAME, plain
    if kind is SessionOpened:
        created = frame.created  # type: ignore[union-attr]
        packed, plain = _packed([_values(created)])
        return packed + _EVENT + _FRAME, plain
    return _FRAME, True


def _values(event: Any) -> list[Any]:
    """What an event holds of any size. What is absent weighs nothing."""
    return [None if value is ABSENT else value for value in _VALUES[type(event)](event)]


def _packed(values: list[Any]) -> tuple[int, bool]:
    try:
        return len(marshal.dumps(values)) * _FACTOR, True
    except ValueError:
        return sum(map(_weight, values)), False


def _weight(value: Any) -> int:
    try:
        return len(marshal.dumps(value)) * _FACTOR
    except ValueError:
        return _walked(value)


def _walked(value: Any) -> int:
    """As `_packed`, value by value."""
    pending, seen, total = [value], 0, 0
    while pending and seen < _MOST:
        item = pending.pop()
        seen += 1
        with suppress(Exception):  # what strangers' objects raise when they are looked at may be anything
            total += len(item) + 50 if isinstance(item, (str, bytes, bytearray)) else 60
            pending += _parts(item)
    return total + total // max(seen, 1) * len(pending)


def _parts(item: Any) -> Iterator[Any]:
    if isinstance(item, dict):
        yield from item
        yield from item.values()
    elif isinstance(item, (list, tuple, set, frozenset)):
        yield from item
    elif not isinstance(item, _SHARED):
        yield from (getattr(item, "__dict__", None) or {}).values()


def _body_bytes(exchange: Exchange) -> int:
    return len(exchange.request.body) + len(getattr(exchange.answer, "body", b"")) + 200 * len(exchange.request.headers)
