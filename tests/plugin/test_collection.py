"""What is collected, and what the items are called."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import PLAN, Project


def test_the_flag_collects_cassettes_and_no_python_tests(project: Project) -> None:
    project.cassette()
    project.pytester.makepyfile("def test_python(): raise AssertionError")
    result = project.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["fixtures/toy.session.yaml::version-0 PASSED*"])
    assert result.ret == 0


def test_python_files_named_beside_the_flag_do_not_run(project: Project) -> None:
    project.cassette()
    project.pytester.makepyfile(test_it="raise AssertionError")
    project.run("test_it.py", "fixtures").assert_outcomes(passed=1)


def test_without_the_flag_only_python_tests_are_collected(project: Project) -> None:
    project.cassette()
    project.pytester.makepyfile("def test_python(): pass")
    result = project.pytester.runpytest_inprocess("-v")
    result.assert_outcomes(passed=1)
    assert not (project.path / "statebase-report.html").exists()


def test_a_cassette_named_explicitly_is_collected_without_the_flag(project: Project) -> None:
    project.cassette()
    result = project.pytester.runpytest_inprocess("fixtures/toy.session.yaml::version-0", "--statebase-agent=toy:Toy")
    result.assert_outcomes(passed=1)
    assert not (project.path / "statebase-report.html").exists()


def test_testpaths_do_not_matter(project: Project) -> None:
    project.ini("[pytest]\npythonpath = .\ntestpaths = nowhere\nstatebase_tools = toy:price\n")
    project.cassette()
    project.run().assert_outcomes(passed=1)
    project.run("-n2").assert_outcomes(passed=1)


def test_items_are_named_as_the_plan_says(project: Project) -> None:
    project.cassette(
        plan=PLAN + "failing: [3]\nexpect: {3: {output: {contains: quince}}}\n"
        "replay:\n  - {fork: turn 2, until: turn 2}\n  - {fork: version 1, until: turn 2}\n  - {fork: last-good}\n"
        "  - {fork: turn 2, until: turn 3}\n"
    )
    result = project.run("--collect-only", "-q")
    result.stdout.fnmatch_lines(
        [f"fixtures/toy.session.yaml::{name}" for name in ("turn-2", "version-1", "last-good", "turn-2-2")]
    )


def test_two_agents_make_two_items(project: Project) -> None:
    project.cassette()
    result = project.run("--statebase-agent=toy:OtherText", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*::version-0-toy-Toy PASSED*", "*::version-0-toy-OtherText PASSED*"])


def test_collect_only_imports_no_agent_and_touches_no_file(project: Project) -> None:
    project.cassette()
    report = project.path / "statebase-report.html"
    report.write_text("an earlier report")
    result = project.run("--collect-only", agent="nowhere:Agent")
    assert result.ret == 0
    assert report.read_text() == "an earlier report"


def test_collection_reads_plans_alone(project: Project) -> None:
    path = project.cassette()
    path.with_name("toy.record.yaml").unlink()
    assert project.run("--collect-only").ret == 0
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*toy.record.yaml*"])


@pytest.mark.parametrize(
    "select", [("-k", "apples"), ("fixtures/apples.session.yaml",), ("--deselect", "fixtures/toy.session.yaml")]
)
def test_selection_is_pytests_own(project: Project, select: tuple[str, ...]) -> None:
    project.cassette()
    project.cassette("apples", session="sess_apples")
    result = project.run("-v", *select)
    result.assert_outcomes(passed=1, deselected=0 if len(select) == 1 else 1)
    result.stdout.fnmatch_lines(["fixtures/apples.session.yaml::version-0 PASSED*"])


def test_fork_and_until_of_the_command_line_win(project: Project) -> None:
    project.cassette()
    result = project.run(
        "--statebase-fork=turn 2", "--statebase-until=turn 2", "--statebase-results=results.jsonl", "-v"
    )
    result.stdout.fnmatch_lines(["*toy.session.yaml::turn-2 PASSED*"])
    (row,) = project.results()
    assert (row["fork"], row["until"], row["verdicts"]) == ("turn 2", 2, {"unchanged": 1})


def test_failing_items_are_found_again(project: Project) -> None:
    for name in ("one", "two", "three"):
        project.cassette(name, session=f"sess_{name}")
    args = ("-p", "cacheprovider", "--statebase-replay", "-v")
    run = project.pytester.runpytest_subprocess
    run(*args, "--statebase-agent=toy:MissingCall").assert_outcomes(failed=3)
    run(*args, "--lf", "--statebase-agent=toy:MissingCall").assert_outcomes(failed=3)
    run(*args, "--lf", "--statebase-agent=toy:Toy").assert_outcomes(passed=3)
    run(*args, "--ff", "-x", "--statebase-agent=toy:MissingCall").assert_outcomes(failed=1)
