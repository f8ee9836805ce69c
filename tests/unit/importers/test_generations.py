"""Which turn and which tool call a model call of a trace belongs to, and messages that a tracer did not tell."""

from __future__ import annotations

import json
from typing import Any

from pytest_statebase.importers import ImportedSession
from pytest_statebase.importers.spans import Span, conversations_of, session_of_spans
from pytest_statebase.values import ABSENT
from pytest_statebase.wire.exchange import Exchange


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def asks(*calls: tuple[str, str]) -> dict[str, Any]:
    made = [{"id": id_, "function": {"name": tool, "arguments": "{}"}} for id_, tool in calls]
    return {"role": "assistant", "content": None, "tool_calls": made}


def gives(id_: str, result: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": result}


def at(second: int) -> str:
    return f"2026-03-01T10:00:{second:02}Z"


def model(name: str, second: int, heard: Any, said: Any, parent: str | None = None, trace: str = "t1") -> Span:
    known = {"began": at(second), "ended": at(second), "input": heard, "output": said, "session": "s"}
    return Span(name, trace, parent, "chat", "generation", model="gpt-x", provider="openai", **known)


def tool(name: str, second: int, tool: str, result: Any, parent: str | None = None, **more: Any) -> Span:
    known = {"began": at(second), "ended": at(second), "input": {}, "output": result, "session": "s", **more}
    return Span(name, "t1", parent, tool, "tool", **known)


def session(*spans: Span) -> ImportedSession:
    (conversation,) = conversations_of(spans, "x.json")
    return session_of_spans(conversation)


def places(found: ImportedSession) -> list[tuple[int | None, int | None, str]]:
    return [(one.turn, one.during, last(one)) for one in found.exchanges]


def last(exchange: Exchange) -> str:
    message = json.loads(exchange.request.body)["messages"][-1]
    return f"{message['role']}: {message['content']}"


def test_turns_over_traces_and_inside_of_one() -> None:
    first = [user("one")]
    second = [*first, says("1"), user("two")]
    third = [*second, says("2"), user("three")]
    found = session(
        model("g1", 1, first, [says("1")]),
        model("g2", 2, second, [says("2")]),
        model("g3", 3, third, [says("3")], trace="t2"),
    )
    assert places(found) == [(1, None, "user: one"), (2, None, "user: two"), (3, None, "user: three")]
    assert [turn.added and turn.added.metadata for turn in found.ledger.turns] == [{"model": "gpt-x"}] * 3


def test_models_inside_of_tools() -> None:
    begun = [user("one")]
    ended = [*begun, asks(("a", "look"), ("b", "think")), gives("a", "seen"), gives("b", "thought")]
    found = session(
        model("g1", 1, begun, [asks(("a", "look"), ("b", "think"))]),
        tool("k1", 2, "look", "seen", call_id="a"),
        tool("k2", 3, "think", "thought", call_id="b"),
        model("g2", 4, [user("inside")], [says("thought")], parent="k2"),
        model("g3", 5, ended, [says("1")]),
    )
    assert [call.tool for call in found.ledger.turns[0].calls] == ["look", "think"]
    assert places(found) == [(1, None, "user: one"), (1, 1, "user: inside"), (1, None, "tool: thought")]


def test_a_model_call_inside_of_one_is_the_same_call() -> None:
    found = session(
        model("g1", 1, [user("one")], [says("1")]),
        model("inner", 1, [user("one")], [says("1")], parent="g1"),
    )
    assert len(found.exchanges) == 1


def test_messages_that_only_the_first_call_tells() -> None:
    found = session(
        model("g1", 1, [user("one")], [asks(("a", "look"))]),
        tool("k1", 2, "look", {"seen": 1}, call_id="a"),
        model("g2", 3, ABSENT, [asks(("b", "look"))]),
        tool("k2", 4, "look", None, call_id="b"),
        model("g3", 5, ABSENT, [says("1")]),
    )
    assert [one.derived for one in found.exchanges] == [
        ("parameters", "system", "tools"),
        ("messages", "parameters", "system", "tools"),
        ("messages", "parameters", "system", "tools"),
    ]
    assert [len(json.loads(one.request.body)["messages"]) for one in found.exchanges] == [1, 3, 5]
    assert last(found.exchanges[1]) == 'tool: {"seen": 1}'
    assert found.grade is not None
    assert found.grade.level == "replayable"
    assert "Of 2 of them the trace tells no messages: they are put together from what came before." in found.notes


def test_messages_that_nothing_tells() -> None:
    found = session(
        model("g1", 1, [user("one")], [asks(("a", "look"), ("b", "look"))]),
        tool("k1", 2, "look", "seen", call_id="a"),
        model("g2", 3, ABSENT, [says("1")]),
    )
    assert len(found.exchanges) == 1
    assert found.grade is not None
    assert [reason.kind for reason in found.grade.reasons] == ["no-results", "no-messages"]
    assert "CAPTURE_MESSAGE_CONTENT" in found.grade.reasons[1].remedy
