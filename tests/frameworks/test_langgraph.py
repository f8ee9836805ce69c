"""langgraph and langchain-openai: tool objects, a checkpointer, `restore`."""

from __future__ import annotations

from typing import Any

import pytest

from .harness import Bench, changed, framework

framework("langgraph", "langchain_openai")

from langchain_core.tools import tool

from . import with_langgraph as own

each = pytest.mark.parametrize("agent", [own.Graph, own.React, own.Async], ids=lambda agent: agent.__name__)


@pytest.fixture
def bench(bench: Bench) -> Bench:
    bench.tools, bench.ignore = [f"{own.__name__}:TOOLS"], own.IGNORE
    return bench


@each
def test_recorded_and_replayed_offline(bench: Bench, agent: Any) -> None:
    cassette = bench.record(agent)
    calls = [(call.tool, call.arguments) for turn in cassette.ledger.turns for call in turn.calls]
    assert calls[1] == ("lookup_order", {"order_id": "2093"})
    assert calls[2] == ("refund", {"order_id": "2093", "reason": "the customer asked"})
    assert len(cassette.ledger.state["messages"]) == 10
    bench.unchanged(cassette, agent)


@pytest.mark.parametrize("agent", [own.Graph, own.React])  # what streams, keeps other facts of an answer in its state
def test_model_calls_that_a_trace_tells(bench: Bench, agent: Any) -> None:
    cassette = bench.as_traced(bench.record(agent))
    moved = bench.offline(cassette, changed(agent)).turns[0]
    assert (moved.verdict, "prefix A-" in (moved.reason or "")) == ("stale", True), moved
    bench.unchanged(cassette, agent)


@each
def test_another_prompt(bench: Bench, agent: Any) -> None:
    bench.stale(bench.record(agent), changed(agent))


@each
def test_other_arguments(bench: Bench, agent: Any) -> None:
    @tool("lookup_order")
    def careless(order_id: str) -> Any:
        """Look an order up."""
        return own.lookup_order.func("9999", {})

    careless.handle_tool_error = True
    bench.careless(bench.record(agent), type("Careless", (agent,), {"tools": [careless, own.refund]}))


def test_an_error_that_the_framework_answers_is_recorded(bench: Bench) -> None:
    cassette = bench.record(own.Graph, ["Where is order 5555?", "Where is order 1047?"])
    (error,) = [call.error for call in cassette.ledger.turns[0].calls]
    assert error is not None
    assert error["message"] == "there is no order 5555 in shop"
    bench.unchanged(cassette, own.Graph)


@pytest.mark.parametrize("agent", [own.Graph, own.Async])
def test_calls_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch, agent: Any) -> None:
    bench.at_once(agent, monkeypatch)
