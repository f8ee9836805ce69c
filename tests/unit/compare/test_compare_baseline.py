"""Turns judged against an accepted baseline: every verdict, the kind `reverted`, three columns of calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from compare_data import T, answered, call, judged, missed, record, replay_of, text, told, verdicts

from pytest_statebase.cassette import AcceptedCall, AcceptedTurn
from pytest_statebase.cassette.plan import Expect, OutputExpect, Plan
from pytest_statebase.compare.baseline import baseline_of
from pytest_statebase.compare.model import Observed, ReplayedCall, ReplayResult, Source, TurnResult
from pytest_statebase.compare.verdicts import judge
from pytest_statebase.ledger import Ledger

LOOKUP, REFUND = call("lookup", id="1"), call("refund", id="1")
LEDGER = record(
    T((LOOKUP,), "Here.", {"step": 1}), T((LOOKUP, REFUND), "Refunded.", {"step": 2}), T((), "Bye.", {"step": 3})
)
ASKED = ReplayedCall("ask", {"id": "1"}, 2, Source.SIMULATED, result="a person")


def other(ledger: Ledger = LEDGER, *, output: str = "I asked.", **values: Any) -> list[Observed]:
    """Turn 2 asks a person instead of refunding."""
    seen = replay_of(ledger)
    seen[1] = replace(seen[1], calls=[answered(2, 0, LOOKUP), ASKED], output=text(output), **values)
    return seen


def accept(seen: list[Observed], *numbers: int, ledger: Ledger = LEDGER) -> dict[int, AcceptedTurn]:
    """The baselines of these turns as they were replayed."""
    results = judged(ledger, seen)
    run = ReplayResult("c", ledger.id, None, "version 0", None, "continuous", results, fork_id="fork_1")
    found = {number: baseline_of(run, run.turn(number), ledger) for number in numbers}
    return {number: turn for number, turn in found.items() if turn is not None}


def against(accepted: dict[int, AcceptedTurn], seen: list[Observed], **plan: Any) -> list[TurnResult]:
    return judge(ledger=LEDGER, plan=Plan(**plan), observed=seen, accepted=accepted)


ACCEPTED = accept(other(), 1, 2, 3)


def test_only_what_differs_is_a_baseline_with_the_answers_that_the_record_lacks() -> None:
    assert sorted(ACCEPTED) == [2]
    turn = ACCEPTED[2]
    assert [(made.tool, made.source, made.result) for made in turn.calls][1] == ("ask", "simulated", "a person")
    assert turn.calls[0] == AcceptedCall("lookup", {"id": "1"})
    assert turn.output == text("I asked.")
    assert len(turn.fingerprints) == 2
    assert "state" not in repr(turn.state), "as recorded, so it is left out"


def test_equal_to_the_baseline_is_accepted() -> None:
    results = against(ACCEPTED, other())
    assert verdicts(results) == ["unchanged", "accepted", "off-script"]
    assert results[1].divergences == []
    assert {str(found.kind) for found in results[1].from_record} == {"replaced", "text"}


@pytest.mark.parametrize(
    ("seen", "plan", "verdict", "kinds"),
    [
        (other(output="I asked somebody."), {}, "reworded", ["text"]),
        (other(output="I asked somebody."), {"compare": {"output": "exact"}}, "changed", ["text"]),
        (other(state={"step": 7}), {}, "changed", ["value"]),
        (replay_of(LEDGER), {}, "changed", ["reverted", "text"]),
        (replay_of(LEDGER), {"compare": {"output": "exact"}}, "changed", ["reverted", "reverted"]),
        (other(), {"expect": {2: Expect(OutputExpect(contains=("Never",)))}}, "broken", ["expect"]),
        (other(), {"expect": {2: Expect(OutputExpect(contains=("asked",)))}}, "accepted", []),
        (other(), {"failing": frozenset({2})}, "fixed", []),
        (other(output="I asked somebody."), {"failing": frozenset({2})}, "fixed", ["text"]),
        (replay_of(LEDGER), {"failing": frozenset({2})}, "still-failing", ["reverted", "text"]),
        (other(state={"step": 7}), {"failing": frozenset({2})}, "changed", ["value"]),
        (
            other(),
            {"failing": frozenset({2}), "expect": {2: Expect(OutputExpect(contains=("Never",)))}},
            "still-failing",
            ["expect"],
        ),
    ],
)
def test_verdicts(seen: list[Observed], plan: dict[str, Any], verdict: str, kinds: list[str]) -> None:
    result = against(ACCEPTED, seen, **plan)[1]
    assert (str(result.verdict), [str(found.kind) for found in result.divergences]) == (verdict, kinds)
    assert all(found.baseline for found in result.divergences if found.kind != "expect")


def test_the_value_that_was_accepted_is_the_one_to_compare_with() -> None:
    (found,) = against(ACCEPTED, other(output="I asked somebody."))[1].divergences
    assert (found.path, found.recorded, found.replayed) == ("output", "I asked.", "I asked somebody.")


def test_unrecorded_and_error_come_first() -> None:
    seen = other(missed=True)
    seen[1].calls.append(missed(2, "refund", id="9"))
    assert verdicts(against(ACCEPTED, seen))[1] == "unrecorded"
    assert verdicts(against(ACCEPTED, other(error={"type": "app:E", "message": "no"})))[1] == "error"


def test_an_accepted_turn_after_the_conversation_parted_is_judged() -> None:
    accepted = {**ACCEPTED, 3: AcceptedTurn(3, (), text("Bye."), state={"step": 4})}
    seen = other()
    seen[2] = replace(seen[2], state={"step": 4})
    assert verdicts(against(accepted, seen)) == ["unchanged", "accepted", "accepted"]
    seen[2] = replace(seen[2], state={"step": 5})
    assert told(against(accepted, seen)) == [(3, "state", "value", "state.step")]
    assert verdicts(against(accepted, seen))[2] == "changed"


def test_calls_stand_in_three_columns() -> None:
    rows = against(ACCEPTED, other())[1].aligned
    assert [(row.recorded, row.accepted, row.replayed, row.label) for row in rows] == [
        (0, 0, 0, "lookup"),
        (1, 1, 1, "refund"),
    ]
    seen = other()
    seen[1].calls.pop()
    rows = against(ACCEPTED, seen)[1].aligned
    assert [(row.recorded, row.accepted, row.replayed, row.label) for row in rows] == [
        (0, 0, 0, "lookup"),
        (1, None, None, "refund"),
        (None, 1, None, "ask"),
    ]


def test_made_up_ids_are_stored_as_the_recording_has_them() -> None:
    old, new, newer = (f"0b5f8d0e-5d0c-4d3f-9a53-2f6a8e2c900{number}" for number in (1, 2, 3))
    made = call("book", ref=old)
    ledger = record(T((made,), f"Booked {old}.", {"ref": old}))

    def replayed(ref: str, status: str) -> list[Observed]:
        booked = replace(answered(1, 0, made, renamed=True), arguments={"ref": ref})
        state = {"ref": ref, "status": status, "session": "fork_1"}
        return [Observed(1, [booked], text(f"Booked {ref} at fork_1."), state=state, renames={old: ref})]

    accepted = accept(replayed(new, "late"), 1, ledger=ledger)
    assert accepted[1].calls[0].arguments == {"ref": old}
    assert accepted[1].output == text(f"Booked {old} at sess_1.")
    assert accepted[1].state == {"ref": old, "status": "late", "session": "sess_1"}
    for status, verdict in (("late", "accepted"), ("early", "changed")):
        seen = replayed(newer, status)
        results = judge(ledger=ledger, plan=Plan(), observed=seen, accepted=accepted, fork_id="fork_1")
        assert verdicts(results) == [verdict]


def test_a_baseline_of_what_the_record_answered_out_of_place() -> None:
    """Equal length, every call answered by the record in its own place: not what was accepted all the same."""
    accepted = {2: AcceptedTurn(2, (AcceptedCall("lookup", {"id": "1"}), AcceptedCall("ask", {"id": "1"})), text("X"))}
    result = against(accepted, replay_of(LEDGER))[1]
    assert str(result.verdict) == "changed"
