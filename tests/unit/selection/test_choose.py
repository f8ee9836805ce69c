from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.ledger import Event, Ledger, SessionCreated, StateRolledBack, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.selection.choose import Selection, Wanted, choose
from pytest_statebase.selection.features import features_of
from pytest_statebase.selection.rules import Limits, Rule
from pytest_statebase.selection.survey import Survey


def ledgers_there() -> int:
    gc.collect()
    return sum(isinstance(one, Ledger) for one in gc.get_objects())


def session(id: str, *tools: str | Event, ms: float | None = None, **created: Any) -> Ledger:
    """A session of one turn."""
    calls = [ToolCalled(tool) if isinstance(tool, str) else tool for tool in tools]
    added = TurnAdded({"type": "text", "content": "x"}, metadata=None if ms is None else {"latency_ms": ms})
    return Ledger([SessionCreated(id, **created), TurnStarted(1, {"type": "text", "content": "y"}), *calls, added])


def survey(*ledgers: Ledger, **more: Any) -> Survey:
    made = Survey()
    for ledger in ledgers:
        made.add(ledger, Path(f"{ledger.id}.session.yaml"), **more)
    return made


def ids(selection: Selection) -> list[str]:
    return [pick.session.id for pick in selection.picks]


FAILED = ToolCalled("a", error={"type": "KeyError", "message": ""})


def test_the_fewest_that_show_everything() -> None:
    selection = choose(survey(session("1", "a"), session("2", "a", "b"), session("3", "a", "b", FAILED)), Wanted())
    # The call that failed is the last of the third; the second alone ends with b, the first is in neither.
    assert ids(selection) == ["3", "2"]
    assert selection.cover is not None
    assert selection.cover.is_smallest
    assert selection.missing == []
    assert selection.sessions == 3
    adds = [{feature.text for feature in pick.adds} for pick in selection.picks]
    assert "a raised KeyError" in adds[0]
    assert adds[1] == {"b → turn ends", "b → session ends"}


def test_of_equals_the_whole_and_the_short_one() -> None:
    made = survey(session("long", "a", "a", "a"))
    made.add(session("cut", "a", "a"), Path("x"), cut=True)
    made.add(session("whole", "a", "a"), Path("x"))
    assert ids(choose(made, Wanted())) == ["whole"]


def test_what_is_covered_needs_no_more() -> None:
    covered = features_of(session("x", "a", "b"))
    selection = choose(survey(session("1", "a", "b"), session("2", "b", "c")), Wanted(), covered)
    assert ids(selection) == ["2"]
    assert selection.covered == 5
    assert {feature.text for feature in selection.picks[0].adds}.isdisjoint(feature.text for feature in covered)


def test_everything() -> None:
    selection = choose(survey(session("1", "a"), session("2", "a"), session("3", "b")), Wanted(everything=True))
    assert sorted(ids(selection)) == ["1", "2", "3"]
    assert selection.cover is None


def test_a_limit_takes_those_that_show_most_together() -> None:
    made = survey(session("1", "a", "b"), session("2", "c"), session("3", "d", "e", "f", "g"))
    selection = choose(made, Wanted(most=1))
    assert ids(selection) == ["3"]
    assert {feature.text for feature in selection.missing} >= {"a → b", "c → turn ends"}
    assert len(choose(made, Wanted(most=5)).picks) == 3


def test_what_rules_keep_comes_first_and_counts() -> None:
    rolled = StateRolledBack(1, 0, {})
    made = survey(session("1", "a"), session("2", "a", FAILED), session("3", "b", rolled), session("4", "a", "b", "a"))
    selection = choose(made, Wanted(frozenset({Rule.ERRORS, Rule.ROLLBACKS}), most=2))
    assert set(ids(selection)) == {"2", "3"}
    reasons = {pick.session.id: pick.reasons for pick in selection.picks}
    assert reasons == {
        "2": ["errors: a raised KeyError"],
        "3": ["rollbacks: the state was rolled back once"],
    }
    assert all(pick.reasons == [] for pick in choose(made, Wanted()).picks)


def many() -> Iterator[Ledger]:
    for number in range(200):
        yield session(f"{number:03}", *("ab" if number != 77 else "ba"), ms=5_000 if number == 3 else 100 + number)


def test_slow_and_unusual_are_told_by_the_others() -> None:
    selection = choose(survey(*many()), Wanted(frozenset({Rule.SLOW, Rule.UNUSUAL}), Limits(slow=0.01, unusual=0.01)))
    reasons = {pick.session.id: pick.reasons for pick in selection.picks if pick.reasons}
    assert reasons["003"] == ["slow: a turn took 5,000 ms"]
    assert reasons["199"] == ["slow: a turn took 299 ms"]
    assert len(reasons) == 3
    assert reasons["077"] == ["unusual: a → session ends, in 1 of 200 sessions and 4 more"]


def test_limits_that_are_numbers() -> None:
    wanted = Wanted(frozenset({Rule.SLOW, Rule.UNUSUAL}), Limits(slow=1_000, unusual=1))
    kept = [pick.session.id for pick in choose(survey(*many()), wanted).picks if pick.reasons]
    assert sorted(kept) == ["003", "077"]


def test_what_cannot_be_told_is_said() -> None:
    selection = choose(survey(session("1", "a")), Wanted(frozenset(Rule)))
    assert selection.notes == [
        "unusual: 1.00% of all sessions (1) are less than one",
        "slow: no session tells how long its turns took",
    ]


def test_where_all_are_as_slow_none_is() -> None:
    made = survey(*(session(str(number), "a", ms=100) for number in range(100)))
    assert not choose(made, Wanted(frozenset({Rule.SLOW}))).picks[0].reasons


def test_feedback_and_what_capture_saw() -> None:
    made = survey(session("1", "a", metadata={"feedback": [{"value": "thumbs_down\x1b", "comment": "no"}]}))
    made.add(session("2", "b"), Path("x"), marks=("errors", "slow"))
    made.add(session("3", "b"), Path("x"), marks=("errors",))
    selection = choose(made, Wanted(frozenset({Rule.FEEDBACK, Rule.SLOW})))
    assert {pick.session.id: pick.reasons for pick in selection.picks} == {
        "1": ["feedback: thumbs_down\\x1b"],
        "2": ["slow: as it was captured"],
    }


@pytest.mark.parametrize("sessions", [3_000])
def test_no_ledger_is_kept(sessions: int) -> None:
    made = Survey()
    before = ledgers_there()
    for number in range(sessions):
        made.add(session(str(number), *"abc"[: number % 3 + 1], state={"x": {"y": [number]}}), Path("x"))
    assert ledgers_there() == before
    assert len(made.sessions) == sessions
    assert len(made.features) < 20
    assert len(choose(made, Wanted()).picks) == 3
