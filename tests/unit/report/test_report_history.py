"""The file that runs append to: what is read of it, what is appended, and by many at once."""

from __future__ import annotations

import json
import multiprocessing
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from report_data import RUN, all_rows, clean, hostile, row

from pytest_statebase.report.history import (
    KEPT,
    Point,
    append_points,
    append_run,
    point_of,
    read_history,
    trend_of,
)
from pytest_statebase.report.outputs import Outputs, write_outputs
from pytest_statebase.report.runs import Run


def run_at(day: int, hour: int = 8, **more: Any) -> dict[str, Any]:
    return {**RUN, "started_at": f"2026-03-{day:02}T{hour:02}:00:00Z", **more}


def ids(points: Any) -> list[str]:
    return [point.id for point in points]


def test_a_line_tells_counts_and_figures(tmp_path: Path) -> None:
    path = tmp_path / "new" / "history.jsonl"
    append_run(path, Run(all_rows(), RUN))
    text = path.read_text(encoding="ascii")
    assert text.endswith("\n")
    assert len(text) < 600
    line = json.loads(text)
    assert line.pop("id")
    measures = line.pop("measures")
    assert line == {
        "history": 1,
        "at": "2026-03-16T08:00:00+00:00",
        "agent": "sample.fixed:SupportAgent",
        "replays": {"fail": 5, "norun": 1, "review": 1, "ok": 2},
        "turns": {
            "unchanged": 6,
            "still-failing": 1,
            "unrecorded": 1,
            "not-replayed": 1,
            "changed": 1,
            "off-script": 1,
            "unproven": 1,
            "error": 1,
            "reworded": 1,
            "fixed": 1,
        },
        "seconds": 2.41,
    }
    assert measures["replays-passed"] == pytest.approx(3 / 9, abs=1e-6)
    assert set(measures) == {"replays-passed", "calls-answered", "replay-time", "replay-p95"}
    assert read_history(path) == ([point_of(all_rows(), RUN)], [])


def test_no_text_of_a_recording_stands_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_run(path, Run([hostile()], {**RUN, "agent": "\ud83d" * 5_000 + "\n"}))
    (line,) = path.read_bytes().splitlines()
    assert len(line) < 2_000
    assert b"onerror" not in line
    (point,), notes = read_history(path)
    assert (point.agent, notes) == ("\ud83d" * 200 + "…", [])


