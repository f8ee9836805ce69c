"""`explain` and `compare`."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Run


def test_explain_the_failing_turn(project: Path, run: Run) -> None:
    result = run("explain", "sess_second_refund")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "sess_second_refund, turn 3  failing"
    assert "  state 2      The order was delivered and the customer wants the money back." in lines
    assert '  "1047" (look_up_order.order_id): the user, turn 3' in lines
    assert "  8990 (refund.amount_cents): look_up_order, turn 3" in lines
    assert lines[-1].startswith("It may have begun in turn 3: refund(")


def test_explain_a_turn(project: Path, run: Run) -> None:
    lines = run("explain", "sess_took_it_back", 4).stdout.splitlines()
    assert "  the answer   The customer gave a new address." in lines
    assert '  turn 3    rollback: the state went back to version 1: "The customer takes it back."' in lines


def test_explain_where_nothing_failed(project: Path, run: Run) -> None:
    result = run("explain", "sess_clean")
    assert result.exit_code == 1
    assert result.stderr == ("Error: sess_clean: nothing in the session shows a failure\n  Name a turn: 1 to 5.\n")
    assert "Nothing: no rollback" in run("explain", "sess_clean", 1).stdout
    assert run("explain", "sess_clean", 9).exit_code == 1


def test_explain_and_compare_send_no_control_characters(everything: Path, run: Run) -> None:
    for number in (1, 2, 3, 4):
        result = run("explain", everything, number)
        assert result.exit_code == 0, result.output
        assert not any(ord(char) < 32 and char != "\n" for char in result.output)
    result = run("compare", everything, "sess_clean", "--all")
    assert result.exit_code == 0, result.output
    assert "\\x1b" in result.stdout
    assert not any(ord(char) < 32 and char != "\n" for char in result.output)


def test_compare_two_sessions(project: Path, run: Run) -> None:
    result = run("compare", "sess_tool_raised", "sess_took_it_back")
    assert result.exit_code == 0, result.output
    assert "They part after 2 steps, B in turn 1: only in B" in result.stdout
    assert '  = 1/2     call     look_up_order(order_id="1052")' in result.stdout.splitlines()
    assert "and 7 more (--all shows them)" in result.stdout
    assert "--all shows them" not in run("compare", "--all", "sess_tool_raised", "sess_took_it_back").stdout


def test_compare_a_session_with_itself(project: Path, run: Run) -> None:
    assert "They do not part: 17 steps, the same actions in both." in run("compare", "clean", "clean").stdout


@pytest.mark.parametrize("names", [("clean", "nothing"), ("nothing", "clean")])
def test_compare_what_is_not_there(project: Path, run: Run, names: tuple[str, str]) -> None:
    result = run("compare", *names)
    assert result.exit_code == 1
    assert "there is no session nothing" in result.stderr
