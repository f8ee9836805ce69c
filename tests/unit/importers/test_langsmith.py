"""Runs of LangSmith, in every form, become sessions that replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.importers import ImportedSession, detect, import_file
from pytest_statebase.importers.langsmith import langsmith_spans
from pytest_statebase.importers.spans import Span
from pytest_statebase.values import ABSENT
from tests.langsmith_runs import MODELS, PROJECT, ROOT, RUNS, SECOND, TOOL, forms, message, run, without

FORMS = dict(forms())


def sessions(tmp_path: Path, *documents: Any) -> list[ImportedSession]:
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    file = import_file(path)
    assert file.format == "langsmith"
    found = []
    for session in file:
        assert isinstance(session, ImportedSession), str(session)
        found.append(session)
    return found


def session(tmp_path: Path, *documents: Any) -> ImportedSession:
    (found,) = sessions(tmp_path, *documents)
    return found


def span(row: dict[str, Any]) -> Span:
    (found,) = langsmith_spans([("x", row)])
    return found


def text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_session(form: str, tmp_path: Path) -> None:
    found = session(tmp_path, *FORMS[form])
    assert (found.name, found.ledger.id) == ("s1", "s1")
    assert found.grade is not None
    assert found.grade.level == "replayable"
    first, second = found.ledger.turns
    assert (first.input, first.output) == (text("Where is it?"), text("On its way."))
    assert (second.input, second.output) == (text("Thanks!"), text("Welcome."))
    (call,) = first.calls
    assert (call.tool, call.arguments, call.result, call.id) == ("order", {"id": 7}, "sent", "c1")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_detected(form: str) -> None:
    assert {detect(document) for document in FORMS[form]} == {"langsmith"}


@pytest.mark.parametrize(
    "other",
    [
        {"messages": []},
        {"data": [{"id": 1, "inputs": 3}]},
        {"inputs": {}, "outputs": {}, "something": 1},
        {"id": "x", "run_type": 3},
        {"run_type": "tool"},
        {"runs": "none"},
    ],
)
def test_others_are_left_alone(other: Any) -> None:
    assert detect(other) != "langsmith"


def test_the_project_is_no_conversation(tmp_path: Path) -> None:
    bare = [{**one, "extra": {"metadata": {}}} for one in RUNS]
    found = sessions(tmp_path, *bare)
    assert [one.ledger.id for one in found] == ["aaaaaaa1", "bbbbbbb1"]
    assert PROJECT not in {one.name for one in found}


@pytest.mark.parametrize("key", ["session_id", "thread_id", "conversation_id"])
def test_where_the_conversation_is_told(key: str) -> None:
    assert span({**MODELS[0], "extra": {"metadata": {key: "s7"}}}).session == "s7"
    assert span({**MODELS[0], "extra": {}, "metadata": {key: "s7"}}).session == "s7"
    assert span({**MODELS[0], "extra": None}).session is None


def test_the_conversation_of_the_root_is_that_of_its_children(tmp_path: Path) -> None:
    children = [{**one, "extra": {}} for one in (*MODELS, TOOL)]
    assert session(tmp_path, ROOT, *children).name == "s1"


def test_results_come_from_the_next_model_call_where_tools_were_not_traced(tmp_path: Path) -> None:
    (turn,) = session(tmp_path, ROOT, *MODELS).ledger.turns
    assert [call.result for call in turn.calls] == ["sent"]


def test_a_missing_result_is_named_with_the_setting_that_would_mend_it(tmp_path: Path) -> None:
    root = {**ROOT, "outputs": {"output": "On its way."}}
    alone = {**MODELS[1], "inputs": {"messages": [[message("HumanMessage", "Go on")]]}}
    found = session(tmp_path, root, MODELS[0], alone)
    assert found.grade is not None
    (reason,) = found.grade.reasons
    assert (reason.kind, 'run_type="tool"' in reason.remedy) == ("no-results", True)


def test_hidden_inputs_and_outputs_are_told(tmp_path: Path) -> None:
    hidden = [{**one, "inputs": {}, "outputs": {}} for one in RUNS]
    found = session(tmp_path, *hidden)
    assert found.grade is not None
    assert found.grade.level == "unusable"
    assert "LANGSMITH_HIDE_INPUTS" in str(found.grade.reasons[0])


@pytest.mark.parametrize(
    ("fields", "given", "result"),
    [
        ({}, {"id": 7}, "sent"),
        ({"inputs": {"id": 7}, "outputs": {"output": {"status": "sent"}}}, {"id": 7}, {"status": "sent"}),
        ({"inputs": {"id": 7}, "outputs": {"status": "sent", "at": 1}}, {"id": 7}, {"status": "sent", "at": 1}),
        ({"inputs": {"input": '{"id": 7}'}, "outputs": {"output": "sent"}}, {"id": 7}, "sent"),
        ({"inputs": {"input": "paris"}, "outputs": {"output": None}}, {"input": "paris"}, None),
        ({"inputs": {"input": {"id": 7}}}, {"id": 7}, "sent"),
        ({"inputs": {"name": "order", "args": {"id": 7}, "id": "c1", "type": "tool_call"}}, {"id": 7}, "sent"),
        ({"inputs": None, "outputs": None}, ABSENT, ABSENT),
        ({"inputs": {}, "outputs": {}}, {}, ABSENT),
        ({"outputs": {"output": {"type": "tool", "content": "sent", "tool_call_id": "c1"}}}, {"id": 7}, "sent"),
    ],
)
def test_tools(fields: dict[str, Any], given: Any, result: Any) -> None:
    found = span({**TOOL, **fields})
    assert (found.kind, found.name, found.input, found.output) == ("tool", "order", given, result)


def test_the_call_that_a_tool_answers() -> None:
    assert span(TOOL).call_id == "c1"
    called = {"name": "order", "args": {"id": 7}, "id": "c2", "type": "tool_call"}
    assert span({**TOOL, "inputs": called, "outputs": {"output": "sent"}}).call_id == "c2"


def test_a_failed_result(tmp_path: Path) -> None:
    failed = message("ToolMessage", "Error: gone", tool_call_id="c1", status="error")
    (turn,) = session(tmp_path, ROOT, *MODELS, {**TOOL, "outputs": {"output": failed}}).ledger.turns
    assert [(call.result, call.is_error) for call in turn.calls] == [("Error: gone", True)]


@pytest.mark.parametrize(
    "said",
    [
        "ValueError('no such order')Traceback (most recent call last):\n  File \"x.py\"\nValueError: no such order",
        "ValueError('no such order')\n\nTraceback (most recent call last):\n  …",
        "ValueError: no such order",
    ],
)
def test_errors(said: str, tmp_path: Path) -> None:
    failed = {**TOOL, "error": said, "outputs": None, "status": "error"}
    (turn,) = session(tmp_path, ROOT, *MODELS, failed).ledger.turns
    assert [call.error for call in turn.calls] == [{"type": "ValueError", "message": "no such order"}]


def test_an_error_without_words() -> None:
    assert span({**TOOL, "status": "error"}).error == {"type": "Exception", "message": "unknown error"}


def test_an_agent_that_failed(tmp_path: Path) -> None:
    broken = {**ROOT, "outputs": None, "error": "TimeoutError('slow')"}
    (turn,) = session(tmp_path, broken, MODELS[0], TOOL).ledger.turns
    assert turn.error == {"type": "TimeoutError", "message": "slow"}


def test_what_a_model_run_tells() -> None:
    tools = [{"type": "function", "function": {"name": "order", "description": "Finds it."}}]
    extra = {**MODELS[0]["extra"], "invocation_params": {"model": "gpt-5", "tools": tools, "top_p": 1, "n": None}}
    outputs = {**MODELS[0]["outputs"], "llm_output": {"token_usage": {"prompt_tokens": 3, "total_tokens": 4}}}
    found = span({**MODELS[0], "extra": extra, "outputs": outputs, "tags": ["x"]})
    assert (found.kind, found.model, found.provider) == ("generation", "gpt-5", "openai")
    assert found.parameters == {"temperature": 0.5, "top_p": 1}
    assert found.tools == [{"name": "order", "description": "Finds it."}]
    assert found.usage == {"prompt_tokens": 3, "total_tokens": 4}
    assert found.attributes == {"tags": ["x"], "thread_id": "s1"}


def test_a_wrapped_client_tells_its_parameters_in_the_inputs() -> None:
    inputs = {"messages": [{"role": "user", "content": "Hi"}], "model": "gpt-5", "temperature": 0, "extra_body": None}
    outputs = {
        "choices": [{"message": {"role": "assistant", "content": "Hello"}}],
        "usage_metadata": {"input_tokens": 9},
    }
    found = span(run("a1", "llm", "ChatOpenAI", 0, inputs=inputs, outputs=outputs))
    assert (found.model, found.parameters) == ("gpt-5", {"temperature": 0})
    assert found.usage == {"input_tokens": 9}
    assert found.output == [{"role": "assistant", "content": "Hello"}]


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["Hel", "lo"], "Hello"),
        ([{"choices": [{"delta": {"content": "Hel"}}]}, {"choices": [{"delta": {"content": "lo"}}]}], "Hello"),
    ],
)
def test_a_stream_that_broke_off_is_what_its_tokens_say(tokens: list[Any], said: str) -> None:
    events = [{"name": "start"}, *({"name": "new_token", "kwargs": {"token": token}} for token in tokens)]
    (found,) = span({**MODELS[0], "outputs": None, "events": events}).output
    assert (found["role"], found["content"]) == ("assistant", said)


def test_tokens_are_not_looked_at_where_there_is_an_output() -> None:
    events = [{"name": "new_token", "kwargs": {"token": "other"}}]
    assert span({**MODELS[1], "events": events}).output == [{"role": "assistant", "content": "On its way."}]
    assert span({**MODELS[1], "outputs": None, "events": [{"name": "end"}, 3]}).output is ABSENT


@pytest.mark.parametrize(
    ("kind", "parent", "wanted"),
    [
        ("llm", None, "generation"),
        ("chat_model", None, "generation"),
        ("chain", None, "root"),
        ("chain", "x", "other"),
        ("retriever", "x", "retriever"),
        ("prompt", "x", "other"),
        ("parser", "x", "other"),
    ],
)
def test_kinds(kind: str, parent: str | None, wanted: str) -> None:
    assert span(run("a1", kind, "step", 0, parent=parent, inputs={}, outputs={})).kind == wanted


def test_examples_of_a_dataset(tmp_path: Path) -> None:
    examples = [
        {"id": "e1", "inputs": {"question": "Where is it?"}, "outputs": {"answer": "On its way."}, "dataset_id": "d"},
        {
            "id": "e2",
            "inputs": {"input": [{"type": "human", "data": {"content": "Hi"}}]},
            "outputs": {"output": {"type": "ai", "data": {"content": "Hello"}}},
        },
        {"id": "e3", "inputs": {"messages": [["human", "Hi"]]}, "outputs": None},
    ]
    found = sessions(tmp_path, *examples)
    turns = [one.ledger.turns[0] for one in found]
    assert [(turn.input, turn.output) for turn in turns] == [
        (text("Where is it?"), text("On its way.")),
        (text("Hi"), text("Hello")),
        (text("Hi"), ABSENT),
    ]
    assert [one.grade.level for one in found if one.grade] == ["replayable", "replayable", "partial"]


def test_a_run_that_is_its_own_parent() -> None:
    found = span({**without(TOOL, "trace_id"), "parent_run_id": "aaaaaaa3"})
    assert found.trace == "aaaaaaa3"


def test_trees_are_read_as_deep_as_they_are(tmp_path: Path) -> None:
    tree = without(MODELS[0], "trace_id", "parent_run_id")
    for depth in range(200):
        step = run(f"step{depth}", "chain", "step", 0, inputs={}, outputs={}, child_runs=[tree])
        tree = without(step, "trace_id", "parent_run_id")
    spans = langsmith_spans([("x", {**tree, "inputs": {"input": "Hi"}})])
    assert (len(spans), {one.trace for one in spans}) == (201, {"step199"})


def test_a_second_turn_alone(tmp_path: Path) -> None:
    (turn,) = session(tmp_path, SECOND).ledger.turns
    assert (turn.input, turn.output) == (text("Thanks!"), text("Welcome."))


def test_a_bare_model_call_is_a_turn(tmp_path: Path) -> None:
    (turn,) = session(tmp_path, {**MODELS[1], "parent_run_id": None, "id": "aaaaaaa1"}).ledger.turns
    assert (turn.input, turn.output) == (text("Where is it?"), text("On its way."))
    assert [call.result for call in turn.calls] == ["sent"]
