"""`metrics` and `export`."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import FIXTURES, Run
from pytest_statebase.cassette import read_record
from pytest_statebase.report.results import error_row, write_results
from pytest_statebase.report.times import recorded_at

RECORDED = recorded_at(read_record(FIXTURES / "clean.record.yaml"))
assert RECORDED is not None
DAY = ("--as-of", f"{RECORDED:%Y-%m-%d}")
NEXT_WEEK = f"{RECORDED + timedelta(days=9):%Y-%m-%d}"


def test_metrics_of_the_sample_agent(project: Path, run: Run) -> None:
    result = run("metrics", *DAY)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "rollbacks per session         12.5%      12.5%          -   < 2%  NO" in lines
    assert "tool calls that worked        95.8%      95.8%          -   > 95%  yes" in lines
    assert lines[-1] == "8 sessions (8 of this week, 0 of the last), 26 of 26 turns timed, 24 calls"


def test_weeks_are_counted_from_a_day(project: Path, run: Run) -> None:
    found = json.loads(run("metrics", "--json", "--as-of", NEXT_WEEK).stdout)["sessions"]
    assert (found["this_week"], found["last_week"]) == (0, 8)
    assert found["measures"]["rollback-rate"]["last_week"] == 0.125
    assert found["measures"]["rollback-rate"]["this_week"] is None


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("all", "failed  rollback-rate is 12.5%; healthy is < 2%\n"),
        ("rollback-rate", "failed  rollback-rate is 12.5%; healthy is < 2%\n"),
        ("rollback-rate>10%", "failed  rollback-rate is 12.5%, which is > 10%\n"),
        ("rollback-rate>20%", ""),
        ("tool-success", ""),
        ("replays-passed<1", "failed  replays-passed cannot be measured: nothing tells of it\n"),
    ],
)
def test_fail_on(project: Path, run: Run, condition: str, told: str) -> None:
    result = run("metrics", *DAY, "--fail-on", condition)
    assert (result.exit_code, result.stderr) == (1 if told else 0, told)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--fail-on", "speed"], "--fail-on: 'speed' is no measure"),
        (["--as-of", "someday"], "--as-of: 'someday' is no day"),
        (["--agent", "nobody"], "there is no session of agent nobody here"),
    ],
)
def test_options_that_mean_nothing(project: Path, run: Run, options: list[str], told: str) -> None:
    result = run("metrics", *options)
    assert result.exit_code == 1
    assert told in result.stderr


def test_metrics_of_replays(project: Path, run: Run) -> None:
    row = error_row("fixtures/clean.session.yaml", "version 0", "x", agent="a")
    turn = {
        "turn": 1,
        "verdict": "unchanged",
        "calls": [],
        "divergences": [],
        "recorded": {},
        "replayed": {"same": True},
    }
    rows = [
        {**row, "outcome": "passed", "turns": [{**turn, "duration_ms": 10.0}], "calls": {"answered": 3}},
        {**row, "outcome": "failed", "turns": [{**turn, "duration_ms": 30.0}], "calls": {"unrecorded": 1}},
    ]
    write_results("results.jsonl", rows, {"started_at": "2026-12-09T10:00:00+00:00"})
    result = run("metrics", "--results", "results.jsonl", "--fail-on", "replays-passed<100%")
    lines = result.stdout.splitlines()
    assert lines[1].startswith("replays passed                50.0%      50.0%          -")
    assert lines[2].startswith("calls answered                75.0%")
    assert lines[3].startswith("time of a turn, mean          20 ms")
    assert result.stderr == "failed  replays-passed is 50.0%, which is < 100%\n"
    assert run("metrics", "fixtures", "--results", "results.jsonl").stdout.count("healthy") == 2


def test_what_cannot_be_read_is_told(project: Path, run: Run) -> None:
    (project / "fixtures" / "clean.record.yaml").write_text("nothing", encoding="utf-8")
    result = run("metrics")
    assert result.exit_code == 1
    assert "broken  fixtures/clean.record.yaml" in result.stderr
    assert "7 sessions" in result.stdout
    result = run("export", "traces")
    assert result.exit_code == 1
    assert "not exported  fixtures/clean.record.yaml" in result.stderr
    assert result.stdout.count("session,id,action") == 1


def test_export_to_a_file(project: Path, run: Run) -> None:
    result = run("export", "traces", "fixtures", "-o", "traces.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    rows = list(csv.DictReader(io.StringIO((project / "traces.csv").read_text(encoding="utf-8"))))
    assert f"{len(rows)} lines of 8 sessions in traces.csv" in result.stderr
    assert {row["action"] for row in rows} >= {"session.created", "turn.added", "state.rolled_back", "memory.created"}
    assert run("export", "traces", "-o", "no/where.csv").exit_code == 1


def test_export_turns_and_sessions(project: Path, run: Run) -> None:
    turns = [json.loads(line) for line in run("export", "turns").stdout.splitlines()]
    assert len(turns) == 25
    good = [json.loads(line) for line in run("export", "turns", "--good").stdout.splitlines()]
    assert not any(line["failing"] for line in good)
    assert len(good) < len(turns)
    assert len(run("export", "sessions").stdout.splitlines()) == 8


def test_export_sends_no_control_characters(everything: Path, run: Run) -> None:
    for what in ("traces", "turns", "sessions"):
        result = run("export", what, everything)
        assert result.exit_code == 0, result.output
        assert not any(ord(char) < 32 and char != "\n" for char in result.stdout)
