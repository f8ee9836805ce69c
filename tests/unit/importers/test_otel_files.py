"""Files of OpenTelemetry: every exporter's layout, ids, times and values; broken and hostile ones."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, detect, import_file
from pytest_statebase.importers.otel.raw import id_of, time_of, value_of
from pytest_statebase.values import ABSENT
from tests.tracing import TRACE, otlp, session, sessions, span, told, write

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop", "session.id": "visit-1"}
MODEL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.input.messages": json.dumps([{"role": "user", "content": "Hi"}]),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Hello"}]),
}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.result": "[1]"}
SPANS = [
    span("invoke_agent shop", 1, AGENT, at=0, lasts=5),
    span("execute_tool look", 2, TOOL, parent=1, at=1),
    span("chat", 3, MODEL, parent=1, at=2),
]
TOLD = [("Hi", [("look", {}, [1])], "Hello")]


def plain(raw: dict[str, Any]) -> dict[str, Any]:
    return {item["key"]: value_of(item["value"]) for item in raw["attributes"]}


def sdk(raw: dict[str, Any]) -> dict[str, Any]:
    """As the Python SDK prints a span."""
    parent = raw.get("parentSpanId")
    return {
        "name": raw["name"],
        "context": {"trace_id": f"0x{raw['traceId']}", "span_id": f"0x{raw['spanId']}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None if parent is None else f"0x{parent}",
        "start_time": time_of(raw["startTimeUnixNano"]),
        "end_time": time_of(raw["endTimeUnixNano"]),
        "status": {"status_code": "UNSET"},
        "attributes": plain(raw),
        "events": [],
        "links": [],
        "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
    }


def numbers(raw: dict[str, Any]) -> dict[str, Any]:
    """With ids and times as numbers, and the parent as a context."""
    parent = raw.get("parentSpanId")
    return {
        "name": raw["name"],
        "context": {"trace_id": int(raw["traceId"], 16), "span_id": int(raw["spanId"], 16)},
        "parent": None if parent is None else {"trace_id": int(raw["traceId"], 16), "span_id": int(parent, 16)},
        "start_time": int(raw["startTimeUnixNano"]),
        "end_time": int(raw["endTimeUnixNano"]),
        "attributes": plain(raw),
        "status": {"status_code": "ok", "description": None},
        "events": [],
    }


def base64_ids(raw: dict[str, Any]) -> dict[str, Any]:
    def encoded(text: str) -> str:
        return base64.b64encode(bytes.fromhex(text)).decode()

    keys = [key for key in ("traceId", "spanId", "parentSpanId") if key in raw]
    return {**raw, **{key: encoded(raw[key]) for key in keys}}


def snake(raw: dict[str, Any]) -> dict[str, Any]:
    names = {"traceId": "trace_id", "spanId": "span_id", "parentSpanId": "parent_span_id"}
    names |= {"startTimeUnixNano": "start_time_unix_nano", "endTimeUnixNano": "end_time_unix_nano"}
    found = {names.get(key, key): value for key, value in raw.items()}
    return {**found, "attributes": [{"key": key, "value": {"string_value": item}} for key, item in plain(raw).items()]}


LAYOUTS: dict[str, Callable[[], list[Any]]] = {
    "one export": lambda: [otlp(*SPANS)],
    "a list of exports": lambda: [[otlp(one) for one in SPANS]],
    "an export a line": lambda: [otlp(one) for one in SPANS],
    "unsorted": lambda: [otlp(*SPANS[::-1])],
    "exported twice": lambda: [otlp(*SPANS), otlp(*SPANS)],
    "attributes as mappings": lambda: [otlp(*({**one, "attributes": plain(one)} for one in SPANS))],
    "ids in base64": lambda: [otlp(*map(base64_ids, SPANS))],
    "spans of the SDK, one a line": lambda: list(map(sdk, SPANS)),
    "spans of the SDK in a list": lambda: [list(map(sdk, SPANS))],
    "ids and times as numbers": lambda: [{"spans": list(map(numbers, SPANS))}],
    "snake case": lambda: [{"resource_spans": [{"scope_spans": [{"spans": list(map(snake, SPANS))}]}]}],
    "an older collector": lambda: [{"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": SPANS}]}]}],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_read(layout: str, tmp_path: Path) -> None:
    found = session(write(tmp_path / "trace.json", *LAYOUTS[layout]()))
    assert (found.name, told(found)) == ("visit-1", TOLD)
    created = found.ledger.created
    assert (created.id, created.agent_id, created.at) == ("visit-1", "shop", "2025-10-09T08:53:20+00:00")
    assert found.ledger.turns[0].calls[0].latency_ms == 500.0


def test_gzipped_lines(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(otlp(one)) for one in SPANS).encode()))
    assert told(session(path)) == TOLD


def test_the_format_is_told() -> None:
    assert detect(otlp(*SPANS)) == "otel"
    assert detect([sdk(SPANS[0])]) == "otel"
    assert detect({"messages": [{"role": "user", "content": "gen_ai."}]}) == "chat"


def test_attributes_without_a_span_are_one(tmp_path: Path) -> None:
    found = session(write(tmp_path / "alone.json", MODEL))
    assert (found.name, told(found)) == ("alone", [("Hi", [], "Hello")])


def test_sessions_of_one_file_and_what_is_no_session(tmp_path: Path) -> None:
    other = "b" * 32
    other_agent = {**AGENT, "session.id": "visit-2"}
    more = [
        span("invoke_agent shop", 4, other_agent, trace=other, at=10, lasts=5),
        span("chat", 5, MODEL, parent=4, trace=other, at=11),
        span("GET /", 6, {"http.request.method": "GET"}, trace="c" * 32, at=20),
    ]
    found = sessions(write(tmp_path / "two.json", otlp(*SPANS, *more)))
    assert [one.name for one in found if isinstance(one, ImportedSession)] == ["visit-1", "visit-2"]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("raw", "id"),
    [
        ("0AF7651916CD43DD8448EB211C80319C", TRACE),
        (f"0x{TRACE}", TRACE),
        (int(TRACE, 16), f"{int(TRACE, 16):x}"),
        (base64.b64encode(bytes.fromhex(TRACE)).decode(), TRACE),
        ("0" * 16, None),
        ("", None),
        (0, None),
        (-1, None),
        (1 << 200, None),
        (True, None),
        (None, None),
        (float("nan"), None),
        (1e300, None),
        ([1], None),
        ("x" * 500, None),
        ("span-7", "span-7"),
    ],
)
def test_ids(raw: Any, id: str | None) -> None:
    assert id_of(raw) == id


@pytest.mark.parametrize(
    ("raw", "time"),
    [
        ("1760000000123456789", "2025-10-09T08:53:20.123456+00:00"),
        (1760000000123456789, "2025-10-09T08:53:20.123456+00:00"),
        (1760000000123456, "2025-10-09T08:53:20.123456+00:00"),
        (1760000000123, "2025-10-09T08:53:20.123000+00:00"),
        (1760000000, "2025-10-09T08:53:20+00:00"),
        ([1760000000, 123456789], "2025-10-09T08:53:20.123456+00:00"),
        ("2025-10-09T08:53:20.123456Z", "2025-10-09T08:53:20.123456Z"),
        ("yesterday", None),
        ("9" * 39, None),
        (10**40, None),
        (-(10**18), "1938-04-24T22:13:20+00:00"),
        (float("inf"), None),
        (0, None),
        (None, None),
        (True, None),
        ([1, 2, 3], None),
    ],
)
def test_times(raw: Any, time: str | None) -> None:
    assert time_of(raw) == time


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"intValue": "9223372036854775807"}, 9223372036854775807),
        ({"intValue": 7}, 7),
        ({"intValue": "seven"}, "seven"),
        ({"doubleValue": "Infinity"}, float("inf")),
        ({"doubleValue": 1.5}, 1.5),
        ({"boolValue": False}, False),
        ({"arrayValue": {}}, []),
        ({"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}, ["a", 1]),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "1"}}, 7]}}, {"a": 1}),
        ({"bytesValue": "AAE="}, "AAE="),
        ({}, {}),
        ({"stringValue": "a", "intValue": "1"}, {"stringValue": "a", "intValue": "1"}),
    ],
)
def test_values(raw: Any, value: Any) -> None:
    assert value_of(raw) == value


def deep(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = {"kvlistValue": {"values": [{"key": "a", "value": value}]}}
    return value


HOSTILE: dict[str, Any] = {
    "deep": [{"key": "gen_ai.input.messages", "value": deep(150)}],
    "deep text": [{"key": "gen_ai.input.messages", "value": {"stringValue": "[" * 100_000}}],
    "no list": "attributes",
    "numbers": [{"key": "gen_ai.input.messages", "value": {"intValue": "9" * 5000}}],
    "odd pairs": [None, 7, {"key": 7}, {"value": 1}, {"key": "gen_ai.prompt.0.role"}],
    "a role that is none": [{"key": "gen_ai.input.messages", "value": {"stringValue": '[{"role": 7, "content": 7}]'}}],
    "many indices": [{"key": f"gen_ai.prompt.{10**9 - 1}.role", "value": {"stringValue": "user"}}],
    "deep keys": [{"key": "gen_ai.prompt." + "0." * 5000 + "role", "value": {"stringValue": "user"}}],
    "text of any kind": [{"key": "gen_ai.input.messages", "value": {"stringValue": '"\\ud800\\u0000"'}}],
    "calls of nothing": [
        {
            "key": "gen_ai.output.messages",
            "value": {"stringValue": '[{"role": "assistant", "tool_calls": [null, 7, {}]}]'},
        }
    ],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_span_leaves_the_others_alone(what: str, tmp_path: Path) -> None:
    bad = span("chat", 9, {}, trace="d" * 32, at=30) | {"attributes": HOSTILE[what]}
    chat = {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}
    if isinstance(bad["attributes"], list):
        bad["attributes"] = [chat, *bad["attributes"]]
    good, *rest = sessions(write(tmp_path / "bad.json", otlp(*SPANS, bad)))
    assert isinstance(good, ImportedSession)
    assert told(good) == TOLD
    for one in rest:
        if isinstance(one, ImportFileError):
            assert one.where
        else:
            assert one.grade is not None
            assert one.grade.level != "replayable" or told(one)[0][2] is not ABSENT


def test_many_spans_in_one_another_and_in_a_ring(tmp_path: Path) -> None:
    count = 20_000
    chain = [span("step", number, {}, parent=number - 1 or count, at=number / 1000) for number in range(1, count + 1)]
    found = session(write(tmp_path / "ring.json", otlp(*chain, span("chat", count + 1, MODEL, parent=count, at=50))))
    assert told(found) == [("Hi", [], "Hello")]


@pytest.mark.parametrize(
    "document", [{"resourceSpans": []}, {"resourceSpans": [None, {"scopeSpans": [7]}]}, {"spans": [{"name": 7}]}]
)
def test_a_trace_of_nothing_is_one_clear_error(document: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "none.json", document)
    try:
        found: list[Any] = list(import_file(path))
    except ImportFileError as error:
        found = [error]
    (error,) = found
    assert isinstance(error, ImportFileError)
    assert str(path) in error.where


def test_a_line_that_is_broken_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    lines = [json.dumps(otlp(one)) for one in SPANS]
    path.write_text("\n".join([lines[0], lines[1][:-9], lines[2]]), encoding="utf-8")
    good, bad = sorted(sessions(path), key=lambda one: isinstance(one, ImportFileError))
    assert isinstance(good, ImportedSession)
    assert told(good) == [("Hi", [], "Hello")]
    assert isinstance(bad, ImportFileError)
    assert f"{path}:2" in bad.where
