"""The samples of StateBase's documentation on replay and audit through the real package, where it has the call.

It has no calls for versions, traces and single turns: those are asked of the local client behind the same server. Its
lists come newest first and 20 at a time, as the service's do, so that the page's `turns[14]` counts from the end. Calls
of tools are folded into the turns that they belong to, as the page counts turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from statebase import AsyncStateBase, StateBase
from statebase_sessions import production
from test_page_samples import TABLE, your_fixed_agent

from pytest_statebase.statebase import LocalClient
from pytest_statebase.statebase.app import Served


@pytest.fixture
def local() -> LocalClient:
    ids = {"sess_prod_123": 16, "sess_123": 3, "sess_bug_report_456": 25}
    return LocalClient({session: production(session, turns) for session, turns in ids.items()})


@pytest.fixture
def url(local: LocalClient) -> Iterator[str]:
    with Served(local, tool_turns=False) as url:
        yield url


@pytest.fixture
def sb(url: str) -> Iterator[StateBase]:
    with StateBase(api_key="any", base_url=url) as client:
        yield client


def test_replay_of_a_production_session(sb: StateBase, local: LocalClient, capsys: pytest.CaptureFixture[str]) -> None:
    turns = sb.sessions.list_turns(session_id="sess_prod_123", limit=20)[::-1]

    state_versions = local.sessions.list_state_versions(session_id="sess_prod_123")
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


def test_the_reasoning_field(sb: StateBase, local: LocalClient) -> None:
    session = sb.sessions.create(agent_id="booking")

    sb.sessions.update_state(session_id=session.id, state={"step": "confirmed"})

    sb.sessions.update_state(
        session_id=session.id,
        state={"step": "confirmed", "confirmation_id": "ABC123"},
        reasoning="User confirmed booking via SMS code",
    )

    bad, good = local.traces.list(session_id=session.id, action="state.updated")
    assert bad.details.get("reasoning") is None
    assert good.details["reasoning"] == "User confirmed booking via SMS code"
    assert good.details.state_diff == {"added": {"confirmation_id": "ABC123"}, "removed": {}, "modified": {}}


def test_regression_testing(sb: StateBase) -> None:
    original_session = "sess_bug_report_456"
    answered = []

    test_session = sb.sessions.fork(
        session_id=original_session,
        version=0,  # Start from the beginning
    )

    original_turns = sb.sessions.list_turns(session_id=original_session, limit=100)[::-1]

    for turn in original_turns:
        response = your_fixed_agent(session_id=test_session.id, user_input=turn.input.content)

        assert "error" not in response.lower()
        answered.append(response)

    assert len(answered) == 25
    assert [turn.turn_number for turn in original_turns] == list(range(1, 26))
    assert test_session.turn_count == 0
    # As the page has it, without a limit, the service gives a page alone.
    assert len(sb.sessions.list_turns(session_id=original_session)) == 20


def test_right_to_explanation(sb: StateBase, capsys: pytest.CaptureFixture[str]) -> None:
    turn = sb.sessions.list_turns(session_id="sess_123")[1]
    print(f"Recommendation reasoning: {turn.reasoning}")

    assert capsys.readouterr().out == "Recommendation reasoning: Because of 2\n"


def test_performance_monitoring(sb: StateBase, capsys: pytest.CaptureFixture[str]) -> None:
    session = sb.sessions.get("sess_prod_123")

    turns = sb.sessions.list_turns(session_id=session.id, limit=100)
    response_times = [(turn.metadata or {}).get("latency_ms", 0) for turn in turns]

    avg_latency = sum(response_times) / len(response_times)
    print(f"Average response time: {avg_latency}ms")

    assert capsys.readouterr().out == "Average response time: 8500.0ms\n"


def test_every_operation_leaves_the_trace_that_is_promised(sb: StateBase, local: LocalClient) -> None:
    session = sb.sessions.create(agent_id="a", user_id="u", initial_state={"n": 0}).id
    sb.sessions.update_state(session, {"n": 1}, "counted")
    sb.sessions.add_turn(session, "hi", "hello", {"latency_ms": 3}, "greeted")
    sb.memory.add("Likes tea", "preference", session, ["drinks"])
    sb.sessions.rollback(session, 0)
    fork = sb.sessions.fork(session, version=1).id
    found: dict[str, Any] = {trace.action: trace for one in (session, fork) for trace in local.traces.list(one)}
    assert found.keys() == TABLE.keys()
    for action, details in TABLE.items():
        assert details <= found[action].details.keys(), action
    assert found["state.rolled_back"].details.to_version == 0
    assert all(trace.timestamp for trace in found.values())


def test_the_asynchronous_package(url: str, local: LocalClient) -> None:
    async def replayed() -> tuple[Any, Any, Any]:
        async with AsyncStateBase(api_key="any", base_url=url) as sb:
            debug_session = await sb.sessions.fork(session_id="sess_prod_123", version=14)
            state = await sb.sessions.get_state(debug_session.id)
            return debug_session, state.state, (await sb.sessions.list_turns("sess_prod_123", limit=100))[::-1]

    debug_session, state, turns = asyncio.run(replayed())
    assert debug_session.metadata["forked_version"] == 14
    assert state == turns[14].state_before == local.sessions.list_state_versions("sess_prod_123")[14].state
