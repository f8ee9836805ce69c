"""The package `anthropic`: messages, streams, async."""

from __future__ import annotations

from typing import Any

import pytest

from .harness import Bench, changed, framework

framework("anthropic")

from . import with_anthropic as own

each = pytest.mark.parametrize("agent", [own.Messages, own.Streamed, own.Async], ids=lambda agent: agent.__name__)


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
    def arguments(self: Any, found: dict[str, Any]) -> dict[str, Any]:
        return {**found, "order_id": "9999"}

    bench.careless(bench.record(agent), type("Careless", (agent,), {"arguments": arguments}))
