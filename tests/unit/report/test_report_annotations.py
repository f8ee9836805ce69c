from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from report_data import RUN, all_rows, hostile, raised, row, still_failing, unproven
from test_report_summary import EVIL, against, hostile_rows, many

from pytest_statebase.report.ci.annotations import MOST, annotation_lines
from pytest_statebase.report.page.view import anchors_of
from pytest_statebase.report.results import Row
from pytest_statebase.report.runs import Run

PLAN = """\
cassette: 1
session: sess_refund
agent: shop
failing: [2]
expect:
  # The refund was wrong.
  2:
    state: {refund_issued: false}
"""
RECORD = """\
record: 1
kind: session
id: sess_refund
---
kind: turn
number: 1
input:
  type: text
  content: |-
    ---
    number: 2
---
kind: turn
number: 2
"""


@dataclass
class Command:
    name: str
    properties: dict[str, str]
    text: str


def read(line: str) -> Command:
    """A command as the runner reads it off a line (actions/runner, ActionCommand.TryParseV2)."""
    line = line.lstrip()
    assert line.startswith("::")
    assert len(line.splitlines()) == 1
    head, _, data = line[2:].partition("::")
    name, _, told = head.partition(" ")
    properties = dict(one.split("=", 1) for one in told.split(",") if one)
    return Command(name, {key: unescaped(value) for key, value in properties.items()}, unescaped(data))


def unescaped(text: str) -> str:
    for code, letter in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, letter)
    return text


def lines(rows: list[Row], root: Path, **options: object) -> list[Command]:
    return list(map(read, annotation_lines(Run(rows, RUN, **options), root)))  # type: ignore[arg-type]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a directory of its repository."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    fixtures = tmp_path / "agent" / "fixtures"
    fixtures.mkdir(parents=True)
    (fixtures / "refund.session.yaml").write_text(PLAN, encoding="utf-8")
    (fixtures / "refund.record.yaml").write_text(RECORD, encoding="utf-8")
    return tmp_path / "agent"


def test_a_failure_is_told_where_the_plan_expects_something_else(root: Path) -> None:
    (found,) = lines([row(still_failing())], root, url="https://ci.example/report.html")
    assert found.name == "error"
    assert found.properties == {
        "file": "agent/fixtures/refund.session.yaml",
        "line": "7",
        "title": "refund: turn 2 still-failing",
    }
    assert found.text.split("\n") == [
        "tools.issue_refund.arguments.amount: another argument",
        "recorded: 42.5",
        "now: 40.0",
        "owner: payments-team",
        f"https://ci.example/report.html#{anchors_of([row(still_failing())])[0]}-2",
    ]


def test_what_was_accepted_is_called_so(root: Path) -> None:
    made = row(still_failing())
    made["turns"][1]["divergences"][0]["baseline"] = True
    (found,) = lines([made], root)
    assert found.text.split("\n")[1:3] == ["accepted: 42.5", "now: 40.0"]


def test_without_an_expectation_it_is_told_where_the_turn_was_recorded(root: Path) -> None:
    plan = root / "fixtures" / "refund.session.yaml"
    plan.write_text(PLAN.split("expect")[0], encoding="utf-8")
    (found,) = lines([row(still_failing())], root)
    assert (found.properties["file"], found.properties["line"]) == ("agent/fixtures/refund.record.yaml", "13")
    (root / "fixtures" / "refund.record.yaml").unlink()
    (found,) = lines([row(still_failing())], root)
    assert (found.properties["file"], found.properties["line"]) == ("agent/fixtures/refund.session.yaml", "1")
    plan.write_text("cassette: [", encoding="utf-8")
    (found,) = lines([row(still_failing())], root)
    assert (found.properties["file"], found.properties["line"]) == ("agent/fixtures/refund.session.yaml", "1")


def test_a_plan_that_cannot_be_read_is_told_at_the_line_that_its_error_names(root: Path) -> None:
    (root / "fixtures" / "typo.session.yaml").write_text("cassette: 1\n", encoding="utf-8")
    broken = all_rows()[-1]
    (found,) = lines([broken], root)
    assert found.properties == {
        "file": "agent/fixtures/typo.session.yaml",
        "line": "4",
        "title": "typo: could not run",
    }


