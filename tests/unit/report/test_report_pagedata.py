"""What the page's script is given: summaries of sessions, causes, and what differs from the base."""

from __future__ import annotations

from collections import Counter
from typing import Any

from report_data import (
    LOOKUP,
    RUN,
    all_rows,
    changed,
    clean,
    crashed,
    raised,
    result,
    row,
    still_failing,
    turn_of,
    unchanged,
    unrecorded,
)

from pytest_statebase.ledger import ToolCalled
from pytest_statebase.report.against import Against
from pytest_statebase.report.grouping import group_of_row, judged, tally_text
from pytest_statebase.report.page.packing import unpacked
from pytest_statebase.report.page.pagedata import page_data
from pytest_statebase.report.page.view import anchors_of, build_view
from pytest_statebase.report.page.viewmodel import SLUGS
from pytest_statebase.report.results import Row
from pytest_statebase.report.runs import Run


def data_of(rows: list[Row], **beside: Any) -> Any:
    made = Run(rows, RUN, **beside)
    anchors = anchors_of(rows)
    return page_data(made, anchors, build_view(made, anchors), made)


def index_of(rows: list[Row], **beside: Any) -> Any:
    return unpacked(data_of(rows, **beside).index)


def shown(rows: list[Row]) -> list[Any]:
    """The sessions as the script unpacks them."""
    return [one for chunk in data_of(rows).chunks for one in unpacked(chunk).values()]


def test_a_summary_has_what_is_filtered_and_searched() -> None:
    rows = [row(changed())]
    (told,) = index_of(rows)["sessions"]
    assert told["id"] == anchors_of(rows)[0]
    assert told["marks"] == "fr-", "changed, off-script, beyond `until`"
    assert told["verdicts"] == {"changed": 1, "off-script": 1}, "turns that are not judged do not count"
    assert told["tools"] == ["hand_over", "lookup_order", "search_policy"], (
        "what was called, and what it took the place of"
    )
    assert told["kinds"] == ["moved", "replaced", "text"]
    assert told["bad"] == [[2, "changed"]]
    assert told["warned"] == 1
    assert told["text"] == "What is your policy? ok more 30 days. A person will be with you."
    assert "owner" not in told


def test_what_is_searched_of_a_session_is_less_where_there_are_many() -> None:
    long = row(clean())
    long["turns"][0]["input"] = "word " * 4_000
    assert len(index_of([long])["sessions"][0]["text"]) == 8_000
    many = index_of([long, *(row(clean(f"c{number}")) for number in range(1_499))])
    assert len(many["sessions"][0]["text"]) == 400


def test_a_cause_has_each_pair_of_values_once() -> None:
    rows = [
        row(still_failing()),
        row(unrecorded()),
        row(
            still_failing(),
        ),
        row(changed()),
    ]
    for number, one in enumerate(rows):
        one["nodeid"] = one["cassette"] = f"{number}.session.yaml"
    rows[2]["turns"][1]["divergences"][0] |= {"replayed": 41.0, "fingerprint": "0" * 12}
    index = index_of(rows)
    anchors = anchors_of(rows)
    first, second = index["causes"]
    assert (first["kind"], first["path"], first["sessions"]) == ("arguments", "tools.issue_refund.arguments.amount", 3)
    assert [(pair["recorded"], pair["replayed"], pair["turns"]) for pair in first["pairs"]] == [
        ("42.5", "40.0", [[anchors[0], 2], [anchors[1], 2]]),
        ("42.5", "41.0", [[anchors[2], 2]]),
    ]
    assert first["owners"] == ["payments-team"]
    assert second["pairs"][0]["turns"] == [[anchors[3], 2]]
    assert [one["causes"] for one in index["sessions"]] == [[0], [0], [0], [1]]
    assert index["sessions"][2]["prints"] == ["0" * 12]


def test_of_many_pairs_the_most_frequent_are_told() -> None:
    rows = []
    for number in range(30):
        one = row(still_failing())
        one["nodeid"] = one["cassette"] = f"{number}.session.yaml"
        amount = min(number, 24)
        one["turns"][1]["divergences"][0] |= {"replayed": amount, "fingerprint": f"{amount:012x}"}
        rows.append(one)
    (cause,) = index_of(rows)["causes"]
    assert cause["sessions"] == 30
    assert (len(cause["pairs"]), cause["more"]) == (20, 5)
    assert cause["pairs"][0]["replayed"] == "24"
    assert len(cause["pairs"][0]["turns"]) == 6


def test_sessions_are_marked_with_what_became_of_them() -> None:
    rows = all_rows()
    against = Against("base.jsonl", [rows[0]], [rows[6]], [rows[1]], [rows[7]], [row(clean("gone"))], [rows[4]])
    index = index_of(rows, against=against)
    assert index["against"]["counts"] == [
        ["newly-failing", 1],
        ["newly-passing", 1],
        ["still-failing", 1],
        ["new", 1],
        ["unfinished", 1],
    ]
    assert index["against"]["removed"] == ["gone::version-0"]
    assert [one.get("base") for one in index["sessions"]] == [
        *("newly-failing", "still-failing", None, None, "unfinished"),
        *(None, "newly-passing", "new", None),
    ]


def test_rows_of_older_versions_and_verdicts_of_newer_ones_are_told() -> None:
    old = row(clean())
    for key in (
        "title",
        "agent",
        "until",
        "mode",
        "owner",
        "gate",
        "warnings",
        "duration_ms",
        "calls",
        "nodeid",
        "verdicts",
    ):
        old.pop(key, None)
    old["turns"][0]["verdict"] = "wonderful"
    index = index_of([old])
    assert index["sessions"][0]["marks"] == "roo", "what is not known needs a look"
    assert index["verdicts"]["wonderful"] == "review"
    assert ("wonderful", 1) in map(tuple, index["groups"][2]["verdicts"])


def test_a_group_has_the_verdicts_of_its_sessions_as_the_terminal_counts_them() -> None:
    rows = all_rows()
    for told in index_of(rows)["groups"]:
        found = [turn["verdict"] for one in rows if SLUGS[group_of_row(one)] == told["slug"] for turn in judged(one)]
        assert ", ".join(f"{number} {name}" for name, number in told["verdicts"]) == tally_text(Counter(found))


def test_what_is_kept_short_of_a_turn_as_recorded_reads_as_of_other_turns() -> None:
    call = ToolCalled("search", {"q": 'a "b": c', "n": 1, "odd key": "x" * 200}, {"ok": True})
    long, short = turn_of(1, "hi", "yo", [call]), turn_of(2, "hi", "yo", [LOOKUP])
    first, second = shown([row(result("kept", [unchanged(long), unchanged(short)]))])[0]["turns"]
    assert first["calls"][0]["recorded"]["arguments"].startswith('{q: "a \\"b\\": c", n: 1, "odd key": "xxx')
    assert second["calls"][0]["recorded"]["arguments"] == {"order_id": "1047"}


def test_words_do_not_name_the_path_that_they_stand_beside() -> None:
    made = row(crashed())
    (_, follows) = shown([made])[0]["turns"][0]["divergences"]
    assert (follows["path"], follows["words"]) == ("output", "does not contain 'A colleague will'")
    index = index_of([row(raised())])
    assert index["sessions"][0]["why"].startswith("turn 1 error: the agent raised KeyError: 'order_id'")
