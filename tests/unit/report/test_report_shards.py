"""Result files of parallel jobs are one run again, and what is wrong with them is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report_data import RUN, all_rows, broken_plan, clean, row, still_failing

from pytest_statebase.errors import FileError
from pytest_statebase.report.results import error_row, read_results, write_results
from pytest_statebase.report.shards import merge_results


def shard(path: Path, rows: list[Any], **run: Any) -> Path:
    write_results(path, rows, run)
    return path


def test_one_file_is_itself(tmp_path: Path) -> None:
    merged = merge_results([shard(tmp_path / "1.jsonl", all_rows(), **RUN)])
    assert (merged.run, merged.rows, merged.files, merged.left_out) == (RUN, all_rows(), 1, [])


def test_shards_merge_in_order_and_a_rerun_takes_its_place(tmp_path: Path) -> None:
    again = {**row(clean("b")), "duration_ms": 1.0}
    first = [row(clean("a")), row(clean("b"))]
    one = shard(tmp_path / "1.jsonl", first, started_at="2026-03-16T08:00:05Z", duration_s=2, agent="x")
    two = shard(tmp_path / "2.jsonl", [row(clean("c")), again], started_at="2026-03-16T09:00:00+02:00", duration_s=5)
    merged = merge_results([one, two])
    assert [found["session"] for found in merged.rows] == ["sess_a", "sess_b", "sess_c"]
    assert merged.rows[1] == again
    assert merged.run == {
        "started_at": "2026-03-16T09:00:00+02:00",
        "duration_s": 5,
        "agent": "x",
        "files": 2,
        "warnings": ["1 replay has several results: of each the last one counts"],
    }


@pytest.mark.parametrize("turned", [False, True])
def test_runs_in_one_file_are_judged_as_those_of_several(tmp_path: Path, turned: bool) -> None:
    one = shard(tmp_path / "1.jsonl", [row(clean("a")), row(clean("b")), unfinished("c")], agent="x", part=True)
    again = [{**row(clean("b")), "duration_ms": 1.0}, row(clean("c")), unfinished("a")]
    two = shard(tmp_path / "2.jsonl", again, agent="y", part=True)
    paths = [two, one] if turned else [one, two]
    path = tmp_path / "both.jsonl"
    path.write_bytes(b"".join(each.read_bytes() for each in paths))
    merged, apart = merge_results([path]), merge_results(paths)
    assert (merged.rows, merged.run) == (apart.rows, {key: apart.run[key] for key in ("agent", "warnings")})
    assert len(merged.rows) == 3
    assert (merged.files, merged.left_out) == (1, [])
    assert read_results(path) == (merged.run, merged.rows)


def test_a_file_given_twice_counts_once(tmp_path: Path) -> None:
    path = shard(tmp_path / "1.jsonl", [row(clean("a"))])
    merged = merge_results([path, path])
    assert (len(merged.rows), merged.files, merged.run) == (1, 1, {})


def unfinished(name: str, fork: str = "version 0") -> dict[str, Any]:
    path = f"fixtures/{name}.session.yaml"
    found = error_row(path, fork, "did not finish", nodeid=f"{path}::{fork.replace(' ', '-')}")
    return {**found, "unfinished": True}


@pytest.mark.parametrize("turned", [False, True])
def test_what_did_not_finish_takes_no_result_away(tmp_path: Path, turned: bool) -> None:
    one = shard(tmp_path / "1.jsonl", [row(clean("a")), unfinished("b")])
    two = shard(tmp_path / "2.jsonl", [row(clean("b")), unfinished("a")])
    merged = merge_results([two, one] if turned else [one, two])
    assert {found["session"]: found["outcome"] for found in merged.rows} == {"sess_a": "passed", "sess_b": "passed"}


def test_a_plan_that_broke_does(tmp_path: Path) -> None:
    good = {**row(clean("typo")), "nodeid": broken_plan()["nodeid"]}
    merged = merge_results([shard(tmp_path / "1.jsonl", [good]), shard(tmp_path / "2.jsonl", [broken_plan()])])
    assert [found["outcome"] for found in merged.rows] == ["error"]


def test_replays_of_two_agents_and_of_one_test_stay_apart(tmp_path: Path) -> None:
    other = {**row(clean("a")), "agent": "b:B"}
    twice = [{**row(clean("a")), "nodeid": "test_x.py::test_x"}, {**row(clean("b")), "nodeid": "test_x.py::test_x"}]
    merged = merge_results(
        [shard(tmp_path / "1.jsonl", [row(clean("a")), *twice]), shard(tmp_path / "2.jsonl", [other])]
    )
    assert len(merged.rows) == 4
    assert "warnings" not in merged.run


def test_files_of_different_runs_are_told(tmp_path: Path) -> None:
    run = {"pytest_statebase": "0.1.0", "commit": "abc", "agent": "a:A", "part": True}
    one = shard(tmp_path / "1.jsonl", [row(clean("a"))], started_at="2026-03-16T08:00:00Z", **run)
    late = {**run, "pytest_statebase": "0.2.0", "commit": "def", "agent": "a:A, b:B"}
    two = shard(tmp_path / "2.jsonl", [row(clean("b"))], started_at="2026-03-18T08:00:00Z", **late)
    merged = merge_results([one, two])
    assert merged.run["warnings"] == [
        "the results files are of different commits: abc, def",
        "the results files are of different versions of pytest-statebase: 0.1.0, 0.2.0",
        f"the results files are of different runs: {one} began on 2026-03-16 08:00, {two} on 2026-03-18 08:00",
    ]
    assert merged.run["agent"] == "a:A, b:B"
    assert "part" not in merged.run


def test_bad_and_missing_shards_are_left_out_and_said(tmp_path: Path) -> None:
    good = shard(tmp_path / "1.jsonl", [row(still_failing())])
    bad = tmp_path / "2.jsonl"
    bad.write_text("<html>", encoding="utf-8")
    merged = merge_results([good, bad, tmp_path / "3.jsonl"], expected=4)
    assert [found["session"] for found in merged.rows] == ["sess_refund"]
    assert [text.split(": ")[0] for text in merged.left_out[:2]] == [f"{bad}:1", str(tmp_path / "3.jsonl")]
    assert merged.left_out[2] == "1 results file of 4: what the other jobs replayed is missing"
    assert merged.run["warnings"] == merged.left_out


def test_lines_that_are_no_results_are_left_out_and_said(tmp_path: Path) -> None:
    one, two = shard(tmp_path / "1.jsonl", [row(clean("a"))]), shard(tmp_path / "2.jsonl", [row(clean("b"))])
    for path, bad in ((one, "{}\n"), (two, "[]\n" * 1_003)):
        text = Path(path).read_text("ascii").split("\n", 1)
        Path(path).write_text(f"{text[0]}\n{bad}{text[1]}", "ascii")
    merged = merge_results([one, two])
    assert [found["session"] for found in merged.rows] == ["sess_a", "sess_b"]
    assert merged.left_out == [
        f"{one}:2: this line is no result of a replay: it has no `cassette`; it is left out",
        f"{two}:2: this line is no result of a replay: not a JSON mapping; it is left out, and so are 1,002 others",
    ]
    assert merged.run["warnings"] == merged.left_out
    assert merged.run["part"]


def test_without_any_result_there_is_nothing_to_merge(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"3\.jsonl"):
        merge_results([tmp_path / "3.jsonl", tmp_path / "4.jsonl"])
    with pytest.raises(FileError, match="no results file was given"):
        merge_results([])


def test_the_head_of_a_file_may_hold_anything(tmp_path: Path) -> None:
    odd = {"started_at": 20260101, "duration_s": "long", "agent": 3, "warnings": {"no": "list"}, "commit": None}
    merged = merge_results([shard(tmp_path / "1.jsonl", [], **odd), shard(tmp_path / "2.jsonl", [], warnings=[1])])
    assert merged.run["warnings"] == ["1"]
    assert read_results(tmp_path / "1.jsonl")[0]["agent"] == 3
