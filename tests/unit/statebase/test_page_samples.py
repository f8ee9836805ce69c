"""The samples of StateBase's documentation on replay and audit, run as they stand there.

Only the sessions, the agent and the alert are this test's own.
"""

from __future__ import annotations

from typing import Any

import pytest
from statebase_sessions import production

from pytest_statebase.statebase import LocalClient


@pytest.fixture
def sb() -> LocalClient:
    ids = {"sess_prod_123": 16, "sess_123": 3, "sess_failed": 20, "sess_success": 3, "sess_bug_report_456": 25}
    sessions = {session: production(session, turns) for session, turns in ids.items()}
    sessions["sess_failed"] = production("sess_failed", 20, rollback=18)
    sessions["sess_failure"] = production("sess_failure", 3, rollback=2)
    return LocalClient(sessions)


def your_fixed_agent(session_id: str, user_input: str) -> str:
    return f"{session_id}: {user_input} answered"


def test_replay_of_a_production_session(sb: LocalClient, capsys: pytest.CaptureFixture[str]) -> None:
    turns = sb.sessions.list_turns(session_id="sess_prod_123", limit=20)

    state_versions = sb.sessions.list_state_versions(session_id="sess_prod_123")
    pre_failure_state = state_versions[14]

    debug_session = sb.sessions.fork(session_id="sess_prod_123", version=14)

    response = your_fixed_agent(session_id=debug_session.id, user_input=turns[14].input.content)

    print(f"Original output: {turns[14].output.content}")
    print(f"Fixed output: {response}")

    assert capsys.readouterr().out == (
        f"Original output: Answer 15\nFixed output: {debug_session.id}: Question 15 answered\n"
    )
    assert turns[14].turn_number == 15
    assert pre_failure_state.state == turns[14].state_before == sb.sessions.get_state(debug_session.id).state
    assert debug_session.metadata == {"channel": "web", "forked_from": "sess_prod_123", "forked_version": 14}
    assert len(sb.sessions.list_turns(session_id="sess_prod_123")) == 16


def test_viewing_traces(sb: LocalClient, capsys: pytest.CaptureFixture[str]) -> None:
    traces = sb.traces.list(session_id="sess_123", limit=50)

    for trace in traces:
        print(f"{trace.timestamp}: {trace.action} by {trace.actor}")
        print(f"  Reason: {trace.details.get('reasoning')}")

    lines = capsys.readouterr().out.splitlines()
    assert lines[:6] == [
        "2024-03-15T10:00:00Z: session.created by api_key_abc123",
        "  Reason: New conversation",
        "2024-03-15T10:00:10Z: state.updated by api_key_abc123",
        "  Reason: Step 1 was done",
        "2024-03-15T10:00:12Z: turn.added by api_key_abc123",
        "  Reason: Because of 1",
    ]


def test_the_reasoning_field(sb: LocalClient) -> None:
    session = sb.sessions.create(agent_id="booking")

    sb.sessions.update_state(session_id=session.id, state={"step": "confirmed"})

    sb.sessions.update_state(
        session_id=session.id,
        state={"step": "confirmed", "confirmation_id": "ABC123"},
        reasoning="User confirmed booking via SMS code",
    )

    bad, good = sb.traces.list(session_id=session.id, action="state.updated")
    assert bad.details.get("reasoning") is None
    assert good.details["reasoning"] == "User confirmed booking via SMS code"
    assert good.details.state_diff == {"added": {"confirmation_id": "ABC123"}, "removed": {}, "modified": {}}


def test_root_cause_analysis(sb: LocalClient, capsys: pytest.CaptureFixture[str]) -> None:
    traces = sb.traces.list(session_id="sess_failed", limit=100)

    for trace in reversed(traces):
        if trace.action == "state.rolled_back":
            print(f"Rollback detected at {trace.timestamp}")
            print(f"Reason: {trace.details['reasoning']}")

    assert capsys.readouterr().out == (
        "Rollback detected at 2024-03-15T10:02:50Z\nReason: Agent exposed sensitive data\n"
    )


