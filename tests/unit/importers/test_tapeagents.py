from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import load_cassette, replay
from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, detect, import_file
from pytest_statebase.importers.store import Store
from pytest_statebase.testing import Reenact
from pytest_statebase.values import ABSENT


def step(kind: str, agent: str = "Agent", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"id": "x", "agent": agent}, "kind": kind, **fields}


def seen(kind: str, **fields: Any) -> dict[str, Any]:
    return step(kind, "", **fields)


def tape(*steps: dict[str, Any], **known: Any) -> dict[str, Any]:
    return {"metadata": {"id": "tape-1", "author": "Agent", **known}, "context": None, "steps": list(steps)}


QUESTION = seen("question", content="How old is the castle?")
SEARCH = step("search_action", source="web", query="castle")
FOUND = seen("search_results_observation", query="castle", serp=["1264"])
ANSWER = step("final_answer", content="1264")


def read(tmp_path: Path, data: Any, name: str = "tape.json") -> list[ImportedSession | ImportFileError]:
    path = tmp_path / name
    text = "\n".join(json.dumps(one) for one in data) if name.endswith("l") else json.dumps(data)
    path.write_text(text, encoding="utf-8")
    return list(import_file(path))


def one(tmp_path: Path, *steps: dict[str, Any], **known: Any) -> ImportedSession:
    (session,) = read(tmp_path, tape(*steps, **known))
    assert isinstance(session, ImportedSession), session
    return session


def test_a_tape_is_a_session(tmp_path: Path) -> None:
    session = one(
        tmp_path,
        QUESTION,
        step("reasoning_thought", reasoning=["I look", "it up"]),
        step("set_next_node", next_node="act"),
        SEARCH,
        FOUND,
        ANSWER,
        parent_id="p",
        result={},
    )
    assert detect(tape(QUESTION)) == "tapeagents"
    assert (session.name, session.ledger.id, session.plan.agent) == ("tape", "tape-1", "Agent")
    assert session.ledger.created.metadata == {"tracer": "tapeagents", "parent_id": "p"}
    (turn,) = session.ledger.turns
    assert turn.text == "How old is the castle?"
    assert turn.added is not None
    assert turn.added.reasoning == "I look\nit up"
    assert turn.output == {"type": "text", "content": "1264"}
    (call,) = turn.calls
    assert (call.tool, call.arguments) == ("search_action", {"source": "web", "query": "castle"})
    assert call.result == {"kind": "search_results_observation", "query": "castle", "serp": ["1264"]}
    assert not call.is_error
    assert session.grade is not None
    assert session.grade.level == "replayable"
    assert "holds no model calls" in session.notes[0]


def test_dialog_tapes_have_calls_of_functions(tmp_path: Path) -> None:
    calls = [
        {"id": "", "type": "function", "function": {"name": "look", "arguments": {"q": at}}} for at in ("one", "two")
    ]
    session = one(
        tmp_path,
        seen("system", content="Be short."),
        seen("user", content="Hi"),
        step("assistant_thought", content="two things"),
        step("assistant", tool_calls=calls),
        seen("tool", content=["first"], tool_call_id=""),
        seen("tool", content="second", tool_call_id=""),
        step("assistant", content="Done"),
        seen("user", content="Bye"),
        step("assistant", content="Bye!"),
    )
    first, second = session.ledger.turns
    assert [(call.tool, call.arguments, call.result) for call in first.calls] == [
        ("look", {"q": "one"}, ["first"]),
        ("look", {"q": "two"}, "second"),
    ]
    assert {call.step for call in first.calls} == {1}
    assert (second.text, second.output) == ("Bye", {"type": "text", "content": "Bye!"})
    assert session.ledger.created.metadata == {"tracer": "tapeagents", "system": "Be short."}


