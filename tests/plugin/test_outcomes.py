"""Items that make no replay: skipped, failed around it, never begun; and what is said of a run that lacks some."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from pytest_statebase.report.page.view import anchors_of
from tests.plugin.conftest import PLAN, QUICK, Project

OWNED = (
    PLAN
    + "owner: payments\ngate: warn\ntitle: A refund\nreplay: [{fork: last-good}, {fork: version 0}]\nfailing: [2]\n"
)
RESULTS = "--statebase-results=results.jsonl"
SUMMARY = "--statebase-summary=comment.md"
WORKERS = pytest.mark.parametrize("workers", ["-n0", "-n2"])


def three(project: Project) -> None:
    for name in "abc":
        project.cassette(name, session=f"sess_{name}")


def conftest(project: Project, source: str) -> None:
    project.pytester.makeconftest(f"import pytest, toy\n{source}")


def told(project: Project) -> str:
    return (project.path / "comment.md").read_text(encoding="utf-8")


SKIPS = {
    "marker": """
        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.skip(reason="no key"))
    """,
    "autouse fixture": """
        @pytest.fixture(autouse=True)
        def key(request):
            if "a.session" in request.node.nodeid: pytest.skip("no key")
    """,
    "agent's fixture": """
        @pytest.fixture
        def statebase_agent(request):
            if "a.session" in request.node.nodeid: pytest.skip("no key")
            return toy.Toy
    """,
}


@WORKERS
@pytest.mark.parametrize("how", SKIPS)
def test_a_skipped_session_is_no_failure_and_is_told(project: Project, how: str, workers: str) -> None:
    three(project)
    project.run("--statebase-results=base.jsonl")
    conftest(project, "\n" + SKIPS[how].replace("\n        ", "\n"))
    agent = None if how == "agent's fixture" else "toy:Toy"
    result = project.run(workers, RESULTS, SUMMARY, "--statebase-base-results=base.jsonl", agent=agent)
    assert result.ret == 0
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["warning*fixtures/a.session.yaml::version-0: skipped: no key"])
    assert [row["session"] for row in project.results()] == ["sess_b", "sess_c"]
    assert "skipped: no key" in told(project)
    assert "**0** removed" in told(project), "a session that is skipped is not gone"
    assert "skipped: no key" in project.page()


def test_where_all_are_skipped_no_old_report_stays(project: Project) -> None:
    project.cassette()
    project.run()
    conftest(project, "def pytest_collection_modifyitems(items): items[0].add_marker(pytest.mark.skip)")
    assert project.run(SUMMARY).ret == 0
    assert "No session was replayed" in told(project)
    assert "No session was replayed" in project.page()


RAISES = {
    "agent's fixture": (
        "@pytest.fixture\ndef statebase_agent(): raise RuntimeError('no API key')",
        "it failed before it replayed",
    ),
    "autouse fixture": (
        "@pytest.fixture\ndef statebase_agent(): return toy.Toy\n"
        "@pytest.fixture(autouse=True)\ndef key(): raise RuntimeError('no API key')",
        "its set-up failed",
    ),
}


@WORKERS
@pytest.mark.parametrize("how", RAISES)
def test_what_raised_around_a_replay_is_the_reason(project: Project, how: str, workers: str) -> None:
    project.cassette(plan=OWNED)
    source, when = RAISES[how]
    conftest(project, source)
    result = project.run(workers, RESULTS, SUMMARY, agent=None)
    assert result.ret == 1
    rows = project.results()
    assert [row["fork"] for row in rows] == ["last-good", "version 0"]
    for row in rows:
        assert row["failure"] == f"{when}: RuntimeError: no API key"
        assert row["message"].splitlines()[1].startswith("at conftest.py:")
        assert "unfinished" not in row
        assert (row["owner"], row["title"], row["session"]) == ("payments", "A refund", "sess_toy")
        assert row["gate"] == "block", "no difference to be lenient with"
    result.stdout.fnmatch_lines(["*statebase replay*", "*no API key*", "report *statebase-report.html"])
    assert "no API key" in told(project)
    assert "`payments`" in told(project)
    assert "no API key" in project.page()


@WORKERS
def test_a_teardown_that_fails_fails_the_session(project: Project, workers: str) -> None:
    project.cassette()
    conftest(project, "@pytest.fixture(autouse=True)\ndef key():\n    yield\n    raise RuntimeError('left a file')")
    result = project.run(workers, RESULTS)
    result.assert_outcomes(passed=1, errors=1)
    (row,) = project.results()
    assert (row["outcome"], row["failure"]) == ("failed", "pytest: teardown: RuntimeError: left a file")


@WORKERS
def test_a_strict_xfail_that_passes_fails_its_session_alone(project: Project, workers: str) -> None:
    """Nothing was raised."""
    three(project)
    conftest(
        project,
        "def pytest_collection_modifyitems(items):\n"
        "    items[0].add_marker(pytest.mark.xfail(strict=True, reason='known'))\n",
    )
    result = project.run(workers, RESULTS)
    result.assert_outcomes(failed=1, passed=2)
    rows = project.results()
    assert [row["outcome"] for row in rows] == ["failed", "passed", "passed"]
    assert rows[0]["failure"] == "pytest: [XPASS(strict)] known"


def test_a_session_that_cannot_begin_has_its_owner(project: Project) -> None:
    project.cassette(plan=PLAN + "owner: payments\ntitle: A refund\nreplay: {fork: version 99}\n")
    project.run(RESULTS, SUMMARY)
    (row,) = project.results()
    assert (row["outcome"], row["owner"], row["title"]) == ("error", "payments", "A refund")
    assert "`payments`" in told(project)


@WORKERS
@pytest.mark.parametrize("agents", [1, 2])
def test_what_did_not_finish_is_named_as_its_plan_has_it(project: Project, agents: int, workers: str) -> None:
    (project.path / "crash.py").write_text(
        "import os\ndef one(session_id, user_input): raise KeyboardInterrupt\n"
        "def two(session_id, user_input): raise KeyboardInterrupt\n"
    )
    project.cassette(plan=OWNED)
    named = ["--statebase-agent=crash:two"] if agents == 2 else []
    project.run(workers, RESULTS, "-Wdefault", *named, agent="crash:one")
    rows = project.results()
    names = ["crash:one", "crash:two"][:agents]
    assert [(row["fork"], row["agent"]) for row in rows] == [
        (fork, agent) for fork in ("last-good", "version 0") for agent in names
    ]
    for row in rows:
        assert row["unfinished"]
        assert (row["owner"], row["title"], row["gate"]) == ("payments", "A refund", "warn")


MARKED = """
    import os, pytest
    @pytest.mark.statebase("sess_a")
    def test_first(statebase_replay):
        {first}
    @pytest.mark.statebase("fixtures/b.session.yaml", fork="turn 2")
    def test_second(statebase_replay): statebase_replay()
    def test_other(): pass
