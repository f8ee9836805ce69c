"""How far a trace can be replayed, why not further, and which setting of its tracer would mend that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.importers import ImportedSession
from pytest_statebase.importers.spans.reasons import REASONS, reason
from tests.tracing import graded, otlp, session, span, told, write

ASKED = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}])
ANSWERED = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Hello"}], "finish_reason": "stop"}])
CALLED = json.dumps(
    [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]}]
)
CHAT = {"gen_ai.operation.name": "chat"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}


def asked(*, ask: str | None = ASKED, answer: str | None = ANSWERED, at: float = 1, **more: Any) -> dict[str, Any]:
    said = {"gen_ai.input.messages": ask, "gen_ai.output.messages": answer}
    kept = {key: value for key, value in said.items() if value is not None}
    return span("chat", 2 + int(at), {**CHAT, **kept, **more}, parent=1, at=at)


def whole(path: Path, *spans: dict[str, Any]) -> ImportedSession:
    return session(write(path / "t.json", otlp(span("agent", 1, {}, lasts=9), *spans)))


HIDDEN: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "otel": (CHAT, TOOL, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
    "otel without words": (
        {
            **CHAT,
            "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text"}]}]',
            "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text"}]}]',
        },
        TOOL,
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    ),
    "openinference": (
        {
            "openinference.span.kind": "LLM",
            "input.value": "__REDACTED__",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "__REDACTED__",
            "output.value": "__REDACTED__",
        },
        {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": "__REDACTED__"},
        "OPENINFERENCE_HIDE_INPUTS",
    ),
    "traceloop": (
        {"llm.request.type": "chat", "traceloop.workflow.name": "shop"},
        {"traceloop.span.kind": "tool", "traceloop.entity.name": "look"},
        "TRACELOOP_TRACE_CONTENT",
    ),
    "logfire": (
        {**CHAT, "logfire.msg": "chat"},
        {"gen_ai.tool.name": "look", "logfire.msg": "x"},
        "InstrumentationSettings(include_content=True)",
    ),
    "vercel": (
        {"ai.operationId": "ai.generateText.doGenerate"},
        {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "look"},
        "recordInputs",
    ),
}


@pytest.mark.parametrize("tracer", HIDDEN)
def test_without_content_a_session_is_unusable(tracer: str, tmp_path: Path) -> None:
    model, tool, setting = HIDDEN[tracer]
    found = whole(tmp_path, span("chat", 2, model, parent=1, at=1), span("tool", 3, tool, parent=1, at=2))
    level, remedies = graded(found)
    assert level == "unusable"
    assert set(remedies) == {"no-content", "no-arguments", "no-results"}
    assert setting in remedies["no-content"]


def test_an_answer_without_its_question(tmp_path: Path) -> None:
    level, remedies = graded(whole(tmp_path, asked(ask=None)))
    assert (level, set(remedies)) == ("unusable", {"no-input"})


def test_a_question_without_its_answer(tmp_path: Path) -> None:
    found = whole(tmp_path, asked(answer=None))
    assert [turn.number for turn in found.ledger.turns] == [1]
    assert graded(found)[0] == "partial"
    assert set(graded(found)[1]) == {"no-output"}


def test_a_tool_without_its_result(tmp_path: Path) -> None:
    found = whole(tmp_path, asked(answer=CALLED), span("tool", 9, TOOL, parent=1, at=2), asked(at=3, ask=None))
    level, remedies = graded(found)
    assert (level, set(remedies)) == ("partial", {"no-results"})
    assert "gen_ai.tool.call.result" in remedies["no-results"]


@pytest.mark.parametrize("cut", [ASKED[:-20], ASKED[: len(ASKED) // 2], ASKED[:-1]])
def test_messages_that_break_off(cut: str, tmp_path: Path) -> None:
    level, remedies = graded(whole(tmp_path, asked(ask=cut)))
    assert (level, set(remedies)) == ("unusable", {"no-input", "truncated"})
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in remedies["truncated"]


def test_arguments_and_results_that_break_off(tmp_path: Path) -> None:
    tool = {**TOOL, "gen_ai.tool.call.arguments": '{"order": "12', "gen_ai.tool.call.result": "[1, 2"}
    found = whole(tmp_path, asked(), span("tool", 9, tool, parent=1, at=0.5))
    assert set(graded(found)[1]) == {"truncated"}
    assert told(found)[0][1] == [("look", {}, "[1, 2")]


def test_words_that_begin_with_a_bracket_are_words(tmp_path: Path) -> None:
    attributes = {"openinference.span.kind": "LLM", "input.value": "[a] or [b]?", "output.value": '{"a"} it is'}
    found = whole(tmp_path, span("chat", 2, attributes, parent=1, at=1))
    assert told(found) == [("[a] or [b]?", [], '{"a"} it is')]
    assert graded(found) == ("replayable", {})


def test_attributes_that_were_dropped(tmp_path: Path) -> None:
    level, remedies = graded(whole(tmp_path, asked() | {"droppedAttributesCount": 3}))
    assert (level, set(remedies)) == ("partial", {"dropped"})
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in remedies["dropped"]


def test_spans_that_are_missing_count_where_something_is_lacking(tmp_path: Path) -> None:
    orphan = span("tool", 9, TOOL, parent=77, at=2)
    found = whole(tmp_path, asked(answer=CALLED), orphan, asked(at=3, ask=None))
    assert set(graded(found)[1]) == {"no-results", "missing-spans"}
    answered = span("tool", 9, {**TOOL, "gen_ai.tool.call.result": "1"}, parent=77, at=2)
    assert graded(whole(tmp_path, asked(answer=CALLED), answered, asked(at=3, ask=None))) == ("replayable", {})


@pytest.mark.parametrize("kind", REASONS)
def test_every_tracer_has_its_remedy(kind: str) -> None:
    text, remedies = REASONS[kind]
    assert "" in remedies
    for tracer in [*remedies, "another"]:
        found = reason(kind, tracer, "2 spans")
        assert found.text == f"{text} (2 spans)"
        assert found.remedy == remedies.get(tracer, remedies[""])
