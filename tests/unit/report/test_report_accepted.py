"""Turns with an accepted baseline: three columns in rows, terminal and page."""

from __future__ import annotations

import re

from report_data import LOOKUP, REFUND, RUN, row, served, text, turn_of, unchanged
from test_report_terminal import gold

from pytest_statebase.compare.model import (
    AlignedCall,
    Divergence,
    Facet,
    Kind,
    Observed,
    ReplayedCall,
    ReplayResult,
    Source,
    TurnResult,
    Upkeep,
    Verdict,
)
from pytest_statebase.ledger import ToolCalled, Turn, TurnAdded
from pytest_statebase.report.page.html import render_html
from pytest_statebase.report.rows import Row
from pytest_statebase.report.runs import Run
from pytest_statebase.report.terminal import failure_lines, note_lines, plain, summary_lines
from pytest_statebase.report.upkeep import upkeep_warnings

ASK = ToolCalled("ask_person", {"about": "1047", "amount": 42.5}, {"answer": "<b>no</b>"})
STATE = {"status": "refunded", "amount": 42.5}
RECORDED = turn_of(2, "Please refund it.", "I have refunded 42.50.", [LOOKUP, REFUND], state=STATE)


def asked(amount: float) -> ReplayedCall:
    return ReplayedCall(
        "ask_person",
        {"about": "1047", "amount": amount},
        2,
        Source.ACCEPTED if amount == 42.5 else Source.SIMULATED,
        result=ASK.result,
        origin="simulated",
    )


def turn(verdict: Verdict, amount: float, output: str, *found: Divergence, asks: bool = True) -> TurnResult:
    """The refund is put to a person: accepted; replayed once more or with another amount."""
    calls = [served(LOOKUP, 2, 0), *([asked(amount)] if asks else [])]
    seen = Observed(2, calls, text(output), state={"status": "asked"})
    aligned = [AlignedCall(0, 0, "lookup_order", 0), AlignedCall(1, None, "issue_refund")]
    aligned.append(AlignedCall(None, 1 if asks else None, "ask_person", 1))
    base = Turn(2, RECORDED.started, [LOOKUP, ASK], TurnAdded(text("I have asked a person about 42.50.")))
    return TurnResult(
        2, verdict, RECORDED, seen, list(found), aligned, STATE, accepted=base, accepted_state={"status": "asked"}
    )


def result(name: str, *turns: TurnResult) -> ReplayResult:
    return ReplayResult(
        f"fixtures/{name}.session.yaml", f"sess_{name}", "sample:Agent", "version 0", 2, "continuous", list(turns)
    )


def rows() -> list[Row]:
    changed = Divergence(Facet.TOOLS, Kind.ARGUMENTS, "tools.ask_person.arguments.amount", 42.5, 40, baseline=True)
    words = ("I have asked a person about 42.50.", "I have asked a person about 40.00.")
    other = Divergence(Facet.OUTPUT, Kind.TEXT, "output", *words, baseline=True)
    missing = Divergence(Facet.TOOLS, Kind.MISSING, "tools.ask_person", {"tool": "ask_person"}, baseline=True)
    first = unchanged(turn_of(1, "Where is it?", "It was delivered.", [LOOKUP]))
    return [
        row(result("accepted", first, turn(Verdict.ACCEPTED, 42.5, words[0]))),
        row(result("changed", first, turn(Verdict.CHANGED, 40, words[1], changed, other))),
        row(result("unasked", turn(Verdict.CHANGED, 40, words[0], missing, asks=False))),
    ]


def test_rows_hold_three_columns() -> None:
    accepted, changed, unasked = (found["turns"][-1] for found in rows())
    assert accepted["accepted"] == {"output": "I have asked a person about 42.50.", "state": {"status": "asked"}}
    assert [call["accepted"] for call in accepted["calls"]] == [{"same": True}, None, {"same": True}]
    assert changed["calls"][2]["accepted"]["arguments"] == ASK.arguments
    assert [call["places"] for call in unasked["calls"]] == [[0, 0, 0], [1, None, None], [None, 1, None]]
    assert all(found["baseline"] for found in changed["divergences"])


def test_the_terminal_shows_what_was_accepted_beside_the_others() -> None:
    for found, name in zip(rows(), ("accepted", "changed", "unasked"), strict=True):
        gold(f"item-{name}-verbose", plain(failure_lines(found, verbosity=1)))
    gold("item-changed", plain(failure_lines(rows()[1])))
    gold("summary-accepted-verbose", plain(summary_lines(rows(), verbosity=1)))


def test_the_page_has_three_columns() -> None:
    page = render_html(Run(rows(), RUN))
    sections = re.findall(r'<section class="turn.*?</section>', page, re.DOTALL)
    gold("page-accepted-turns", "\n".join(re.sub(r"s-[0-9a-f]{10}", "s-ID", found) for found in sections))
    assert "<b>no</b>" not in page
    assert page.count('<th scope="col">accepted</th>') == 2


def test_what_the_run_accepted_is_told_after_the_summary() -> None:
    lines = note_lines([("accepted", "a.accepted.yaml: turn 2 (changed)"), ("refused", "b\x1b[31m: x")], ["no\nuse"])
    assert plain(lines).split("\n") == [
        "accepted       a.accepted.yaml: turn 2 (changed)",
        "refused        b\\x1b[31m: x",
        "warning        no\\nuse",
    ]


def test_what_no_longer_matters_is_put_together_over_the_run() -> None:
    def told(cassette: str, **values: object) -> Row:
        made = result(cassette, turn(Verdict.ACCEPTED, 42.5, "x"))
        made.upkeep = Upkeep(**values)  # type: ignore[arg-type]
        return row(made)

    found = [
        told("a", own={"x": False}, inherited={"**.t": False, "**.u": False}, accepted=(2, 3), reached=(2,)),
        told("a", own={"x": True}, inherited={"**.t": False, "**.u": False}, accepted=(2, 3), reached=()),
        told("b", own={"y": False}, inherited={"**.t": True, "**.u": False}, problems=("odd",)),
    ]
    assert upkeep_warnings(found) == [
        "fixtures/a.session.yaml: turn 3 is accepted, and no replay reaches it",
        "fixtures/b.session.yaml: the ignore rule `y` hid nothing",
        "fixtures/b.session.yaml: odd",
        "statebase.yaml: the ignore rule `**.u` hid nothing",
    ]
    assert upkeep_warnings([*found, told("c", partial=True)])[-1] == "fixtures/b.session.yaml: odd"
    assert upkeep_warnings(found, whole=False) == [
        "fixtures/b.session.yaml: the ignore rule `y` hid nothing",
        "fixtures/b.session.yaml: odd",
    ]
    assert upkeep_warnings([told("d")]) == []
