"""The recordings of the sample agent: each shows something of its own, and fails where it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_statebase import ReplayResult, load_cassette, replay
from pytest_statebase.cassette import Cassette, read_record
from pytest_statebase.events import StateRolledBack

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAMES = sorted(path.name.removesuffix(".session.yaml") for path in FIXTURES.glob("*.session.yaml"))
RED = {"cancelled-order", "no-policy", "second-refund", "tool-raised"}
"""What the production version fails."""


def cassette(name: str) -> Cassette:
    return load_cassette(FIXTURES / f"{name}.session.yaml")


def replayed(name: str, version: str) -> ReplayResult:
    return replay(cassette(name), f"support_agent.{version}:SupportAgent", tools=["support_agent.tools:*"])


@pytest.mark.parametrize("name", NAMES)
def test_green_with_the_repaired_version_and_red_with_production_where_it_should_be(name: str) -> None:
    assert replayed(name, "fixed").failure is None
    assert replayed(name, "production").passed is (name not in RED)


def test_the_set() -> None:
    assert set(NAMES) > RED
    assert {path.name.removesuffix(".record.yaml") for path in FIXTURES.glob("*.record.yaml")} == set(NAMES)


def test_a_rollback_and_a_memory_in_the_middle_of_a_fork() -> None:
    result = replayed("took-it-back", "fixed")
    assert (result.fork, result.verdicts) == ("version 2", {"unchanged": 3})
    undone, _, remembered = result.turns
    assert [event.to_version for event in undone.recorded.events if isinstance(event, StateRolledBack)] == [1]
    assert remembered.replayed is not None
    assert [one["type"] for one in remembered.replayed.memory] == ["preference"]


def test_calls_that_were_made_at_once() -> None:
    first = cassette("second-refund").ledger.turns[0]
    assert [call.step for call in first.calls] == [1, 1, 2]


def test_a_turn_whose_only_fault_is_in_the_state() -> None:
    [turn] = [turn for turn in replayed("cancelled-order", "fixed").turns if turn.verdict == "fixed"]
    assert [(found.facet, found.path) for found in turn.divergences] == [("state", "state.order")]


def test_an_accepted_baseline() -> None:
    assert replayed("no-policy", "fixed").turn(1).verdict == "accepted"
    found = replayed("no-policy", "production").turn(1).divergences
    assert [(one.kind, one.path) for one in found][:2] == [
        ("reverted", "tools.hand_over_to_person"),
        ("reverted", "state.ticket"),
    ]


def test_a_tool_that_was_renamed() -> None:
    [recorded] = read_record(FIXTURES / "first-week.record.yaml").turns[1].calls
    [call] = replayed("first-week", "fixed").turn(2).calls
    assert (recorded.tool, call.tool, replayed("first-week", "fixed").passed) == ("get_order", "look_up_order", True)
