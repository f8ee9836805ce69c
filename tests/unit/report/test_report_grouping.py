"""What rows say taken together: what a turn did not reach, and of which sessions there are causes."""

from __future__ import annotations

from typing import Any

import pytest
from report_data import RUN, all_rows, changed, clean, fixed, reworded, row, unrecorded

from pytest_statebase.compare.model import AlignedCall, Verdict
from pytest_statebase.report.grouping import causes, in_one_line, not_reached, root_cause, writes
from pytest_statebase.report.page.view import anchors_of, build_view
from pytest_statebase.report.runs import Run
from pytest_statebase.report.terminal import plain, summary_lines


@pytest.mark.parametrize("verdict", [Verdict.UNRECORDED, Verdict.ERROR, Verdict.STALE, Verdict.INCONCLUSIVE])
def test_a_recorded_write_behind_the_end_of_a_turn_was_not_reached(verdict: Verdict) -> None:
    made = unrecorded()
    turn = made.turns[1]
    assert turn.replayed is not None
    turn.verdict, turn.divergences = verdict, []
    turn.replayed.calls.pop()
    turn.aligned[1] = AlignedCall(1, None, "issue_refund")
    told = row(made)
    assert [call["label"] for call in not_reached(told["turns"][1])] == ["issue_refund"]
    assert [one.state for one in writes([told])] == ["not reached"]


def off_script(*others: Any) -> dict[str, Any]:
    """A session that passes, with a turn that is off-script and has a difference of its own."""
    made = changed()
    made.turns[0].verdict = Verdict.OFF_SCRIPT
    made.turns[:0] = others
    return row(made)


def test_a_run_in_which_all_passes_has_no_cause() -> None:
    rows = [off_script(), off_script(), row(fixed()), row(reworded()), row(clean())]
    assert {one["outcome"] for one in rows} == {"passed"}
    assert causes(rows) == []
    assert root_cause(rows[0]) is None
    assert build_view(Run(rows, RUN), anchors_of(rows)).causes == []
    assert "cause" not in plain(summary_lines(rows, verbosity=1))


def test_what_fails_a_session_beside_its_turns_is_not_laid_at_their_door() -> None:
    told = {**off_script(), "outcome": "failed", "failure": "pytest: a warning that is an error"}
    assert causes([told]) == []
    assert in_one_line(told) == "pytest: a warning that is an error"


def test_a_turn_to_review_may_be_where_the_failure_of_a_later_one_begins() -> None:
    made = changed()
    made.turns[0].verdict = Verdict.OFF_SCRIPT
    made.turns[1].verdict = Verdict.BROKEN
    (cause,) = causes([row(made)])
    assert (cause.path, [turn["turn"] for _, turn in cause.rows]) == ("tools.search_policy", [2])


def test_every_cause_is_of_a_session_that_does_not_pass() -> None:
    found = causes([*all_rows(), off_script()])
    assert found
    assert all(one["outcome"] != "passed" for cause in found for one, _ in cause.rows)
