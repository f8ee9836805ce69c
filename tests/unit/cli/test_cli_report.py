from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from pytest_statebase.cli import main
from pytest_statebase.report.results import error_row, write_results


def test_report(tmp_path: Path) -> None:
    shards = []
    for number in (1, 2):
        shards.append(tmp_path / f"shard-{number}.jsonl")
        row = error_row(f"fixtures/s{number}.session.yaml", "version 0", "the record is broken")
        write_results(shards[-1], [row], {"started_at": "2026-01-01T00:00:00Z"})
    output = tmp_path / "new" / "report.html"
    result = CliRunner().invoke(main, ["report", *map(str, shards), "-o", str(output)])
    assert result.exit_code == 0, result.output
    assert result.stdout == f"2 replays of 2 files in {output}\n"
    assert "the record is broken" in output.read_text(encoding="utf-8")


def test_a_file_that_holds_no_results(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"format": 99, "run": {}}\n', encoding="utf-8")
    result = CliRunner().invoke(main, ["report", str(path), "-o", str(tmp_path / "report.html")])
    assert result.exit_code == 1
    assert "99" in result.stderr
    assert not (tmp_path / "report.html").exists()
