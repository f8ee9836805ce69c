from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from pytest_statebase.cli import main
from pytest_statebase.report.history import Point, read_history
from pytest_statebase.report.results import Row, dump_row, error_row, read_results, write_results


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def report(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["report", *arguments])


def bad(name: str) -> Row:
    path = f"fixtures/{name}.session.yaml"
    return error_row(path, "version 0", "the record is broken", nodeid=f"{path}::version-0")


def good(name: str) -> Row:
    turn = {"turn": 1, "verdict": "unchanged", "input": "hello", "authored": False, "at": None}
    turn |= {"version_before": 0, "version_after": 0, "recorded": {"output": "hi"}, "replayed": {"same": True}}
    turn |= {"calls": [], "divergences": []}
    return {**bad(name), "outcome": "passed", "failure": None, "message": None, "turns": [turn]} | {
        "verdicts": {"unchanged": 1},
        "calls": {"answered": 2},
    }


def shards() -> list[str]:
    write_results("shard-1.jsonl", [good("a"), bad("b")], {"started_at": "2026-01-01T00:00:00Z"})
    write_results("shard-2.jsonl", [bad("c")], {"started_at": "2026-01-01T00:00:01Z"})
    return ["shard-1.jsonl", "shard-2.jsonl"]


@pytest.mark.parametrize("command", [[], ["render"]])
def test_one_page_of_several_files(command: list[str]) -> None:
    result = report(*command, *shards(), "-o", "new/report.html")
    assert result.exit_code == 0, result.output
    assert result.stdout == "3 replays of 2 files in new/report.html\n"
    assert "the record is broken" in Path("new/report.html").read_text(encoding="utf-8")


def test_options_may_come_before_the_files() -> None:
    assert report("-o", "page.html", *shards()).exit_code == 0
    assert Path("page.html").exists()
    assert "render" in report("--help").output
    assert "SHARDS" in report("merge", "--help").output


@pytest.mark.parametrize("command", ["render", "merge"])
def test_a_file_that_holds_no_results(command: str) -> None:
    Path("x.jsonl").write_text('{"format": 99, "run": {}}\n', encoding="utf-8")
    result = report(command, "x.jsonl", "-o", "report.html")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: x.jsonl:1: results in format 99")
    assert not Path("report.html").exists()
    assert "missing.jsonl: cannot be read" in report(command, "missing.jsonl").stderr


def test_shards_make_all_that_a_run_makes() -> None:
    result = report("merge", *shards(), "--results=all.jsonl", "--report=r.html", "--junitxml=junit.xml", "--shards=2")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "3 replays of 2 files in all.jsonl, r.html, junit.xml"
    assert "ok             1 session, turns: 1 unchanged" in result.stdout
    run, rows = read_results("all.jsonl")
    assert [row["cassette"] for row in rows] == [f"fixtures/{name}.session.yaml" for name in "abc"]
    assert run["files"] == 2
    suite = ElementTree.parse("junit.xml").find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("errors")) == ("3", "2")


def test_without_an_output_it_is_the_page() -> None:
    assert report("merge", *shards()).exit_code == 0
    assert Path("statebase-report.html").exists()


def test_what_is_missing_is_said_and_the_rest_is_written() -> None:
    Path("odd.jsonl").write_text("<html>", encoding="utf-8")
    result = report("merge", *shards(), "odd.jsonl", "gone.jsonl", "--shards=5", "--results=all.jsonl")
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    for words in ("odd.jsonl:1: no results file", "gone.jsonl: cannot be read", "2 results files of 5"):
        assert f"Warning: {words}" in result.stderr
    assert "No such file or directory. Give the file" in result.stderr
    assert "   " not in result.stderr
    run, rows = read_results("all.jsonl")
    assert (len(rows), len(run["warnings"])) == (3, 3)


