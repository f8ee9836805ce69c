"""Hard cases of comparison, through whole replays: the values that an agent leaves reach the verdict as they are."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from typing import Any

import pytest
from compare_data import T, call, record

from pytest_statebase import AgentReply, replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.cassette.plan import Plan
from pytest_statebase.compare.diff import NOT_COMPARABLE
from pytest_statebase.compare.model import ReplayResult
from pytest_statebase.errors import PlanError
from pytest_statebase.report.results import result_to_row

TEN = datetime.datetime(2024, 1, 1, 10, 0)
UTC_TEN = TEN.replace(tzinfo=datetime.UTC)


def after(recorded: Any, replayed: Any, *ignore: str) -> ReplayResult:
    """A replay of three turns: in the second one the recording left the one state, the agent leaves the other."""
    ledger = record(T(state={"turn": 1}), T(state=recorded), T(state={"turn": 3}))
    states = [{"turn": 1}, replayed, {"turn": 3}]

    def agent(turn: int, state: Any) -> AgentReply:
        return AgentReply("Done.", states[turn - 1])

    where = {f"ignore[{number}]": f"p.session.yaml:3:{number}" for number in range(len(ignore))}
    return replay(Cassette.from_ledger(ledger, Plan(ignore=ignore, where=where)), agent)


def told(result: ReplayResult) -> list[tuple[str, str]]:
    return [(str(found.kind), found.path) for found in result.turn(2).divergences]


def test_numeric_types_inside_lists() -> None:
    result = after({"scores": [2, 1]}, {"scores": [2.0, True]})
    assert told(result) == [("type", "state.scores[0]"), ("type", "state.scores[1]")]
    assert result.turn(2).verdict == "changed"


def test_a_rule_hides_one_key_and_the_rest_is_compared() -> None:
    old = {"id": 1, "paid": 5, "m": {"t1": 0}}
    new = {"id": 2, "paid": 6, "m": {"t2": 0}}
    assert told(after(old, new, "id", "state.m.*")) == [("value", "state.paid")]
    assert told(after(old, new, "id")) == [
        ("value", "state.paid"),
        ("removed", "state.m.t1"),
        ("added", "state.m.t2"),
    ]


def test_a_rule_that_matches_nothing_is_a_warning() -> None:
    result = after({"id": 1}, {"id": 1}, "state.idd")
    assert result.warnings == ["the ignore rule `state.idd` hid nothing"]


def test_a_malformed_rule_is_an_error() -> None:
    with pytest.raises(PlanError, match=r"^p\.session\.yaml:3:0: the path 'state\.\.id'"):
        after({"id": 1}, {"id": 1}, "state..id")


@pytest.mark.parametrize(
    ("recorded", "replayed"),
    [(TEN, UTC_TEN), (UTC_TEN, UTC_TEN.astimezone(datetime.timezone(datetime.timedelta(hours=2))))],
)
def test_zones_count_and_are_shown_as_they_were(recorded: datetime.datetime, replayed: datetime.datetime) -> None:
    result = after({"at": recorded}, {"at": replayed})
    assert told(result) == [("value", "state.at")]
    row = json.dumps(result_to_row(result))
    assert recorded.isoformat() in row
    assert replayed.isoformat() in row


def test_not_a_number_equals_itself() -> None:
    assert after({"x": float("nan")}, {"x": float("nan")}).passed


def test_handles_cannot_be_judged() -> None:
    result = after({"handle": object()}, {"handle": object()})
    assert told(result) == [("value", "state.handle")]
    assert result.turn(2).divergences[0].detail == NOT_COMPARABLE


def numbers() -> Iterator[int]:
    yield from (1, 2)


def test_a_generator_is_left_to_the_agent() -> None:
    recorded, replayed = numbers(), numbers()
    result = after({"numbers": recorded}, {"numbers": replayed})
    assert result.turn(2).divergences[0].detail == NOT_COMPARABLE
    assert list(replayed) == [1, 2]


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = {"in": leaf}
    return leaf


def test_depth_is_compared() -> None:
    assert after(nested(900, 1), nested(900, 1)).passed
    result = after(nested(900, TEN), nested(900, UTC_TEN))
    assert told(result) == [("value", "state" + ".in" * 900)]
    assert result.turn(3).replayed is not None
    assert json.dumps(result_to_row(result))


def test_a_state_that_holds_itself_fails_its_own_turn_alone() -> None:
    recorded: dict[str, Any] = {"n": 1}
    replayed: dict[str, Any] = {"n": 1}
    recorded["self"], replayed["self"] = recorded, replayed
    result = after(recorded, replayed)
    assert [str(turn.verdict) for turn in result.turns] == ["unchanged", "changed", "off-script"]
    assert result.turn(2).divergences[0].detail == "could not be compared: too deep or too large"


class Raising:
    def __eq__(self, other: object) -> bool:
        raise ValueError("no")

    __hash__ = object.__hash__


def test_a_failure_to_compare_fails_its_own_turn_alone() -> None:
    result = after({"x": Raising()}, {"x": Raising()})
    assert [str(turn.verdict) for turn in result.turns] == ["unchanged", "changed", "off-script"]
    assert result.turn(2).divergences[0].detail == "could not be compared: ValueError"


def test_a_rule_for_one_call_of_a_tool_leaves_its_others() -> None:
    ledger = record(T((call("log", text="a"), call("log", text="b"))))

    def agent(turn: int, tools: Any) -> str:
        tools.log(text="changed")
        tools.log(text=second)
        return "Done."

    recording = Cassette.from_ledger(ledger, Plan(ignore=("tools.log#1.arguments.text",)))
    second = "b"
    assert replay(recording, agent).passed
    second = "changed too"
    (found,) = replay(recording, agent).turn(1).divergences
    assert (found.kind, found.path) == ("arguments", "tools.log#2.arguments.text")
