"""Bad input: one clear message each, nothing green, no file changed, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.conftest import INI, PLAN, QUICK, Project


def failing(project: Project, *lines: str, ret: int = 1, **run: str | None) -> pytest.RunResult:
    """Run, and see that it fails with these lines, says no traceback and changes no file."""
    before = project.hashes()
    result = project.run(**run)
    assert result.ret == ret
    text = result.stdout.str() + result.stderr.str()
    for line in lines:
        assert line in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert project.hashes() == before
    return result


def test_no_cassettes(project: Project) -> None:
    failing(project, "no cassettes", ret=5)


def test_no_directory(project: Project) -> None:
    project.fixtures.rmdir()
    result = project.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*statebase_cassettes names 'fixtures'*"])


def test_a_path_that_is_none(project: Project) -> None:
    result = project.pytester.runpytest_subprocess("--statebase-replay", "fixtures/none.session.yaml")
    assert result.ret == 4


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("nowhere:Agent", "the agent 'nowhere:Agent' does not import"),
        ("toy:Nobody", "the agent 'toy:Nobody' does not exist"),
        ("toy", "'toy' names no agent"),
    ],
)
def test_an_agent_that_does_not_import(project: Project, agent: str, line: str) -> None:
    project.cassette()
    failing(project, line, ret=4, agent=agent)


def test_no_agent_at_all(project: Project) -> None:
    project.cassette()
    failing(project, "there is no agent to replay against", "--statebase-agent", agent=None)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("agent = 42", "is not callable: it is a int"),
        ("def agent(user_input, database): ...", "asks for 'database', which a replay cannot hand it"),
        ("def agent(user_input): return None", "returned nothing, which is no reply"),
        ("def agent(user_input): return 42", "returned a int, which is no reply"),
        ("class agent:\n    def __init__(self): raise OSError('no key')", "cannot be instantiated: OSError: no key"),
    ],
)
def test_an_agent_that_is_none(project: Project, source: str, line: str) -> None:
    project.cassette()
    (project.path / "mine.py").write_text(source)
    failing(project, line, agent="mine:agent")


@pytest.mark.parametrize(
    ("plan", "line"),
    [
        (PLAN + "replay: {fork: turn 9}\n", "has no turn 9"),
        (PLAN + "replay: {fork: version 9}\n", "has no state version 9"),
        (PLAN + "replay: {until: turn 9}\n", "has no turn 9"),
        (PLAN + "replay: {fork: last-good}\n", "no turn is marked as failing"),
        (PLAN + "replay: {fork: turn two}\n", "'turn two' is no fork point"),
        (PLAN + "faling: [2]\n", "toy.session.yaml:4:1"),
        (PLAN + "expect: {9: {output: {contains: x}}}\n", "turn 9"),
        (PLAN + "failing: [9]\n", "turn 9"),
        (PLAN + "failing: [2]\nexpect: {2: {output: {contains: That}}}\n", "turn 2"),
        (PLAN + "session: other\n", "session"),
        ("cassette: 2\n", "2"),
        ("", "toy.session.yaml"),
        ("[", "toy.session.yaml"),
    ],
)
def test_plans_that_cannot_be_meant(project: Project, plan: str, line: str) -> None:
    project.cassette(plan=plan)
    failing(project, line)


def broken(data: bytes, how: str) -> bytes:
    match how:
        case "truncated":
            return data[: len(data) // 2]
        case "no end":
            return data[: data.rindex(b"---")]
        case "latin-1":
            return data.replace(b"apple", "äpple".encode("latin-1"))
        case "tampered":
            return data.replace(b"That is turn 2.", b"That is turn X.")
        case "future":
            return data.replace(b"record: 1", b"record: 2")
        case "empty":
            return b""
        case "object tag":
            return data.replace(b"That is turn 2.", b"!!python/object/apply:os.system [echo hacked]")
    raise AssertionError(how)


@pytest.mark.parametrize("how", ["truncated", "no end", "latin-1", "tampered", "future", "empty", "object tag"])
def test_records_that_are_none(project: Project, how: str) -> None:
    path = project.cassette().with_name("toy.record.yaml")
    path.write_bytes(broken(path.read_bytes(), how))
    project.cassette("good", session="sess_good")
    result = failing(project, "toy.record.yaml")
    result.assert_outcomes(failed=1, passed=1)


def test_a_broken_plan_does_not_stop_the_others(project: Project) -> None:
    project.cassette()
    project.cassette("bad", plan="cassette: [\n", session="sess_bad")
    project.run("-v").assert_outcomes(failed=1, passed=1)


@pytest.mark.parametrize("pattern", ["toy:nothing", "toy:no_*", "nowhere:*", "toy:PriceError"])
def test_tools_that_are_not_there(project: Project, pattern: str) -> None:
    project.ini(f"[pytest]\npythonpath = .\nstatebase_tools = {pattern}\n")
    project.cassette()
    failing(project, pattern)


def test_a_simulator_is_needed_to_simulate(project: Project) -> None:
    project.cassette()
    result = project.run("--statebase-unrecorded=simulate")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*statebase_simulator*"])


def test_a_report_that_cannot_be_written(project: Project, tmp_path: Path) -> None:
    project.cassette()
    result = project.run("--statebase-report=toy.py/report.html")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*could not be written*"])


def test_a_placeholder_is_no_answer(project: Project) -> None:
    project.cassette(plan=PLAN + "answers:\n  - {tool: price, arguments: {item: kiwi}, result: ...}\n")
    failing(project, "`result: ...` is a place to fill in", "toy.session.yaml:5:")


CLASHES = [
    (("--statebase-results=same.out", "--statebase-summary=same.out"), "--statebase-results and --statebase-summary"),
    (("--statebase-results=same.out", "--statebase-history=./x/../same.out"), "--statebase-results and --statebase-hi"),
    (("--statebase-summary=link.out", "--statebase-report=same.out"), "--statebase-report and --statebase-summary"),
    (("--statebase-summary=statebase-report.html",), "--statebase-report and --statebase-summary"),
    (
        ("--statebase-summary=same.out", "--statebase-base-results=same.out"),
        "--statebase-summary and --statebase-base-",
    ),
    (("--statebase-sidecar=side", "--statebase-summary=side/index.md"), "--statebase-sidecar and --statebase-summary"),
    (
        ("--statebase-sidecar=side", "--statebase-report=side/a-0f-turn-1.md"),
        "--statebase-sidecar and --statebase-report",
    ),
    (("--statebase-sidecar=same.out", "--statebase-summary=same.out"), "--statebase-summary and --statebase-sidecar"),
    (("--junitxml=same.out", "--statebase-results=same.out"), "--statebase-results and --junitxml"),
]


@pytest.mark.parametrize(("options", "words"), CLASHES)
def test_two_outputs_at_one_place_are_told_before_anything_runs(
    project: Project, options: tuple[str, ...], words: str
) -> None:
    project.cassette()
    same = project.path / "same.out"
    same.write_text("kept\n", encoding="utf-8")
    (project.path / "link.out").symlink_to(same)
    result = project.run(*options)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {words}* are one file: *", "*Give each a file of its own."])
    assert same.read_text(encoding="utf-8") == "kept\n"
    assert not (project.path / "statebase-report.html").exists()


def test_a_place_of_the_ini_file_is_named_as_it_stands_there(project: Project) -> None:
    project.cassette()
    project.ini(INI + "statebase_results = same.out\n")
    result = project.run("--statebase-summary=same.out")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: statebase_results and --statebase-summary are one file: *same.out"])


def test_outputs_of_tests_with_the_marker_are_looked_at_as_early(project: Project) -> None:
    project.pytester.makepyfile("def test_it(): raise SystemExit('it ran')")
    same = ("--statebase-results=same.out", "--statebase-summary=same.out")
    result = project.pytester.runpytest_inprocess(*QUICK, *same)
    assert result.ret == 4
    assert "it ran" not in result.stdout.str()


def test_files_beside_those_of_the_sidecar_are_no_clash(project: Project) -> None:
    project.cassette()
    result = project.run("--statebase-sidecar=side", "--statebase-summary=side/comment.md")
    assert result.ret == 0
    assert {path.name for path in (project.path / "side").iterdir()} == {"index.md", "comment.md"}


URLS = ["foo", "javascript:alert(1)", "https://", "ftp://ci.example/r.html", "//ci.example/r.html"]


@pytest.mark.parametrize("url", [*URLS, " https://ci.example"])
def test_an_address_to_which_no_link_can_lead(project: Project, url: str) -> None:
    project.cassette()
    result = project.run(f"--statebase-report-url={url}")
    assert result.ret == 4
    told = f"ERROR: --statebase-report-url = {url!r} is no address of the web"
    result.stderr.fnmatch_lines([told, "*https://ci.example/report.html*"])


@pytest.mark.parametrize("url", URLS)
def test_an_address_of_the_ini_file_to_which_no_link_can_lead(project: Project, url: str) -> None:
    project.cassette()
    project.ini(INI + f"statebase_report_url = {url}\n")
    result = project.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: statebase_report_url = {url!r} is no address of the web"])
