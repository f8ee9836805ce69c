"""Values that could not be stored, out of events that are to become a record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..events import Event, ToolCalled
from ..frames import Frame
from ..values import ABSENT, TypedData, Uncopied
from .weight import LOADED

_NAME = re.compile(r"[A-Za-z_][A-Za-z_]{0,39}")


@dataclass(frozen=True, slots=True)
class Unstored:
    """A field of an event, a part of which could not be stored."""

    place: str
    """What of the session the event is in: `turn 3`."""
    field: str
    tool: str | None = None
    """Of a call."""
    keys: tuple[str, ...] = ()
    """Of a mapping with such parts, the keys that lead to them."""

    def __str__(self) -> str:
        of = f" of {self.tool}" if self.tool else ""
        keys = f" ({', '.join(self.keys)})" if self.keys else ""
        return f"{self.place}: {self.field}{of}{keys} is not whole"


def without_markers(events: Iterable[Event], found: list[Unstored], place: str) -> Iterator[Event]:
    """The events with nothing in them that has no form in a record.

    A result that could not be stored is one that was not recorded; anywhere else a text says what stood there.
    found: gets what was so. place: what of the session the events are in.
    """
    for event in events:
        held = [name for name in LOADED[type(event)] if holds_marker(getattr(event, name))]
        tool = event.tool if isinstance(event, ToolCalled) else None
        found += [Unstored(place, name, tool, _keys(getattr(event, name))) for name in held]
        yield _without(event, held) if held else event


def _keys(value: Any) -> tuple[str, ...]:
    if not isinstance(value, dict):
        return ()
    return tuple(str(key) for key, item in value.items() if holds_marker([key, item]))


def _without(event: Event, held: list[str]) -> Event:
    changed = {name: texted(getattr(event, name)) for name in held}
    if isinstance(event, ToolCalled) and "result" in held:
        changed["result"] = ABSENT
    if isinstance(changed.get("error"), dict):
        changed["error"] = {key: value for key, value in changed["error"].items() if key in ("type", "message")}
    return replace(event, **changed)


def holds_marker(value: Any) -> bool:
    """Whether an `Uncopied` stands in a settled value."""
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is Uncopied:
            return True
        if isinstance(item, dict):
            pending += item
            pending += item.values()
        elif kind is TypedData:
            pending += item.fields.values()
        elif isinstance(item, (list, tuple, set, frozenset)):
            pending += item
    return False


def marked_places(frame: Frame) -> Iterator[str]:
    """Where in a frame an `Uncopied` stands: `look_up: result.handles[0].lock is a _thread:lock`.

    Keys that may be a value of somebody are told as `*`.
    """
    for event in getattr(frame, "events", ()):
        of = f"{event.tool}: " if isinstance(event, ToolCalled) else ""
        for name in LOADED[type(event)]:
            for path, marker in _marked(getattr(event, name), name):
                yield f"{of}{path} is a {marker.type}"
    for name in ("input", "state_before"):
        for path, marker in _marked(getattr(frame, name, ABSENT), name):
            yield f"{path} is a {marker.type}"


def _marked(value: Any, path: str) -> Iterator[tuple[str, Uncopied]]:
    pending = [(path, value)]
    while pending:
        path, item = pending.pop()
        kind = type(item)
        if kind is Uncopied:
            yield path, item
        elif isinstance(item, dict) or kind is TypedData:
            inside: Mapping[Any, Any] = item.fields if isinstance(item, TypedData) else item
            pending += ((f"{path}.{_shown(key)}", one) for key, one in inside.items())
        elif isinstance(item, (list, tuple)):
            pending += ((f"{path}[{index}]", one) for index, one in enumerate(item))
        elif isinstance(item, (set, frozenset)):
            pending += ((f"{path}[*]", one) for one in item)


def _shown(key: Any) -> str:
    return key if type(key) is str and _NAME.fullmatch(key) else "*"


def texted(value: Any) -> Any:
    """A settled value with a text in the place of every `Uncopied`."""
    return _texted(value) if holds_marker(value) else value


def _texted(value: Any) -> Any:
    kind = type(value)
    if kind is Uncopied:
        return repr(value)
    if isinstance(value, dict):
        return kind({_texted(key): _texted(item) for key, item in value.items()})
    if kind is TypedData:
        return replace(value, fields=_texted(dict(value.fields)))
    if isinstance(value, (list, tuple, set, frozenset)):
        return kind(map(_texted, value))
    return value
