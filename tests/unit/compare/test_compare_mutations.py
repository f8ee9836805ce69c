"""One change to a session of three turns at a time: each is one divergence, named as what it is, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from compare_data import T, answered, call, judged, missed, record, replay_of, text, told, verdicts

from pytest_statebase.cassette.plan import Plan
from pytest_statebase.compare.model import Observed, ReplayedCall, Source
from pytest_statebase.compare.verdicts import judge
from pytest_statebase.ledger import Ledger


@pytest.fixture
def ledger() -> Ledger:
    return record(
        T((call("fetch", key="a"),), "One.", {"step": 1}),
        T((call("fetch", key="b"), call("fetch", key="c")), "Two.", {"step": 2}),
        T((call("fetch", key="d"),), "Three.", {"step": 3}),
    )


@pytest.fixture
def observed(ledger: Ledger) -> list[Observed]:
    return replay_of(ledger)


def stop_in(observed: list[Observed], turn: int, calls: list[ReplayedCall]) -> list[Observed]:
    """The replay where turn `turn` ended with a miss."""
    return [*observed[: turn - 1], Observed(turn, calls, missed=True)]


def test_no_change(ledger: Ledger, observed: list[Observed]) -> None:
    results = judged(ledger, observed)
    assert verdicts(results) == ["unchanged"] * 3
    assert told(results) == []
    assert [row.label for row in results[1].aligned] == ["fetch", "fetch#2"]


def test_wrong_argument_that_was_never_recorded(ledger: Ledger, observed: list[Observed]) -> None:
    replay = stop_in(observed, 2, [missed(2, "fetch", key="x")])
    results = judged(ledger, replay, stopped="turn 2 made a call that has no answer")
    assert told(results) == [(2, "tools", "arguments", "tools.fetch.arguments.key")]
    assert (results[1].divergences[0].recorded, results[1].divergences[0].replayed) == ("b", "x")
    assert verdicts(results) == ["unchanged", "unrecorded", "not-replayed"]
    assert results[2].reason == "turn 2 made a call that has no answer"


def test_wrong_argument_that_another_turn_recorded(ledger: Ledger, observed: list[Observed]) -> None:
    recorded = ledger.turn(3).calls[0]
    observed[1].calls[0] = answered(3, 0, recorded, at=2)
    observed[2].calls[0].repeated = True
    results = judged(ledger, observed)
    assert told(results) == [(2, "tools", "arguments", "tools.fetch.arguments.key")]
    assert verdicts(results) == ["unchanged", "changed", "off-script"]


def test_another_tool_that_was_never_recorded(ledger: Ledger, observed: list[Observed]) -> None:
    results = judged(ledger, stop_in(observed, 2, [observed[1].calls[0], missed(2, "delete", key="c")]))
    assert told(results) == [(2, "tools", "replaced", "tools.fetch#2")]
    assert results[1].divergences[0].replayed == {"tool": "delete", "arguments": {"key": "c"}}
    assert verdicts(results) == ["unchanged", "unrecorded", "not-replayed"]


def test_another_tool_that_another_turn_recorded() -> None:
    ledger = record(
        T((call("fetch", key="a"),), "One."),
        T((call("fetch", key="b"),), "Two."),
        T((call("search", text="c"),), "Three."),
    )
    observed = replay_of(ledger)
    observed[1].calls[0] = answered(3, 0, ledger.turn(3).calls[0], at=2)
    observed[2].calls[0].repeated = True
    results = judged(ledger, observed)
    assert told(results) == [(2, "tools", "replaced", "tools.fetch")]
    assert verdicts(results) == ["unchanged", "changed", "off-script"]


def test_extra_call_that_a_used_recording_answered(ledger: Ledger, observed: list[Observed]) -> None:
    observed[1].calls.append(answered(2, 1, ledger.turn(2).calls[1], repeated=True))
    results = judged(ledger, observed)
    assert told(results) == [(2, "tools", "extra", "tools.fetch#3")]
    assert results[1].divergences[0].detail == "answered again by a recording that was already used"
    assert verdicts(results) == ["unchanged", "changed", "off-script"]


def test_extra_call_without_an_answer(ledger: Ledger, observed: list[Observed]) -> None:
    results = judged(ledger, stop_in(observed, 2, [*observed[1].calls, missed(2, "fetch", key="c")]))
    assert told(results) == [(2, "tools", "extra", "tools.fetch#3")]
    assert verdicts(results) == ["unchanged", "unrecorded", "not-replayed"]


@pytest.mark.parametrize(("position", "path"), [(0, "tools.fetch"), (1, "tools.fetch#2")])
def test_missing_call(ledger: Ledger, observed: list[Observed], position: int, path: str) -> None:
    del observed[1].calls[position]
    results = judged(ledger, observed)
    assert told(results) == [(2, "tools", "missing", path)]
    assert verdicts(results) == ["unchanged", "changed", "off-script"]


def test_missing_only_call_of_a_turn(ledger: Ledger, observed: list[Observed]) -> None:
    observed[2].calls.clear()
    results = judged(ledger, observed)
    assert told(results) == [(3, "tools", "missing", "tools.fetch")]
    assert verdicts(results) == ["unchanged", "unchanged", "changed"]


def test_two_calls_swapped(ledger: Ledger, observed: list[Observed]) -> None:
    observed[1].calls.reverse()
    results = judged(ledger, observed)
    assert len(told(results)) == 1
    assert told(results)[0][:3] == (2, "tools", "reordered")
    assert results[1].divergences[0].path in ("tools.fetch.order", "tools.fetch#2.order")
    assert verdicts(results) == ["unchanged", "changed", "off-script"]


@pytest.mark.parametrize(("compare", "verdict"), [({"output": "exact"}, "changed"), ({}, "reworded")])
def test_other_words(ledger: Ledger, observed: list[Observed], compare: dict[str, str], verdict: str) -> None:
    observed[2].output = text("And three.")
    results = judged(ledger, observed, compare=compare)
    assert told(results) == [(3, "output", "text", "output")]
    assert verdicts(results) == ["unchanged", "unchanged", verdict]


def test_only_the_state(ledger: Ledger, observed: list[Observed]) -> None:
    observed[2].state = {"step": 4}
    results = judged(ledger, observed)
    assert told(results) == [(3, "state", "value", "state.step")]
    assert verdicts(results) == ["unchanged", "unchanged", "changed"]


def test_what_is_made_up_on_each_run_raises_nothing() -> None:
    ledger = record(T((call("book", request="r-recorded"),), "Booked as r-recorded.", {"last": "r-recorded"}))
    observed = replay_of(ledger)
    made = observed[0].calls[0]
    made.arguments, made.renamed = {"request": "r-replayed"}, True
    observed[0].renames = {"r-recorded": "r-replayed"}
    observed[0].output, observed[0].state = text("Booked as r-replayed."), {"last": "r-replayed"}
    results = judged(ledger, observed, compare={"output": "exact"})
    assert told(results) == []
    assert verdicts(results) == ["unchanged"]
    assert [(d.path, d.note) for d in results[0].divergences] == [
        ("tools.book.arguments.request", True),
        ("state.last", True),
        ("output", True),
    ]


def test_the_judge_takes_nothing_from_the_replay_for_granted(ledger: Ledger) -> None:
    """A replay that claims nothing (no calls, no state, no output) is told as missing, never as equal."""
    results = judge(ledger=ledger, plan=Plan(), observed=[Observed(1), Observed(2), Observed(3)])
    assert [found[:3] for found in told(results)] == [
        (1, "tools", "missing"),
        (1, "state", "removed"),
        (1, "output", "removed"),
        (2, "tools", "missing"),
        (2, "tools", "missing"),
        (2, "state", "removed"),
        (2, "output", "removed"),
        (3, "tools", "missing"),
        (3, "state", "removed"),
        (3, "output", "removed"),
    ]


def simulated(tool: str, /, **arguments: Any) -> ReplayedCall:
    return ReplayedCall(tool, arguments, 2, Source.SIMULATED)


def test_wrong_argument_under_a_simulator(ledger: Ledger, observed: list[Observed]) -> None:
    observed[1].calls[1] = simulated("fetch", key="y")
    results = judged(ledger, observed)
    assert told(results) == [(2, "tools", "arguments", "tools.fetch#2.arguments.key")]
    assert verdicts(results) == ["unchanged", "changed", "off-script"]