def test_answers_with_several_parts_and_failed_actions(tmp_path: Path) -> None:
    failed = seen("action_execution_failure", error="no key")
    answer = step("gaia_answer_action", success=True, answer="2", long_answer="Two.")
    session = one(tmp_path, QUESTION, SEARCH, failed, answer, error="gave up")
    (turn,) = session.ledger.turns
    assert turn.calls[0].is_error
    assert turn.output == {"type": "data", "content": {"success": True, "answer": "2", "long_answer": "Two."}}
    assert session.ledger.ended is not None
    assert session.ledger.ended.reason == "gave up"


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    session = one(tmp_path, QUESTION, SEARCH, step("search_action", query="again"), FOUND)
    (turn,) = session.ledger.turns
    assert turn.calls[1].result is ABSENT
    assert session.grade is not None
    assert [reason.kind for reason in session.grade.reasons] == ["no-results", "no-output"]
    assert all("environment's observations" in reason.remedy for reason in session.grade.reasons)


@pytest.mark.parametrize(
    "steps", [[{"metadata": {}}], [QUESTION, 7], [QUESTION, SEARCH, {"kind": None}], [QUESTION, {"kind": ["x"]}]]
)
def test_steps_that_are_none(tmp_path: Path, steps: list[Any]) -> None:
    path = tmp_path / "tape.json"
    path.write_text(json.dumps({"metadata": None, "steps": [QUESTION, QUESTION, QUESTION, *steps]}), encoding="utf-8")
    (error,) = import_file(path)
    assert isinstance(error, ImportFileError)
    assert "is no step of a tape" in error.what


def entry(query: str, result: Any, **more: Any) -> dict[str, Any]:
    return {
        "fn_name": "WebSearch",
        "args": [],
        "kwargs": {"kind": "search_action", "query": query, **more},
        "result": result,
    }


def test_a_cache_is_a_record_without_a_plan(tmp_path: Path) -> None:
    lines = [
        entry("castle", {"serp": ["1264"]}),
        entry("tower", {"error": "no key"}),
        {"fn_name": "fetch", "args": ["a"], "kwargs": {"deep": True}, "result": "text"},
    ]
    (session,) = read(tmp_path, lines, "tool_cache.jsonl")
    assert isinstance(session, ImportedSession)
    store = Store(tmp_path / "out")
    store.add(session)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["tool_cache.record.yaml"]
    assert (store.tally.written, store.tally.calls) == (1, 3)
    (turn,) = load_cassette(tmp_path / "out" / "tool_cache.record.yaml").ledger.turns
    assert [(call.tool, call.arguments, call.is_error) for call in turn.calls] == [
        ("search_action", {"query": "castle"}, False),
        ("search_action", {"query": "tower"}, True),
        ("fetch", {"deep": True, "args": ["a"]}, False),
    ]
    assert session.grade is not None
    assert "stubs_from: tool_cache.record.yaml" in session.grade.reasons[0].remedy


def test_a_line_that_is_no_cached_call_is_told(tmp_path: Path) -> None:
    good, bad = read(tmp_path, [entry("castle", 1), {"fn_name": "x"}], "tool_cache.jsonl")
    assert isinstance(good, ImportedSession)
    assert isinstance(bad, ImportFileError)


def test_a_tape_replays_against_itself_and_a_cache_answers_what_it_lacks(tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    again = {**FOUND, "serp": ["1264", "1300"]}
    store.add(one(tmp_path, QUESTION, SEARCH, FOUND, ANSWER))
    found = {key: value for key, value in FOUND.items() if key != "metadata"}
    other = {key: value for key, value in again.items() if key != "metadata"}
    (cache,) = read(
        tmp_path, [entry("castle", found, source="web"), entry("tower", other, source="web")], "cache.jsonl"
    )
    assert isinstance(cache, ImportedSession)
    store.add(cache)
    plan = tmp_path / "out" / "tape.session.yaml"
    text = plan.read_text(encoding="utf-8")
    plan.write_text(
        f"{text}stubs_from: cache.record.yaml\ntools: {{search_action: {{reads: true}}}}\n", encoding="utf-8"
    )
    cassette = load_cassette(plan)
    assert replay(cassette, Reenact(cassette), until="end").verdicts == {"unchanged": 1}

    def curious(tools: Any) -> str:
        tools.search_action(source="web", query="castle")
        return str(tools.search_action(source="web", query="tower")["serp"])

    result = replay(cassette, curious, until="end")
    assert result.turns[0].replayed is not None
    assert result.turns[0].replayed.output["content"] == "['1264', '1300']", result
