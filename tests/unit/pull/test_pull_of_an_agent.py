"""An agent writes its session with the real SDK, as the documentation of StateBase has it; then it is pulled."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_statebase.events import StateRolledBack, StateUpdated, ToolCalled, TurnAdded, TurnStarted
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
    sessions.add_tool_call(session, "look_up", {"order": "1"}, {"total": 5}, tool_call_id="c1")
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
    assert outcome.session.aligned == {"traces": 4}
    assert outcome.session.failing == {2: ["cancel failed"]}
    assert outcome.session.replayable.reasons == ("the last turn was not finished",)
