"""What a page holds of texts that are too long for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from report_data import RUN, clean, recording, result, row, served, still_failing, text, told, turn_of

from pytest_statebase import values
from pytest_statebase.compare.model import AlignedCall, Divergence, Facet, Kind, Observed, TurnResult, Verdict
from pytest_statebase.ledger import ToolCalled
from pytest_statebase.report.cutting import ROW_LIMIT, cut_value, within_budget
from pytest_statebase.report.page.html import render_html
from pytest_statebase.report.page.limits import short_words, value_limit
from pytest_statebase.report.results import dump_row
from pytest_statebase.report.rows import Row
from pytest_statebase.report.runs import Run
from pytest_statebase.values import freeze

LONG = "x" * 3_000


def changed(number: int, calls: Sequence[ToolCalled]) -> TurnResult:
    """A turn whose calls were all answered as recorded, and whose output is another one."""
    recorded = turn_of(number, f"ask {number}", f"answer {number}", calls)
    answers = [served(call, number, at) for at, call in enumerate(calls)]
    observed = Observed(number, answers, text(f"other {number}"), duration_ms=1.0)
    found = Divergence(Facet.OUTPUT, Kind.TEXT, "output", f"answer {number}", f"other {number}")
    aligned = [AlignedCall(at, at, call.tool) for at, call in enumerate(calls)]
    return TurnResult(number, Verdict.CHANGED, recorded, observed, [found], aligned)


def test_names_are_cut_and_values_are_not() -> None:
    made = row(still_failing())
    turn = made["turns"][1]
    made["title"] = turn["calls"][1]["tool"] = turn["divergences"][0]["path"] = LONG
    turn["input"] = turn["recorded"]["output"] = turn["divergences"][0]["recorded"] = LONG
    turn["calls"][1]["recorded"]["arguments"] = {"amount": LONG}
    cut = short_words(made)
    now = cut["turns"][1]
    short = "x" * 2_000 + "… (3,000 characters)"
    assert [cut["title"], now["calls"][1]["tool"], now["divergences"][0]["path"]] == [short] * 3
    assert [now["input"], now["recorded"]["output"], now["divergences"][0]["recorded"]] == [LONG] * 3
    assert now["calls"][1]["recorded"]["arguments"] == {"amount": LONG}


def test_what_is_short_is_as_it_was() -> None:
    made = row(still_failing())
    assert short_words(made) == made


def test_a_reason_that_the_row_has_cut_tells_the_size_that_was_recorded() -> None:
    made = row(told(recording(why="w" * 5_000)))
    (why,) = (version["why"] for version in short_words(made)["versions"] if version["v"] == 2)
    assert why == "w" * 2_000 + "… (5,000 characters)"


def test_the_reasoning_of_turns_as_recorded_counts_for_what_a_page_holds() -> None:
    made = row(clean())
    for turn in made["turns"]:
        turn["recorded"]["reasoning"] = LONG
    assert value_limit([made] * 10_000) < value_limit([row(clean())] * 10_000)


def test_a_value_that_only_looks_cut_is_cut_like_any_other() -> None:
    odd = {"!cut": {"head": 5, "size": 1}}
    assert cut_value(odd, 100) == odd
    assert cut_value(odd, 8) == {"!cut": {"head": '{"!cut":', "size": 28}}
    assert cut_value({"!cut": {"head": "abc", "size": 9}}, 2) == {"!cut": {"head": "ab", "size": 9}}


def test_a_served_result_is_not_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[Any] = []

    def counted(value: Any) -> Any:
        walked.append(value)
        return freeze(value)

    monkeypatch.setattr(values, "freeze", counted)
    call = ToolCalled("fetch", {"page": 1}, {"rows": [{"id": at, "price": at / 7} for at in range(20_000)]})
    made = row(result("large", [changed(1, [call])]))["turns"][0]["calls"][0]
    assert made["replayed"] == {"same": True}
    assert made["recorded"]["result"]["!cut"]["size"] > 400_000
    assert walked == []


MEGABYTE = "lorem ipsum " * 90_000


def large(name: str) -> tuple[list[ToolCalled], Row]:
    """Forty recorded results of 1 MB, and the row of a session with them."""
    calls = [ToolCalled("fetch", {"page": f"{name} {number}"}, f"{number} {MEGABYTE}") for number in range(1, 41)]
    return calls, row(result(name, [changed(number, [call]) for number, call in enumerate(calls, 1)]))


def test_many_long_values_of_a_row_share_its_budget() -> None:
    """Of 300 sessions of 40 turns with results of 1 MB, the results file stays below 60 MB and the page below 10 MB."""
    calls, made = large("large")
    assert 300 * len(dump_row(made)) < 60_000_000
    assert len(render_html(Run([made] * 300, RUN))) < 10_000_000
    kept = [turn["calls"][0]["recorded"]["result"]["!cut"] for turn in made["turns"]]
    assert [one["size"] for one in kept] == [len(call.result) for call in calls]
    assert [one["head"] for one in kept] == [
        call.result[: len(one["head"])] for call, one in zip(calls, kept, strict=True)
    ]
    assert {len(one["head"]) for one in kept} == {len(kept[0]["head"])}
    assert 0.8 * ROW_LIMIT < 40 * len(kept[0]["head"]) <= ROW_LIMIT
    assert [turn["recorded"]["output"] for turn in made["turns"]] == [f"answer {at}" for at in range(1, 41)]
    assert all(len(call.result) > 1_000_000 for call in calls), "the recording has them in full"


def test_values_that_fit_the_budget_stay_as_they_are() -> None:
    made = row(still_failing())
    assert within_budget(made) is made
    made["turns"][1]["recorded"]["output"] = "x" * 1_000
    made["turns"][1]["replayed"]["output"] = "y" * 600
    made["turns"][1]["calls"][0]["recorded"] |= {"agent": "a" * 300, "result": {"rows": ["z" * 500]}}
    assert within_budget(made, 4_000) is made
    turn = within_budget(made, 1_500)["turns"][1]
    assert turn["recorded"]["output"]["!cut"]["size"] == 1_000
    assert turn["replayed"]["output"]["!cut"]["size"] == 600
    assert turn["calls"][0]["recorded"]["agent"] == "a" * 300
    assert turn["calls"][0]["recorded"]["result"]["!cut"]["size"] == len('{rows: [""]}') + 500
    assert turn["calls"][0]["recorded"]["arguments"] == made["turns"][1]["calls"][0]["recorded"]["arguments"]
    assert made["turns"][1]["recorded"]["output"] == "x" * 1_000, "the row itself stays"
