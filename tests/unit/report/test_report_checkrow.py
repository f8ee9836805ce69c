"""Rows of files that others wrote: whatever is in them, it is a result or it is refused."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from report_data import all_rows, hostile

from pytest_statebase.report.checkrow import checked_row
from pytest_statebase.report.outputs import Outputs, write_outputs


def test_rows_of_this_version_stay_as_they_are() -> None:
    for row in [*all_rows(), hostile()]:
        assert checked_row(row) == row


def test_what_an_older_version_left_away_is_filled_in() -> None:
    row = checked_row(
        {"cassette": "a", "fork": "turn 2", "outcome": "failed", "turns": [{"turn": 2, "verdict": "changed"}]}
    )
    assert (row["gate"], row["verdicts"], row["session"]) == ("block", {}, "")
    assert row["turns"][0]["divergences"] == row["turns"][0]["calls"] == []
    assert row["turns"][0]["replayed"] is None


BASE = {"cassette": "a", "fork": "turn 2", "outcome": "failed", "turns": []}
TURN = {"turn": 1, "verdict": "changed"}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({**BASE, "turns": {}}, "the `turns` of the replay is a mapping"),
        ({**BASE, "cassette": None}, "the `cassette` of the replay is null"),
        ({**BASE, "session": ["x"]}, "the `session` of the replay is a list"),
        ({**BASE, "verdicts": {"changed": "1"}}, "the `verdicts` of the replay hold what is no number"),
        ({**BASE, "others": [{"calls": []}]}, "one of `others` has no `turn`"),
        ({**BASE, "others": [{"turn": 1, "calls": [3]}]}, "names of tools or of what is pinned are no texts"),
        ({**BASE, "versions": [{"v": 1, "patch": [3]}]}, "the `patch` of a version is none"),
        ({**BASE, "traces": [None]}, "one of `traces` is not a mapping"),
        ({**BASE, "turns": ["x"]}, "a turn is not a mapping"),
        ({**BASE, "turns": [{"verdict": "changed"}]}, "a turn has no `turn`"),
        ({**BASE, "turns": [{**TURN, "calls": [3]}]}, "a call is not a mapping"),
        ({**BASE, "turns": [{**TURN, "calls": [{"tool": "x"}]}]}, "a call has no `label`"),
        (
            {**BASE, "turns": [{**TURN, "divergences": [{"facet": "tools", "kind": 1, "path": "x"}]}]},
            "the `kind` of a divergence is a number",
        ),
    ],
)
def test_what_is_no_result_is_refused_in_words(row: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        checked_row(row)


def damaged(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The row with each of its values, of its turns' and of their parts', gone or replaced by another sort of value."""
    places: list[tuple[Any, ...]] = [(key,) for key in row]
    for number, turn in enumerate(row["turns"]):
        places += [("turns", number, key) for key in turn]
        for part in ("calls", "divergences"):
            places += [("turns", number, part, index, key) for index, one in enumerate(turn[part]) for key in one]
    for *path, last in places:
        for value in (None, 7, "x", [], {}, [None], {"x": None}):
            other = copy.deepcopy(row)
            inside: Any = other
            for step in path:
                inside = inside[step]
            inside[last] = value
            yield other


def test_no_damage_is_a_traceback(tmp_path: Any) -> None:
    """What passes for a result can be written: as page, results and JUnit's XML."""
    outputs = Outputs(results=tmp_path / "r.jsonl", junit=tmp_path / "j.xml", report=tmp_path / "r.html")
    refused = 0
    for made in damaged(all_rows()[0]):
        try:
            row = checked_row(made)
        except ValueError:
            refused += 1
            continue
        assert write_outputs(outputs, [row], {}).failures == []
    assert refused > 100
