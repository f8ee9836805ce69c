"""`expect`: what to expect of a turn, drafted from a replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from pytest_statebase import load_cassette, replay
from pytest_statebase.engine.agents import as_agent

FIXED, PRODUCTION = "support_agent.fixed:SupportAgent", "support_agent.production:SupportAgent"

Run = Callable[..., Result]


def test_a_draft_that_can_be_pasted(project: Path, run: Run) -> None:
    plan = project / "fixtures" / "second-refund.session.yaml"
    bare = "cassette: 1\nreplay: {fork: turn 3}\nfailing: [3]\n"
    plan.write_text(bare, encoding="utf-8")
    result = run("expect", "sess_second_refund", 3)
    assert result.exit_code == 0, result.output
    rules = "tools: {not_called: refund}\n    state: {refunds: [R-1047-1]}\n    output: {contains: R-1047-1}"
    assert result.stdout == f"expect:\n  3:\n    {rules}\n"
    assert result.stderr == "# fixtures/second-refund.session.yaml\n"
    plan.write_text(bare + result.stdout, encoding="utf-8")
    rules = load_cassette(plan).plan.expect[3].tools
    assert rules is not None
    assert rules.not_called == ("refund",)


def test_where_an_expect_stands_already(project: Path, run: Run) -> None:
    result = run("expect", "tool-raised", 2)
    assert result.stdout == (
        "  2:\n    tools:\n      called:\n        - change_address\n        - tool: hand_over_to_person\n"
        '          arguments: {reason: address locked by North Parcel, order_id: "1052"}\n'
        '    state: {ticket: T-1}\n    output: {contains: "2 hours"}\n'
    )
    assert result.stderr.startswith("# fixtures/tool-raised.session.yaml:")
    assert "instead of what is expected of turn 2 now" in result.stderr


def test_a_turn_that_only_words_it_otherwise(project: Path, run: Run) -> None:
    result = run("expect", "ask-for-a-person", 2)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "turn 2 is as it was recorded but for its wording: an expect drafted from" in result.stderr


def test_a_turn_that_is_not_marked_as_failing(project: Path, run: Run) -> None:
    plan = project / "fixtures" / "cancelled-order.session.yaml"
    plan.write_text("cassette: 1\n", encoding="utf-8")
    result = run("expect", "sess_cancelled_order", 2)
    assert result.stdout == "expect:\n  2:\n    tools: {called: cancel_order}\n    state: {order: null}\n"
    assert "so mark it as well: `failing: [2]`" in result.stderr


ARGUMENTS = """
from support_agent import fixed, tools
from pytest_statebase import AgentReply


class Capitals(fixed.SupportAgent):
    def move(self, order_id, address, state):
        tools.change_address(order_id, address.upper())
        return AgentReply("All is as you wish.", state)


def refuses(user_input):
    return "I am afraid that I cannot help you with that."
"""


def test_an_argument_is_expected(project: Path, run: Run) -> None:
    (project / "expect_variants.py").write_text(ARGUMENTS, encoding="utf-8")
    plan = project / "fixtures" / "clean.session.yaml"
    answers = 'answers: [{tool: change_address, arguments: {order_id: "1061", address: "HAFENSTR. 9, 20457 HAMBURG"}, '
    bare = f"cassette: 1\nreplay: {{fork: turn 2, until: turn 2}}\nfailing: [2]\n{answers}result: null}}]\n"
    plan.write_text(bare, encoding="utf-8")
    ini = project / "pytest.ini"
    ini.write_text(ini.read_text("utf-8").replace("[pytest]\npythonpath =", "[pytest]\npythonpath = ."), "utf-8")
    result = run("expect", "clean", 2, "--agent", "expect_variants:Capitals")
    assert '{tool: change_address, arguments: {address: "HAFENSTR. 9, 20457 HAMBURG"}}' in result.stdout, result.output
    plan.write_text(bare + result.stdout, encoding="utf-8")
    shown = run("show", "clean", "--rules", "--turn", 2).stdout
    assert 'expect turn 2: change_address(address="HAFENSTR. 9, 20457 HAMBURG") called' in shown
    for agent, verdict in (("Capitals", "fixed"), ("refuses", "still-failing")):
        target = as_agent(f"expect_variants:{agent}")
        replayed = replay(load_cassette(plan), target, tools=("support_agent.tools:*",))
        assert str(replayed.turn(2).verdict) == verdict


@pytest.mark.parametrize(("session", "turn"), [("second-refund", 3), ("second-refund", 1), ("tool-raised", 2)])
def test_what_the_recording_does_as_well_is_refused(project: Path, run: Run, session: str, turn: int) -> None:
    result = run("expect", session, turn, "--agent", PRODUCTION)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert f"turn {turn} is as it was recorded" in result.stderr


def test_an_earlier_turn_than_the_fork_is_replayed_by_itself(project: Path, run: Run) -> None:
    result = run("expect", "second-refund", 2)
    assert "turn 2 is as it was recorded" in result.stderr


def test_a_call_without_an_answer_explains_itself(project: Path, run: Run) -> None:
    result = run("expect", "fixtures/tool-raised.record.yaml", 2)
    assert result.exit_code == 1
    assert "turn 2 is unrecorded: there is nothing to expect of it yet" in result.stderr
    assert '- {tool: "hand_over_to_person"' in result.stderr


def test_an_agent_that_prints_and_raises(project: Path, run: Run) -> None:
    (project / "noisy.py").write_text("def agent(user_input):\n    print('noise')\n    raise ValueError('no')\n")
    result = run("expect", "second-refund", 3, "--agent", "noisy:agent")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "turn 3 is error" in result.stderr
    assert "noise" in result.stderr
    assert "no" in result.stderr


def test_an_agent_that_hands_out_data(project: Path, run: Run) -> None:
    (project / "quiet.py").write_text("def agent(user_input):\n    return {'type': 'data', 'content': {'a': 1}}\n")
    (project / "fixtures" / "clean.session.yaml").write_text("cassette: 1\nreplay: {fork: turn 5}\n", encoding="utf-8")
    result = run("expect", "clean", 5, "--agent", "quiet:agent")
    assert result.exit_code == 0, result.output
    assert result.stdout == "expect:\n  5:\n    output: {equals: {a: 1}}\n"


def test_agents_and_tools_that_are_none(project: Path, run: Run) -> None:
    for arguments, said in (
        (["--agent", "nowhere:agent"], "does not import"),
        (["--tools", "nowhere:*"], "does not import"),
    ):
        result = run("expect", "clean", 2, *arguments)
        assert result.exit_code == 1
        assert said in result.stderr
    assert "no turn 9" in run("expect", "clean", 9).stderr
    (project / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    result = run("expect", "clean", 2)
    assert result.exit_code == 1
    assert "there is no agent to replay against" in result.stderr
    assert "--agent MODULE:ATTR" in result.stderr


def test_an_opening_turn_is_history(everything: Path, run: Run) -> None:
    result = run("expect", everything, 2)
    assert result.exit_code == 1
    assert "the agent speaks first" in result.stderr
