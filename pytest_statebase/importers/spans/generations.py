"""The calls of models in a conversation, each with the turn and the tool call in which it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...events import ToolCalled, TurnAdded, TurnStarted
from ...ledger import Event
from ...values import ABSENT
from .model import PUT_TOGETHER, Span
from .transcript import Call
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

    The messages of one that tells none are put together, where what came before is known (see `PUT_TOGETHER`). One of
    which no message is in the session is of the turn of the call around it, else of the one before.
    """
    turns, calls = _places(events)
    found: list[tuple[Span, int, int | None]] = []
    turn = 1
    for told in reading.traces:
        for span in _completed(reading, told):
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


def _completed(reading: Reading, told: Told) -> Iterator[Span]:
    """The outermost model calls; some tracers tell the messages of the first one, and of the others only answers."""
    asked: dict[str, list[Call]] = {}
    for entry in reading.entries:
        if entry.span is not None and entry.turn == told.number:
            asked.setdefault(entry.span.id, []).extend(entry.calls)
    last: dict[tuple[str | None, str | None], Span] = {}
    for span in _outermost(told):
        around = told.tool_around(span)
        thread = (None if around is None else around.id, told.agent_of(span))
        before = last.get(thread)
        if span.input is ABSENT and before is not None:
            span = _after(before, span, asked.get(before.id, []))
        last[thread] = span
        yield span


def _after(before: Span, span: Span, calls: list[Call]) -> Span:
    """A model call with the messages of the one before, its answer, and the results of the calls that it asked for."""
    results = [_result(call) for call in calls]
    if not (isinstance(before.input, list) and isinstance(before.output, list)) or not results or None in results:
        return span
    return replace(span, input=[*before.input, *before.output, *results], flaws=(*span.flaws, PUT_TOGETHER))


def _result(call: Call) -> dict[str, Any] | None:
    """What the model will have been told of a call; None where that is not known."""
    head = {"role": "tool", "tool_call_id": call.request.id, "name": call.request.tool}
    if call.answer is not None and call.answer.result is not ABSENT:
        return {**head, "content": call.answer.result}
    if call.span is None or call.span.output is ABSENT or call.span.error is not None:
        return None
    return {**head, "content": call.span.output}


def _outermost(told: Told) -> Iterator[Span]:
    """Those that tell what was said, and those of which nothing is known, neither inside nor around them."""
    telling = {span.id for span in told.generations if span.kind == "generation"}
    around = told.tree.around({span.id for span in told.generations})
    inside = told.tree.nearest(lambda span: span.id if span.kind == "generation" else None)
    for span in told.spans:
        is_blank = span.kind == "generation" and span.id not in around and span.id not in inside
        if span.id in telling or is_blank:
            yield span
