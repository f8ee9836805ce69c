"""What the page's data says of a row's values, turns and differences."""

from __future__ import annotations

from typing import Any

import pytest
from report_data import RUN, all_rows, broken_plan, clean, hostile, row, still_failing, unrecorded

from pytest_statebase.report.page import briefs
from pytest_statebase.report.page.exact import exact, exact_row
from pytest_statebase.report.page.packing import unpacked
from pytest_statebase.report.page.pagedata import page_data
from pytest_statebase.report.page.view import anchors_of, build_view
from pytest_statebase.report.rows import Row
from pytest_statebase.report.runs import Run


def shown(rows: list[Row]) -> list[Any]:
    """The rows as the page has them."""
    anchors = anchors_of(rows)
    made = Run(rows, RUN)
    chunks = page_data(made, anchors, build_view(made, anchors), made).chunks
    sessions = {anchor: one for chunk in chunks for anchor, one in unpacked(chunk).items()}
    return [sessions[anchor] for anchor in anchors]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1.0, {"!float": "1.0"}),
        (-0.0, {"!float": "-0.0"}),
        (1e300, {"!float": "1e+300"}),
        (0.1, 0.1),
        (2**53, {"!int": "9007199254740992"}),
        (-(2**53), {"!int": "-9007199254740992"}),
        (2**53 - 1, 2**53 - 1),
        (True, True),
        ({"10": 1, "2": [1.0]}, {"!map": [["10", 1], ["2", [{"!float": "1.0"}]]]}),
        ({"a": {"b": 1, "0": 2}}, {"a": {"!map": [["b", 1], ["0", 2]]}}),
        ({"1": 1}, {"1": 1}),
        ({"a": [1, {"b": 2.0}]}, {"a": [1, {"b": {"!float": "2.0"}}]}),
    ],
)
def test_what_a_browser_would_read_as_something_else(value: Any, told: Any) -> None:
    assert exact(value) == told


def test_what_is_not_affected_is_the_very_same() -> None:
    value = {"a": [1, 0.5, None, "x"], "b": {}}
    assert exact(value) is value


def test_times_stay_numbers() -> None:
    made = row(still_failing()) | {"duration_ms": 3.0}
    made["turns"][0]["duration_ms"] = 2.0
    told = exact_row(made)
    assert told["duration_ms"] == 3.0
    assert told["turns"][0]["duration_ms"] == 2.0
    assert told["turns"][1]["replayed"]["state"]["amount"] == {"!decimal": "42.50"}


def test_numbers_of_turns_and_versions_stay_numbers() -> None:
    made = row(still_failing()) | {"until": 2**60, "versions": [{"v": 2**60, "turn": 2**60, "state": {"a": 1.0}}]}
    made["turns"][0]["turn"] = 2**60
    told = exact_row(made)
    assert [told["until"], told["turns"][0]["turn"]] == [2**60, 2**60]
    assert told["versions"] == [{"v": 2**60, "turn": 2**60, "state": {"a": {"!float": "1.0"}}}]


def test_turns_have_their_group_and_differences_their_words() -> None:
    (made,) = shown([row(still_failing())])
    assert [turn["slug"] for turn in made["turns"]] == ["ok", "fail"]
    words = [found["words"] for found in made["turns"][1]["divergences"]]
    assert words[:3] == ["another argument", "state refund_issued should be false, is true", _EXTRA]


_EXTRA = "call that the recording does not have"


def test_turns_that_do_not_pass_have_a_brief() -> None:
    failing, missed, passing, broken = shown([row(still_failing()), row(unrecorded()), row(clean()), broken_plan()])
    assert [turn.get("brief", "")[:9] for turn in failing["turns"]] == ["", "# Turn 2 "]
    assert [turn.get("brief", "")[:9] for turn in missed["turns"]] == ["", "# Turn 2 ", "# Turn 3 "]
    assert not any("brief" in turn for turn in passing["turns"])
    assert "unknown key `expcet`" in broken["brief"]


def test_a_session_in_which_no_turn_is_to_blame_has_the_brief_itself() -> None:
    warned = row(clean()) | {"outcome": "failed", "failure": "pytest: a warning is an error"}
    (made,) = shown([warned])
    assert "a warning is an error" in made["brief"]
    assert not any("brief" in turn for turn in made["turns"])


def test_a_page_has_room_for_so_many_briefs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(briefs, "_MOST", 1)
    first, second = shown([row(still_failing()), row(unrecorded())])
    assert "brief" in first["turns"][1]
    assert not any("brief" in turn for turn in second["turns"])


def test_any_row_can_be_on_a_page() -> None:
    rows = [*all_rows(), hostile()]
    assert [one["cassette"] for one in shown(rows)] == [one["cassette"] for one in rows]
