"""`--statebase-history`: one line a run, whoever replayed it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.plugin.conftest import Project


def lines(project: Project, name: str = "history.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.path / name).read_text(encoding="ascii").splitlines()]


def test_each_run_appends_a_line(project: Project) -> None:
    project.cassette()
    project.run("--statebase-history=history.jsonl")
    project.run("--statebase-history=history.jsonl", agent="toy:WrongArgument")
    first, second = lines(project)
    assert (first["replays"], second["replays"]) == (
        {"fail": 0, "norun": 0, "review": 0, "ok": 1},
        {"fail": 1, "norun": 0, "review": 0, "ok": 0},
    )
    assert (first["agent"], second["agent"]) == ("toy:Toy", "toy:WrongArgument")
    assert first["turns"] == {"unchanged": 3}
    assert first["measures"]["replays-passed"] == 1
    assert "part" not in first
    assert first["id"] != second["id"]


@pytest.mark.parametrize(
    "chosen", [["-k", "toy"], ["fixtures/toy.session.yaml"], ["--statebase-fork=turn 2"]], ids=["k", "path", "fork"]
)
def test_a_run_of_chosen_sessions_is_a_part(project: Project, chosen: list[str]) -> None:
    project.cassette()
    project.run("--statebase-history=history.jsonl", *chosen)
    assert [line["part"] for line in lines(project)] == [True]


def test_workers_make_one_line(project: Project) -> None:
    pytest.importorskip("xdist")
    project.cassette("toy")
    project.cassette("other")
    project.run("--statebase-history=history.jsonl", "-n2")
    (line,) = lines(project)
    assert line["replays"]["ok"] == 2


def test_a_line_that_tells_no_run_is_a_warning(project: Project) -> None:
    project.cassette()
    (project.path / "history.jsonl").write_text("half a li", encoding="ascii")
    result = project.run("--statebase-history=history.jsonl")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*warning*history.jsonl:1: passed over, and left as it is: no JSON"])
    assert (project.path / "history.jsonl").read_text(encoding="ascii").startswith("half a li\n{")


def test_only_collecting_appends_nothing(project: Project) -> None:
    project.cassette()
    project.run("--statebase-history=history.jsonl", "--collect-only")
    assert not (project.path / "history.jsonl").exists()


def test_a_row_tells_the_figures_of_its_recording(project: Project) -> None:
    project.cassette()
    project.run("--statebase-results=results.jsonl")
    production = project.results()[0]["production"]
    assert len(production["ms"]) == 3
    assert (production["good"], production["bad"], production["rollbacks"], production["done"]) == (4, 0, 0, True)
