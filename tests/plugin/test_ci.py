"""What a run tells the service that runs it: job summary, annotations, and no command that was recorded."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from pytest_statebase.report.ci.joblog import printable
from tests.plugin.conftest import INI, Project


@pytest.fixture
def page(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The summary page of a job at GitHub, in which a replay of the toy will run."""
    path = project.path / "step-summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path))
    project.cassette()
    return path


def commands(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.lstrip().startswith("::")]


@pytest.mark.parametrize("args", [(), ("-q",), ("-n2",)])
def test_a_job_gets_a_summary_and_annotations(project: Project, page: Path, args: tuple[str, ...]) -> None:
    project.cassette("fine", session="sess_fine")
    page.write_text("of another command\n", encoding="utf-8")
    result = project.run("--statebase-report-url=https://ci.example/r.html", *args, agent="toy:WrongArgument")
    (line,) = commands(result)
    where = "file=fixtures/fine.record.yaml,line=25,title=fine%3A turn 2 unrecorded (and 1 more session)"
    assert line.startswith(f'::error {where}::tools.price#2.arguments.item: another argument%0Arecorded: "plum"%0A')
    text = page.read_text(encoding="utf-8")
    assert text.startswith("of another command\n\n### ❌ 2 of 2 sessions do not pass\n")
    assert text.count("### ❌") == 1
    assert "`tools.price#2.arguments.item` another argument" in text


def test_a_green_run_annotates_nothing(project: Project, page: Path) -> None:
    result = project.run()
    result.assert_outcomes(passed=1)
    assert commands(result) == []
    assert page.read_text(encoding="utf-8").startswith("### ✅ The session passes\n")


def test_both_can_be_switched_off(project: Project, page: Path) -> None:
    project.ini(INI + "statebase_annotations = false\nstatebase_job_summary = false\n")
    assert commands(project.run(agent="toy:WrongArgument")) == []
    assert not page.exists()


def test_elsewhere_there_is_neither(project: Project, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert commands(project.run(agent="toy:WrongArgument")) == []
    assert not page.exists()


def test_only_runs_of_replays_speak_to_the_service(project: Project, page: Path) -> None:
    named = project.pytester.runpytest_inprocess("fixtures/toy.session.yaml", "--statebase-agent=toy:WrongArgument")
    assert commands(named) == []
    assert commands(project.run("--collect-only")) == []
    assert not page.exists()


def test_a_page_that_cannot_be_written_costs_a_run_nothing(project: Project, page: Path) -> None:
    page.mkdir()
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["warning *the job's summary could not be written: Is a directory"])


def test_a_page_without_room_is_left_as_it_is(project: Project, page: Path) -> None:
    page.write_bytes(b"x" * 1_040_000)
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["warning *the job's summary has no room left for the results"])
    assert page.stat().st_size == 1_040_000


def test_annotations_that_cannot_be_made_cost_a_run_nothing(
    project: Project, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise TypeError("no \ud83d today\n::error::x")

    # By name, the module of an earlier run in this process would be patched.
    monkeypatch.setattr(import_module("pytest_statebase.report.ci.annotations"), "annotation_lines", broken)
    result = project.run()
    assert result.ret == 0
    assert r"statebase: failures could not be annotated: no \ud83d today" in result.outlines
    assert commands(result) == []


def test_what_did_not_finish_is_annotated(project: Project, page: Path) -> None:
    project.cassette("zebra", session="sess_zebra")
    result = project.run("-x", agent="toy:WrongArgument")
    first, second = commands(result)
    assert "title=toy%3A turn 2 unrecorded::" in first
    assert "title=zebra%3A could not run::did not finish" in second
    assert "did not finish" in page.read_text(encoding="utf-8")


def test_recorded_text_is_no_command_of_the_log(project: Project, page: Path) -> None:
    (project.path / "evil.py").write_text(
        "from toy import Toy, price\n"
        "class Evil(Toy):\n"
        "    def calls(self, turn):\n"
        "        price('##[set-output name=a]b\\n::stop-commands::t')\n"
    )
    result = project.run("-vv", agent="evil:Evil")
    (line,) = commands(result)
    assert line.startswith("::error file=fixtures/toy.record.yaml,line=7,")
    assert [line for line in result.outlines if "##[" in line] == [line]
    assert r"price(item='#\x23[set-output name=a]b\n::stop-commands::t') has no answer" in result.stdout.str()


BLANKS = "\t\v\f\x85\xa0\u1680\u2000\u2001\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""What .NET, of which the runner is made, takes for white space."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x\n  ::add-mask::y", "\\x3a:error::x\n  \\x3a:add-mask::y"),
        ("\t::group::", "\t\\x3a:group::"),
        *((f"x\n {blank}::error::y", f"x\n {blank}\\x3a:error::y") for blank in BLANKS),
        ("x\r::error::y\r\n::z::", "x\r\\x3a:error::y\r\n\\x3a:z::"),
        ("\n \n\u3000\n::x::", "\n \n\u3000\n\\x3a:x::"),
        ("\ufeff::x::", "\ufeff::x::"),
        ("a::b, c: d", "a::b, c: d"),
        ("x ##[error]y ###[z]", r"x #\x23[error]y ##\x23[z]"),
        ("##vso[task.setvariable variable=a]b", r"#\x23vso[task.setvariable variable=a]b"),
        ("## heading", "## heading"),
        ("lone \ud83d", r"lone \ud83d"),
    ],
)
def test_what_is_printed_where_a_service_reads_commands(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert printable(text) == text.replace("\ud83d", r"\ud83d")
    for name in ("GITHUB_ACTIONS", "TF_BUILD"):
        monkeypatch.setenv(name, "true")
        assert printable(text) == shown
        monkeypatch.delenv(name)
