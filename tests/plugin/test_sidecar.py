"""`--statebase-sidecar`: what it says is enough to make the failure again, and to accept it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.plugin.conftest import QUICK, Project


def briefs(project: Project) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (project.path / "briefs").iterdir()}


def command(text: str, after: str) -> list[str]:
    """The command under a comment, as a shell takes it apart."""
    found = re.search(rf"^# {after}.*\n(.+)$", text, re.MULTILINE)
    assert found is not None
    return shlex.split(found[1])


def run_again(project: Project, words: list[str]) -> pytest.RunResult:
    assert words[0] == "pytest"
    return project.pytester.runpytest_inprocess(*QUICK, *words[1:])


def test_its_command_makes_the_failure_again(project: Project) -> None:
    project.cassette()
    assert project.run("--statebase-sidecar=briefs", agent="toy:WrongArgument").ret == 1
    files = briefs(project)
    assert len(files) == 2
    text = next(text for name, text in files.items() if name != "index.md")
    again = run_again(project, command(text, "this replay again"))
    assert again.ret == 1
    again.stdout.fnmatch_lines(["turn 2 unrecorded*"])


@pytest.mark.parametrize("fork", ["version 0", "turn 2"])
def test_a_changed_turn_is_accepted_by_the_command_in_its_file(project: Project, fork: str) -> None:
    project.cassette(plan=f"cassette: 1\nsession: sess_toy\ncompare: {{output: exact}}\nreplay: {{fork: {fork}}}\n")
    assert project.run("--statebase-sidecar=briefs", agent="toy:OtherText").ret == 1
    text = next(text for name, text in briefs(project).items() if name != "index.md")
    number = re.search(r"# Turn (\d)", text)[1]  # type: ignore[index]
    run_again(project, command(text, "accept the turn")).stdout.fnmatch_lines([f"*toy.accepted.yaml: turn {number}*"])
    assert (project.fixtures / "toy.accepted.yaml").exists()


def test_a_run_that_passes_leaves_the_index_alone(project: Project) -> None:
    project.cassette()
    project.run("--statebase-sidecar=briefs", agent="toy:WrongArgument")
    assert len(briefs(project)) == 2
    assert project.run("--statebase-sidecar=briefs").ret == 0
    assert list(briefs(project)) == ["index.md"]


def test_a_directory_of_somebody_else_is_a_failure_in_words(project: Project) -> None:
    project.cassette()
    docs = project.path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Mine\n")
    result = project.run("--statebase-sidecar=docs")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*docs could not be written: index.md in it was not written by pytest-statebase*"])
    assert (docs / "index.md").read_text() == "# Mine\n"
    assert [path.name for path in Path(docs).iterdir()] == ["index.md"]
