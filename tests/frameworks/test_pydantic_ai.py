"""pydantic-ai: tools of an `Agent`, dependencies, streams, its own retries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from .harness import Bench, changed, framework, told

framework("pydantic_ai", "openai")

from pydantic_ai import Agent, RunContext

from . import with_pydantic_ai as own

each = pytest.mark.parametrize("agent", [own.Assistant, own.Streamed, own.Sync], ids=lambda agent: agent.__name__)


@pytest.fixture
def bench(bench: Bench) -> Bench:
    bench.tools, bench.ignore = [f"{own.__name__}:assistant"], own.IGNORE
    return bench


@pytest.fixture(autouse=True)
def _loop() -> Iterator[None]:
    """The event loop that `run_sync` would make and leave open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@each
def test_recorded_and_replayed_offline(bench: Bench, agent: Any) -> None:
    cassette = bench.record(agent)
    calls = [(call.tool, call.arguments) for turn in cassette.ledger.turns for call in turn.calls]
    assert calls[1] == ("lookup_order", {"order_id": "2093"})
    assert calls[2] == ("refund", {"order_id": "2093", "reason": "the customer asked"})
    bench.unchanged(cassette, agent)


@each
def test_model_calls_that_a_trace_tells(bench: Bench, agent: Any) -> None:
    cassette = bench.as_traced(bench.record(own.Assistant if agent is own.Streamed else agent))
    moved = bench.offline(cassette, changed(agent)).turns[0]
    assert (moved.verdict, "prefix A-" in (moved.reason or "")) == ("stale", True), moved
    bench.unchanged(cassette, agent)


@each
def test_another_prompt(bench: Bench, agent: Any) -> None:
    bench.stale(bench.record(agent), changed(agent))


def test_a_prompt_that_changes_nothing_is_no_change(bench: Bench) -> None:
    """The history keeps the prompt, and ids and counts of the provider."""
    cassette = bench.record(own.Assistant)
    again = type("Again", (own.Assistant,), {"system": f"{own.shop.SYSTEM} Be kind."})
    assert set(bench.offline(cassette, again).verdicts) == {"stale", "not-replayed"}, "in a request the prompt counts"
    result = bench.replay(cassette, again, model="auto")
    assert result.verdicts == {"unchanged": len(cassette.ledger.turns)}, told(result)


@each
def test_other_arguments(bench: Bench, agent: Any) -> None:
    careless = Agent(deps_type=own.Desk, instructions=own.shop.SYSTEM)

    @careless.tool(name="lookup_order", retries=5)
    def other(ctx: RunContext[own.Desk], order_id: str) -> Any:
        """Look an order up."""
        return own.lookup_order(ctx, "9999")

    careless.tool_plain(name="refund")(own.pay_back)
    bench.careless(bench.record(agent), type("Careless", (agent,), {"agent": careless}))


def test_a_retry_that_a_tool_asks_for_is_recorded(bench: Bench) -> None:
    cassette = bench.record(own.Assistant, ["Where is order 5555?", "Where is order 1047?"])
    (error,) = [call.error for call in cassette.ledger.turns[0].calls]
    assert error is not None
    assert error["type"] == "pydantic_ai.exceptions:ModelRetry"
    bench.unchanged(cassette, own.Assistant)


@pytest.mark.parametrize("agent", [own.Assistant, own.Sync])
def test_calls_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch, agent: Any) -> None:
    bench.at_once(agent, monkeypatch)
