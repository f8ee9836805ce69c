"""Rows of files that others wrote: whatever is in them, it is a result or it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from full_row import full_row, odd_rows
from report_data import all_rows, hostile

from pytest_statebase.report.checkrow import checked_row
from pytest_statebase.report.ci.annotations import annotation_lines
from pytest_statebase.report.jsonsafe import DEPTH, json_safe
from pytest_statebase.report.outputs import Outputs, write_outputs
from pytest_statebase.report.prose.sidecar import brief
from pytest_statebase.report.prose.summary import render_job_summary
from pytest_statebase.report.results import Row, write_results
from pytest_statebase.report.terminal import failure_lines, plain, summary_lines


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
    assert checked_row({**BASE, "others": [{"turn": 0}]})["others"] == [{"turn": 0, "calls": []}]


BASE = {"cassette": "a", "fork": "turn 2", "outcome": "failed", "turns": []}
TURN = {"turn": 1, "verdict": "changed"}
CALL = {"label": "x", "tool": "x"}
FOUND = {"facet": "tools", "kind": "value", "path": "x"}
REQUEST = {"method": "GET", "address": "https://a.example/", "source": "record"}


def with_turn(**facts: Any) -> dict[str, Any]:
    return {**BASE, "turns": [{**TURN, **facts}]}


def nested(levels: int, around: Any = lambda inner: [inner]) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = around(value)
    return value


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({**BASE, "turns": {}}, "the `turns` of the replay is a mapping"),
        ({**BASE, "cassette": None}, "the `cassette` of the replay is null"),
        ({**BASE, "session": ["x"]}, "the `session` of the replay is a list"),
        ({**BASE, "verdicts": {"changed": "1"}}, "the `verdicts` of the replay hold what is no number"),
        ({**BASE, "others": [{"calls": []}]}, "one of `others` has no `turn`"),
        ({**BASE, "others": [{"turn": 1, "calls": [3]}]}, "names of tools or of what is pinned are no texts"),
        ({**BASE, "failing": ["3"]}, "the turns that are `failing` are no numbers"),
        ({**BASE, "versions": [{"v": 1, "patch": [3]}]}, "the `patch` of a version is none"),
        ({**BASE, "traces": [None]}, "one of `traces` is not a mapping"),
        ({**BASE, "traces": [{"action": "a", "about": {}}]}, "the `about` of one of `traces` is a mapping"),
        ({**BASE, "versions": [{"v": 1, "calls": {}}]}, "the `calls` of one of `versions` is a mapping"),
        ({**BASE, "versions": [{"v": 1, "after": "2"}]}, "the `after` of one of `versions` is a text"),
        ({**BASE, "turns": ["x"]}, "a turn is not a mapping"),
        ({**BASE, "turns": [{"verdict": "changed"}]}, "a turn has no `turn`"),
        ({**BASE, "turns": [{**TURN, "calls": [3]}]}, "a call is not a mapping"),
        ({**BASE, "turns": [{**TURN, "calls": [{"tool": "x"}]}]}, "a call has no `label`"),
        (
            {**BASE, "turns": [{**TURN, "divergences": [{"facet": "tools", "kind": 1, "path": "x"}]}]},
            "the `kind` of a divergence is a number",
        ),
        (with_turn(turn=True), "the `turn` of a turn is true or false"),
        ({**BASE, "duration_ms": False}, "the `duration_ms` of the replay is true or false"),
        ({**BASE, "versions": [{"v": True}]}, "the `v` of one of `versions` is true or false"),
        ({**BASE, "others": [{"turn": True}]}, "the `turn` of one of `others` is true or false"),
        (with_turn(input=nested(900)), "nested too deeply"),
        (with_turn(input=nested(900, lambda inner: {"!x": inner})), "nested too deeply"),
        (with_turn(calls=[CALL]), "a call has no side"),
        (with_turn(calls=[{**CALL, "recorded": None, "accepted": None, "replayed": None}]), "a call has no side"),
        (with_turn(calls=[{**CALL, "replayed": {"same": True}}]), "the `replayed` side of a call is the same as one"),
        (with_turn(calls=[{**CALL, "recorded": {"same": True}}]), "the `recorded` side of a call is the same as one"),
        (with_turn(calls=[{**CALL, "recorded": {"same": 1}}]), "the `same` of the `recorded` side of a call"),
        (with_turn(calls=[{**CALL, "recorded": {}, "flags": [{}]}]), "one of the `flags` of a call is no text"),
        (with_turn(divergences=[{**FOUND, "fingerprint": 'a"b'}]), "the fingerprint of a divergence is none"),
        (with_turn(divergences=[{**FOUND, "fingerprint": "a\n"}]), "the fingerprint of a divergence is none"),
        (with_turn(divergences=[{**FOUND, "follows": "a b"}]), "the fingerprint of a divergence is none"),
        (with_turn(requests=[5]), "a request is not a mapping"),
        (with_turn(requests=[{"method": 5}]), "the `method` of a request is a number"),
        (with_turn(requests=[{"method": "GET"}]), "a request has no `address`"),
        (with_turn(requests=[{**REQUEST, "flags": [5]}]), "one of the `flags` of a request is no text"),
        (with_turn(requests=[{**REQUEST, "from_turn": True}]), "the `from_turn` of a request is true or false"),
        (with_turn(requests=[{**REQUEST, "answer": "x"}]), "the `answer` of a request is a text"),
        (with_turn(requests=[{**REQUEST, "asked": {"messages": 5}}]), "the `messages` of the `asked` of a request"),
        (
            with_turn(requests=[{**REQUEST, "recorded": {"messages": [None]}}]),
            "one of the `messages` of a request is not a mapping",
        ),
        (with_turn(known=[5]), "one of `known` is not a mapping"),
    ],
)
def test_what_is_no_result_is_refused_in_words(row: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        checked_row(row)


def test_what_a_call_or_a_divergence_may_lack() -> None:
    calls = [{**CALL, side: {}} for side in ("recorded", "accepted", "replayed")]
    calls.append({**CALL, "recorded": {"arguments": {"a": 1}}, "replayed": {"same": True}, "accepted": {"same": True}})
    turn = checked_row(with_turn(calls=calls, divergences=[FOUND], requests=[REQUEST]))["turns"][0]
    for call, side in zip(turn["calls"], ("recorded", "accepted", "replayed"), strict=False):
        assert call[side] == {"arguments": {}}
    assert turn["calls"][3]["replayed"] == turn["calls"][3]["accepted"] == {"same": True}
    assert turn["divergences"] == [{**FOUND, "fingerprint": ""}]
    assert turn["requests"] == [REQUEST]


def test_the_deepest_value_that_a_row_keeps_is_a_result() -> None:
    value = json_safe(nested(DEPTH - 1, lambda inner: {1: inner}))
    assert str(value).count("!map") == DEPTH - 1
    checked_row(with_turn(calls=[{**CALL, "recorded": {"arguments": value}}]))


@pytest.mark.parametrize("key", ["x", "!x", "!float", "!map", None])
def test_the_deepest_row_is_written(tmp_path: Any, key: str | None) -> None:
    """With the deepest value that is no refusal, in each place of a turn."""

    def made(levels: int) -> dict[str, Any]:
        value = nested(levels, (lambda inner: [inner]) if key is None else lambda inner: {key: inner})
        side = {"output": value, "state": value}
        call = {**CALL, "recorded": {"arguments": value}, "replayed": {"arguments": value, "result": 1}}
        found = {**FOUND, "recorded": value, "replayed": 1}
        return with_turn(input=value, recorded=side, replayed={**side, "state": 1}, calls=[call], divergences=[found])

    deepest = max(levels for levels in range(150, 250) if is_result(made(levels)))
    outputs = Outputs(
        results=tmp_path / "r.jsonl",
        junit=tmp_path / "j.xml",
        report=tmp_path / "r.html",
        summary=tmp_path / "s.md",
        sidecar=tmp_path / "s",
    )
    assert write_outputs(outputs, [checked_row(made(deepest))], {}).failures == []


def is_result(row: dict[str, Any]) -> bool:
    try:
        return bool(checked_row(row))
    except ValueError:
        return False


def test_a_full_row_is_a_result() -> None:
    assert checked_row(full_row()) == full_row()


def test_no_odd_row_is_a_traceback(tmp_path: Path) -> None:
    """What passes for a result can be written as everything, whichever part of it is gone or is something else."""
    kept: list[Row] = []
    refused = 0
    for _, made in odd_rows():
        try:
            kept.append(checked_row(made))
        except ValueError:
            refused += 1
    assert refused > 1_000
    assert len(kept) > 2_000
    for start in range(0, len(kept), 1_000):
        assert failed(tmp_path, kept[start : start + 1_000]) == []


def failed(path: Path, rows: list[Row]) -> list[str]:
    """What went wrong with any output of a run of these rows, beside a base that has them as well."""
    names = ("results", "report", "summary", "sidecar", "junit", "history")
    write_results(path / "base", rows, {})
    outputs = Outputs(**{name: path / name for name in names}, base=path / "base", url="https://ci.example/r.html")
    written = write_outputs(outputs, rows, {})
    render_job_summary(written.made)
    annotation_lines(written.made, path)
    plain(summary_lines(rows, verbosity=2))
    for row in rows:
        brief(written.made, row, next(iter(row["turns"]), None), anchor="s-0")
        plain(failure_lines(row))
    return written.failures
