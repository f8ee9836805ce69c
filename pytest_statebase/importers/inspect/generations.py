"""The calls of models that the events of a sample tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...ledger import Ledger
from ...values import ABSENT
from ..messages import time_text
from ..spans.model import Span
from .content import Messages

_SCORING = ("scorer", "scorers")
_PARAMETERS = {"stop_seqs": "stop"}
"""Names of inspect_ai that are others in requests."""


def generations(
    sample: Mapping[str, Any], evaluation: Mapping[str, Any], reader: Messages, ledger: Ledger, where: str
) -> list[tuple[Span, int, int | None]]:
    """The calls of models of the agent, each with the turn that it belongs to. What a scorer asked is none of it."""
    last = max(1, len(ledger.turns))
    found: list[tuple[Span, int, int | None]] = []
    for number, event in enumerate(_model_events(sample.get("events"))):
        heard = reader.all(_input(event, sample))
        span = _span(event, heard, reader, evaluation, ledger.id, number, where)
        found.append((span, min(max(1, _turn(heard)), last), None))
    return found


def _model_events(events: Any) -> Iterator[Mapping[str, Any]]:
    """Those outside of scorers, in order."""
    scoring: set[Any] = set()
    steps: list[bool] = []
    for event in events if isinstance(events, list) else ():
        if not isinstance(event, Mapping):
            continue
        kind = event.get("event")
        if kind == "span_begin" and (event.get("type") in _SCORING or event.get("parent_id") in scoring):
            scoring.add(event.get("id"))
        elif kind == "step" and event.get("action") == "begin":
            steps.append(event.get("type") in _SCORING)
        elif kind == "step" and event.get("action") == "end" and steps:
            steps.pop()
        elif any(steps) or (event.get("span_id") is not None and event["span_id"] in scoring):
            continue
        elif kind == "model" and not event.get("pending"):
            yield event
        elif isinstance(event.get("events"), list):  # logs of before keep those of a tool or subtask inside
            yield from _model_events(event["events"])


def _input(event: Mapping[str, Any], sample: Mapping[str, Any]) -> Any:
    """The messages of a request; newer logs keep each message once, and where it is repeated its place."""
    heard, refs = event.get("input"), event.get("input_refs")
    data = sample.get("events_data")
    pool = data.get("messages") if isinstance(data, Mapping) else None
    if heard or not isinstance(refs, list) or not isinstance(pool, list):
        return heard
    ranges = [ref for ref in refs if isinstance(ref, list) and len(ref) == 2 and all(type(at) is int for at in ref)]
    return [message for begin, end in ranges for message in pool[max(0, begin) : max(0, end)]]


def _turn(heard: list[dict[str, Any]]) -> int:
    """How many turns have begun: one with each user's message after the agent spoke."""
    turns, last = 0, "assistant"
    for message in heard:
        role = message.get("role")
        if role == "user" and last != "user":
            turns += 1
        elif role != "system" and not turns:
            turns = 1
        last = last if role == "system" else str(role)
    return turns


def _span(
    event: Mapping[str, Any],
    heard: list[dict[str, Any]],
    reader: Messages,
    evaluation: Mapping[str, Any],
    session: str,
    number: int,
    where: str,
) -> Span:
    output = event.get("output")
    output = output if isinstance(output, Mapping) else {}
    choices = output.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    message, config = choice.get("message"), event.get("config")
    config = config if isinstance(config, Mapping) else {}
    tools = event.get("tools")
    usage = output.get("usage")
    error = event.get("error") or output.get("error")
    spoken = (
        [{**reader.one(message), "finish_reason": choice.get("stop_reason")}] if isinstance(message, Mapping) else []
    )
    return Span(
        id=str(event.get("uuid") or number),
        trace=session,
        parent=None,
        name="model",
        kind="generation",
        began=time_text(event.get("timestamp")),
        ended=time_text(event.get("completed")),
        input=heard,
        output=spoken or ABSENT,
        error={"type": "Exception", "message": str(error)} if error else None,
        model=str(event.get("model") or evaluation.get("model") or "") or None,
        parameters={_PARAMETERS.get(str(key), str(key)): value for key, value in config.items() if value is not None},
        tools=[tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else None,
        usage=usage if isinstance(usage, Mapping) else {},
        where=where,
        tracer="inspect_ai",
    )
