"""`timeline`: the traces of a session."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Run = Callable[..., Result]


def test_one_line_a_trace(project: Path, run: Run) -> None:
    result = run("timeline", "sess_second_refund")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line.split("  ")[1].strip() if line[0] == "2" else line.split()[0] for line in lines] == [
        "session.created",
        "state.updated",
        "turn.added",
        "turn.added",
        "state.updated",
        "turn.added",
        "turn.added",
    ]
    assert 'version 1: order null → "1047"' in lines[1]
    assert "why: The order" in lines[1]
    assert all(len(line) <= 100 for line in lines)


def test_filters(project: Path, run: Run) -> None:
    found = run("timeline", "second-refund", "--action", "state").stdout.splitlines()
    assert len(found) == 3
    assert found[-1] == "2 of 7 traces"
    assert run("timeline", "second-refund", "--search", "POLICY ON").stdout.endswith("1 of 7 traces\n")
    nothing = run("timeline", "second-refund", "--action", "state.deleted").stdout
    assert nothing == "0 of 7 traces; there are session.created, state.updated, turn.added\n"
    both = run("timeline", "second-refund", "--action", "turn.added", "--action", "state.updated")
    assert both.stdout.endswith("6 of 7 traces\n")


def test_every_action_and_hostile_text(everything: Path, run: Run) -> None:
    text = run("timeline", everything).stdout
    assert text.replace("\n", "").isprintable()
    for part in (
        "ops",
        "session.created",
        "version 2 back to 0",
        'preference: "likes \\x1b"',
        "turn 2: (nothing) → {x:",
    ):
        assert part in text


def test_csv_is_whole_and_no_spreadsheet_runs_it(everything: Path, run: Run) -> None:
    text = run("timeline", everything, "--csv").stdout
    assert text.replace("\n", "").isprintable()
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["action"] for row in rows][:3] == ["session.created", "state.updated", "state.updated"]
    assert "'=cmd()" in {row["reasoning"] for row in rows}
    details = json.loads(rows[2]["details"])
    assert details["state_diff"]["modified"]["a"]["to"] == list(range(200))
    assert run("timeline", everything, "--csv", "--search", "nowhere").stdout == text.splitlines()[0] + "\n"
