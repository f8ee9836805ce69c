"""Known divergences are excused until their day has passed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from pytest_statebase import Cassette, ReplayResult, TurnResult, record_session, replay
from pytest_statebase.cassette import Known, Plan
from pytest_statebase.compare import known
from pytest_statebase.compare.model import Group
from tests import toy

LEDGER = record_session(toy.Toy, toy.INPUTS, session_id="sess_toy", tools=toy.TOOLS, state={"turns": 0, "cart": []})
DAY = date(2026, 11, 1)


def run(
    agent: type, *prints: str, until: date = DAY, plan: Plan | None = None, mode: str = "continuous"
) -> ReplayResult:
    entries = tuple(Known(one, until, "PAY-12") for one in prints)
    cassette = Cassette.from_ledger(LEDGER, replace(plan or Plan(), known=entries))
    return replay(cassette, agent, tools=toy.TOOLS, mode=mode)  # type: ignore[arg-type]


def prints(agent: type, turn: int) -> list[str]:
    return [found.fingerprint for found in run(agent).turn(turn).divergences]


@pytest.fixture(autouse=True)
def on_its_last_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "today", lambda: DAY)


def excused(result: TurnResult) -> tuple[str, bool, Group]:
    return str(result.verdict), result.excused, result.group


def test_the_verdict_stays_and_the_group_is_review() -> None:
    result = run(toy.OtherState, *prints(toy.OtherState, 3))
    assert excused(result.turn(3)) == ("changed", True, Group.REVIEW)
    assert [entry.ticket for entry in result.turn(3).known] == ["PAY-12"]
    assert result.passed
    assert [(use.matched, use.expired) for use in result.known] == [(True, False)]


def test_the_day_after_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "today", lambda: date(2026, 11, 2))
    result = run(toy.OtherState, *prints(toy.OtherState, 3))
    assert excused(result.turn(3)) == ("changed", False, Group.FAIL)
    assert [entry.until for entry in result.turn(3).expired] == [DAY]
    assert not result.passed
    assert result.known[0].expired


def test_one_of_two_is_not_enough() -> None:
    class Both(toy.OtherState):
        def items(self, turn: int) -> list[str]:
            return [] if turn == 3 else super().items(turn)

    missing, state = prints(Both, 3)[:2]
    assert excused(run(Both, state).turn(3))[1] is False
    # The state follows from the call that was not made.
    assert excused(run(Both, missing).turn(3))[1] is True


def test_wording_needs_no_entry_unless_it_is_exact() -> None:
    class Wordy(toy.OtherState, toy.OtherText):
        pass

    state = next(one.fingerprint for one in run(Wordy).turn(3).divergences if one.facet == "state")
    assert run(Wordy, state).turn(3).excused
    # In an exact comparison the words follow from the state; alone they are not known.
    exact = Plan(compare={"output": "exact"})
    assert run(Wordy, state, plan=exact).turn(3).excused
    assert not run(toy.OtherText, state, plan=exact).passed


def test_the_turns_behind_a_known_miss_are_excused_with_it() -> None:
    found = prints(toy.ExtraCall, 2)
    result = run(toy.ExtraCall, *found)
    assert [excused(turn)[:2] for turn in result.turns] == [
        ("unchanged", False),
        ("unrecorded", True),
        ("not-replayed", True),
    ]
    assert result.passed
    assert run(toy.ExtraCall, *found, mode="isolated").passed


def test_an_entry_that_matches_nothing() -> None:
    result = run(toy.Toy, "0123456789ab")
    assert [use.matched for use in result.known] == [False]
    assert result.passed


def test_a_failing_turn_that_was_not_replayed_still_fails() -> None:
    plan = Plan(failing=frozenset({3}))
    result = run(toy.ExtraCall, *prints(toy.ExtraCall, 2), plan=plan)
    assert result.failure == "failing turn 3 was not replayed"
