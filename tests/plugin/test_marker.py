"""The marker, the fixtures and the hook; sync and async agents under async plugins."""

from __future__ import annotations

import pytest

from tests import toy
from tests.plugin.conftest import INI, PLAN, QUICK, Project

CONFTEST = "import pytest, toy\n@pytest.fixture\ndef statebase_agent(): return toy.Toy\n"


def run(project: Project, source: str, *args: str, conftest: str = CONFTEST) -> pytest.RunResult:
    project.pytester.makeconftest(conftest)
    project.pytester.makepyfile(source)
    apart = "-n2" in args
    run = project.pytester.runpytest_subprocess if apart else project.pytester.runpytest_inprocess
    return run(*QUICK, *args)


def test_a_marked_test_replays_its_session(project: Project) -> None:
    project.cassette()
    source = """
        import pytest
        @pytest.mark.statebase("sess_toy", fork="turn 2", until="turn 3")
        def test_it(statebase_replay):
            result = statebase_replay()
            assert result.passed
            assert result.fork == "turn 2"
            assert result.verdicts == {"unchanged": 2}
            assert result.turn(2).verdict == "unchanged"

        @pytest.mark.statebase("fixtures/toy.session.yaml")
        def test_by_file(statebase_replay):
            import toy
            changed = statebase_replay(agent=toy.OtherState)
            divergence = changed.turn(3).divergences[0]
            assert (divergence.facet, divergence.kind, divergence.path) == ("state", "value", "state.cart[1]")
            assert (divergence.recorded, divergence.replayed) == ("pear", "quince")
            assert len(divergence.fingerprint) == 12
    """
    run(project, source, "--strict-markers").assert_outcomes(passed=2)


def test_the_results_of_marked_tests_are_written(project: Project) -> None:
    project.cassette()
    source = """
        import pytest
        @pytest.mark.statebase("sess_toy")
        def test_it(statebase_replay): statebase_replay()
    """
    run(project, source, "--statebase-results=results.jsonl", "-n2").assert_outcomes(passed=1)
    assert [row["verdicts"] for row in project.results()] == [{"unchanged": 3}]
    assert not (project.path / "statebase-report.html").exists()


@pytest.mark.parametrize(
    ("marker", "line"),
    [
        ('@pytest.mark.statebase("sess_none")', "no cassette holds the session 'sess_none'"),
        ("@pytest.mark.statebase()", "no session is named"),
        ('@pytest.mark.statebase("sess_toy", frok="turn 2")', "does not take frok"),
        ('@pytest.mark.statebase("sess_toy", fork="turn 7")', "has no turn 7"),
        ('@pytest.mark.statebase("fixtures/none.session.yaml")', "none.session.yaml"),
    ],
)
def test_a_missing_cassette_is_never_green_and_never_a_skip(project: Project, marker: str, line: str) -> None:
    project.cassette()
    source = f"import pytest\n{marker}\ndef test_it(statebase_replay): statebase_replay()\n"
    result = run(project, source)
    result.assert_outcomes(failed=1)
    assert line in result.stdout.str()


def test_an_empty_record_is_never_green(project: Project) -> None:
    project.cassette().with_name("toy.record.yaml").write_bytes(b"")
    source = 'import pytest\n@pytest.mark.statebase("sess_toy")\ndef test_it(statebase_replay): statebase_replay()\n'
    run(project, source).assert_outcomes(failed=1)


ASYNC = """
    import pytest, toy
    {mark}
    @pytest.mark.statebase("sess_toy")
    async def test_async(statebase_replay):
        result = await statebase_replay(agent=toy.AsyncToy)
        assert result.verdicts == {{"unchanged": 3}}
        assert toy.LIVE == []
"""


