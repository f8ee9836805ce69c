"""A turn that ended early: the recorded calls that it did not get to are told wherever calls are."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_statebase.report.grouping import writes
from tests.plugin.conftest import INI, Project

AGENT = """
import time
import toy

class Raises(toy.Toy):
    def calls(self, turn):
        if turn == 2:
            toy.price("pear")
            raise ValueError("no plums today")
        super().calls(turn)

class RaisesAtOnce(toy.Toy):
    def calls(self, turn):
        if turn == 2:
            raise ValueError("no")
        super().calls(turn)

class Hangs(toy.Toy):
    def calls(self, turn):
        if turn == 2:
            toy.price("pear")
            while True:
                time.sleep(0.01)
        super().calls(turn)

class Asks(toy.Toy):
    def calls(self, turn):
        if turn == 2:
            toy.price("pear")
            toy.stock("pear")
        super().calls(turn)
"""


@pytest.fixture
def agents(project: Project) -> Project:
    project.cassette()
    (project.path / "mine.py").write_text(AGENT, encoding="utf-8")
    project.ini(INI + "statebase_turn_timeout = 1.5\n")
    return project


def second_turn(row: dict[str, Any]) -> list[tuple[str, bool]]:
    """The calls of turn 2, and whether they were made."""
    return [(call["label"], call["replayed"] is not None) for call in row["turns"][1]["calls"]]


@pytest.mark.parametrize(
    ("agent", "made"),
    [
        ("Raises", [("price", True), ("price#2", False)]),
        ("RaisesAtOnce", [("price", False), ("price#2", False)]),
        ("Hangs", [("price", True), ("price#2", False)]),
    ],
)
def test_a_turn_that_raised_or_ran_away_keeps_the_calls_it_did_not_reach(
    agents: Project, agent: str, made: list[tuple[str, bool]]
) -> None:
    result = agents.run(
        "--statebase-results=results.jsonl",
        "--statebase-summary=summary.md",
        "--statebase-sidecar=sidecar",
        agent=f"mine:{agent}",
    )
    (row,) = agents.results()
    left = [label for label, is_made in made if not is_made]
    assert row["turns"][1]["verdict"] == "error"
    assert second_turn(row) == made
    assert [one["kind"] for one in row["turns"][1]["divergences"]] == ["raised"]
    states = [one.state for one in writes([row]) if one.turn["turn"] == 2]
    assert states == ["made"] * (2 - len(left)) + ["not reached"] * len(left)
    calls = f"{len(left)} recorded call{'s' if len(left) > 1 else ''}"
    result.stdout.fnmatch_lines([f"  {calls} not reached: {', '.join(left)}"])
    summary = (agents.path / "summary.md").read_text(encoding="utf-8")
    assert re.search(r"Calls that change something\n\n\| Tool \| made \| not reached \|", summary)
    assert f"| `price` | {3 - len(left)} | {len(left)} |" in summary
    (brief,) = (path for path in (agents.path / "sidecar").iterdir() if path.name != "index.md")
    assert all(f"\n{label}\n" in brief.read_text(encoding="utf-8") for label in left)


def test_what_a_turn_does_not_reach_after_a_call_without_an_answer_has_its_own_name(agents: Project) -> None:
    agents.run("--statebase-results=results.jsonl", agent="mine:Asks")
    (row,) = agents.results()
    assert row["turns"][1]["verdict"] == "unrecorded"
    assert second_turn(row)[0] == ("price", True)
    assert [one.state for one in writes([row])] == ["made", "made", "unrecorded"]
    (found,) = row["turns"][1]["divergences"]
    assert (found["path"], found["detail"]) == ("tools.price#2", "stock, called in its place, had no recorded answer")
