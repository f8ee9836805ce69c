"""A project's own format, its grades, and where the hook is looked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_statebase.cli import main
from pytest_statebase.cli.hooks import project_hooks

HOOK = """
def pytest_statebase_import(path, data):
    if path.suffix != ".talk":
        return None
    said = [line.partition(": ") for line in data.splitlines()]
    roles = {"A": "user", "B": "assistant"}
    return [{"id": path.stem, "messages": [{"role": roles[who], "content": text} for who, _, text in said]}]
"""
GRADED = """
from dataclasses import replace
from pytest_statebase.importers import ledger_from_messages
from pytest_statebase.importers.grades import Reason, graded
from pytest_statebase.importers.model import Facts, ImportedSession
from pytest_statebase.importers.proposal import propose_plan

def pytest_statebase_import(path, data):
    lost = Reason("no-results", "1 call has no result", "Record what tools return")
    for name, grade in data.items():
        ledger = ledger_from_messages([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
                                      Facts(name), str(path))
        made = ImportedSession(name, ledger, propose_plan(ledger, None))
        yield replace(made, grade=graded([] if grade == "replayable" else [lost], unusable=grade == "unusable"))
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = src\n", encoding="utf-8")
    (tmp_path / "refund.talk").write_text("A: Hi\nB: Hello\n", encoding="utf-8")
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name in ("own_format", "own_plugin"):
            del sys.modules[name]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("place", ["conftest.py", "tests/conftest.py", "fixtures/conftest.py"])
def test_a_conftest_reads_its_own_format(project: Path, place: str) -> None:
    (project / place).parent.mkdir(exist_ok=True)
    (project / place).write_text(HOOK, encoding="utf-8")
    result = run("import", "refund.talk")
    assert result.exit_code == 0, result.output
    assert (project / "fixtures" / "refund.record.yaml").exists()


def test_from_a_directory_below_the_root(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "conftest.py").write_text("from own_format import pytest_statebase_import\n", encoding="utf-8")
    (project / "src").mkdir()
    (project / "src" / "own_format.py").write_text(HOOK, encoding="utf-8")
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    result = run("import", "../refund.talk", "--out", "out")
    assert result.exit_code == 0, result.output


def test_a_plugin_that_is_installed(project: Path) -> None:
    site = project / "site"
    info = site / "own-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "own_plugin.py").write_text(HOOK, encoding="utf-8")
    (site / "loud_plugin.py").write_text("raise SystemExit('it is of no concern here')\n", encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[pytest11]\nown = own_plugin\nloud = loud_plugin\n", encoding="utf-8")
    sys.path.insert(0, str(site))
    assert run("import", "refund.talk").exit_code == 0


def test_other_conftests_are_left_alone(project: Path) -> None:
    (project / "conftest.py").write_text("raise SystemExit('it is of no concern here')\n", encoding="utf-8")
    assert project_hooks("pytest_statebase_import") is None
    result = run("import", "refund.talk")
    assert result.exit_code == 1
    assert "is not JSON" in result.stderr


def test_a_conftest_that_does_not_import(project: Path) -> None:
    (project / "conftest.py").write_text(f"import nothing_at_all\n{HOOK}", encoding="utf-8")
    result = run("import", "refund.talk")
    assert result.exit_code != 0
    assert "conftest.py: does not import: ModuleNotFoundError" in result.stderr
    assert "Traceback" not in result.output


def test_grades_are_told_and_unusable_sessions_are_not_written(project: Path) -> None:
    (project / "conftest.py").write_text(GRADED, encoding="utf-8")
    (project / "x.json").write_text('{"a": "replayable", "b": "partial", "c": "unusable"}', encoding="utf-8")
    result = run("import", "x.json", "--out", "out")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "replayable  a  1 turn, 0 calls",
        "partial     b  1 turn, 0 calls",
        "              - 1 call has no result",
        "unusable    c  1 turn, 0 calls",
        "              - 1 call has no result",
        "What would mend the next recordings:",
        "    - Record what tools return (2 sessions)",
        "grades: 1 replayable, 1 partial, 1 unusable (not written; --all writes them)",
        "2 sessions, 2 turns, 0 calls; files: 5 written, 0 unchanged, 0 refused; in out",
    ]
    every = run("import", "x.json", "--out", "out", "--all")
    assert every.exit_code == 0
    assert "1 unusable\n" in every.stdout
    assert "3 sessions, 3 turns, 0 calls; files: 2 written, 5 unchanged" in every.stdout
    plan = (project / "out" / "c.session.yaml").read_text(encoding="utf-8")
    assert plan.startswith("# Not replayable:\n# - 1 call has no result. Record what tools return\n")


def test_many_sessions_are_told_in_short(project: Path) -> None:
    (project / "conftest.py").write_text(GRADED, encoding="utf-8")
    grades = ", ".join(f'"s{number}": "{"partial" if number < 25 else "replayable"}"' for number in range(40))
    (project / "x.json").write_text(f"{{{grades}}}", encoding="utf-8")
    lines = run("import", "x.json", "--out", "out").stdout.splitlines()
    assert sum(line.startswith("partial") for line in lines) == 20
    assert "and 5 more" in lines
    assert "grades: 15 replayable, 25 partial, 0 unusable" in lines


def test_nothing_but_unusable_sessions_is_a_failure(project: Path) -> None:
    (project / "conftest.py").write_text(GRADED, encoding="utf-8")
    (project / "x.json").write_text('{"c": "unusable"}', encoding="utf-8")
    assert run("import", "x.json", "--out", "out").exit_code == 1
    assert not (project / "out").exists()
