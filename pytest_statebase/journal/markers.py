"""Values that could not be stored, out of events that are to become a record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..events import Event, ToolCalled
from ..values import ABSENT, TypedData, Uncopied
from .weight import LOADED


def without_markers(events: Iterable[Event], notes: list[str], place: str) -> Iterator[Event]:
    """The events with nothing in them that has no form in a record.

    A result that could not be stored is one that was not recorded; anywhere else a text says what stood there.
    notes: gets a line for each. place: what of the session the events are, for the notes.
    """
    for event in events:
        held = [name for name in LOADED[type(event)] if holds_marker(getattr(event, name))]
        if held:
            yield _without(event, held)
            who = f"{place}, {event.tool}" if isinstance(event, ToolCalled) else place
            notes.append(f"{who}: {' and '.join(held)} could not be stored whole")
        else:
            yield event


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
