"""Beside other plugins, in either order, and without a trace when it is switched off."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project

OTHERS = [
    "pytest_recording.plugin",
    "pytest_asyncio.plugin",
    "anyio.pytest_plugin",
    "pytest_rerunfailures",
    "pytest_html.plugin",
]


def test_help_names_only_our_own(project: Project) -> None:
    result = project.pytester.runpytest_subprocess("--help")
    assert result.ret == 0
    ours = [line for line in result.stdout.lines if "statebase" in line]
    assert len(ours) > 10


@pytest.mark.parametrize("first", [True, False], ids=["ours first", "ours last"])
def test_load_order_does_not_matter(project: Project, first: bool) -> None:
    project.cassette()
    order = ["pytest_statebase.plugin", *OTHERS] if first else [*OTHERS, "pytest_statebase.plugin"]
    arguments = [argument for name in order for argument in ("-p", name)]
    run = project.pytester.run
    environment = ("env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1")
    import sys

    result = run(
        *environment, sys.executable, "-m", "pytest", *arguments, "--statebase-replay", "--statebase-agent=toy:Toy"
    )
    result.assert_outcomes(passed=1)


def test_warnings_as_errors_and_strict_markers(project: Project) -> None:
    project.cassette()
    project.run("-W", "error", "--strict-markers", "--strict-config").assert_outcomes(passed=1)


def test_switched_off_it_leaves_no_trace(project: Project) -> None:
    project.ini("[pytest]\n")
    project.pytester.makepyfile(
        "def test_it(pytestconfig): assert not hasattr(pytestconfig.option, 'statebase_replay')"
    )
    result = project.pytester.runpytest_subprocess("-p", "no:statebase", "--markers")
    assert "statebase" not in result.stdout.str()
    project.pytester.runpytest_subprocess("-p", "no:statebase").assert_outcomes(passed=1)


def test_reruns_report_the_last_run(project: Project) -> None:
    project.cassette()
    (project.path / "flaky.py").write_text(
        "import toy\nruns = []\n"
        "class Agent(toy.Toy):\n"
        "    def __init__(self): runs.append(1)\n"
        "    def items(self, turn): return super().items(turn)[:1] if len(runs) == 1 else super().items(turn)\n"
    )
    result = project.run("--reruns=2", "--statebase-results=results.jsonl", agent="flaky:Agent")
    assert result.parseoutcomes()["passed"] == 1
    assert [row["verdicts"] for row in project.results()] == [{"unchanged": 3}]


def test_pytest_html_and_recording_are_in_use(project: Project) -> None:
    project.cassette()
    result = project.run(
        "--html=page.html", "--self-contained-html", "--record-mode=none", "--block-network", agent="toy:MissingCall"
    )
    result.assert_outcomes(failed=1)
    assert (project.path / "page.html").exists()
