from __future__ import annotations

from pathlib import Path

from report_data import RUN, all_rows

from pytest_statebase.report.outputs import Outputs, write_outputs
from pytest_statebase.report.results import read_results


def test_what_is_wanted_is_written_and_nothing_else(tmp_path: Path) -> None:
    wanted = Outputs(report=tmp_path / "new" / "r.html", results=tmp_path / "r.jsonl")
    written = write_outputs(wanted, all_rows(), RUN)
    assert written.paths == [tmp_path / "r.jsonl", tmp_path / "new" / "r.html"]
    assert written.failures == []
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["r.html", "r.jsonl"]


def test_what_cannot_be_written_keeps_nothing_else_from_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    wanted = Outputs(results=tmp_path / "file" / "r.jsonl", report=tmp_path / "r.html")
    written = write_outputs(wanted, all_rows(), RUN)
    assert written.paths == [tmp_path / "r.html"]
    assert written.failures == [f"{tmp_path / 'file' / 'r.jsonl'} could not be written: Not a directory"] or (
        "File exists" in written.failures[0]
    )


def test_base_results_that_cannot_be_read_are_told_and_passed_over(tmp_path: Path) -> None:
    wanted = Outputs(results=tmp_path / "r.jsonl", base=tmp_path / "nowhere.jsonl")
    written = write_outputs(wanted, all_rows(), RUN)
    assert len(read_results(tmp_path / "r.jsonl")[1]) == len(all_rows())
    assert "nowhere.jsonl" in written.failures[0]
