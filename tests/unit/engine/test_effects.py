"""What a replay takes over from the recording: effects of tools, events between turns, broken-off turns."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_statebase import AgentReply, ForkPoint, Ledger, replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.engine.tools import ToolCaller
from pytest_statebase.ledger import (
    Event,
    MemoryAdded,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.values import changed_alike


def text(said: str) -> dict[str, str]:
    return {"type": "text", "content": said}


def session(*events: Event, state: Any = None) -> Cassette:
    return Cassette.from_ledger(
        Ledger([SessionCreated("sess_1", state=state if state is not None else {"n": 0}), *events])
    )


def told(cassette: Cassette, agent: Any, **options: Any) -> list[tuple[int, str, str, str]]:
    result = replay(cassette, agent, **options)
    return [(t.turn, str(t.verdict), str(d.kind), d.path) for t in result.turns for d in t.divergences if not d.note]


EFFECT = session(
    TurnStarted(1, text("book")),
    ToolCalled("book", {"seat": 3}, result="ok"),
    StateUpdated(1, {"n": 0, "seats": [3]}, during=0),
    StateUpdated(2, {"n": 1, "seats": [3]}),
    TurnAdded(text("booked")),
)


def test_the_effects_of_a_stubbed_call_happen_again() -> None:
    def agent(tools: ToolCaller, state: dict[str, Any]) -> str:
        tools.book(seat=3)
        state["n"] += 1
        return "booked"

    assert replay(EFFECT, agent).verdicts == {"unchanged": 1}


def test_without_the_call_its_effect_does_not_happen() -> None:
    def agent(state: dict[str, Any]) -> str:
        state["n"] += 1
        return "booked"

    assert told(EFFECT, agent) == [(1, "changed", "missing", "tools.book"), (1, "changed", "removed", "state.seats")]


def test_an_effect_keeps_what_the_agent_did_otherwise() -> None:
    def agent(tools: ToolCaller, state: dict[str, Any]) -> str:
        state["n"] = 7
        tools.book(seat=3)
        return "booked"

    assert told(EFFECT, agent) == [(1, "changed", "value", "state.n")]


BETWEEN = session(
    TurnStarted(1, text("one")),
    StateUpdated(1, {"n": 1, "leak": "4111"}),
    TurnAdded(text("1")),
    MemoryAdded("likes tea"),
    StateRolledBack(2, 0, {"n": 0}, reason="exposed data", actor="operator"),
    TurnStarted(2, text("two")),
    TurnAdded(text("2")),
    StateUpdated(3, {"n": 0, "vip": True}, actor="operator"),
    TurnStarted(3, text("three")),
    StateUpdated(4, {"n": 3, "vip": True}),
    TurnAdded(text("3")),
)


def test_events_between_turns_happen_to_the_fork() -> None:
    seen: list[Any] = []

    def agent(turn: int, state: dict[str, Any]) -> str:
        seen.append(dict(state))
        if turn == 1:
            state.update(n=1, leak="4111")
        elif turn == 3:
            state["n"] = 3
        return str(turn)

    assert replay(BETWEEN, agent).verdicts == {"unchanged": 3}
    assert seen == [{"n": 0}, {"n": 0}, {"n": 0, "vip": True}]


def test_a_replay_that_went_another_way_gets_the_operators_change_alone() -> None:
    seen: list[Any] = []

    def agent(turn: int, state: dict[str, Any]) -> str:
        seen.append(dict(state))
        state["own"] = turn
        return str(turn)

    replay(BETWEEN, agent)
    assert seen == [{"n": 0}, {"n": 0}, {"n": 0, "own": 2, "vip": True}]


MIDDLE = session(
    TurnStarted(1, text("one")),
    ToolCalled("look", {"n": 1}, result="seen"),
    StateUpdated(1, {"n": 1}),
    ToolCalled("pay", {"n": 1}, result="paid"),
    StateUpdated(2, {"n": 2}),
    TurnAdded(text("1")),
    StateUpdated(3, {"n": 3}, actor="operator"),
    TurnStarted(2, text("two")),
    StateUpdated(4, {"n": 4}),
    TurnAdded(text("2")),
)


def test_a_fork_inside_a_turn_goes_on_with_the_next_one() -> None:
    seen: list[Any] = []

    def agent(turn: int, state: dict[str, Any], history: list[Any]) -> AgentReply:
        seen.append((turn, dict(state), [(t.number, t.added is None, [c.tool for c in t.calls]) for t in history]))
        return AgentReply("2", state={"n": 4})

    result = replay(MIDDLE, agent, fork="version 1")
    assert result.verdicts == {"unchanged": 1}
    # The state as it stood in the middle of turn 1, then the operator's change; turn 1 stays partial.
    assert seen == [(2, {"n": 3}, [(1, True, ["look"])])]


CUT = session(
    TurnStarted(1, text("one")),
    StateUpdated(1, {"n": 1}),
    TurnAdded(text("1")),
    TurnStarted(2, text("two")),
    ToolCalled("look", {"n": 2}),
    TurnAdded(interrupted=True),
    SessionEnded("cancelled"),
)


def test_a_recording_that_ends_in_a_call_has_no_answer_to_it() -> None:
    def agent(turn: int, tools: ToolCaller) -> AgentReply:
        if turn == 2:
            tools.look(n=2)
        return AgentReply(str(turn), state={"n": 1})

    result = replay(CUT, agent, fork="turn 2")
    assert result.verdicts == {"unrecorded": 1}
    assert "the recording has no result for it" in str(result.turn(2).calls[0].explanation)
    assert not result.passed


def test_a_fork_at_the_cut_shows_the_state_as_recorded() -> None:
    fork = CUT.ledger.fork(ForkPoint("version", 1))
    assert (fork.state, fork.next_number()) == ({"n": 1}, 2)
    pending = CUT.ledger.turn(2).calls
    assert [(call.tool, call.arguments) for call in pending] == [("look", {"n": 2})]
    assert "look" in str(replay(CUT, lambda text: "1", fork="version 1").turn(2).divergences[0].path)


def test_two_inputs_before_any_event_are_one() -> None:
    cassette = session(TurnStarted(1, [text("one"), text("and two")]), TurnAdded(text("done")))
    heard: list[str] = []

    def agent(user_input: str) -> str:
        heard.append(user_input)
        return "done"

    assert replay(cassette, agent).verdicts == {"unchanged": 1}
    assert heard == ["one\nand two"]


@pytest.mark.parametrize(
    ("current", "before", "after", "wanted"),
    [
        ({"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1, "own": 1}, {"a": 1}, {"a": 2}, {"a": 2, "own": 1}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1}, {"a": 1}),
        ({"a": {"x": 1, "y": 9}}, {"a": {"x": 1}}, {"a": {"x": 2}}, {"a": {"x": 2, "y": 9}}),
        ({"own": 1}, {"a": 1}, {"a": 1}, {"own": 1}),
        ({"own": 1}, {"a": 1}, {"a": 2}, {"own": 1, "a": 2}),
        ([1], [1], [1, 2], [1, 2]),
        ([9], [1], [1], [9]),
        ({"a": 1}, {"a": 1}, {"a": 1.0}, {"a": 1.0}),
    ],
)
def test_changed_alike(current: Any, before: Any, after: Any, wanted: Any) -> None:
    found = changed_alike(current, before, after)
    assert (found, str(found)) == (wanted, str(wanted))