def test_files_outside_the_project_are_neither_read_nor_named(root: Path) -> None:
    (root.parent / "other.session.yaml").write_text(PLAN, encoding="utf-8")
    for name in ("../other.session.yaml", str(root.parent / "other.session.yaml"), "/etc/passwd", "a\x00b", "fixtures"):
        (found,) = lines([{**row(still_failing()), "cassette": name}], root)
        assert "file" not in found.properties
    (root / "fixtures" / "link.session.yaml").symlink_to(root.parent / "other.session.yaml")
    (found,) = lines([{**row(still_failing()), "cassette": "fixtures/link.session.yaml"}], root)
    assert "file" not in found.properties


def test_outside_a_service_files_are_named_from_the_project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE")
    (found,) = lines([row(still_failing())], root)
    assert found.properties["file"] == "fixtures/refund.session.yaml"


def test_other_values_at_the_same_path_are_one_annotation_with_those_of_the_session_that_it_names(
    tmp_path: Path,
) -> None:
    rows = many(3, value=1)
    (found,) = lines(rows, tmp_path, against=against(still_failing=rows[:2], newly_failing=rows[2:]))
    assert found.properties["title"] == "refund-2: turn 2 still-failing (and 2 more sessions)"
    assert found.text.split("\n")[1:4] == ["recorded: 42.5", "now: 2", "3 sessions, other values in each"]


def test_the_same_failure_of_many_sessions_is_one_annotation(tmp_path: Path) -> None:
    (found,) = lines(many(40), tmp_path)
    assert found.properties["title"] == "refund-0: turn 2 still-failing (and 39 more sessions)"
    assert "also in refund-1, refund-2, refund-3, refund-4, refund-5 and 34 more" in found.text


def unlike(number: int) -> list[Row]:
    rows = many(number, value=1)
    for index, one in enumerate(rows):
        one["turns"][1]["divergences"][0]["path"] = f"state.k{index}"
    return rows


def test_there_are_at_most_ten(tmp_path: Path) -> None:
    assert len(lines(unlike(10), tmp_path)) == MOST == 10
    found = lines(unlike(40), tmp_path)
    assert [one.name for one in found] == ["error"] * 9 + ["notice"]
    assert found[-1].text == "31 further reasons for which sessions fail: see the report"


def test_what_a_change_broke_comes_first(tmp_path: Path) -> None:
    rows = [*many(5), *unlike(20)]
    found = lines(rows, tmp_path, against=against(newly_failing=[rows[-1]]))
    assert found[0].text.startswith("state.k19: another argument")


def test_what_blocks_nothing_is_a_warning(tmp_path: Path) -> None:
    assert [one.name for one in lines([row(raised()), row(unproven())], tmp_path)] == ["warning", "error"]
    assert lines([row for row in all_rows() if row["outcome"] == "passed"], tmp_path) == []


def test_moved_prompts_are_one_warning(tmp_path: Path) -> None:
    stale = row(unproven())
    stale["turns"][0] |= {"verdict": "stale", "reason": "no model call is recorded", "divergences": []}
    (found,) = lines([stale, copy.deepcopy(stale)], tmp_path)
    assert (found.name, found.properties) == ("warning", {"title": "stale prompts"})
    assert found.text.startswith("2 model calls in 1 cassette no recording answers")


def test_recorded_text_commands_nothing(root: Path) -> None:
    """Whatever was recorded, each line is one annotation, and says it as text."""
    evil = "::set-output name=a::b\n::stop-commands::t\r\n%0A::error::x,title=y::z ##[add-mask]s \u2028 \x1b[31m"
    for text in (evil, EVIL):
        (found,) = lines([{**hostile(text), "message": text, "failure": text}], root)
        assert found.name == "error"
        assert set(found.properties) == {"title"}
        assert not re.search("[\x00-\x09\x0b-\x1f\u2028\ud800-\udfff]", found.text)
    assert r"%0A::error::x,title=y::z" in unescaped("".join(annotation_lines(Run([hostile(evil)], RUN), root)))
    found = lines(hostile_rows(), root)
    assert len(found) == MOST
    assert {one.name for one in found} <= {"error", "warning", "notice"}
    assert max(len(one.text) for one in found) < 3_000
