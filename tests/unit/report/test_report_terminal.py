from __future__ import annotations

import os
from pathlib import Path

import pytest
from report_data import (
    all_rows,
    clean,
    hostile,
    raised,
    result,
    reworded,
    row,
    still_failing,
    turn_of,
    unproven,
    unrecorded,
)

from pytest_statebase.compare.model import Observed, TurnResult, Verdict
from pytest_statebase.report.results import Row, error_row
from pytest_statebase.report.terminal import divergence_lines, failure_lines, plain, summary_lines

GOLD = Path(__file__).parents[2] / "gold" / "report"


def gold(name: str, text: str) -> None:
    """Compare with a golden file; STATEBASE_UPDATE_GOLD=1 writes it."""
    path = GOLD / f"{name}.txt"
    if os.environ.get("STATEBASE_UPDATE_GOLD"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8", newline="\n")
    assert text + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("index", range(len(all_rows())))
def test_failing_items(index: int) -> None:
    found = all_rows()[index]
    name = Path(found["cassette"]).name.removesuffix(".session.yaml")
    gold(f"item-{name}", plain(failure_lines(found)))


def test_failing_item_verbose() -> None:
    gold("item-refund-verbose", plain(failure_lines(row(still_failing()), verbosity=1)))


@pytest.mark.parametrize(("name", "verbosity"), [("quiet", -1), ("normal", 0), ("verbose", 1)])
def test_summaries(name: str, verbosity: int) -> None:
    gold(f"summary-{name}", plain(summary_lines(all_rows(), verbosity=verbosity, report="statebase-report.html")))


def test_a_green_run_is_a_line_a_group() -> None:
    rows = [*(row(clean(f"clean-{number}")) for number in range(40)), row(reworded())]
    gold("summary-green", plain(summary_lines(rows)))
    assert plain(summary_lines(rows, verbosity=-1)) == ""
    assert summary_lines([]) == []


def test_the_cause_comes_first_and_its_followers_are_folded() -> None:
    text = plain(failure_lines(row(still_failing())))
    assert text.index("arguments.amount") < text.index("state.refund_issued")
    assert "3 more follow from it" in text
    assert "state.amount" not in text


def test_what_to_paste_is_there() -> None:
    assert "- {tool: issue_refund, arguments:" in plain(failure_lines(row(unrecorded())))
    assert "output: {contains:" in plain(failure_lines(row(unproven())))
    assert "--statebase-mode=isolated" in plain(failure_lines(row(unrecorded())))


def test_a_warning_gate_is_told() -> None:
    assert "(gate: warn)" in plain(summary_lines([row(raised())]))


def test_what_a_stop_kept_from_being_judged_is_one_line_a_reason() -> None:
    stopped = [error_row(f"fixtures/s{number}.session.yaml", "version 0", "did not finish: -x") for number in range(19)]
    rows = [row(raised()), *({**one, "unfinished": True} for one in stopped)]
    told = [line for line in plain(summary_lines(rows)).splitlines() if "did not finish" in line]
    assert told == ["could not run  19 sessions  did not finish: -x (-v names them all)"]
    assert plain(summary_lines(rows, verbosity=1)).count("did not finish: -x") == 19
    alone = plain(summary_lines(rows[:2]))
    assert "could not run  fixtures/s0.session.yaml::version-0  did not finish: -x" in alone


@pytest.mark.parametrize("verbosity", [-1, 0, 1, 2])
def test_hostile_text_cannot_touch_the_terminal(verbosity: int) -> None:
    lines = [
        *failure_lines(hostile(), verbosity=verbosity),
        *summary_lines([hostile()], verbosity=verbosity, report="\x1b[0m"),
    ]
    for text, markup in (part for line in lines for part in line):
        text.encode("utf-8")
        assert not any(char < " " or char in "\x7f\x9b\u2028\u202e\ufeff" for char in text)
        assert set(markup) <= {"bold", "light", "red", "green", "yellow", "blue", "cyan", "purple"}


def test_rows_of_later_versions_are_shown_as_they_are() -> None:
    found: Row = row(reworded())
    found["turns"][1]["verdict"] = "accepted-later"
    assert "accepted-later" in plain(summary_lines([found]))


def test_requests_of_the_baseline_and_of_the_record_have_one_word() -> None:
    found = {"facet": "http", "kind": "value", "path": "http.body.cents", "recorded": 1500, "replayed": 1501}
    assert "      recorded  1500" in plain(divergence_lines({**found, "baseline": True})).splitlines()
    found |= {"facet": "state", "path": "state.cents"}
    assert "      accepted  1500" in plain(divergence_lines({**found, "baseline": True})).splitlines()


def test_what_moved_in_prompts_is_a_line_each_with_v() -> None:
    recorded = turn_of(1, "Hi", "Hello.")
    reason = (
        "the prompt moved, and no model recording answers: temperature: recorded 0, now 1\nmodel: recorded a, now b"
    )
    stale = TurnResult(1, Verdict.STALE, recorded, Observed(1, missed=True, stale=reason), reason=reason)
    rows = [row(result("moved", [stale]))]
    line = (
        " " * 15
        + "fixtures/moved.session.yaml::version-0 turn 1  temperature: recorded 0, now 1; model: recorded a, now b"
    )
    assert line in plain(summary_lines(rows, verbosity=1)).splitlines()
    assert "temperature" not in plain(summary_lines(rows))
