"""openai-agents: function tools, hand-offs, streams, tools of an MCP server."""

from __future__ import annotations

from typing import Any

import pytest

from .harness import Bench, changed, framework, paths

framework("agents", "openai", "mcp")

from agents import function_tool

from . import with_openai_agents as own

each = pytest.mark.parametrize("agent", [own.Desk, own.Chat, own.Streamed], ids=lambda agent: agent.__name__)


@pytest.fixture
def bench(bench: Bench) -> Bench:
    bench.tools = [f"{own.__name__}:TOOLS"]
    return bench


@each
def test_recorded_and_replayed_offline(bench: Bench, agent: Any) -> None:
    cassette = bench.record(agent)
    calls = [(call.agent, call.tool, call.arguments) for turn in cassette.ledger.turns for call in turn.calls]
    assert calls[:2] == [
        ("triage", "lookup_order", {"order_id": "1047"}),
        ("billing", "lookup_order", {"order_id": "2093"}),
    ]
    assert calls[2] == ("billing", "refund", {"order_id": "2093", "reason": "the customer asked"})
    bench.unchanged(cassette, agent)


@each
def test_model_calls_that_a_trace_tells(bench: Bench, agent: Any) -> None:
    bench.ignore = ["state.items[*].id"]  # of items no trace tells them, and the framework keeps them
    cassette = bench.as_traced(bench.record(own.Desk if agent is own.Streamed else agent))
    moved = bench.offline(cassette, changed(agent)).turns[0]
    assert (moved.verdict, "prefix A-" in (moved.reason or "")) == ("stale", True), moved
    bench.unchanged(cassette, agent)


@each
def test_another_prompt(bench: Bench, agent: Any) -> None:
    bench.stale(bench.record(agent), changed(agent))


@each
def test_other_arguments(bench: Bench, agent: Any) -> None:
    # Its own way with errors (a text for the model) hides nothing.
    @function_tool(name_override="lookup_order")
    def careless(context: own.RunContextWrapper[Any], order_id: str) -> Any:
        """Look an order up."""
        return own.lookup_order.__wrapped__(context, "9999")

    bench.careless(bench.record(agent), type("Careless", (agent,), {"tools": [careless, own.refund]}))


def test_a_call_by_another_agent(bench: Bench) -> None:
    cassette = bench.record(own.Desk)

    class Renamed(own.Desk):
        def agents(self) -> dict[str, Any]:
            both = super().agents()
            both["triage"].name = "front"
            return both

    assert "tools.lookup_order.agent" in paths(bench.replay(cassette, Renamed))


def test_tools_of_an_mcp_server(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.tools = ["mcp"]
    cassette = bench.record(own.Stock, ["Is there a kettle?", "Is there a kettle?"])
    assert [call.tool for call in cassette.ledger.turns[0].calls] == ["in_stock"]
    monkeypatch.setattr(own, "SHOP_SERVER", ["/there/is/no/python", *own.SHOP_SERVER[1:]])
    bench.unchanged(cassette, own.Stock)


@pytest.mark.parametrize("agent", [own.Desk])
def test_calls_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch, agent: Any) -> None:
    bench.at_once(agent, monkeypatch)
