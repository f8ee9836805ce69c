"""`init` makes a project that replays: from what a capture left in it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_statebase.cassette import load_cassette

APP = """
def look_up(order: str) -> dict:
    return {"order": order, "status": STATUS}


def refund(order: str) -> str:
    raise ValueError("already refunded") if order == "2" else RuntimeError("never")


STATUS = "delivered"


def answer(user_input: str) -> str:
    if "refund" in user_input:
        try:
            refund("2")
        except ValueError as error:
            return f"Sorry: {error}"
    return f"It is {look_up('1')['status']}."
"""
PROGRAM = """
import app
from pytest_statebase import capture

with capture("captured", tools=["app:look_up", "app:refund"]) as recording:
    answer = recording.agent(app.answer)
    for id, words in {"plain": ["Where is it?"], "wrong": ["Where is it?", "A refund please."]}.items():
        for said in words:
            with recording.session(id) as session, session.turn(said) as turn:
                turn.reply(app.answer(said))
"""


@pytest.fixture
def captured(pytester: pytest.Pytester) -> Path:
    """A project that has journals of two sessions, and an agent whose tools answer otherwise by now."""
    pytester.makepyfile(app=APP, program=PROGRAM)
    assert pytester.run(sys.executable, "program.py").ret == 0
    Path("app.py").write_text(APP.replace('"delivered"', '"lost"'), encoding="utf-8")
    return pytester.path


def init(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    result = pytester.run(sys.executable, "-m", "pytest_statebase.cli", "init", *arguments)
    assert result.ret == 0
    return result


def test_a_project_with_journals_replays(captured: Path, pytester: pytest.Pytester) -> None:
    result = init(pytester, "--agent", "app:answer", "--tools", "app:look_up", "--tools", "app:refund")
    result.stdout.fnmatch_lines(
        [
            "pytest.ini written",
            "fixtures has its first cassette, of session wrong",
            "*captured sessions were found in captured, 2 sessions of use;",
            "*the shortest in which something went wrong (errors: refund raised ValueError).",
            "*More: pytest-statebase select captured --out fixtures",
        ]
    )
    [plan] = (captured / "fixtures").glob("*.session.yaml")
    assert load_cassette(plan).ledger.id == "wrong"
    replay = pytester.run(sys.executable, "-m", "pytest", "--statebase-replay", "-p", "no:cacheprovider")
    replay.stdout.fnmatch_lines(["fixtures/wrong.session.yaml*", "ok *1 session, turns: 2 unchanged", "*1 passed*"])
    assert (captured / "statebase-report.html").exists()


def test_without_an_agent_the_first_replay_says_where_it_is_to_be_named(
    captured: Path, pytester: pytest.Pytester
) -> None:
    init(pytester)
    replay = pytester.run(sys.executable, "-m", "pytest", "--statebase-replay", "-p", "no:cacheprovider")
    assert replay.ret == 1
    replay.stdout.fnmatch_lines(["conftest.py: return your agent from the fixture statebase_agent"])
    conftest = captured / "conftest.py"
    text = conftest.read_text(encoding="utf-8")
    given = text[: text.index("    # from")] + "    from app import answer\n\n    return answer\n"
    conftest.write_text(given, encoding="utf-8")
    replay = pytester.run(sys.executable, "-m", "pytest", "--statebase-replay", "-p", "no:cacheprovider")
    replay.stdout.fnmatch_lines(["*1 passed*"])


MARKED = """
from pytest_statebase import capture


def look_up(order: str) -> str:
    return "delivered"


@capture.agent
def answer(session_id: str, user_input: str) -> str:
    return f"It is {look_up('1')}."
"""
SERVICE = """
import shop
from pytest_statebase import capture

with capture("captured", tools=["shop:look_up"]):
    shop.answer("one", "Where is it?")
"""


def test_a_program_that_is_captured_needs_nothing_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(shop=MARKED, service=SERVICE)
    assert pytester.run(sys.executable, "service.py").ret == 0
    result = init(pytester)
    result.stdout.fnmatch_lines(
        [
            "The agent is shop:answer, as shop.py marks it for capture.",
            "The tools are shop:look_up, as service.py has them captured.",
            "fixtures has its first cassette, of session one",
        ]
    )
    assert not (pytester.path / "conftest.py").exists()
    replay = pytester.run(sys.executable, "-m", "pytest", "--statebase-replay", "-p", "no:cacheprovider")
    replay.stdout.fnmatch_lines(["ok *1 session, turns: 1 unchanged"])
