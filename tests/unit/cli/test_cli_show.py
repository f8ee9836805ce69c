"""`show`: a session for a person."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import pytest
from click.testing import Result

from pytest_statebase.cassette import write_record
from pytest_statebase.ledger import Ledger, SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted

Run = Callable[..., Result]


def in_order(text: str, *wanted: str) -> None:
    at = 0
    for part in wanted:
        found = text.find(part, at)
        assert found >= 0, f"{part!r} is not in {text[at:]}"
        at = found + len(part)


def test_a_session_turn_by_turn(project: Path, run: Run) -> None:
    result = run("show", "sess_second_refund")
    assert result.exit_code == 0, result.output
    in_order(
        result.stdout,
        "sess_second_refund  Refunded the same order twice",
        "agent    customer-support, user customer_1",
        "owner    payments-team",
        "recorded 2026-",
        "4 turns, 7 calls, 3 state versions (0 to 2)",
        "fixtures/second-refund.record.yaml  sealed",
        "replay   fork turn 3 until turn 3",
        "failing  turn 3",
        "state 0  {order: null, refunds: [], ticket: null}",
        "turn 1  2026-",
        "user     The headphones of order 1047",
        'call     look_up_order(order_id="1047")  (step 1, at once with others)',
        '→ {item: "headphones", total_cents: 8990',
        "state 1  order  null → ",
        'refunds[0]  added "R-1047-1"',
        "why: The order was delivered",
        "agent    I have refunded 89.90 EUR.",
        "turn 3  failing",
        "expect   look_up_order called  (so in the recording)",
        "refund not called  (not so in the recording)",
        'state refunds is ["R-1047-1"]  (not so in the recording)',
        'output contains "already refunded"  (not so in the recording)',
        "ended: completed",
    )


def test_errors_answers_and_inputs_are_shown_at_their_turn(project: Path, run: Run) -> None:
    plan = project / "fixtures" / "tool-raised.session.yaml"
    with plan.open("a", encoding="utf-8") as file:
        file.write("inputs: {3: Thank you}\n")
    result = run("show", plan)
    raised = "AddressLockedError: order 1052 is already with North Parcel"
    in_order(
        result.stdout,
        "turn 2  failing",
        f"raised {raised}",
        f"raised   {raised}",
        "turn 3",
        "instead  Thank you  (the plan's `inputs`)",
        "answers of the plan, in any turn",
        'hand_over_to_person(reason="address locked by North Parcel", order_id="1052")',
    )


def test_one_turn_with_the_state_as_it_began(project: Path, run: Run) -> None:
    result = run("show", "second-refund", "--turn", 3)
    in_order(result.stdout, 'state 1  {order: "1047"', "turn 3  failing", "expect")
    assert "turn 2" not in result.stdout
    assert "turn 4" not in result.stdout
    missing = run("show", "second-refund", "--turn", 9)
    assert missing.exit_code == 1
    assert "It has turns 1 to 4." in missing.stderr


def test_everything_that_can_happen(everything: Path, run: Run) -> None:
    result = run("show", everything)
    assert result.exit_code == 0, result.output
    in_order(
        result.stdout,
        "between turns",
        "state 1  a  1 → 2",
        "why: an operator",
        "fixed it  by ops",
        "turn 1",
        "user     one",
        "two\\x1b[2J \\u202eevil",
        "said     Let me look.",
        'call     look(x\\x1b="=1+1")  (step 1, at once with others, by researcher)',
        "… (5,011 characters)",
        'call     inner("not json \\x00")  (step 1, at once with others, inside look)',
        "raised Broken: boom\\x1b",
        'says it failed: "Error: no"',
        "(no result recorded)",
        "state 2",
        "memory   preference: likes \\x1b [t\\x1b]",
        "search   what",
        'agent    ""',
        "between turns",
        "state 3  rolled back to version 0",
        "why: undone  by ops",
        "turn 2",
        "(nothing: the agent speaks first)",
        "agent    {x: [1, 2]}",
        "(interrupted)",
        "agent    (no output recorded)",
        "ended: crash\\x1b",
        "user     hello?  (never answered)",
    )


@pytest.mark.parametrize("arguments", [[], ["--full"], ["--rules"], ["--turn", "1"]])
def test_what_is_recorded_cannot_move_the_cursor(everything: Path, run: Run, arguments: list[str]) -> None:
    text = run("show", everything, *arguments).stdout
    assert text.replace("\n", "").isprintable()


def test_lines_fit_into_100_columns(everything: Path, run: Run) -> None:
    for name in ("everything", "second-refund", "clean"):
        for line in run("show", name).stdout.splitlines():
            assert sum(2 if east_asian_width(char) in "WF" else 1 for char in line) <= 100, line


def test_full_cuts_nothing(everything: Path, run: Run) -> None:
    text = run("show", everything, "--full").stdout
    assert "characters)" not in text
    assert text.count("x") > 5000
    assert "latency_ms: 12" in text


def test_turns_without_expect_lead_to_the_command_that_drafts_it(project: Path, run: Run) -> None:
    plan = project / "fixtures" / "clean.session.yaml"
    plan.write_text("cassette: 1\nfailing: [2]\ngate: warn\n", encoding="utf-8")
    text = run("show", "clean").stdout
    in_order(
        text,
        "owner    (nobody), gate: warn",
        "failing  turn 2  (no expect yet: 2)",
        "`pytest-statebase expect clean 2`",
    )


def test_accepted_turns_are_marked(project: Path, run: Run) -> None:
    from pytest_statebase import load_cassette
    from pytest_statebase.cassette.accepted import Accepted, AcceptedCall, AcceptedTurn, accepted_bytes

    cassette = load_cassette("fixtures/clean.session.yaml")
    calls = (AcceptedCall("look_up_order", {"order_id": "7"}, result=1, source="authored"),)
    turn = AcceptedTurn(2, calls, {"type": "text", "content": "Done."}, state={"a": 1})
    assert cassette.accepted_path is not None
    cassette.accepted_path.write_bytes(accepted_bytes(Accepted(cassette.session_id, turns={2: turn})))
    text = run("show", "clean", "--turn", 2).stdout
    in_order(text, "turn 2  accepted", 'accepted look_up_order(order_id="7")  (authored)', "Done.", "state {a: 1}")
    cassette.accepted_path.write_text("<<<<<<< ours\n", encoding="utf-8")
    broken = run("show", "clean")
    assert broken.exit_code == 1
    assert "turn 5" in broken.stdout
    assert "cannot be used" in broken.stderr


def test_rules_by_file_and_line(project: Path, run: Run) -> None:
    fixtures = project / "fixtures"
    with (fixtures / "statebase.yaml").open("a", encoding="utf-8") as file:
        file.write("  think: {ignore: [arguments]}\nowner: everybody\nignore: [tools.refund.arguments.order_id]\n")
        file.write("known:\n  - {fingerprint: 0123456789ab, until: 2026-12-05}\n")
        file.write("  - {fingerprint: 0123456789ac, until: 2026-12-12, ticket: PAY-7}\n")
    with (fixtures / "second-refund.session.yaml").open("a", encoding="utf-8") as file:
        file.write('ignore: [order_id, "state.refunds[*]", state.nothing]\ntools: {search_policies: {reads: false}}\n')
        file.write("answers:\n  - {tool: refund, arguments: {order_id: '1047', amount_cents: 8990}, result: 1}\n")
    text = run("show", "second-refund", "--rules").stdout
    in_order(
        text,
        "fixtures/statebase.yaml  (defaults)",
        "4:19    tool look_up_order reads: true  2 calls in turns 1, 3 may be answered again",
        "5:21    tool search_policies reads: true",
        "does not count: fixtures/second-refund.session.yaml:15:27 wins",
        '6:11    tool think ignore: ["arguments"]  matches nothing here',
        'owner: "everybody"  does not count: fixtures/second-refund.session.yaml:13:1 wins',
        "ignore tools.refund.arguments.order_id",
        "turn 1: tools.refund.arguments.order_id",
        "known 0123456789ab until 2026-12-05  excuses nothing any more",
        "known 0123456789ac until 2026-12-12 (PAY-7)  ends in 2 days",
        "fixtures/second-refund.session.yaml",
        "failing turn 3  is recorded as wrong: must change as expected",
        "expect turn 3: refund not called  does not hold in the recording",
        "14:10   ignore order_id",
        "turn 1: tools.look_up_order.arguments.order_id, tools.refund.arguments.order_id",
        "ignore state.refunds[*]",
        "turn 3: state.refunds[0], state.refunds[1]",
        "ignore state.nothing  matches nothing here",
        "tool search_policies reads: false  3 calls in turns 1, 2, 3: a write",
        "goes before the recorded answer of turn 1",
    )
    only = run("show", "second-refund", "--rules", "--turn", 2).stdout
    assert "failing turn" not in only
    assert "tool look_up_order reads: true  matches nothing here" in only


def test_rules_of_tools_that_moved_on(project: Path, run: Run) -> None:
    with (project / "fixtures" / "statebase.yaml").open("a", encoding="utf-8") as file:
        file.write("  find_order: {was: look_up_order, rename: {order_id: id}, added: {region: any}, live: true}\n")
        file.write("ignore: [tools.look_up_order.arguments.order_id]\n")
    text = run("show", "second-refund", "--rules").stdout
    in_order(
        text,
        'tool find_order was: "look_up_order"  2 calls in turns 1, 3: read under the new name',
        'tool find_order rename: {order_id: "id"}  2 calls in turns 1, 3: read with the new names',
        'tool find_order added: {region: "any"}  2 calls in turns 1, 3: read with what they lack',
        "turn 1: tools.find_order.arguments.id",
    )


def test_values_as_deep_as_records_hold_them(project: Path, run: Run) -> None:
    deep: Any = {"leaf": 1}
    for level in range(500):
        deep = {"in": [deep]} if level % 2 else {"in": deep}
    events = [
        SessionCreated("deep", state={}),
        TurnStarted(1),
        ToolCalled("f", {"x": deep}, deep),
        StateUpdated(1, deep),
    ]
    write_record(
        project / "fixtures" / "deep.record.yaml", Ledger([*events, TurnAdded({"type": "data", "content": deep})])
    )
    (project / "fixtures" / "deep.session.yaml").write_text('cassette: 1\nignore: ["**.leaf"]\n', encoding="utf-8")
    for arguments in ([], ["--full"], ["--rules"]):
        assert run("show", "deep", *arguments).exit_code == 0
    assert "turn 1: tools.f.arguments.x.in" in run("show", "deep", "--rules").stdout
    assert run("timeline", "deep").exit_code == 0
    assert run("timeline", "deep", "--csv").exit_code == 0


def test_a_record_alone_has_no_rules(project: Path, run: Run) -> None:
    (project / "fixtures" / "statebase.yaml").unlink()
    assert "no rules: there is neither" in run("show", "fixtures/clean.record.yaml", "--rules").stdout


def test_broken_files_are_one_clear_error(project: Path, run: Run) -> None:
    record = project / "fixtures" / "clean.record.yaml"
    record.write_text(record.read_text(encoding="utf-8").replace("teapot", "kettle"), encoding="utf-8")
    result = run("show", "clean")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "fixtures/clean.record.yaml" in result.stderr
    assert "Traceback" not in result.output


def test_head_does_not_end_in_a_traceback(project: Path) -> None:
    program = [sys.executable, "-m", "pytest_statebase.cli", "show", "second-refund", "--full"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_colours_are_for_terminals(project: Path) -> None:
    from click.testing import CliRunner

    from pytest_statebase.cli import main

    assert "\x1b[" not in CliRunner().invoke(main, ["show", "clean"]).stdout
    assert "\x1b[1m" in CliRunner().invoke(main, ["show", "clean"], color=True).stdout
