"""Runs of LangSmith by hand: one conversation of two turns, each a trace, in every form it can be exported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

STAMP = "2026-01-01T00:00:{:02d}.000000+00:00"
PROJECT = "0000project"


def run(id: str, kind: str, name: str, second: int, *, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    times = {"start_time": STAMP.format(second), "end_time": STAMP.format(second + 1)}
    trace = fields.pop("trace_id", "aaaaaaa1")
    return {
        "id": id,
        "run_type": kind,
        "name": name,
        "parent_run_id": parent,
        "trace_id": trace,
        "session_id": PROJECT,
        "extra": {"metadata": {"thread_id": "s1"}},
        **times,
        **fields,
    }


def message(kind: str, content: str, **kwargs: Any) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": content, **kwargs}}


CALL = {"name": "order", "args": {"id": 7}, "id": "c1", "type": "tool_call"}
ASKED = message("HumanMessage", "Where is it?")
ASKS = message("AIMessage", "", tool_calls=[CALL])
SENT = message("ToolMessage", "sent", tool_call_id="c1", name="order", status="success")
ANSWER = message("AIMessage", "On its way.")
METADATA = {"thread_id": "s1", "ls_model_name": "gpt-5", "ls_provider": "openai", "ls_temperature": 0.5}


def generated(said: dict[str, Any]) -> dict[str, Any]:
    return {"generations": [[{"text": said["kwargs"]["content"], "message": said}]], "llm_output": None}


def model(id: str, second: int, heard: list[Any], said: dict[str, Any], **fields: Any) -> dict[str, Any]:
    extra = {"metadata": METADATA, "invocation_params": {"model": "gpt-5", "temperature": 0.5, "_type": "openai-chat"}}
    return run(
        id, "llm", "ChatOpenAI", second, inputs={"messages": [heard]}, outputs=generated(said), extra=extra, **fields
    )


ROOT = run(
    "aaaaaaa1",
    "chain",
    "agent",
    0,
    inputs={"messages": [{"role": "user", "content": "Where is it?"}]},
    outputs={"messages": [ASKED, ASKS, SENT, ANSWER]},
)
TOOL = run(
    "aaaaaaa3",
    "tool",
    "order",
    2,
    parent="aaaaaaa1",
    inputs={"input": "{'id': 7}"},
    outputs={"output": SENT},
)
MODELS = [
    model("aaaaaaa2", 1, [ASKED], ASKS, parent="aaaaaaa1"),
    model("aaaaaaa4", 4, [ASKED, ASKS, SENT], ANSWER, parent="aaaaaaa1"),
]
SECOND = run(
    "bbbbbbb1",
    "chain",
    "agent",
    10,
    trace_id="bbbbbbb1",
    inputs={"input": "Thanks!"},
    outputs={"output": "Welcome."},
)
RUNS = [MODELS[1], TOOL, SECOND, ROOT, MODELS[0]]


def without(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


def forms() -> Iterator[tuple[str, list[Any]]]:
    """Each form with its documents; more than one is a file of JSON Lines."""
    yield "lines", RUNS
    yield "a list", [RUNS]
    yield "an answer of the API", [{"runs": RUNS, "cursors": {}}]
    yield "a page", [{"data": RUNS}]
    children = [without(one, "parent_run_id", "trace_id") for one in (MODELS[1], TOOL, MODELS[0])]
    yield "trees", [{**without(ROOT, "trace_id"), "child_runs": children}, SECOND]
    yield "dotted orders", [_ordered(one) for one in RUNS]
    begun = [{**without(one, "outputs", "end_time"), "outputs": {}} for one in RUNS]
    ended = [{key: one[key] for key in ("id", "trace_id", "outputs", "end_time", "parent_run_id")} for one in RUNS]
    yield "batches", [{"post": begun, "patch": ended}]
    yield "lines of a command", [_told(one) for one in RUNS]
    yield "bulk", [_as_text(one) for one in RUNS]
    nameless = [without(one, "id", "parent_run_id", "trace_id") for one in (MODELS[1], TOOL, MODELS[0])]
    yield "trees without ids", [{**ROOT, "child_runs": nameless}, SECOND]


def _as_text(row: dict[str, Any]) -> dict[str, Any]:
    """The row as a bulk export writes it."""
    values = {key: json.dumps(row[key]) for key in ("inputs", "outputs", "extra")}
    times = {key: row[key].replace("T", " ").removesuffix("+00:00") for key in ("start_time", "end_time")}
    return {**row, **values, **times, "is_root": row["parent_run_id"] is None}


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """The row as a command writes it."""
    return {"run_id": row["id"], **without(row, "id", "extra"), "custom_metadata": row["extra"]["metadata"]}


def _ordered(row: dict[str, Any]) -> dict[str, Any]:
    path = [row["parent_run_id"], row["id"]] if row["parent_run_id"] else [row["id"]]
    order = ".".join(f"20260101T0000000000{number}Z{step}" for number, step in enumerate(path))
    return {**without(row, "parent_run_id", "trace_id"), "dotted_order": order}
