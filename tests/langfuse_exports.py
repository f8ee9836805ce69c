"""Small exports of Langfuse by hand: one conversation of two turns, each a trace, in every form it can be exported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

TIMES = "2026-01-01T00:00:{:02d}.000Z"


def observation(id: str, type: str, name: str, second: int, *, trace: str = "t1", **fields: Any) -> dict[str, Any]:
    times = {"startTime": TIMES.format(second), "endTime": TIMES.format(second + 1)}
    return {"id": id, "traceId": trace, "type": type, "name": name, "level": "DEFAULT", **times, **fields}


def trace(id: str, second: int, said: str, answered: str, **fields: Any) -> dict[str, Any]:
    known = {"id": id, "timestamp": TIMES.format(second), "name": "support", "projectId": "p", "userId": "ann"}
    return {**known, "sessionId": "s1", "input": said, "output": answered, "metadata": {}, **fields}


CALL = {"id": "c1", "type": "function", "function": {"name": "order", "arguments": '{"id": 7}'}}
ASKED = {"role": "user", "content": "Where is it?"}
ANSWER = {"role": "assistant", "content": "On its way."}
HISTORY = [ASKED, {"role": "assistant", "content": None, "tool_calls": [CALL]}]
TOLD = [*HISTORY, {"role": "tool", "tool_call_id": "c1", "content": '{"status": "sent"}'}]
THANKS = {"role": "user", "content": "Thanks!"}

FIRST = trace("t1", 0, "Where is it?", "On its way.")
SECOND = trace("t2", 10, "Thanks!", "Welcome.")
GENERATIONS = [
    observation(
        "g1", "GENERATION", "chat", 1, model="gpt-5", input=[ASKED], output=HISTORY[1], parentObservationId="r1"
    ),
    observation("g2", "GENERATION", "chat", 4, model="gpt-5", input=TOLD, output=ANSWER, parentObservationId="r1"),
    observation(
        "g3",
        "GENERATION",
        "chat",
        11,
        trace="t2",
        model="gpt-5",
        input=[*TOLD, ANSWER, THANKS],
        output={"role": "assistant", "content": "Welcome."},
    ),
]
ROOT = observation("r1", "SPAN", "support", 0)
TOOL = observation("o1", "TOOL", "order", 2, input={"id": 7}, output={"status": "sent"}, parentObservationId="r1")
OBSERVATIONS = [GENERATIONS[1], TOOL, ROOT, GENERATIONS[0]]


def as_text(row: dict[str, Any]) -> dict[str, Any]:
    """The row as the older download writes it: each value JSON in a text."""
    values = {key: json.dumps(row[key]) for key in ("input", "output", "metadata") if row.get(key) is not None}
    return {**row, **values}


def snake(row: dict[str, Any]) -> dict[str, Any]:
    names = {key: re.sub("[A-Z]", lambda found: "_" + found[0].lower(), key) for key in row}
    return {names[key]: _time(value) for key, value in as_text(row).items()}


def _time(value: Any) -> Any:
    is_time = isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", value)
    return value.replace("T", " ").removesuffix("Z") + "000" if is_time else value


def forms() -> Iterator[tuple[str, list[Any]]]:
    """Each form with its documents; more than one is a file of JSON Lines."""
    second = [GENERATIONS[2]]
    yield (
        "two downloads",
        [
            {"trace": as_text(FIRST), "observations": [as_text(row) for row in OBSERVATIONS]},
            {"trace": as_text(SECOND), "observations": [as_text(row) for row in second]},
        ],
    )
    whole = [{**FIRST, "observations": OBSERVATIONS, "scores": []}, {**SECOND, "observations": second, "scores": []}]
    yield "traces of the API", [whole]
    yield "a page of traces", [{"data": whole, "meta": {"page": 1}}]
    bare = [{key: value for key, value in one.items() if key != "sessionId"} for one in whole]
    yield "a session", [{"id": "s1", "createdAt": TIMES.format(0), "projectId": "p", "traces": bare}]
    yield "a trace in its answer", [{"trace": one} for one in whole]
    snapshot = {"project": "p", "traces": [FIRST, SECOND], "observations": [*OBSERVATIONS, *second]}
    yield "a snapshot", [snapshot]
    yield "observations alone", [{"observations": [_enriched(row) for row in (*OBSERVATIONS, *second)]}]
    yield "a page of observations", [{"data": [_enriched(row) for row in (*OBSERVATIONS, *second)], "meta": {}}]
    yield "a table", [[_enriched(row) for row in (*second, *OBSERVATIONS)]]
    yield "blobs", [snake(row) for row in (*second, *OBSERVATIONS, SECOND, FIRST)]
    yield "enriched blobs", [snake(_enriched(row)) for row in (*second, *OBSERVATIONS)]


def _enriched(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "sessionId": "s1", "userId": "ann", "traceName": "support"}
