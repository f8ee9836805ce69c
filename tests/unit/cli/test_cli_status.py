"""`status`: how cassettes stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from pytest_statebase.cassette import write_record
from pytest_statebase.cli import main
from pytest_statebase.ledger import Ledger, SessionCreated, TurnAdded, TurnStarted
from pytest_statebase.report.results import error_row, write_results

Run = Callable[..., Result]


def results(path: Path, day: str, *red: str, calls: dict[str, int] | None = None) -> Path:
    """A results file in which the named cassettes are red and `clean` is green."""
    rows: list[dict[str, Any]] = [error_row(f"fixtures/{name}.session.yaml", "version 0", "broken") for name in red]
    green = error_row("fixtures/clean.session.yaml", "version 0", "")
    turn = {"turn": 1, "verdict": "unchanged", "replayed": {}, "divergences": []}
    green.update(
        outcome="passed", failure=None, turns=[turn], calls=calls or {"answered": 3, "authored": 1, "stale": 2}
    )
    write_results(path, [*rows, green], {"started_at": f"{day}T10:00:00+00:00"})
    return path


def unseal(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("seal:")), encoding="utf-8")


def test_one_line_a_cassette(project: Path, run: Run) -> None:
    result = run("status")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["cassette", "turns", "calls", "age", "seal", "owner"]
    found = {line.split()[0]: line.split() for line in lines[1:] if line.endswith(("-", "payments-team"))}
    assert found["second-refund"] == ["second-refund", "4", "7", "10", "d", "yes", "payments-team"]
    assert "cassettes, " in result.stdout
    assert all(len(line) <= 100 for line in lines)


def test_what_plans_and_records_lack(project: Path, run: Run) -> None:
    fixtures = project / "fixtures"
    (fixtures / "clean.session.yaml").write_text(
        "cassette: 1\nfailing: [2, 3]\ngate: warn\nknown: [{fingerprint: 0123456789ab, until: 2026-12-05}]\n",
        encoding="utf-8",
    )
    unseal(fixtures / "ask-for-a-person.record.yaml")
    paths = [fixtures / f"{name}.session.yaml" for name in ("second-refund", "clean", "ask-for-a-person")]
    text = run("status", *paths).stdout
    lines = text.splitlines()
    # The plan of a second lacks something as well; of the two the older one comes first, by milliseconds.
    assert [lines[1].split()[0], lines[4].split()[0]] == ["clean", "ask-for-a-person"]
    assert lines[2:4] == ["    failing turns without expect: 2, 3", "    gate: warn"]
    assert " no " in lines[4]
    assert lines[5].startswith("second-refund")
    assert "2 failing turns without expect, 1 record without a seal, 2 without owner" in text
    assert "known 0123456789ab expired 5 days ago  fixtures/clean.session.yaml:4:9" in text


def test_entries_of_defaults_are_told_once(project: Path, run: Run) -> None:
    with (project / "fixtures" / "statebase.yaml").open("a", encoding="utf-8") as file:
        file.write("known: [{fingerprint: 0123456789ab, until: 2026-12-12, ticket: PAY-7}]\n")
    text = run("status", "fixtures/clean.session.yaml", "fixtures/second-refund.session.yaml").stdout
    assert text.endswith("known PAY-7 expires in 2 days  fixtures/statebase.yaml:6:9, for 2 cassettes\n")


def test_last_results(project: Path, run: Run) -> None:
    old = results(project / "old.jsonl", "2026-12-01", "second-refund", "clean")
    new = results(project / "new.jsonl", "2026-12-09", "tool-raised")
    text = run("status", "--results", new, "--results", old).stdout
    lines = {line.split()[0]: line for line in text.splitlines() if line}
    assert text.splitlines()[1].startswith("second-refund")
    assert " now " in lines["second-refund"]
    assert " now " in lines["tool-raised"]
    assert " 2026-12-01   75%   25%   50%" in lines["clean"]
    assert " not run     -     -     -" in lines["ask-for-a-person"]
    assert "last results: 2 red, 1 green" in text
    assert "of 4 calls 75% answered, 25% authored, 50% flagged" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_json(project: Path, run: Run) -> None:
    file = results(project / "new.jsonl", "2026-12-09", "tool-raised")
    (project / "fixtures" / "bad.session.yaml").write_text("x\n", encoding="utf-8")
    result = run("status", "--json", "--results", file)
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    first = found["cassettes"][0]
    assert first["path"] == "fixtures/tool-raised.session.yaml"
    assert first["last_run"]["red"] is True
    assert first["failing"] == [2]
    assert first["sealed"] is True
    assert found["totals"]["red"] == 1
    assert found["broken"][0]["path"] == "fixtures/bad.session.yaml"


def test_broken_cassettes_are_one_line_each_and_the_others_are_told(project: Path, run: Run) -> None:
    fixtures = project / "fixtures"
    (fixtures / "bad.session.yaml").write_text("x\n", encoding="utf-8")
    (fixtures / "lonely.session.yaml").write_text("cassette: 1\n", encoding="utf-8")
    (fixtures / "clean.record.yaml").write_bytes(b"\xff\xfe")
    result = run("status")
    assert result.exit_code == 1
    assert sorted(line.split()[1].split(":")[0] for line in result.stderr.splitlines()) == [
        "fixtures/bad.session.yaml",
        "fixtures/clean.record.yaml",
        "fixtures/lonely.session.yaml",
    ]
    assert "second-refund" in result.stdout
    assert "3 broken" in result.stdout


def test_records_without_a_plan_count_too(everything: Path, run: Run) -> None:
    assert "everything" in run("status").stdout


def test_nothing_to_tell_of(project: Path, run: Run) -> None:
    (project / "empty").mkdir()
    result = run("status", "empty")
    assert result.exit_code == 1
    assert "there is no cassette here" in result.stderr
    (project / "pytest.ini").write_text("[pytest]\nstatebase_cassettes = nowhere\n", encoding="utf-8")
    result = run("status")
    assert result.exit_code == 1
    assert "nowhere: there is no such file or directory" in result.stderr


def test_sessions_without_a_recorded_time(tmp_path: Path) -> None:
    """Chat logs often hold none."""
    ledger = Ledger([SessionCreated("sess_1"), TurnStarted(1, {"type": "text", "content": "hi"}), TurnAdded()])
    write_record(tmp_path / "a.record.yaml", ledger)
    (tmp_path / "a.session.yaml").write_text("cassette: 1\nsession: sess_1\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["status", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "1 cassette, 1 turn, 0 calls" in result.output
