"""The calls of models in a conversation, each with the turn and the tool call in which it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...events import ToolCalled, TurnAdded, TurnStarted
from ...ledger import Event
from .model import Span
from .turns import Reading, Told

_MARK = "\0generation:"
"""Before the id of a span: keys under which a turn tells of its model calls until the ledger is made."""


def marked(span: Span | None) -> dict[str, Any]:
    """What a message carries so that its turn tells which model call gave it."""
    return {} if span is None else {_MARK + span.id: True}


def without_marks(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a turn without what `marked` put there."""
    return {key: value for key, value in metadata.items() if not key.startswith(_MARK)}


def placed_generations(
    reading: Reading, events: list[Event], tool_calls: Mapping[str, str]
) -> list[tuple[Span, int, int | None]]:
    """The outermost calls of models by time, each with its turn's number and the position of the call around it.

    events: with the marks still in them. tool_calls: by the id of a tool's span, the id that its call has in `events`.

    A model call of which no message is in the session is of the turn of the call around it, else of the one before.
    """
    turns, calls = _places(events)
    found: list[tuple[Span, int, int | None]] = []
    turn = 1
    for told in reading.traces:
        for span in _outermost(told):
            around = told.tool_around(span)
            place = calls.get(tool_calls.get(around.id, "")) if around is not None else None
            turn = turns.get(span.id, turn if place is None else place[0])
            found.append((span, turn, None if place is None or place[0] != turn else place[1]))
    return found


def _places(events: list[Event]) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """By span, the turn of each marked model call; by id, turn and position of each tool call."""
    turns: dict[str, int] = {}
    calls: dict[str, tuple[int, int]] = {}
    number = position = 0
    for event in events:
        if isinstance(event, TurnStarted):
            number, position = event.number, 0
        elif isinstance(event, ToolCalled):
            if event.id is not None:
                calls[event.id] = (number, position)
            position += 1
        elif isinstance(event, TurnAdded):
            keys = (key for key in event.metadata or {} if key.startswith(_MARK))
            turns.update((key.removeprefix(_MARK), number) for key in keys)
    return turns, calls


def _outermost(told: Told) -> Iterator[Span]:
    """Those that tell what was said, and those of which nothing is known, neither inside nor around them."""
    telling = {span.id for span in told.generations if span.kind == "generation"}
    around = told.tree.around({span.id for span in told.generations})
    inside = told.tree.nearest(lambda span: span.id if span.kind == "generation" else None)
    for span in told.spans:
        is_blank = span.kind == "generation" and span.id not in around and span.id not in inside
        if span.id in telling or is_blank:
            yield span