@pytest.mark.parametrize("command", ["merge", "render"])
def test_a_line_that_is_no_result_costs_no_other(command: str) -> None:
    paths = shards()
    with open(paths[1], "a", encoding="ascii") as file:
        file.write(dump_row(good("d")).replace('"turn":1', '"turn":true') + "\n")
        file.write(dump_row(good("e")).replace('"duration_ms":0.0', '"duration_ms":1e999') + "\n")
    write_results("base.jsonl", [good("a")], {})
    result = report(command, *paths, "-o", "r.html", *(["--results=all.jsonl"] if command == "merge" else []))
    assert result.exit_code == 1
    words = "shard-2.jsonl:3: this line is no result of a replay: the `turn` of a turn is true or false; it is left out"
    assert f"Warning: {words}, and so is 1 other\n" in result.stderr
    assert words in Path("r.html").read_text(encoding="utf-8")
    if command == "merge":
        run, rows = read_results("all.jsonl")
        assert [row["cassette"] for row in rows] == [f"fixtures/{name}.session.yaml" for name in "abc"]
        assert run["warnings"] == [f"{words}, and so is 1 other"]


def test_a_base_with_a_line_that_is_no_result_is_refused() -> None:
    write_results("base.jsonl", [good("a"), good("b")], {})
    with open("base.jsonl", "a", encoding="ascii") as file:
        file.write("{}\n")
    result = report("merge", *shards(), "--base-results=base.jsonl", "--results=all.jsonl")
    assert result.exit_code == 1
    assert "Error: base.jsonl:4: this line is no result of a replay" in result.stderr
    assert len(read_results("all.jsonl")[1]) == 3


def test_an_output_that_cannot_be_written_keeps_no_other_from_being_written() -> None:
    Path("file").write_text("", encoding="utf-8")
    result = report("merge", *shards(), "--results=file/all.jsonl", "--report=r.html")
    assert result.exit_code == 1
    assert "Error: file/all.jsonl could not be written" in result.stderr
    assert Path("r.html").exists()


def test_what_a_change_did() -> None:
    write_results("base.jsonl", [good("a"), good("b"), bad("c"), good("d")], {})
    result = report("merge", *shards(), "--base-results=base.jsonl", "--results=all.jsonl")
    assert result.exit_code == 0
    assert "against base   1 newly failing, 1 still failing, 1 removed  base.jsonl" in result.stdout
    assert "newly failing  fixtures/b.session.yaml::version-0\n" in result.stdout
    assert result.stdout.count("fixtures/b.session.yaml::version-0  the record is broken\n") == 1


def test_a_base_that_cannot_be_read_is_told() -> None:
    result = report("merge", *shards(), "--base-results=none.jsonl", "--results=all.jsonl")
    assert result.exit_code == 1
    assert "Error: none.jsonl: cannot be read" in result.stderr
    assert Path("all.jsonl").exists()


@pytest.mark.parametrize(
    ("base", "gate", "option", "code"),
    [
        ([good("b"), good("c")], "block", "newly-failing", 1),
        ([bad("b"), bad("c")], "block", "newly-failing", 0),
        ([bad("b")], "block", "newly-failing", 1),
        ([good("b"), good("c")], "warn", "newly-failing", 0),
        ([bad("b"), bad("c")], "block", "failing", 1),
        ([bad("b"), bad("c")], "warn", "failing", 0),
    ],
)
def test_verdicts_count_where_that_is_asked_for(base: list[Row], gate: str, option: str, code: int) -> None:
    write_results("base.jsonl", base, {})
    write_results("now.jsonl", [good("a"), {**bad("b"), "gate": gate}, {**bad("c"), "gate": gate}], {})
    result = report("merge", "now.jsonl", "--base-results=base.jsonl", f"--fail-on={option}")
    assert result.exit_code == code, result.output


@pytest.mark.parametrize(("gate", "code"), [("block", 1), ("warn", 0)])
def test_a_change_that_lets_nothing_finish_is_not_harmless(gate: str, code: int) -> None:
    write_results("base.jsonl", [good(name) for name in "abc"], {})
    write_results("now.jsonl", [{**bad(name), "unfinished": True, "gate": gate} for name in "abc"], {})
    options = ("--base-results=base.jsonl", "--fail-on=newly-failing", "--summary=c.md")
    result = report("merge", "now.jsonl", *options)
    assert result.exit_code == code, result.output
    assert "0 newly failing, 3 not finished" in result.stdout
    headline = Path("c.md").read_text(encoding="utf-8").splitlines()[1]
    assert headline.startswith(f"### {'❌' if code else '⚠️'} 3 sessions that passed before did not finish")


def test_what_newly_fails_is_known_with_a_base_alone() -> None:
    result = report("merge", *shards(), "--fail-on=newly-failing")
    assert result.exit_code == 1
    assert "--fail-on=newly-failing goes with --base-results" in result.stderr