"""
AGENT = "@pytest.fixture\ndef statebase_agent(): return toy.Toy\n"


def marked(project: Project, first: str, *args: str) -> pytest.RunResult:
    three(project)
    conftest(project, AGENT)
    project.pytester.makepyfile(test_m=MARKED.format(first=first))
    return project.pytester.runpytest_subprocess(*QUICK, *args)


def test_marked_tests_that_did_not_run_are_told(project: Project) -> None:
    result = marked(project, "assert not statebase_replay().passed", "-x", RESULTS, SUMMARY)
    result.assert_outcomes(failed=1)
    first, second = project.results()
    assert (first["outcome"], first["session"]) == ("failed", "sess_a")
    assert (second["unfinished"], second["nodeid"]) == (True, "test_m.py::test_second")
    assert (second["cassette"], second["session"], second["fork"]) == ("fixtures/b.session.yaml", "sess_b", "turn 2")
    assert "test_second" in told(project)


def test_a_marked_test_that_never_replays_is_told_with_its_reason(project: Project) -> None:
    marked(project, "raise RuntimeError('no API key')", RESULTS)
    first, second = project.results()
    assert first["failure"] == "it failed before it replayed: RuntimeError: no API key"
    assert (first["cassette"], first["session"], first["fork"]) == ("fixtures/a.session.yaml", "sess_a", "version 0")
    assert second["outcome"] == "passed"


def test_a_crash_of_the_worker_tells_of_marked_tests(project: Project) -> None:
    result = marked(project, "os._exit(3)", "-n1", "--max-worker-restart=0", RESULTS, SUMMARY)
    assert result.ret == 1
    rows = {row["nodeid"]: row for row in project.results()}
    assert set(rows) == {"test_m.py::test_first", "test_m.py::test_second"}
    assert rows["test_m.py::test_first"]["unfinished"]
    assert "test_first" in told(project)


@pytest.mark.parametrize(
    "chosen",
    [["--ignore=fixtures/b.session.yaml"], ["--ignore-glob=*/b.session.yaml"], ["--deselect=fixtures/b.session.yaml"]],
)
@WORKERS
def test_a_chosen_part_is_told_as_one(project: Project, chosen: list[str], workers: str) -> None:
    three(project)
    project.run("--statebase-results=base.jsonl")
    project.run(workers, *chosen, SUMMARY, RESULTS, "--statebase-base-results=base.jsonl")
    assert "**0** removed" in told(project)
    assert '"part":true' in (project.path / "results.jsonl").read_text(encoding="ascii").partition("\n")[0].replace(
        " ", ""
    )


@WORKERS
def test_a_part_that_a_plugin_chose_is_told_as_one(project: Project, workers: str) -> None:
    three(project)
    project.run("--statebase-results=base.jsonl")
    conftest(
        project,
        "def pytest_collection_modifyitems(config, items):\n"
        "    config.hook.pytest_deselected(items=items[:1])\n    del items[:1]\n",
    )
    project.run(workers, SUMMARY, "--statebase-base-results=base.jsonl")
    assert "**0** removed" in told(project)


@pytest.mark.parametrize(("named", "removed"), [(["test_m.py::test_first"], 0), (["test_m.py"], 0), ([], 1)])
def test_marked_tests_that_were_not_named_are_not_removed(project: Project, named: list[str], removed: int) -> None:
    marked(project, "statebase_replay()", "--statebase-results=base.jsonl")
    source = MARKED.format(first="statebase_replay()").replace("test_second", "test_renamed")
    project.pytester.makepyfile(test_m=source)
    project.pytester.runpytest_subprocess(*QUICK, SUMMARY, "--statebase-base-results=base.jsonl", *named)
    assert f"**{removed}** removed" in told(project)


def links(path: object) -> list[str]:
    found = ElementTree.parse(str(path)).getroot().iter("property")
    return [one.get("value", "") for one in found if one.get("name") == "statebase_link"]


def test_links_of_junit_lead_to_the_page_from_where_the_file_is(project: Project) -> None:
    three(project)
    conftest(project, AGENT)
    project.run("--junitxml=xml/deep/j.xml", "--statebase-report=out/page.html", RESULTS)
    wanted = [f"../../out/page.html#{anchor}" for anchor in anchors_of(project.results())]
    assert links(project.path / "xml" / "deep" / "j.xml") == wanted


def test_without_a_page_there_is_no_link(project: Project) -> None:
    marked(project, "statebase_replay()", "--junitxml=j.xml", RESULTS)
    assert len(project.results()) == 2
    assert links(project.path / "j.xml") == []


@pytest.mark.parametrize("how", ["marked tests", "a named cassette"])
def test_a_page_that_is_asked_for_is_written_without_the_flag(project: Project, how: str) -> None:
    if how == "marked tests":
        marked(project, "statebase_replay()", "--statebase-report=page.html", "--junitxml=j.xml", RESULTS)
    else:
        project.cassette()
        plan = "fixtures/toy.session.yaml"
        asked = ("--statebase-report=page.html", "--junitxml=j.xml", RESULTS, "--statebase-agent=toy:Toy")
        project.pytester.runpytest_subprocess(*QUICK, *asked, plan)
    anchors = anchors_of(project.results())
    assert [link.partition("#")[2] for link in links(project.path / "j.xml")] == anchors
    assert all(anchor in project.page("page.html") for anchor in anchors)
