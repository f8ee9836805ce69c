"""The fixture `statebase_client`: every cassette in a test's hands, tools answered from the fork made last."""

from __future__ import annotations

from .conftest import INI, QUICK, Project

AGENT = """
from toy import ITEMS, price

class Agent:
    def __init__(self, sb):
        self.sb = sb

    def __call__(self, session_id, user_input):
        number = len(self.sb.sessions.list_turns(session_id)) + 1
        found = [price(item) for item in ITEMS[number]]
        cart = self.sb.sessions.get_state(session_id).state["cart"] + ITEMS[number]
        self.sb.sessions.update_state(session_id, {"turns": number, "cart": cart}, "one more")
        self.sb.sessions.add_turn(session_id, user_input, f"That costs {sum(f['price'] for f in found)}.")
        return "fine"
"""

REGRESSION = """
import toy
from agent import Agent

def test_original_failure(statebase_client):
    sb = statebase_client
    your_fixed_agent = Agent(sb)
    original_session = "sess_toy"
    test_session = sb.sessions.fork(session_id=original_session, version=0)
    original_turns = sb.sessions.list_turns(session_id=original_session)
    before = [turn.output.content for turn in original_turns]

    for turn in original_turns:
        response = your_fixed_agent(session_id=test_session.id, user_input=turn.input.content)
        assert "error" not in response.lower()

    assert toy.LIVE == []
    state = sb.sessions.get_state(test_session.id).state
    assert state == {"turns": 3, "cart": ["apple", "pear", "plum", "fig"]}
    assert state == sb.sessions.get_state(original_session).state
    outputs = [turn.output.content for turn in sb.sessions.list_turns(test_session.id)]
    assert outputs == ["That costs 5.", "That costs 8.", "That costs 3."]
    assert [turn.output.content for turn in sb.sessions.list_turns(original_session)] == before
    assert sb.sessions.get(test_session.id).metadata["forked_from"] == original_session
"""


def run(project: Project, test: str, *args: str) -> object:
    (project.path / "agent.py").write_text(AGENT, encoding="utf-8")
    (project.path / "test_it.py").write_text(test, encoding="utf-8")
    apart = any(argument.startswith("-n") for argument in args)
    runner = project.pytester.runpytest_subprocess if apart else project.pytester.runpytest_inprocess
    return runner(*QUICK, *args)


def test_the_regression_test_of_the_documentation(project: Project) -> None:
    project.cassette()
    before = project.hashes()
    run(project, REGRESSION).assert_outcomes(passed=1)
    assert project.hashes() == before


def test_it_works_in_worker_processes(project: Project) -> None:
    project.cassette()
    again = REGRESSION.replace("def test_original_failure", "def test_again").partition("def ")
    run(project, REGRESSION + "def " + again[2], "-n2").assert_outcomes(passed=2)


def test_a_call_without_an_answer_fails_the_test_whatever_it_caught(project: Project) -> None:
    project.cassette()
    test = """
import toy

def test_hides_it(statebase_client):
    statebase_client.sessions.fork("sess_toy", version=1)
    for item in ("gold", "pear"):
        try:
            toy.price(item)
        except BaseException as error:
            assert "gold" in str(error)
        else:
            raise AssertionError("after a miss nothing is answered")
    assert toy.LIVE == []

def test_is_not_bothered(statebase_client):
    statebase_client.sessions.fork("sess_toy", version=1)
    assert toy.price("pear") == {"item": "pear", "price": 4, "currency": "EUR"}
"""
    result = run(project, test)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*price(item='gold') has no answer*", '*- {tool: "price", arguments: {*gold*'])


def test_a_call_before_any_fork_has_no_answer(project: Project) -> None:
    project.cassette()
    test = """
import pytest, toy
from pytest_statebase import UnrecordedCall

def test_no_fork(statebase_client):
    with pytest.raises(UnrecordedCall):
        toy.price("pear")
"""
    result = run(project, test)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*price was called before a session was forked*"])


def test_tools_are_their_own_again_afterwards(project: Project) -> None:
    project.cassette()
    test = """
import toy

def test_held(statebase_client):
    statebase_client.sessions.fork("sess_toy", version=0)
    toy.price("apple")
    assert toy.LIVE == []

def test_free():
    toy.price("apple")
    assert toy.LIVE == ["price"]
"""
    run(project, test).assert_outcomes(passed=2)


def test_a_fork_of_a_fork_and_a_session_of_its_own(project: Project) -> None:
    project.cassette()
    test = """
from agent import Agent

def test_it(statebase_client):
    sb = statebase_client
    first = sb.sessions.fork("sess_toy", version=0)
    Agent(sb)(first.id, "an apple?")
    second = sb.sessions.fork(first.id)
    Agent(sb)(second.id, "a pear and a plum?")
    assert sb.sessions.get(second.id).turn_count == 2 and sb.sessions.get(first.id).turn_count == 1
    own = sb.sessions.create(agent_id="a", initial_state={"n": 1})
    assert [s.id for s in sb.sessions.list()] == ["sess_toy", first.id, second.id, own.id]
"""
    run(project, test).assert_outcomes(passed=1)


def test_an_async_test_and_an_async_tool(project: Project) -> None:
    project.cassette()
    import tests.toy

    project.cassette("later", session="sess_later", agent=tests.toy.AsyncToy)
    test = """
import pytest, toy

@pytest.mark.asyncio
async def test_it(statebase_client):
    statebase_client.sessions.fork("sess_later", version=0)
    assert (await toy.price_later("apple"))["price"] == 5
    assert toy.LIVE == []
"""
    run(project, test).assert_outcomes(passed=1)


def test_two_recordings_of_one_session_are_an_error_when_it_is_asked_for(project: Project) -> None:
    project.cassette("one")
    project.cassette("two")
    test = """
import pytest
from pytest_statebase.errors import OptionError

def test_it(statebase_client):
    with pytest.raises(OptionError, match="2 recordings have the session id 'sess_toy'"):
        statebase_client.sessions.get("sess_toy")
"""
    run(project, test).assert_outcomes(passed=1)


def test_nothing_is_read_before_it_is_asked_for(project: Project) -> None:
    project.cassette()
    (project.fixtures / "toy.record.yaml").write_text("broken: [", encoding="utf-8")
    project.ini(INI)
    test = """
import pytest
from pytest_statebase import StatebaseError

def test_it(statebase_client):
    sb = statebase_client
    assert sb.sessions.create(agent_id="a").id.startswith("sess_")
    with pytest.raises(StatebaseError, match="toy.record.yaml"):
        sb.sessions.get("sess_toy")
"""
    run(project, test).assert_outcomes(passed=1)
