"""`stubs_from` in runs of pytest: results of one process and of several, the report, accepting, `status`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pytest_statebase.cassette import read_accepted
from pytest_statebase.cli import main
from tests import toy
from tests.plugin.conftest import PLAN, Project

DEFAULTS = "tools: {price: {reads: true}}\nstubs_from: directory\n"


@pytest.fixture
def project(project: Project) -> Project:
    project.cassette()
    project.cassette("other", agent=toy.ExtraCall, session="sess_other")
    (project.fixtures / "statebase.yaml").write_text(DEFAULTS)
    return project


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one process", "workers"])
def test_an_answer_of_another_session_is_marked_everywhere(project: Project, workers: tuple[str, ...]) -> None:
    result = project.run("--statebase-results=results.jsonl", *workers, agent="toy:ExtraCall")
    result.stdout.fnmatch_lines(["*answered by turn 2 of sess_other: this session's record does not know it*"])
    row = next(row for row in project.results() if row["session"] == "sess_toy")
    assert row["calls"]["sibling"] == 1
    (call,) = [call for turn in row["turns"] for call in turn["calls"] if call.get("source") == "sibling"]
    assert (call["flags"], call["sibling"]) == (["sibling"], "sess_other")
    assert row["verdicts"]["changed"] == 1
    report = project.page()
    assert "another session" in report
    assert "sibling" in report


def test_accepting_keeps_what_another_session_answered(project: Project) -> None:
    project.run("--statebase-accept=sess_toy:2", agent="toy:ExtraCall")
    accepted = read_accepted(project.fixtures / "toy.accepted.yaml")
    assert [call.source for call in accepted.turns[2].calls] == [None, None, "sibling"]
    (project.fixtures / "statebase.yaml").write_text("tools: {price: {reads: true}}\n")
    for name in ("other.session.yaml", "other.record.yaml"):
        (project.fixtures / name).unlink()
    project.run("--statebase-results=results.jsonl", agent="toy:ExtraCall")
    (row,) = project.results()
    assert row["turns"][1]["verdict"] == "accepted"


def test_status_tells_the_gain(project: Project) -> None:
    project.run("--statebase-results=results.jsonl", agent="toy:ExtraCall")
    result = CliRunner().invoke(
        main, ["status", str(project.fixtures), "--results", str(project.path / "results.jsonl")]
    )
    assert "stubs_from answered 1 of 1 call that the record does not know" in result.stdout


@pytest.mark.parametrize("file", ["toy.session.yaml", "statebase.yaml"])
def test_a_sibling_that_is_not_there_is_one_error(project: Project, file: str) -> None:
    (project.fixtures / "statebase.yaml").unlink()
    text = PLAN if file == "toy.session.yaml" else ""
    (project.fixtures / file).write_text(f"{text}stubs_from: [gone.session.yaml]\n")
    result = project.run()
    line = 4 if text else 1
    result.stdout.fnmatch_lines([f"*{file}:{line}:*`stubs_from` names gone.session.yaml, which is not there*"])
    result.stdout.no_fnmatch_line("*Traceback*")
