"""Runaway agents end as verdicts, and what is pinned is told, in runs of pytest."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import INI, PLAN, Project

RUNAWAY = """
import asyncio, time, toy

def loops(user_input):
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass

async def later(user_input):
    while True:
        try:
            await asyncio.sleep(0)
        except BaseException:
            pass

def misses(user_input):
    while True:
        try:
            toy.price('kiwi')
        except:
            pass

def agent(session_id, user_input, turn):
    return loops(user_input) if session_id.startswith('sess_one') else toy.Toy()(user_input, turn)

def stuck(session_id, user_input, turn):
    while session_id.startswith('sess_one'):
        try:
            while True:
                try:
                    time.sleep(0.01)
                except BaseException:
                    pass
        except BaseException:
            pass
    return toy.Toy()(user_input, turn)
"""
LIMIT = "statebase_turn_timeout = 1\n"


@pytest.fixture
def runaway(project: Project) -> Project:
    project.ini(INI + LIMIT)
    (project.path / "mine.py").write_text(RUNAWAY)
    return project


@pytest.mark.parametrize("args", [(), ("--timeout=30",), ("-n", "2")], ids=["alone", "pytest-timeout", "xdist"])
def test_the_next_sessions_run(runaway: Project, args: tuple[str, ...]) -> None:
    runaway.cassette("one", session="sess_one")
    runaway.cassette("two", session="sess_two")
    result = runaway.run("--statebase-results=results.jsonl", *args, agent="mine:agent")
    result.assert_outcomes(passed=1, failed=1)
    one, two = runaway.results()
    assert one["verdicts"] == {"error": 1, "not-replayed": 2}
    assert "it took longer than 1 s" in result.stdout.str()
    assert two["verdicts"] == {"unchanged": 3}


@pytest.mark.parametrize(("agent", "verdict"), [("loops", "error"), ("later", "error"), ("misses", "unrecorded")])
def test_runaways_end(runaway: Project, agent: str, verdict: str) -> None:
    runaway.cassette()
    result = runaway.run("--statebase-results=results.jsonl", agent=f"mine:{agent}")
    result.assert_outcomes(failed=1)
    (row,) = runaway.results()
    assert row["verdicts"] == {verdict: 1, "not-replayed": 2}
    if agent == "misses":
        assert "price(item='kiwi') was refused at least 25 times" in result.stdout.str()


def test_the_time_limit_of_pytest_timeout_still_holds(runaway: Project) -> None:
    runaway.ini(INI + "statebase_turn_timeout = 200\n")
    runaway.cassette()
    result = runaway.run("--timeout=0.5", "--timeout-method=signal", agent="mine:loops")
    result.assert_outcomes(failed=1)
    assert "Timeout (>0.5s) from pytest-timeout" in result.stdout.str()


def test_a_turn_that_cannot_be_ended_stops_the_run(runaway: Project) -> None:
    runaway.cassette("one", session="sess_one")
    runaway.cassette("two", session="sess_two")
    (runaway.path / "conftest.py").write_text("import pytest_statebase.engine.limit as limit\nlimit.GRACE = 0.3\n")
    result = runaway.run("-W", "default", "--statebase-results=results.jsonl", agent="mine:stuck")
    assert result.ret == 3
    assert "sess_one, turn 1, could not be ended: it took longer than 1 s" in result.stdout.str()
    assert [row["outcome"] for row in runaway.results()] == ["error", "error"]
    assert "did not finish: sess_one, turn 1, could not be ended" in runaway.results()[0]["message"]


def test_what_was_pinned_is_told(project: Project) -> None:
    project.ini(INI + "statebase_pin = random uuid\n")
    project.cassette(plan=PLAN)
    result = project.run("-v", "--statebase-results=results.jsonl")
    result.assert_outcomes(passed=1)
    assert project.results()[0]["pinned"] == ["clock", "random", "uuid"]
    result.stdout.fnmatch_lines(["pinned *clock in 1 session, random in 1 session, uuid in 1 session"])
    assert '"pinned": ["clock", "random", "uuid"]' in project.page()
    real = project.run("--statebase-clock=real", "--statebase-results=results.jsonl")
    real.assert_outcomes(passed=1)
    assert project.results()[0]["pinned"] == ["random", "uuid"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("statebase_turn_timeout = soon", "statebase_turn_timeout = soon: write seconds, or 0 for no limit"),
        ("statebase_clock = frozen", "statebase_clock = frozen: choose from recorded, real"),
        ("statebase_pin = dice", "statebase_pin = dice: choose from random, uuid"),
    ],
)
def test_settings_that_mean_nothing(project: Project, line: str, message: str) -> None:
    project.ini(f"{INI}{line}\n")
    project.cassette()
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()