def test_results_of_nothing() -> None:
    write_results("none.jsonl", [], {})
    result = report("merge", "none.jsonl", "--junitxml=junit.xml", "--report=r.html")
    assert result.exit_code == 0, result.output
    suite = ElementTree.parse("junit.xml").find("testsuite")
    assert suite is not None
    assert suite.get("tests") == "0"


def _history() -> list[Point]:
    points, notes = read_history(Path("history.jsonl"))
    assert notes == []
    return points


def test_merged_shards_are_one_run_of_the_history() -> None:
    result = report("merge", *shards(), "--history", "history.jsonl", "--history-from", "main.jsonl")
    assert result.exit_code == 0, result.output
    assert "Warning: main.jsonl: no such file, so no earlier runs" in result.stderr
    Path("history.jsonl").rename("main.jsonl")
    write_results("next.jsonl", [good("a")], {"started_at": "2026-01-02T00:00:00Z"})
    assert report("merge", "next.jsonl", "--history", "history.jsonl", "--history-from", "main.jsonl").exit_code == 0
    told = [(point.at.day, dict(point.replays)) for point in read_history(Path("history.jsonl"))[0]]
    assert told == [
        (1, {"fail": 0, "norun": 2, "review": 0, "ok": 1}),
        (2, {"fail": 0, "norun": 0, "review": 0, "ok": 1}),
    ]


def test_a_merge_that_lacks_a_shard_is_a_part_of_a_run() -> None:
    first, _ = shards()
    assert report("merge", first, "none.jsonl", "--history", "history.jsonl").exit_code == 1
    (point,) = _history()
    assert point.part


def cut(path: str, *, lines: int) -> str:
    """The file without its last lines."""
    left = Path(path).read_text(encoding="ascii").splitlines()[:-lines]
    Path(path).write_text("\n".join(left) + "\n", encoding="ascii")
    return path


def test_a_shard_that_was_cut_off_is_told_first_and_fails_the_merge() -> None:
    write_results("whole.jsonl", [good(name) for name in "abc"], {})
    outputs = ["--summary=c.md", "--report=r.html", "--results=all.jsonl", "--history=history.jsonl"]
    result = report("merge", cut("whole.jsonl", lines=1), *outputs)
    assert result.exit_code == 1
    assert "Warning: whole.jsonl: cut off: 2 of 3 replays are there" in result.stderr
    words = "Incomplete: 1 results file was cut off, at least 1 replay missing; 2 of 2 sessions that are here pass"
    assert Path("c.md").read_text(encoding="utf-8").splitlines()[1] == f"### ⚠️ {words}"
    assert f"{words}." in Path("r.html").read_text(encoding="utf-8")
    assert _history()[0].part
    again = report("merge", "all.jsonl", "--summary=again.md")
    assert again.exit_code == 1, "what was written of it is not whole either"
    assert words in Path("again.md").read_text(encoding="utf-8")
    assert report("render", "whole.jsonl").exit_code == 1


@pytest.mark.parametrize("options", [["--shards=2"], ["gone.jsonl"], ["gone.jsonl", "--shards=2"]])
def test_a_lost_shard_is_told_first(options: list[str]) -> None:
    write_results("one.jsonl", [good(name) for name in "ab"], {})
    assert report("merge", "one.jsonl", *options, "--summary=c.md").exit_code == 1
    words = "Incomplete: results of 1 of 2 jobs are missing; 2 of 2 sessions that are here pass"
    assert Path("c.md").read_text(encoding="utf-8").splitlines()[1] == f"### ⚠️ {words}"


def test_a_shard_that_lacks_sessions_removes_none() -> None:
    write_results("base.jsonl", [good(name) for name in "abc"], {})
    write_results("now.jsonl", [good(name) for name in "abc"], {})
    result = report("merge", cut("now.jsonl", lines=1), "--base-results=base.jsonl", "--results=all.jsonl")
    assert "against base   0 newly failing  base.jsonl" in result.stdout


def test_a_base_that_was_cut_off_is_told_beside_what_is_new() -> None:
    write_results("base.jsonl", [good(name) for name in "abc"], {})
    write_results("now.jsonl", [good(name) for name in "abc"], {})
    result = report("merge", "now.jsonl", f"--base-results={cut('base.jsonl', lines=2)}", "--summary=c.md")
    assert result.exit_code == 0, result.output
    doubt = "The base's results are incomplete (1 results file was cut off, at least 2 replays missing): "
    assert "0 newly failing, 2 new" in result.stdout
    assert doubt in result.stdout
    assert doubt in Path("c.md").read_text(encoding="utf-8")


