"""An agent writes its session with the real SDK, as the documentation of StateBase has it; then it is pulled."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_statebase.cassette import load_cassette
from pytest_statebase.events import SessionCreated, StateRolledBack, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.ledger import Ledger
from pytest_statebase.pull import Api, Found, Pull
from pytest_statebase.statebase import LocalClient
from pytest_statebase.statebase.app import Served

statebase = pytest.importorskip("statebase")


def talk(url: str) -> str:
    """Two turns: a tool that answers, and one that fails and is rolled back."""
    client = statebase.StateBase(api_key="any", base_url=url)
    sessions = client.sessions
    session = str(sessions.create(agent_id="support", initial_state={"step": "new"}).id)
    sessions.update_state(session, {"step": "looking"}, reasoning="checkpoint before the tool")
    sessions.add_tool_call(
        session, "look_up", {"order": "1"}, {"total": 5}, "c1", "it was asked for", {"latency_ms": 7}
    )
    sessions.update_state(session, {"step": "found"}, reasoning="the order is known")
    sessions.add_turn(session, "Where is order 1?", "On its way.", reasoning="look_up said so")
    sessions.update_state(session, {"step": "cancelling"}, reasoning="checkpoint before the tool")
    sessions.add_tool_call(session, "cancel", {"order": "1"}, {"error": "locked"})
    sessions.rollback(session, version=2)
    sessions.add_turn(session, "Cancel it.", "That is not possible any more.")
    sessions.add_tool_call(session, "look_up", {"order": "2"}, {"total": 7})
    client.client.close()
    return session


def story(ledger: Ledger) -> list[str]:
    told = []
    for event in ledger.events:
        match event:
            case TurnStarted():
                told.append(f"user: {event.input['content']}" if isinstance(event.input, dict) else "user: ?")
            case StateUpdated():
                told.append(f"v{event.version} {event.value['step']}")
            case StateRolledBack():
                told.append(f"v{event.version} back to {event.to_version}")
            case ToolCalled():
                told.append(f"{event.tool} {event.arguments} {event.result}")
            case TurnAdded():
                told.append(f"agent: {event.output['content']}")
    return told


def test_the_session_is_as_it_was_lived(tmp_path: Path) -> None:
    with Served(LocalClient()) as url, Api(url, "any-key-0123456789") as api:
        outcome = Pull(api, tmp_path).one(Found(talk(url)))
    assert outcome.session is not None
    assert story(outcome.session.imported.ledger) == [
        "user: Where is order 1?",
        "v1 looking",
        "look_up {'order': '1'} {'total': 5}",
        "v2 found",
        "agent: On its way.",
        "user: Cancel it.",
        "v3 cancelling",
        "cancel {'order': '1'} {'error': 'locked'}",
        "v4 back to 2",
        "agent: That is not possible any more.",
        "user: ?",
        "look_up {'order': '2'} {'total': 7}",
    ]
    call = outcome.session.imported.ledger.turns[0].calls[0]
    assert (call.extra, call.latency_ms) == ({"reasoning": "it was asked for", "metadata": {"latency_ms": 7}}, 7)
    assert outcome.session.aligned == {"traces": 4}
    assert outcome.session.failing == {2: ["cancel failed"]}
    unfinished, told = outcome.session.replayable.reasons
    assert unfinished == "the last turn was not finished"
    assert told.startswith("1 tool call of which the result tells a failure: ")
    entry = '  - {"tool": "cancel", "arguments": {"order": "1"}, "error": {"type": "Exception", "message": "locked"}}'
    assert outcome.session.replayable.answers == ("answers:", entry)
    [plan] = tmp_path.glob("*.session.yaml")
    lines = plan.read_text(encoding="utf-8").splitlines()
    assert f"# {entry}" in lines
    # As a person would take it over.
    plan.write_text("\n".join([*lines, *outcome.session.replayable.answers]).replace("Exception", "KeyError") + "\n")
    [answer] = load_cassette(plan).plan.answers
    assert (answer.tool, answer.arguments, answer.error) == (
        "cancel",
        {"order": "1"},
        {"type": "KeyError", "message": "locked"},
    )


def test_what_an_agent_writes_before_it_adds_a_turn_belongs_to_that_turn(tmp_path: Path) -> None:
    with Served(LocalClient()) as url, Api(url, "any-key-0123456789") as api:
        client = statebase.StateBase(api_key="any", base_url=url)
        sessions = client.sessions
        session = str(sessions.create(agent_id="counter", initial_state={}).id)
        for step in "abc":
            sessions.update_state(session, {"step": step}, reasoning="counted")
            if step == "b":
                sessions.add_tool_call(session, "look_up", {"order": "1"}, {"total": 5})
            sessions.add_turn(session, step, f"Noted {step}")
        sessions.rollback(session, version=2)
        sessions.update_state(session, {"step": "d"}, reasoning="counted")
        sessions.add_turn(session, "d", "Noted d")
        client.client.close()
        outcome = Pull(api, tmp_path).one(Found(session))
    assert outcome.session is not None
    assert story(outcome.session.imported.ledger) == [
        *("user: a", "v1 a", "agent: Noted a"),
        *("user: b", "v2 b", "look_up {'order': '1'} {'total': 5}", "agent: Noted b"),
        *("user: c", "v3 c", "agent: Noted c", "v4 back to 2"),
        *("user: d", "v5 d", "agent: Noted d"),
    ]


def at(second: int) -> str:
    return f"2026-11-29T10:00:{second:02}Z"


def test_a_record_that_is_served_comes_back_in_its_order(tmp_path: Path) -> None:
    events = [
        SessionCreated("sess_1", "support", None, at(0), {"step": "new"}),
        TurnStarted(1, {"type": "text", "content": "a"}, at(1)),
        StateUpdated(1, {"step": "looking"}, "checkpoint", at=at(2)),
        ToolCalled("look_up", {"order": "1"}, {"total": 5}),
        StateUpdated(2, {"step": "found"}, "known", at=at(3)),
        ToolCalled("look_up", {"order": "2"}, {"total": 6}),
        TurnAdded({"type": "text", "content": "A"}, at=at(4)),
        StateUpdated(3, {"step": "by hand"}, "a person did it", at=at(5)),
        TurnStarted(2, {"type": "text", "content": "b"}, at(6)),
        StateUpdated(4, {"step": "done"}, "done", at=at(7)),
        TurnAdded({"type": "text", "content": "B"}, at=at(8)),
    ]
    recorded = Ledger(events)
    with Served(LocalClient({"sess_1": recorded})) as url, Api(url, "any-key-0123456789") as api:
        outcome = Pull(api, tmp_path).one(Found("sess_1"))
    assert outcome.session is not None
    assert story(outcome.session.imported.ledger) == story(recorded)
    times = [call.at for turn in outcome.session.imported.ledger.turns for call in turn.calls]
    assert times == [at(2), at(3)]
