"""Drafts of `expect` for every pair: the replayed side is fixed by them, an agent that does nothing is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_statebase import replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.cassette.plan import Plan, ToolRules
from pytest_statebase.compare.draft import read_draft
from pytest_statebase.compare.model import TurnResult, Verdict

from .pair import Pair
from .replayed import Agent, recorded
from .test_corpus import PAIRS


def judged(pair: Pair, plan: Plan, agent: object) -> list[TurnResult]:
    cassette = Cassette.from_ledger(recorded(pair), plan)
    return replay(cassette, agent, unrecorded="simulate", simulator=lambda *_: {"ok": True}).turns


def refuses(user_input: str, tools: object) -> str:
    """An agent that does nothing at all."""
    return "I cannot help with that."


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_draft_proves_something(pair: Pair) -> None:
    numbers = frozenset(range(1, len(pair.recorded) + 1))
    tools = {tool: ToolRules(reads=True) for tool in pair.reads}
    plan = Plan(ignore=tuple(pair.ignore), tools=tools, failing=numbers)
    drafts = {
        turn.turn: read_draft(turn.reason, turn.turn)
        for turn in judged(pair, plan, Agent(pair.replayed))
        if turn.verdict is Verdict.UNPROVEN and turn.reason and "…" not in turn.reason
    }
    for number, expect in drafts.items():
        proven = replace(plan, failing=frozenset({number}), expect={number: expect})
        by_number = {turn.turn: turn.verdict for turn in judged(pair, proven, Agent(pair.replayed))}
        assert by_number[number] is Verdict.FIXED
        idle = {
            turn.turn: turn.verdict
            for turn in judged(pair, proven, lambda user_input, tools: "I cannot help with that.")
        }
        assert idle[number] is Verdict.STILL_FAILING, drafts