def test_comparative_analysis(sb: LocalClient, capsys: pytest.CaptureFixture[str]) -> None:
    success_traces = sb.traces.list(session_id="sess_success")
    failure_traces = sb.traces.list(session_id="sess_failure")

    for i, (s, f) in enumerate(zip(success_traces, failure_traces)):  # noqa: B905
        if s.action != f.action:
            print(f"Divergence at step {i}:")
            print(f"  Success: {s.action} - {s.details.get('reasoning')}")
            print(f"  Failure: {f.action} - {f.details.get('reasoning')}")
            break

    assert capsys.readouterr().out == (
        "Divergence at step 6:\n"
        "  Success: state.updated - Step 3 was done\n"
        "  Failure: state.rolled_back - Agent exposed sensitive data\n"
    )


def test_regression_testing(sb: LocalClient) -> None:
    original_session = "sess_bug_report_456"
    answered = []

    test_session = sb.sessions.fork(
        session_id=original_session,
        version=0,  # Start from the beginning
    )

    original_turns = sb.sessions.list_turns(session_id=original_session)

    for turn in original_turns:
        response = your_fixed_agent(session_id=test_session.id, user_input=turn.input.content)

        assert "error" not in response.lower()
        answered.append(response)

    assert len(answered) == 25
    assert test_session.turn_count == 0


def test_access_to_patient_data_as_a_trace(sb: LocalClient) -> None:
    trace = {
        "action": "patient_data.accessed",
        "actor": "nurse_jane_doe",
        "patient_id": "patient_123",
        "timestamp": "2024-03-15T10:23:45Z",
        "reasoning": "Reviewing medication history for appointment",
    }

    created = sb.traces.create(session_id="sess_123", **trace)  # type: ignore[arg-type]

    kept = sb.traces.get(created.id)
    assert (kept.action, kept.actor, kept.timestamp) == (trace["action"], trace["actor"], trace["timestamp"])
    assert kept.details == {"patient_id": "patient_123", "reasoning": trace["reasoning"]}
    assert sb.traces.list(session_id="sess_123", action="patient_data.accessed").first_id == created.id


def test_right_to_explanation(sb: LocalClient, capsys: pytest.CaptureFixture[str]) -> None:
    turn_789 = sb.sessions.list_turns("sess_123")[1].id

    turn = sb.sessions.get_turn(turn_id=turn_789)
    print(f"Recommendation reasoning: {turn.reasoning}")

    assert capsys.readouterr().out == "Recommendation reasoning: Because of 2\n"


def test_performance_monitoring(sb: LocalClient, capsys: pytest.CaptureFixture[str]) -> None:
    session = sb.sessions.get("sess_prod_123")
    alerts: list[str] = []

    def alert_team(message: str) -> None:
        alerts.append(message)

    traces = sb.traces.list(session_id=session.id, action="turn.added")

    response_times = [trace.details.get("metadata", {}).get("latency_ms", 0) for trace in traces]

    avg_latency = sum(response_times) / len(response_times)
    print(f"Average response time: {avg_latency}ms")

    if avg_latency > 5000:  # 5 seconds
        alert_team("Agent response time degraded")

    assert capsys.readouterr().out == "Average response time: 8500.0ms\n"
    assert alerts == ["Agent response time degraded"]


TABLE = {
    "session.created": {"agent_id", "user_id", "initial_state"},
    "state.updated": {"reasoning", "state_diff", "actor"},
    "turn.added": {"input", "output", "reasoning", "metadata"},
    "memory.created": {"content", "type", "tags", "session_id"},
    "state.rolled_back": {"from_version", "to_version", "reason"},
    "session.forked": {"source_session", "fork_version"},
}


def test_every_operation_leaves_the_trace_that_is_promised(sb: LocalClient) -> None:
    session = sb.sessions.create(agent_id="a", user_id="u", initial_state={"n": 0}).id
    sb.sessions.update_state(session, {"n": 1}, "counted")
    sb.sessions.add_turn(session, "hi", "hello", {"latency_ms": 3}, "greeted")
    sb.memory.add("Likes tea", "preference", session, ["drinks"])
    sb.sessions.rollback(session, 0, "too early")
    fork = sb.sessions.fork(session, version=1).id
    found: dict[str, Any] = {trace.action: trace for one in (session, fork) for trace in sb.traces.list(one)}
    assert found.keys() == TABLE.keys()
    for action, details in TABLE.items():
        assert details <= found[action].details.keys(), action
    assert found["state.rolled_back"].details.from_version == 1
    assert found["session.forked"].details == {
        "source_session": session,
        "source_session_id": session,
        "fork_version": 1,
        "reasoning": None,
    }
    assert found["turn.added"].details.input.content == "hi"
    assert found["memory.created"].resource_id == sb.memory.list(session)[0].id
