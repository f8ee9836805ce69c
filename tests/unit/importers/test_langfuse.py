"""Exports of Langfuse, in every form, become sessions that replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, detect, import_file
from pytest_statebase.importers.langfuse import langfuse_spans
from pytest_statebase.importers.spans import Span
from pytest_statebase.values import ABSENT
from tests.langfuse_exports import (
    ANSWER,
    ASKED,
    FIRST,
    GENERATIONS,
    OBSERVATIONS,
    ROOT,
    SECOND,
    TOOL,
    forms,
    observation,
    trace,
)

FORMS = dict(forms())


def sessions(tmp_path: Path, *documents: Any) -> list[ImportedSession]:
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    file = import_file(path)
    assert file.format == "langfuse"
    found = []
    for session in file:
        assert isinstance(session, ImportedSession), str(session)
        found.append(session)
    return found


def session(tmp_path: Path, *documents: Any) -> ImportedSession:
    (found,) = sessions(tmp_path, *documents)
    return found


def span(row: dict[str, Any], of: dict[str, Any] | None = None) -> Span:
    """The span of one observation."""
    spans = langfuse_spans([("x", {"trace": of or {"id": "t1"}, "observations": [row]})])
    return next(one for one in spans if one.id == row["id"])


def export(*observations: dict[str, Any], **of_trace: Any) -> dict[str, Any]:
    return {"trace": {**FIRST, **of_trace}, "observations": list(observations)}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_session(form: str, tmp_path: Path) -> None:
    found = session(tmp_path, *FORMS[form])
    created = found.ledger.created
    assert (found.name, created.user_id) == ("s1", "ann")
    assert found.grade is not None
    assert found.grade.level == "replayable"
    first, second = found.ledger.turns
    assert (first.input, first.output) == (text("Where is it?"), text("On its way."))
    assert (second.input, second.output) == (text("Thanks!"), text("Welcome."))
    (call,) = first.calls
    assert (call.tool, call.arguments, call.id) == ("order", {"id": 7}, "c1")
    assert call.result == {"status": "sent"}
    assert second.calls == []


def text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_detected(form: str) -> None:
    assert {detect(document) for document in FORMS[form]} == {"langfuse"}


@pytest.mark.parametrize(
    "other",
    [
        {"messages": [ASKED]},
        [ASKED],
        {"id": "x", "timestamp": "2026-01-01", "role": "user", "content": "Hi"},
        {"id": "x", "observations": "none"},
        {"traces": []},
        {"data": [{"id": 1}], "meta": {}},
        {"type": "SPAN", "id": "x"},
    ],
)
def test_others_are_left_alone(other: Any) -> None:
    assert detect(other) != "langfuse"


def test_sessions_over_many_traces_and_traces_without_a_session(tmp_path: Path) -> None:
    alone = {**SECOND, "id": "t3", "sessionId": None}
    rows = [{**GENERATIONS[0], "traceId": "t3", "id": "g9", "parentObservationId": None}]
    found = sessions(
        tmp_path,
        export(*OBSERVATIONS),
        {"trace": SECOND, "observations": [GENERATIONS[2]]},
        {"trace": alone, "observations": rows},
    )
    assert [(one.name, len(one.ledger.turns)) for one in found] == [("s1", 2), ("export-2", 1)]
    assert found[1].ledger.id == "t3"


def test_results_come_from_the_next_model_call_where_tools_were_not_observed(tmp_path: Path) -> None:
    found = session(tmp_path, export(ROOT, *GENERATIONS[:2]))
    (turn,) = found.ledger.turns
    assert [call.result for call in turn.calls] == ['{"status": "sent"}']
    assert found.grade is not None
    assert found.grade.level == "replayable"


def test_a_missing_result_is_named_with_the_setting_that_would_mend_it(tmp_path: Path) -> None:
    answer = {**GENERATIONS[1], "input": "Go on"}
    found = session(tmp_path, export(ROOT, GENERATIONS[0], answer))
    assert found.grade is not None
    assert found.grade.level == "partial"
    (reason,) = found.grade.reasons
    assert (reason.kind, 'as_type="tool"' in reason.remedy) == ("no-results", True)


def test_a_trace_that_kept_nothing_is_unusable(tmp_path: Path) -> None:
    hidden = [{**row, "input": None, "output": None} for row in OBSERVATIONS]
    found = session(tmp_path, export(*hidden, input=None, output=None))
    assert found.grade is not None
    assert found.grade.level == "unusable"
    assert "capture_input" in str(found.grade.reasons[0])


def test_a_trace_without_observations_knows_its_turn_alone(tmp_path: Path) -> None:
    found = session(tmp_path, [FIRST, SECOND])
    assert [turn.output for turn in found.ledger.turns] == [text("On its way."), text("Welcome.")]


def test_null_at_either_end(tmp_path: Path) -> None:
    bare = [{**row, "input": None} if row is GENERATIONS[0] else row for row in OBSERVATIONS]
    assert session(tmp_path, export(*bare)).ledger.turns[0].input == text("Where is it?")
    bare = [{**row, "output": None} if row is GENERATIONS[1] else row for row in OBSERVATIONS]
    assert session(tmp_path, export(*bare)).ledger.turns[0].output == text("On its way.")


def test_an_orphan_keeps_its_place(tmp_path: Path) -> None:
    orphan = {**TOOL, "parentObservationId": "lost"}
    (turn,) = session(tmp_path, export(ROOT, *GENERATIONS[:2], orphan)).ledger.turns
    assert [call.result for call in turn.calls] == [{"status": "sent"}]


def test_an_observation_that_comes_twice_counts_once(tmp_path: Path) -> None:
    begun = {**TOOL, "endTime": None, "output": None}
    found = session(tmp_path, export(*OBSERVATIONS, begun, observations=OBSERVATIONS))
    assert found.grade is not None
    assert (found.grade.level, len(found.ledger.turns[0].calls)) == ("replayable", 1)
    assert not any("twice" in note for note in found.notes)


def test_scores_are_kept_with_the_session(tmp_path: Path) -> None:
    score = {"id": "x", "name": "thumbs", "value": 0, "stringValue": None, "comment": "wrong", "dataType": "NUMERIC"}
    found = session(tmp_path, export(*OBSERVATIONS, scores=[score], tags=["vip"]))
    metadata = found.ledger.created.metadata or {}
    assert metadata["scores"] == {"thumbs": {"value": 0, "comment": "wrong"}}
    assert metadata["tags"] == ["vip"]
    row = {"id": "y", "trace_id": "t1", "name": "tone", "string_value": "rude", "data_type": "CATEGORICAL"}
    found = session(tmp_path, export(*OBSERVATIONS), row)
    assert (found.ledger.created.metadata or {})["scores"] == {"tone": "rude"}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("ValueError: no such order", {"type": "ValueError", "message": "no such order"}),
        ("ValueError('no such order')", {"type": "ValueError", "message": "no such order"}),
        ("shop.errors.OrderError: gone", {"type": "OrderError", "message": "gone"}),
        ("it broke", {"type": "Exception", "message": "it broke"}),
        (None, {"type": "Exception", "message": "unknown error"}),
    ],
)
def test_errors(said: str | None, wanted: dict[str, str], tmp_path: Path) -> None:
    failed = {**TOOL, "level": "ERROR", "statusMessage": said, "output": None}
    (turn,) = session(tmp_path, export(ROOT, *GENERATIONS[:2], failed)).ledger.turns
    assert [call.error for call in turn.calls] == [wanted]


@pytest.mark.parametrize(
    ("fields", "name", "given", "result"),
    [
        ({"name": "running tool: order"}, "order", {"id": 7}, {"status": "sent"}),
        ({"name": "execute_tool order"}, "order", {"id": 7}, {"status": "sent"}),
        ({"input": '{"id": 7}', "output": '{"status":"sent"}'}, "order", {"id": 7}, {"status": "sent"}),
        ({"input": "{'id': 7}", "output": "sent"}, "order", {"id": 7}, "sent"),
        ({"output": '"sent"'}, "order", {"id": 7}, "sent"),
        ({"output": '{\n  "status": "sent"\n}'}, "order", {"id": 7}, '{\n  "status": "sent"\n}'),
        ({"input": {"args": [], "kwargs": {"id": 7}}}, "order", {"id": 7}, {"status": "sent"}),
        ({"input": None, "output": None}, "order", {}, ABSENT),
        (
            {"type": "SPAN", "output": {"type": "tool", "content": "sent", "tool_call_id": "c1", "name": "order"}},
            "order",
            {"id": 7},
            "sent",
        ),
        (
            {"type": "SPAN", "name": "run", "metadata": {"attributes": {"gen_ai.tool.name": "order"}}},
            "order",
            {"id": 7},
            {"status": "sent"},
        ),
        (
            {
                "input": {},
                "output": {},
                "metadata": {
                    "attributes": {
                        "gcp.vertex.agent.tool_call_args": '{"id": 7}',
                        "gcp.vertex.agent.tool_response": '{"status": "sent"}',
                    }
                },
            },
            "order",
            {"id": 7},
            {"status": "sent"},
        ),
        (
            {"input": {"input": {"id": 7}}, "metadata": {"attributes": {"langsmith.span.kind": "tool"}}},
            "order",
            {"id": 7},
            {"status": "sent"},
        ),
    ],
)
def test_tools(fields: dict[str, Any], name: str, given: Any, result: Any) -> None:
    found = span({**TOOL, **fields})
    assert (found.kind, found.name, found.input, found.output) == ("tool", name, given, result)


def test_what_a_generation_tells() -> None:
    row = {
        **GENERATIONS[0],
        "modelParameters": '{"temperature": 0, "parallel_tool_calls": "true", "max_tokens": -1, "created_at": 1}',
        "usageDetails": {"input": 5, "output": 7},
        "toolDefinitions": {"order": '{"description": "Finds it.", "parameters": {"type": "object"}}'},
        "promptName": "support",
        "metadata": '{"attributes": {"gen_ai.system": "openai", "gen_ai.prompt.0.content": "", "team": "a"}, "run": 3}',
    }
    found = span(row)
    assert (found.kind, found.model, found.provider) == ("generation", "gpt-5", "openai")
    assert found.parameters == {"temperature": 0, "parallel_tool_calls": True}
    assert found.usage == {"input": 5, "output": 7}
    assert found.tools == [{"name": "order", "description": "Finds it.", "parameters": {"type": "object"}}]
    assert found.attributes == {"promptName": "support", "run": 3, "gen_ai.system": "openai", "team": "a"}
    assert found.input == [ASKED]


def test_the_system_prompt_of_the_responses_api_stands_in_its_answer() -> None:
    answer = {"object": "response", "instructions": "Be brief.", "output": [{"type": "message", **ANSWER}]}
    found = span({**GENERATIONS[0], "output": json.dumps(answer)})
    assert found.input == [{"role": "system", "content": "Be brief."}, ASKED]


def test_what_was_cut_off_is_told(tmp_path: Path) -> None:
    row = {**TOOL, "output": "<truncated due to size exceeding limit>"}
    assert (span(row).output, span(row).flaws) == (ABSENT, ("truncated",))
    found = session(tmp_path, export(ROOT, *GENERATIONS[:2], row))
    assert found.grade is not None
    assert [reason.kind for reason in found.grade.reasons] == ["truncated"]


@pytest.mark.parametrize(
    ("place", "row", "of"),
    [
        ("trace", {}, {"id": "t1", "sessionId": "s1"}),
        ("observation", {"sessionId": "s1"}, {"id": "t1"}),
        ("attribute", {"metadata": {"attributes": {"session.id": "s1"}}}, {"id": "t1"}),
        ("semantic attribute", {"metadata": {"attributes": {"gen_ai.conversation.id": "s1"}}}, {"id": "t1"}),
        ("thread", {"metadata": {"thread_id": "s1"}}, {"id": "t1"}),
    ],
)
def test_where_the_session_is_told(place: str, row: dict[str, Any], of: dict[str, Any]) -> None:
    assert span({**GENERATIONS[0], **row}, of).session == "s1"


def test_attributes_that_are_spread_over_the_metadata() -> None:
    spread = {
        "attributes.gen_ai.system": "openai",
        "attributes.gen_ai.conversation.id": "s1",
        "scope.name": "ai",
        "run": 3,
    }
    found = span({**GENERATIONS[0], "metadata": spread}, {"id": "t1"})
    assert (found.provider, found.session) == ("openai", "s1")
    assert found.attributes == {"run": 3, "gen_ai.system": "openai", "gen_ai.conversation.id": "s1"}


def test_a_key_in_place_of_the_messages_is_no_message() -> None:
    assert span({**GENERATIONS[0], "input": '{"content":"role"}'}).input is ABSENT


def test_the_agent() -> None:
    assert span(observation("a", "AGENT", "planner", 0)).agent == "planner"
    attributes = {"metadata": {"attributes": {"gen_ai.agent.name": "planner"}}}
    assert span(observation("a", "AGENT", "run 17", 0, **attributes)).agent == "planner"
    assert (
        span(observation("a", "AGENT", "agent_run [planner]", 0, metadata={"attributes": {"x": 1}})).agent == "planner"
    )
    assert span(observation("a", "AGENT", "run 17", 0, metadata={"attributes": {"x": 1}})).agent is None


def kinds(*rows: dict[str, Any]) -> dict[str, str]:
    return {one.id: one.kind for one in langfuse_spans([("x", {"trace": {"id": "t1"}, "observations": list(rows)})])}


def test_one_call_of_a_model_that_two_tracers_saw_is_one() -> None:
    outer = observation("a", "GENERATION", "invoke", 0, input=[ASKED], output=GENERATIONS[0]["output"])
    inner = observation(
        "b", "GENERATION", "chat", 0, input="user: Where is it?", output="None", parentObservationId="a"
    )
    assert kinds(outer, inner) == {"a": "generation", "b": "other"}
    poor = {**outer, "output": None}
    assert kinds(poor, {**inner, "output": GENERATIONS[0]["output"]}) == {"a": "other", "b": "generation"}


def test_a_generation_around_several_steps_is_an_agent() -> None:
    outer = observation("a", "GENERATION", "generateText", 0, input={"prompt": "Hi"}, output="Hello")
    inner = observation("b", "GENERATION", "doGenerate", 0, input=[ASKED], output="Hello", parentObservationId="a")
    tool = {**TOOL, "parentObservationId": "a"}
    assert kinds(outer, inner, tool) == {"a": "agent", "b": "generation", "o1": "tool"}
    assert kinds(outer, inner, {**inner, "id": "c"}) == {"a": "agent", "b": "generation", "c": "generation"}


def test_a_generation_inside_itself_is_no_endless_loop() -> None:
    assert kinds({**GENERATIONS[0], "id": "a", "parentObservationId": "a"}) == {"a": "generation"}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"args": ["Where is it?"], "kwargs": {}}, "Where is it?"),
        ({"args": [], "kwargs": {"question": "Where is it?"}}, "Where is it?"),
        ({"args": [], "kwargs": {"user_input": "Where is it?", "limit": 3}}, [ASKED]),
        ({"args": [[ASKED]], "kwargs": {}}, [ASKED]),
        ({"args": [1, 2], "kwargs": {}}, {"args": [1, 2], "kwargs": {}}),
        ({"messages": [{"type": "human", "content": "Where is it?"}]}, [ASKED]),
        ("Where is it?", "Where is it?"),
        ('"Where is it?"', "Where is it?"),
        (None, ABSENT),
    ],
)
def test_what_an_observed_function_was_handed(given: Any, wanted: Any) -> None:
    assert span(observation("r", "SPAN", "run", 0, input=given)).input == wanted


def test_output_tools_of_pydantic_ai_are_no_tools() -> None:
    offered = {"function_tools": [], "output_tools": [{"name": "final_result", "parameters_json_schema": {}}]}
    said = [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "f", "name": "final_result", "arguments": {"a": 1}}],
        }
    ]
    attributes = {"metadata": {"attributes": {"model_request_parameters": offered}}}
    found = span({**GENERATIONS[0], "output": said, **attributes})
    assert found.output == [{"role": "assistant", "content": '{"a": 1}'}]


def test_a_file_without_a_call_of_anything_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text(json.dumps({"trace": {"id": "t1"}, "observations": []}), encoding="utf-8")
    (error,) = import_file(path)
    assert isinstance(error, ImportFileError)
    assert "holds no trace" in str(error)


def test_bad_lines_are_told_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    lines = [json.dumps(export(*OBSERVATIONS)), "{broken", json.dumps({"some": "thing"})]
    path.write_text("\n".join(lines), encoding="utf-8")
    good, *bad = import_file(path)
    assert isinstance(good, ImportedSession)
    assert [isinstance(error, ImportFileError) for error in bad] == [True, True]


def test_traces_of_one_session_in_any_order(tmp_path: Path) -> None:
    late = trace("t0", 30, "Again!", "Sure.")
    rows = [late, SECOND, FIRST]
    (found,) = sessions(tmp_path, *rows)
    assert [turn.input for turn in found.ledger.turns] == [text("Where is it?"), text("Thanks!"), text("Again!")]
