"""Every operation leaves its trace: who, when, why and what, as the documentation of StateBase tabulates it."""

from __future__ import annotations

import pytest

from pytest_statebase.ledger import (
    ForkPoint,
    Ledger,
    MemoryAdded,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)

TABLE = {
    "session.created": {"agent_id", "user_id", "initial_state"},
    "state.updated": {"reasoning", "state_diff", "actor"},
    "turn.added": {"input", "output", "reasoning", "metadata"},
    "memory.created": {"content", "type", "tags", "session_id"},
    "state.rolled_back": {"from_version", "to_version", "reason"},
    "session.forked": {"source_session", "fork_version"},
}


def ledger() -> Ledger:
    return Ledger([
        SessionCreated("s", "agent", "user", "2026-03-15T10:00:00Z", {"n": 0}, actor="key_1", reasoning="begun"),
        TurnStarted(1, {"type": "text", "content": "Hi"}, "2026-03-15T10:00:01Z"),
        ToolCalled("look", at="2026-03-15T10:00:02Z"),
        StateUpdated(1, {"n": 1, "m": 2}, "counted", actor="key_2"),
        MemoryAdded("likes tea", "preference", ["drinks"]),
        TurnAdded({"type": "text", "content": "Hello"}, reasoning="greeted", at="2026-03-15T10:00:03Z"),
        StateRolledBack(2, 0, {"n": 0}, "too early", actor="ops", at="2026-03-15T10:00:04Z"),
        TurnStarted(2),
        TurnAdded(error={"type": "E", "message": "m"}),
    ])  # fmt: skip


@pytest.mark.parametrize("action", TABLE)
def test_what_is_tabulated_is_logged(action: str) -> None:
    fork = ledger().fork(ForkPoint("version", 2))
    (trace,) = [trace for trace in fork.traces if trace.action == action]
    assert trace.details.keys() >= TABLE[action]


def test_who_when_and_why() -> None:
    assert [(trace.action, trace.actor, trace.timestamp, trace.reasoning) for trace in ledger().traces] == [
        ("session.created", "key_1", "2026-03-15T10:00:00Z", "begun"),
        ("state.updated", "key_2", "2026-03-15T10:00:02Z", "counted"),
        ("memory.created", None, "2026-03-15T10:00:02Z", None),
        ("turn.added", None, "2026-03-15T10:00:03Z", "greeted"),
        ("state.rolled_back", "ops", "2026-03-15T10:00:04Z", "too early"),
        ("turn.added", None, "2026-03-15T10:00:04Z", None),
    ]


def test_what() -> None:
    details = {trace.action: trace.details for trace in ledger().traces[:-1]}
    assert details["state.updated"]["state_diff"] == {
        "added": {"m": 2},
        "removed": {},
        "modified": {"n": {"from": 0, "to": 1}},
    }
    assert details["state.updated"]["actor"] == "key_2"
    assert details["memory.created"]["session_id"] == "s"
    rolled_back = details["state.rolled_back"]
    assert (rolled_back["from_version"], rolled_back["to_version"], rolled_back["reason"]) == (1, 0, "too early")
    assert ledger().traces[-1].details["error"] == {"type": "E", "message": "m"}