def test_a_run_that_was_stopped_is_a_part_in_the_history() -> None:
    write_results("now.jsonl", [bad("a"), {**bad("b"), "unfinished": True}], {})
    assert report("merge", "now.jsonl", "--history=history.jsonl").exit_code == 0
    assert _history()[0].part


def test_other_histories_go_with_one_to_write() -> None:
    result = report("merge", *shards(), "--history-from", "main.jsonl")
    assert result.exit_code != 0
    assert "--history-from goes with --history" in result.output


def test_a_job_of_github_gets_its_summary_and_annotations(monkeypatch: pytest.MonkeyPatch) -> None:
    result = report("merge", *shards(), "--job-summary")
    assert result.exit_code == 1
    assert "GITHUB_STEP_SUMMARY names no file" in result.stderr
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "step.md")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    Path("step.md").write_text("before\n", encoding="utf-8")
    result = report("merge", *shards(), "--job-summary", "--annotations")
    assert result.exit_code == 0, result.output
    text = Path("step.md").read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert "the record is broken" in text
    commands = [line for line in result.stdout.splitlines() if line.startswith("::")]
    assert len(commands) == 1, "what failed in the same way is one"
    assert all(line.startswith("::error ") for line in commands)
    assert not Path("statebase-report.html").exists()


def test_recorded_text_is_no_command_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    evil = "::error::x\n::stop-commands::y ##vso[task.setvariable]"
    row = {**bad("a"), "failure": evil, "message": evil, "nodeid": evil, "warnings": [evil]}
    write_results("evil.jsonl", [row], {"warnings": [evil], "commit": evil})
    write_results("base.jsonl", [], {})
    result = report("merge", "evil.jsonl", "--base-results=base.jsonl", "--annotations")
    lines = [line for line in result.output.splitlines() if line.lstrip().startswith("::") or "##vso[" in line]
    assert [line for line in lines if not line.startswith(("::error ", "::warning "))] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--results", "same.out", "--summary", "same.out"), "--results and --summary are one file: same.out"),
        (("--report", "same.out", "--junitxml", "./same.out"), "--report and --junitxml are one file"),
        (("--history", "same.out", "--results", "same.out"), "--results and --history are one file"),
        (("--sidecar", "side", "--summary", "side/index.md"), "--sidecar and --summary are one file: side/index.md"),
        (("--summary", "shard-1.jsonl"), "--summary and a file of results are one file: shard-1.jsonl"),
        (
            ("--history", "h.jsonl", "--summary", "same.out", "--history-from", "same.out"),
            "--summary and --history-from are one file",
        ),
    ],
)
def test_two_files_at_one_place_are_told_before_anything_is_written(options: tuple[str, ...], words: str) -> None:
    Path("same.out").write_text("kept\n", encoding="utf-8")
    result = report("merge", *shards(), *options)
    assert result.exit_code != 0
    assert words in result.stderr
    assert "Give each a file of its own." in result.stderr
    assert Path("same.out").read_text(encoding="utf-8") == "kept\n"
    assert {path.name for path in Path().iterdir()} == {"same.out", "shard-1.jsonl", "shard-2.jsonl"}


def test_the_page_is_not_written_over_the_results_that_it_is_made_of() -> None:
    result = report(*shards(), "-o", "shard-2.jsonl")
    assert "--report and a file of results are one file: shard-2.jsonl" in result.stderr
    assert [row["cassette"] for row in read_results("shard-2.jsonl")[1]] == ["fixtures/c.session.yaml"]


def test_results_may_be_merged_in_place() -> None:
    first, second = shards()
    assert report("merge", first, second, "--results", first).exit_code == 0
    assert len(read_results(first)[1]) == 3


@pytest.mark.parametrize("url", ["foo", "javascript:alert(1)", "https://"])
def test_an_address_to_which_no_link_can_lead_is_refused(url: str) -> None:
    result = report("merge", *shards(), "--report-url", url, "--report", "page.html")
    assert result.exit_code != 0
    assert f"--report-url {url!r} is no address of the web" in result.stderr
    assert not Path("page.html").exists()