def test_the_trend_is_in_the_order_of_times_with_this_run_last(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    rows = [row(clean())]
    for day in (14, 12, 15):
        append_run(path, Run(rows, run_at(day)))
    append_run(path, Run(rows, run_at(20)))
    assert [point.at.day for point in trend_of(path, rows, run_at(16)).points] == [12, 14, 15, 16]
    assert [point.at.day for point in trend_of(path, rows, run_at(15)).points] == [12, 14, 15], "once, also where told"
    assert [point.at.day for point in trend_of(tmp_path / "none", rows, run_at(16)).points] == [16]


def test_a_run_is_appended_once_and_nothing_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_run(path, Run(all_rows(), run_at(1)))
    before = path.read_bytes()
    append_run(path, Run(all_rows(), run_at(1)))
    assert path.read_bytes() == before
    append_run(path, Run(all_rows(), run_at(2)))
    append_run(path, Run(all_rows()[1:], run_at(2)))
    assert path.read_bytes().startswith(before)
    assert len(read_history(path)[0]) == 3


BAD = [
    (b"{", "no JSON"),
    (b"[" * 10_000, "no JSON"),
    (b"\xff\xfe", "no JSON"),
    (b"7", "no run"),
    (b'{"a": 1}', "no run"),
    (b'{"history": 2}', "format 2, and this version of pytest-statebase reads 1"),
    (b'{"history": true}', "format True, and this version of pytest-statebase reads 1"),
    (b'{"history": 1, "at": "yesterday", "id": "a"}', "no run: it has no `at` or no `id`"),
    (b'{"history": 1, "at": "2026-03-01", "id": 3}', "no run: it has no `at` or no `id`"),
    (b'{"history": 1, "at": "2026-03-01", "id": "a"}', "no run: its `measures` are no numbers"),
    (b'{"history": 1, "at": "2026-03-01", "id": "a", "measures": {"replay-time": NaN}}', "`measures` are no numbers"),
    (b'{"history": 1, "at": "2026-03-01", "id": "a", "measures": {}, "replays": {"ok": true}}', "`replays` are no"),
    (b'{"history": 1, "at": "2026-03-01", "id": "a", "measures": {}, "replays": {"ok": 1e400}}', "`replays` are no"),
    (b'{"history": 1, "at": "2026-03-01", "id": "a", "measures": {}, "replays": {}, "turns": []}', "`turns` are no"),
    (b'{"history": 1, "at": "' + b"x" * 100_000 + b'"}', "no JSON"),
]


@pytest.mark.parametrize(("line", "why"), BAD)
def test_a_bad_line_is_told_and_stays(tmp_path: Path, line: bytes, why: str) -> None:
    path = tmp_path / "history.jsonl"
    append_run(path, Run(all_rows(), run_at(1)))
    with path.open("ab") as file:
        file.write(line + b"\n\n")
    append_run(path, Run(all_rows(), run_at(2)))
    points, (note,) = read_history(path)
    assert [point.at.day for point in points] == [1, 2]
    assert note.startswith(f"{path}:2: passed over, and left as it is: ")
    assert why in note
    assert line in path.read_bytes()


def test_an_unfinished_last_line_stays_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_run(path, Run(all_rows(), run_at(1)))
    with path.open("ab") as file:
        file.write(b'{"history": 1, "at"')
    append_run(path, Run(all_rows(), run_at(2)))
    points, notes = read_history(path)
    assert ([point.at.day for point in points], len(notes)) == ([1, 2], 1)


def test_many_bad_lines_are_a_few_notes(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("nothing\n" * 40, encoding="ascii")
    notes = read_history(path)[1]
    assert len(notes) == 6
    assert notes[-1] == f"{path}: 35 more lines tell no run"


def test_the_last_runs_are_remembered(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    at = datetime(2026, 3, 1, tzinfo=UTC)
    append_points(path, (Point(str(number), at) for number in range(KEPT + 10)))
    points = read_history(path)[0]
    assert ids(points) == [str(number) for number in range(10, KEPT + 10)]


def test_old_runs_that_were_merged_push_out_no_newer_ones(tmp_path: Path) -> None:
    own, old = tmp_path / "own.jsonl", tmp_path / "old.jsonl"
    start = datetime(2026, 1, 1, tzinfo=UTC)
    append_points(own, (Point(f"new {number}", start + timedelta(minutes=10_000 + number)) for number in range(1_500)))
    append_points(old, (Point(f"old {number}", start + timedelta(minutes=number)) for number in range(1_500)))
    told = [f"old {number}" for number in range(1_000, 1_500)] + [f"new {number}" for number in range(1_500)]
    sizes = []
    for day in (1, 2, 3):
        written = write_outputs(Outputs(history=own, histories=(old,)), all_rows(), run_at(day))
        assert written.made.trend is not None
        seen = ids(written.made.trend.points)
        assert seen[:-day] == told[day - 1 :]
        assert ids(read_history(own)[0]) == seen[1:]
        sizes.append(len(own.read_bytes().splitlines()))
    assert sizes == [2_001, 2_002, 2_003], "what is too old to be told is not taken over again and again"


def test_runs_of_the_future_push_out_none_of_the_past(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_points(path, (Point(str(number), datetime(2030, 1, 1, tzinfo=UTC)) for number in range(KEPT)))
    append_run(path, Run(all_rows(), run_at(1)))
    assert [point.at.day for point in trend_of(path, all_rows(), run_at(2)).points] == [1, 2]


def _append(path: Path, first: int) -> None:
    for number in range(first, first + 25):
        append_points(path, [Point(f"run {number}", datetime(2026, 3, 1, tzinfo=UTC), agent="x" * 200)])


def test_runs_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append, args=(path, number * 20)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    points, notes = read_history(path)
    assert (sorted(ids(points)), notes) == (sorted(f"run {number}" for number in range(85)), [])
    assert len(path.read_bytes().splitlines()) == 85, "a run that two tell stands once"


def test_runs_of_other_files_are_taken_over(tmp_path: Path) -> None:
    own, first, second, none = (tmp_path / f"{name}.jsonl" for name in ("own", "first", "second", "none"))
    append_run(own, Run(all_rows(), run_at(3)))
    for path, days in ((first, (1, 3)), (second, (1, 2))):
        for day in days:
            append_run(path, Run(all_rows(), run_at(day)))
    second.write_bytes(b"half a li\n" + second.read_bytes())
    written = write_outputs(Outputs(history=own, histories=(first, none, second)), all_rows(), run_at(4))
    assert written.made.trend is not None
    assert [point.at.day for point in written.made.trend.points] == [1, 2, 3, 4]
    assert [point.at.day for point in read_history(own)[0]] == [1, 2, 3, 4]
    assert len(own.read_bytes().splitlines()) == 4
    assert written.failures == []
    assert written.notes == [
        f"{none}: no such file, so no earlier runs",
        f"{second}:1: passed over, and left as it is: no JSON",
    ]


def test_another_file_that_cannot_be_read_does_not_cost_this_run_its_line(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    written = write_outputs(Outputs(history=own, histories=(tmp_path,)), all_rows(), RUN)
    assert written.paths == [own]
    assert [failure.splitlines()[0] for failure in written.failures] == [f"{tmp_path}: cannot be read: Is a directory"]
    assert [point.at for point in read_history(own)[0]] == [datetime(2026, 3, 16, 8, tzinfo=UTC)]


def test_a_file_that_cannot_be_read_is_told_and_costs_nothing(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    written = write_outputs(Outputs(results=results, history=tmp_path), [row(clean())], RUN)
    assert written.paths == [results]
    assert len(written.failures) == 2
    assert written.failures[0].startswith(f"{tmp_path}: cannot be read: Is a directory")


def test_bad_lines_fail_no_run(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("nothing\n", encoding="ascii")
    written = write_outputs(Outputs(history=path), [row(clean())], RUN)
    assert (written.failures, written.notes) == ([], [f"{path}:1: passed over, and left as it is: no JSON"])
    assert len(path.read_text(encoding="ascii").splitlines()) == 2


def test_a_run_without_a_time_is_one_of_now(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    point = point_of([row(clean())], {"started_at": "soon", "duration_s": float("nan")})
    assert before <= point.at <= datetime.now(UTC)
    assert point.seconds is None


@pytest.mark.skipif(os.name == "nt", reason="other permissions")
def test_the_file_is_made_as_others_are(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_run(path, Run(all_rows(), RUN))
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
