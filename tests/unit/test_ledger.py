"""Sessions, turns, versions and traces as views of the events; a fork is a cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.errors import ForkError
from pytest_statebase.ledger import (
    Event,
    ForkPoint,
    Ledger,
    MemoryAdded,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.values import ABSENT


def text(said: str) -> dict[str, str]:
    return {"type": "text", "content": said}


def session() -> Ledger:
    """Four turns: one version each in 1 and 3, two in 2, none in 4; an operator rolls back between 3 and 4."""
    shared = ["a"]
    return Ledger(
        [
            SessionCreated("sess_1", "support", "user_1", "2026-01-01T00:00:00Z", state={"n": 0, "list": shared}),
            TurnStarted(1, text("one")),
            StateUpdated(1, {"n": 1, "list": shared}, reasoning="first"),
            TurnAdded(text("1"), reasoning="said one"),
            TurnStarted(2, text("two")),
            StateUpdated(2, {"n": 2}),
            ToolCalled("look", {"n": 2}, result=2),
            StateUpdated(3, {"n": 3}),
            TurnAdded(text("2")),
            TurnStarted(3, text("three")),
            StateUpdated(4, {"n": 4}),
            TurnAdded(text("3")),
            MemoryAdded("likes tea", "preference", ["drink"]),
            StateRolledBack(5, 1, {"n": 1, "list": shared}, reason="exposed data", actor="operator"),
            TurnStarted(4, text("four")),
            TurnAdded(text("4")),
            SessionEnded("completed"),
        ]
    )


def test_views() -> None:
    ledger = session()
    assert [turn.number for turn in ledger.turns] == [1, 2, 3, 4]
    assert [(turn.version_before, turn.version_after) for turn in ledger.turns] == [(0, 1), (1, 3), (3, 4), (5, 5)]
    assert [(version.version, version.turn) for version in ledger.versions] == [
        (0, None),
        (1, 1),
        (2, 2),
        (3, 2),
        (4, 3),
        (5, None),
    ]
    assert ledger.turn(2).calls[0].tool == "look"
    assert ledger.turn(4).output == text("4")
    assert ledger.state == {"n": 1, "list": ["a"]}
    assert ledger.state_before(3) == {"n": 3}
    assert ledger.ended is not None
    assert [memory.content for memory in ledger.memories] == ["likes tea"]
    assert ledger.next_version() == 6


def test_traces_tell_who_when_why_and_what() -> None:
    traces = session().traces
    assert [trace.action for trace in traces] == [
        "session.created",
        "state.updated",
        "turn.added",
        "state.updated",
        "state.updated",
        "turn.added",
        "state.updated",
        "turn.added",
        "memory.created",
        "state.rolled_back",
        "turn.added",
    ]
    created, updated, added = traces[:3]
    assert created.details["initial_state"] == {"n": 0, "list": ["a"]}
    assert updated.details["state_diff"] == {"added": {}, "removed": {}, "modified": {"n": {"from": 0, "to": 1}}}
    assert (updated.reasoning, updated.details["version"]) == ("first", 1)
    assert (added.details["turn_number"], added.details["input"]["content"]) == (1, "one")
    rolled = traces[9]
    assert (rolled.actor, rolled.details["from_version"], rolled.details["to_version"]) == ("operator", 4, 1)
    assert rolled.details["reason"] == "exposed data"


@pytest.mark.parametrize(
    ("point", "turns", "version", "following"),
    [
        ("version 0", [], 0, 1),
        ("version 1", [1], 1, 2),
        ("version 2", [1, 2], 2, 3),
        ("version 4", [1, 2, 3], 4, 4),
        ("version 5", [1, 2, 3], 5, 4),
        ("turn 1", [], 0, 1),
        ("turn 2", [1], 1, 2),
        ("turn 4", [1, 2, 3], 5, 4),
    ],
)
def test_fork_points(point: str, turns: list[int], version: int, following: int) -> None:
    ledger = session()
    before = list(ledger.events)
    fork = ledger.fork(ForkPoint.parse(point))
    assert [turn.number for turn in fork.turns] == turns
    assert (fork.version, fork.next_number()) == (version, following)
    assert fork.state == ledger.version_of(version).state
    assert fork.forked is not None
    assert (fork.forked.source, fork.forked.version) == ("sess_1", version)
    assert fork.id == f"sess_1-fork-{point.replace(' ', '-')}"
    assert fork.traces[-1].action == "session.forked"
    assert fork.traces[-1].details["source_session"] == "sess_1"
    assert ledger.events == before


def test_a_turn_that_a_fork_cuts_stays_partial() -> None:
    fork = session().fork(ForkPoint("version", 2))
    assert fork.turns[-1].added is None
    assert fork.turns[-1].output is ABSENT
    assert fork.turns[-1].calls == []


def test_fourteen_versions_replay_turn_fifteen_first() -> None:
    events: list[Event] = [SessionCreated("sess_prod_123", state={})]
    for number in range(1, 21):
        events += [TurnStarted(number, text("go")), StateUpdated(number, {"n": number}), TurnAdded(text("ok"))]
    ledger = Ledger(events)
    assert ledger.fork(ForkPoint("version", 14)).next_number() == 15
    assert ledger.versions[14].state == ledger.state_before(15)


def test_version_0_is_the_start_where_no_first_state_is_known() -> None:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, None)])
    assert ledger.next_version() == 1
    ledger.append(StateUpdated(1, {"a": 1}))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))
    fork = ledger.fork(ForkPoint("version", 0))
    assert (len(fork.turns), fork.next_number(), fork.next_version()) == (0, 1, 1)
    assert len(ledger.fork(ForkPoint("version", 1)).turns) == 1


def test_a_record_that_counts_its_first_update_as_version_0_begins_at_its_start_too() -> None:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, None), StateUpdated(0, {"a": 1}), TurnAdded(ABSENT)])
    assert ledger.fork(ForkPoint("version", 0)).next_number() == 1


def test_last_good_is_before_the_first_failing_turn() -> None:
    ledger = session()
    assert ledger.resolve(ForkPoint("last-good"), failing=[4, 3]) == ForkPoint("turn", 3)
    with pytest.raises(ForkError, match="no turn is marked as failing"):
        ledger.fork(ForkPoint("last-good"))


@pytest.mark.parametrize(
    ("point", "has"), [("turn 9", "turns 1 to 4"), ("turn 0", "turns 1 to 4"), ("version 6", "versions 0 to 5")]
)
def test_points_that_are_not_there_name_those_that_are(point: str, has: str) -> None:
    with pytest.raises(ForkError, match=has):
        session().fork(ForkPoint.parse(point))


@pytest.mark.parametrize(
    "wrong", ["", "turn", "turn two", "version -1", "version 1.5", "last", "turn 1 2", "turn " + "9" * 10]
)
def test_what_is_no_fork_point(wrong: str) -> None:
    with pytest.raises(ForkError, match="is no fork point"):
        ForkPoint.parse(wrong)


def test_states_are_unshared() -> None:
    ledger = session()
    fork = ledger.fork(ForkPoint("version", 1))
    fork.state["list"].append("b")
    fork.versions[1].state["list"].append("c")
    assert ledger.versions[1].state == ledger.versions[5].state == {"n": 1, "list": ["a"]}
    assert fork.state == {"n": 1, "list": ["a"]}


@given(st.lists(st.sampled_from(["turn", "update", "rollback", "end"]), max_size=30), st.data())
def test_ledger_agrees_with_a_simple_model(steps: list[str], data: Any) -> None:
    """Random operations and a random fork: versions, states and turns agree with a list, the source never changes."""
    ledger = Ledger([SessionCreated("s", state=0)])
    states: list[int] = [0]
    started: list[tuple[int, int]] = []
    for number, step in enumerate(steps, start=1):
        if step == "update":
            ledger.append(StateUpdated(len(states), number))
            states.append(number)
        elif step == "rollback":
            target = data.draw(st.integers(0, len(states) - 1))
            ledger.append(StateRolledBack(len(states), target, states[target]))
            states.append(states[target])
        elif step == "turn":
            ledger.append(TurnStarted(len(started) + 1, text("x")))
            started.append((len(started) + 1, len(states) - 1))
        else:
            ledger.append(TurnAdded(text("y")))
    assert [version.state for version in ledger.versions] == states
    assert [(turn.number, turn.version_before) for turn in ledger.turns] == started
    before = list(ledger.events)
    version = data.draw(st.integers(0, len(states) - 1))
    fork = ledger.fork(ForkPoint("version", version))
    assert [v.state for v in fork.versions] == states[: version + 1]
    fork.append(StateUpdated(fork.next_version(), "new"))
    assert fork.version == version + 1
    for number, at in started:
        assert ledger.fork(ForkPoint("turn", number)).state == states[at]
    assert ledger.events == before
