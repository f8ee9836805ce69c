"""One change each to a recorded toy agent: each is caught, named as what it is, and nothing else is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_statebase import ReplayResult, record_session, replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.testing import Reenact
from tests import toy


def record(agent: type) -> Cassette:
    ledger = record_session(agent, toy.INPUTS, session_id="sess_toy", tools=toy.TOOLS, state={"turns": 0, "cart": []})
    return Cassette.from_ledger(ledger)


def told(result: ReplayResult) -> list[tuple[int, str, str, str, str]]:
    return [
        (turn.turn, str(turn.verdict), str(d.facet), str(d.kind), d.path)
        for turn in result.turns
        for d in turn.divergences
        if not d.note
    ]


@pytest.fixture(scope="module")
def cassette() -> Cassette:
    return record(toy.Toy)


MATRIX = {
    "wrong argument": (toy.WrongArgument, (2, "unrecorded", "tools", "arguments", "tools.price#2.arguments.item")),
    "another tool": (toy.AnotherTool, (2, "unrecorded", "tools", "replaced", "tools.price#2")),
    "extra call": (toy.ExtraCall, (2, "unrecorded", "tools", "extra", "tools.price#3")),
    "missing call": (toy.MissingCall, (2, "changed", "tools", "missing", "tools.price#2")),
    "two calls swapped": (toy.Swapped, (2, "changed", "tools", "reordered", "tools.price.order")),
    "text": (toy.OtherText, (3, "reworded", "output", "text", "output")),
    "state": (toy.OtherState, (3, "changed", "state", "value", "state.cart[1]")),
}


@pytest.mark.parametrize("name", MATRIX)
def test_one_change_is_one_divergence(cassette: Cassette, name: str) -> None:
    agent, wanted = MATRIX[name]
    found = told(replay(cassette, agent, tools=toy.TOOLS))
    if name == "two calls swapped":
        assert [one[:4] for one in found] == [wanted[:4]]
        assert found[0][4].startswith("tools.price")
        assert found[0][4].endswith(".order")
    else:
        assert found == [wanted]


def test_exact_output_makes_other_words_a_change(cassette: Cassette) -> None:
    exact = replace(cassette, plan=replace(cassette.plan, compare={"output": "exact"}))
    assert told(replay(exact, toy.OtherText, tools=toy.TOOLS)) == [(3, "changed", "output", "text", "output")]


@pytest.mark.parametrize(
    "agent",
    [toy.Toy, toy.AsyncToy, toy.GatherToy, toy.ThreadToy, toy.RaisingToy, toy.FreshIds],
    ids=lambda a: a.__name__,
)
def test_controls_are_unchanged_and_no_tool_runs(agent: type) -> None:
    cassette = record(agent)
    toy.LIVE.clear()
    result = replay(cassette, agent, tools=toy.TOOLS)
    assert result.verdicts == {"unchanged": 3}
    assert result.passed
    assert (result.counts()["unused"], result.counts()["unrecorded"], result.counts()["stale"]) == (0, 0, 0)
    assert toy.LIVE == []


def test_gathered_calls_may_come_in_any_order() -> None:
    cassette = record(toy.GatherToy)

    class Forward(toy.GatherToy):
        def items(self, turn: int) -> list[str]:
            return super().items(turn)[::-1]

    result = replay(cassette, Forward, tools=toy.TOOLS)
    assert result.verdicts == {"unchanged": 3}
    assert result.counts()["stale"] == 0


def test_reenact_repeats_a_recording(cassette: Cassette) -> None:
    result = replay(cassette, Reenact(cassette))
    assert result.verdicts == {"unchanged": 3}
    assert result.counts()["unused"] == 0


def test_a_miss_ends_the_turn_and_the_rest_is_not_replayed(cassette: Cassette) -> None:
    result = replay(cassette, toy.WrongArgument, tools=toy.TOOLS)
    assert [str(turn.verdict) for turn in result.turns] == ["unchanged", "unrecorded", "not-replayed"]
    explanation = result.turn(2).calls[-1].explanation
    assert "nearest recording: turn 2, call 2, price(item='plum')" in explanation
    assert "item: recorded 'plum', replayed 'peach'" in explanation
    assert '{tool: "price", arguments: {"item": "peach"}, result: ...}' in explanation
    assert not result.passed
