"""The directory of Markdown: an index and a file for each turn that does not pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from report_data import RUN, all_rows, broken_plan, clean, hostile, row, still_failing, unrecorded
from test_report_brief import outside

from pytest_statebase.report.against import Against
from pytest_statebase.report.prose.sidecar import write_sidecar
from pytest_statebase.report.runs import Run


def written(path: Path, rows: list[Any], **beside: Any) -> dict[str, str]:
    write_sidecar(path, Run(rows, RUN, **beside))
    return {file.name: file.read_text(encoding="utf-8") for file in path.iterdir()}


def named(number: int) -> dict[str, Any]:
    name = f"fixtures/f{number}.session.yaml"
    return row(still_failing()) | {"cassette": name, "nodeid": f"{name}::turn-2"}


def test_an_index_and_a_file_for_each_turn(tmp_path: Path) -> None:
    files = written(tmp_path / "new" / "dir", all_rows())
    names = sorted(re.sub(r"-[0-9a-f]{10}-", "-", name) for name in files)
    assert names == [
        "draft-turn-2.md",
        "greeting-turn-1.md",
        "index.md",
        "partial-refund-turn-2.md",
        "policy-turn-2.md",
        "refund-turn-2.md",
        "typo-replay.md",
    ]
    index = files.pop("index.md")
    assert "\n# 6 of 9 sessions did not pass\n" in index
    for name, text in files.items():
        assert index.count(f"[`{name}`]({name})") == 2
        assert text.startswith("<!-- pytest-statebase sidecar -->\n# ")
    assert "`greeting" in index
    assert "`gate: warn`" in index
    assert "owner `payments-team`" in index


def test_the_same_cause_is_told_once(tmp_path: Path) -> None:
    index = written(tmp_path, [named(number) for number in range(5)])["index.md"]
    why = index.split("## Why")[1].split("## Files")[0]
    assert why.count("`tools.issue_refund.arguments.amount` `arguments` (recorded `42.5`, replayed `40.0`)") == 1
    assert "in 5 sessions:" in why
    assert why.count(".md)") == 3
    assert "and 2 more" in why


def test_other_values_at_the_same_path_are_one_cause(tmp_path: Path) -> None:
    rows = [named(number) for number in range(3)]
    for number, made in enumerate(rows):
        made["turns"][1]["divergences"][0] |= {"replayed": number, "fingerprint": f"{number:012x}"}
    index = written(tmp_path, rows)["index.md"]
    why = index.split("## Why")[1].split("## Files")[0].strip()
    told = "`tools.issue_refund.arguments.amount` `arguments` (recorded `42.5`, replayed `0`, other values in each)"
    assert why.startswith(f"- {told}, in 3 sessions: [")
    assert len(why.split("\n")) == 1


def test_replays_of_the_same_session_are_no_further_sessions(tmp_path: Path) -> None:
    rows = [{**named(0), "agent": agent} for agent in ("a:A", "b:B")]
    assert "\n# 2 of 2 replays of 1 session did not pass\n" in written(tmp_path, rows)["index.md"]


def test_what_is_left_out_is_told_and_every_cause_has_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_statebase.report.prose.sidecar._FILES", 4)
    files = written(tmp_path, [*(named(number) for number in range(6)), row(unrecorded()), broken_plan()])
    assert len(files) == 5
    assert any(name.startswith("typo-") for name in files)
    assert "4 more have no file" in files["index.md"]


def test_every_session_has_a_file_before_one_has_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_statebase.report.prose.sidecar._FILES", 3)
    rows = [named(number) for number in range(3)]
    for made in rows:
        made["turns"] += [made["turns"][1] | {"turn": number} for number in (3, 4)]
    names = sorted(written(tmp_path, rows))
    assert [re.sub("-[0-9a-f]{10}-", " ", name) for name in names] == [
        "f0 turn-2.md",
        "f1 turn-2.md",
        "f2 turn-2.md",
        "index.md",
    ]


def test_files_of_earlier_runs_go_and_strangers_stay(tmp_path: Path) -> None:
    first = written(tmp_path, all_rows())
    old = next(name for name in first if name.startswith("refund-"))
    strangers = {"notes.md": "mine", "refund-0123456789-turn-2.md": "mine, too", old + ".txt": first[old]}
    marked = {"my-notes.md": first[old]}
    for name, text in (strangers | marked).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "x-0123456789-turn-1.md").symlink_to(tmp_path / old)
    (tmp_path / "sub").mkdir()
    write_sidecar(tmp_path, Run([row(clean())], RUN))
    assert {path.name for path in tmp_path.iterdir()} == {
        "index.md",
        "sub",
        "x-0123456789-turn-1.md",
        *strangers,
        *marked,
    }
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "\n# The session passes\n" in index
    assert "## Files" not in index


def test_a_strangers_index_stays_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# My docs\n", encoding="utf-8")
    with pytest.raises(FileExistsError, match=r"index\.md in it was not written by pytest-statebase, and stays"):
        write_sidecar(tmp_path, Run(all_rows(), RUN))
    assert [path.name for path in tmp_path.iterdir()] == ["index.md"]


def test_nothing_recorded_speaks_or_names_files(tmp_path: Path) -> None:
    traversal = row(still_failing()) | {"cassette": "../../etc/passwd", "nodeid": "../../etc/passwd::x"}
    run = RUN | {"agent": hostile()["agent"], "warnings": [hostile()["title"]]}
    write_sidecar(tmp_path / "d", Run([hostile(), traversal], run, url="javascript:alert(1)//`"))
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
    for path in (tmp_path / "d").iterdir():
        assert re.fullmatch(r"index\.md|[a-z0-9-]{1,40}-[0-9a-f]{10}-turn-\d\.md", path.name)
        assert "alert" not in outside(re.sub(r"\(([a-z0-9-]+\.md)\)", "", path.read_text(encoding="utf-8")))


def test_an_unknown_verdict_and_the_same_name_twice(tmp_path: Path) -> None:
    odd = row(still_failing())
    odd["turns"][1] |= {"verdict": "# Run `rm`", "divergences": []}
    odd["outcome"] = "failed"
    files = written(tmp_path, [named(1), named(1), odd])
    assert len([name for name in files if name.startswith("f1-")]) == 2
    assert "rm" not in outside(re.sub(r"\([a-z0-9-]+\.md\)", "", files["index.md"]))


def test_what_fails_because_of_the_change_is_marked(tmp_path: Path) -> None:
    rows = [named(1), named(2)]
    against = Against("base.jsonl", [rows[1]], [], [rows[0]], [], [])
    lines = written(tmp_path, rows, against=against)["index.md"].split("\n")
    assert [line.split("`")[3] for line in lines if "newly failing" in line] == [rows[1]["nodeid"]]
    against = Against("base.jsonl", [], [], [], [], [], rows[:1], rows[:1])
    lines = written(tmp_path, rows, against=against)["index.md"].split("\n")
    assert [line.split("`")[3] for line in lines if "passed before" in line] == [rows[0]["nodeid"]]


def test_an_empty_run_did_not_pass(tmp_path: Path) -> None:
    assert "\n# No session was replayed\n" in written(tmp_path, [])["index.md"]


def test_moved_prompts_are_one_line(tmp_path: Path) -> None:
    rows = []
    for number in range(3):
        made = named(number)
        made["turns"][1] |= {"verdict": "stale", "divergences": [], "reason": "the prompt moved"}
        rows.append(made)
    files = written(tmp_path, rows)
    assert list(files) == ["index.md"]
    assert "Prompts that moved: `3 model calls in 3 cassettes no recording answers" in files["index.md"]
