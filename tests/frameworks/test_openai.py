"""The package `openai`: chat completions, responses, streams, async."""

from __future__ import annotations

from typing import Any

import pytest

from .harness import Bench, changed, framework

framework("openai")

from . import with_openai

AGENTS = [
    with_openai.Chat,
    with_openai.Streamed,
    with_openai.Responses,
    with_openai.StreamedResponses,
    with_openai.Async,
]
each = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)


def careless(agent: Any) -> Any:
    def arguments(self: Any, text: str) -> dict[str, Any]:
        return {**agent.arguments(self, text), "order_id": "9999"}

    return type("Careless", (agent,), {"arguments": arguments})


@each
def test_recorded_and_replayed_offline(bench: Bench, agent: Any) -> None:
    cassette = bench.record(agent)
    calls = [(call.tool, call.arguments["order_id"]) for turn in cassette.ledger.turns for call in turn.calls]
    assert calls == [("lookup_order", "1047"), ("lookup_order", "2093"), ("refund", "2093")]
    bench.unchanged(cassette, agent)


@each
def test_another_prompt(bench: Bench, agent: Any) -> None:
    bench.stale(bench.record(agent), changed(agent))


@each
def test_other_arguments(bench: Bench, agent: Any) -> None:
    bench.careless(bench.record(agent), careless(agent))


def test_another_tool_schema(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    cassette = bench.record(with_openai.Chat)
    monkeypatch.setitem(with_openai.CHAT_TOOLS[0]["function"], "description", "Finds orders.")
    (first, *_) = bench.offline(cassette, with_openai.Chat).turns
    assert first.verdict == "stale"
    assert "tools.lookup_order.description: " in (first.reason or "")
    assert "Finds orders." in (first.reason or "")