@pytest.mark.parametrize(
    ("mark", "args"),
    [
        ("@pytest.mark.asyncio", ()),
        ("@pytest.mark.anyio", ("-p", "no:asyncio")),
    ],
)
def test_async_tests(project: Project, mark: str, args: tuple[str, ...]) -> None:
    project.cassette(agent=toy.AsyncToy)
    result = run(project, ASYNC.format(mark=mark), *args)
    # anyio runs the test under asyncio and, where it is installed, under trio.
    assert result.ret in (0, 1)
    outcomes = result.parseoutcomes()
    assert outcomes.get("passed", 0) >= 1
    if mark.endswith("asyncio"):
        assert outcomes == {"passed": 1}


TRIO = """
    import pytest, trio
    from toy import Toy, LIVE, price
    class TrioToy(Toy):
        async def __call__(self, user_input, turn):
            from pytest_statebase import AgentReply
            await trio.sleep(0)
            for item in self.items(turn):
                await trio.to_thread.run_sync(price, item)
            return AgentReply(self.text(turn), state=self.state(turn))
    @pytest.fixture
    def anyio_backend(): return "trio"
    @pytest.mark.anyio
    @pytest.mark.statebase("sess_toy")
    async def test_trio(statebase_replay):
        result = await statebase_replay(agent=TrioToy)
        assert result.verdicts == {"unchanged": 3}
        assert LIVE == []
"""


def test_a_trio_agent_under_anyio(project: Project) -> None:
    project.cassette()
    run(project, TRIO, "-p", "no:asyncio").assert_outcomes(passed=1)


def test_an_async_test_without_an_async_plugin_fails(project: Project) -> None:
    project.cassette(agent=toy.AsyncToy)
    result = run(project, ASYNC.format(mark=""), "-p", "no:asyncio", "-p", "no:anyio")
    result.assert_outcomes(failed=1)


def test_a_replay_that_nobody_awaits_fails(project: Project) -> None:
    project.cassette(agent=toy.AsyncToy)
    source = """
        import pytest, toy
        @pytest.mark.asyncio
        @pytest.mark.statebase("sess_toy")
        async def test_it(statebase_replay):
            statebase_replay(agent=toy.AsyncToy)
    """
    result = run(project, source)
    assert result.ret == 1
    assert "was not awaited" in result.stdout.str()


def test_a_sync_test_runs_an_async_agent(project: Project) -> None:
    project.cassette(agent=toy.AsyncToy)
    source = """
        import pytest, toy
        @pytest.mark.statebase("sess_toy")
        def test_it(statebase_replay):
            assert statebase_replay(agent=toy.AsyncToy).verdicts == {"unchanged": 3}
    """
    run(project, source).assert_outcomes(passed=1)


def test_agents_come_from_option_fixture_hook_and_ini_in_that_order(project: Project) -> None:
    project.cassette()
    hook = (
        "import toy\ndef pytest_statebase_agent(cassette):\n"
        "    return toy.MissingCall if cassette.session_id == 'sess_toy' else None\n"
    )
    project.ini(INI + "statebase_agent = toy:ExtraCall\n")
    assert _verdicts(project) == {"unchanged": 1, "unrecorded": 1, "not-replayed": 1}
    project.pytester.makeconftest(hook)
    assert _verdicts(project) == {"unchanged": 1, "changed": 1, "off-script": 1}
    project.pytester.makeconftest(hook + CONFTEST)
    assert _verdicts(project) == {"unchanged": 3}
    assert _verdicts(project, agent="toy:OtherText") == {"unchanged": 2, "reworded": 1}


def _verdicts(project: Project, *, agent: str | None = None) -> dict[str, int]:
    project.run("--statebase-results=results.jsonl", agent=agent)
    (row,) = project.results()
    return row["verdicts"]  # type: ignore[no-any-return]


def test_autouse_fixtures_of_a_conftest_apply(project: Project) -> None:
    project.cassette(plan=PLAN)
    project.pytester.makeconftest(
        "import pytest, pathlib\n@pytest.fixture(autouse=True)\ndef seen(request):\n"
        "    pathlib.Path('seen.txt').write_text(request.node.name)\n    yield\n"
    )
    project.run().assert_outcomes(passed=1)
    assert (project.path / "seen.txt").read_text() == "version-0"
