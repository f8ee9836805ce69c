"""What a page holds of texts that are too long for it."""

from __future__ import annotations

from report_data import row, still_failing

from pytest_statebase.report.page.limits import short_words

LONG = "x" * 3_000


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
