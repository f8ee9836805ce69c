"""The cassette that a name means, and the ini keys of the project around it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from pytest_statebase.cli.project import find_project
from pytest_statebase.errors import OptionError

Run = Callable[..., Result]


def test_sessions_by_id_name_and_path(project: Path, run: Run) -> None:
    (project / "below").mkdir()
    for target in ("sess_clean", "clean", "fixtures/clean.session.yaml", project / "fixtures" / "clean.record.yaml"):
        assert run("show", target).stdout.startswith("sess_clean")


def test_the_id_of_a_record_where_the_plan_names_none(project: Path, run: Run) -> None:
    (project / "fixtures" / "clean.session.yaml").write_text("cassette: 1\n", encoding="utf-8")
    assert run("show", "sess_clean").exit_code == 0


def test_a_directory_below_the_project(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    assert run("show", "sess_clean").exit_code == 0


def test_unknown_sessions_name_those_that_come_near(project: Path, run: Run) -> None:
    result = run("show", "sess_second")
    assert result.exit_code == 1
    assert "there is no session sess_second in fixtures" in result.stderr
    assert "Did you mean sess_second_refund?" in result.stderr
    assert "There are ask-for-a-person, cancelled-order, clean" in run("show", "zzz").stderr
    (project / "fixtures" / "bad.session.yaml").write_text("x\n", encoding="utf-8")
    assert "1 could not be read, the first: fixtures/bad.session.yaml:1:1" in run("show", "zzz").stderr


def test_ambiguous_sessions_name_the_files(project: Path, run: Run) -> None:
    for suffix in ("session", "record"):
        shutil.copy(project / f"fixtures/clean.{suffix}.yaml", project / f"fixtures/copy.{suffix}.yaml")
    result = run("show", "sess_clean")
    assert result.exit_code == 1
    assert "2 cassettes are of session sess_clean" in result.stderr
    assert "fixtures/clean.session.yaml, fixtures/copy.session.yaml" in result.stderr


def test_paths_that_mean_nothing(project: Path, run: Run) -> None:
    assert "this is a directory" in run("show", "fixtures").stderr
    assert "there is no such file" in run("show", "fixtures/none.session.yaml").stderr
    shutil.rmtree(project / "fixtures")
    assert "There is no cassette" in run("show", "sess_clean").stderr


FILES = {
    "pytest.ini": "[pytest]\nstatebase_agent = a:b  # the agent\nstatebase_tools =\n    x:*\n    y:z\npythonpath = src",
    "tox.ini": "[tox]\n[pytest]\nstatebase_agent = a:b\nstatebase_tools =\n  x:*\n  y:z\npythonpath = src\n",
    "setup.cfg": "[tool:pytest]\nstatebase_agent=a:b\nstatebase_tools =\n  x:*\n  y:z\npythonpath = src\n",
    "pyproject.toml": (
        '[tool.pytest.ini_options]\nstatebase_agent = "a:b"\nstatebase_tools = ["x:*", "y:z"]\npythonpath = "src"\n'
    ),
    "pytest.toml": '[pytest]\nstatebase_agent = "a:b"\nstatebase_tools = ["x:*", "y:z"]\npythonpath = ["src"]\n',
}


@pytest.mark.parametrize("name", FILES)
def test_ini_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name].replace("  # the agent", ""), encoding="utf-8")
    (tmp_path / "below").mkdir()
    project = find_project(tmp_path / "below")
    assert project.text("statebase_agent") == "a:b"
    assert project.lines("statebase_tools") == ["x:*", "y:z"]
    assert project.import_path == [str(tmp_path / "src"), str(tmp_path)]
    assert project.cassettes == [tmp_path / "fixtures"]


@pytest.mark.parametrize("name", FILES)
def test_pytest_reads_the_same(pytester: pytest.Pytester, name: str) -> None:
    (pytester.path / name).write_text(FILES[name].replace("  # the agent", ""), encoding="utf-8")
    if name == "pytest.toml" and int(pytest.__version__.split(".")[0]) < 9:
        pytest.skip("pytest reads this file from version 9 on")
    config = pytester.parseconfig()
    project = find_project(pytester.path)
    assert project.text("statebase_agent") == config.getini("statebase_agent")
    assert project.lines("statebase_tools") == config.getini("statebase_tools")
    assert project.import_path[:-1] == [str(path) for path in config.getini("pythonpath")]


def test_files_that_are_not_about_pytest_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nstatebase_cassettes = one 'two three'\n", encoding="utf-8")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    (tmp_path / "below" / "tox.ini").write_text("[tox]\n", encoding="utf-8")
    assert find_project(tmp_path / "below").cassettes == [tmp_path / "one", tmp_path / "two three"]


@pytest.mark.parametrize(("name", "text"), [("pyproject.toml", "[tool"), ("pytest.ini", "x\n["), ("tox.ini", "\x00=[")])
def test_broken_ini_files(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match=name.replace(".", r"\.")):
        find_project(tmp_path)


@pytest.mark.parametrize("command", ["lint", "redact", "export traces", "export turns", "metrics", "status", "verify"])
def test_a_directory_without_cassettes_is_told(project: Path, run: Run, command: str) -> None:
    (project / "empty").mkdir()
    result = run(*command.split(), "empty")
    assert result.exit_code == 1
    assert "empty: there is no " in result.stderr
    assert result.stdout == ""


def test_an_export_of_nothing_writes_no_file(project: Path, run: Run) -> None:
    (project / "empty").mkdir()
    assert run("export", "traces", "empty", "-o", "out.csv").exit_code == 1
    assert not (project / "out.csv").exists()
