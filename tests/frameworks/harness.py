"""What each framework is put through: recorded against a live model, replayed offline, then changed in one place."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Cassette, load_cassette, record_session, replay
from pytest_statebase.cassette import Plan, write_plan, write_record
from pytest_statebase.cassette.httpwrite import write_http
from pytest_statebase.compare.model import ReplayResult
from pytest_statebase.importers.dialects import chat_messages
from pytest_statebase.importers.modelcalls import exchange_of
from pytest_statebase.importers.spans import Span
from pytest_statebase.wire.exchange import Exchange, Response

from . import shop
from .model_server import ModelServer

PLAIN = ["tests.frameworks.shop:TOOLS"]


def framework(*names: str) -> None:
    """Skip a module without its framework; where STATEBASE_REQUIRE_FRAMEWORKS=1, that is an error instead."""
    for name in names:
        if os.environ.get("STATEBASE_REQUIRE_FRAMEWORKS") == "1":
            importlib.import_module(name)
        else:
            pytest.importorskip(name, reason=f"the framework {name} is not installed (pip install '.[frameworks]')")


@dataclass
class Bench:
    """One framework on the bench."""

    server: ModelServer
    path: Path
    tools: Sequence[str] = field(default_factory=lambda: PLAIN)
    ignore: Sequence[str] = ()

    def record(self, agent: Any, inputs: Sequence[str] = tuple(shop.INPUTS), **how: Any) -> Cassette:
        """A session with model and tools live, through its files and back."""
        exchanges: list[Exchange] = []
        ledger = record_session(
            agent, inputs, session_id="sess_shop", tools=self.tools, state={}, http=exchanges, **how
        )
        errors = [turn.error for turn in ledger.turns if turn.error is not None]
        assert not errors, errors
        write_record(self.path / "shop.record.yaml", ledger)
        write_http(self.path / "shop.http.yaml", exchanges)
        write_plan(self.path / "shop.session.yaml", Plan(ignore=tuple(self.ignore)))
        return load_cassette(self.path / "shop.session.yaml")

    def as_traced(self, cassette: Cassette) -> Cassette:
        """The same session, recorded without streams, with its model calls as they are made of what a tracer tells."""
        assert cassette.http is not None
        made = [_derived(exchange) for exchange in cassette.http.exchanges]
        path = self.path / "shop.http.yaml"
        path.unlink()
        write_http(path, made)
        return load_cassette(self.path / "shop.session.yaml")

    def replay(self, cassette: Cassette, agent: Any, **how: Any) -> ReplayResult:
        """A replay of the whole session, in which no tool may run."""
        shop.LIVE.clear()
        how = {"until": "end", "tools": self.tools, **how}
        result = replay(cassette, agent, model_hosts=[f"127.0.0.1:{self.server.port}"], **how)
        assert shop.LIVE == []
        return result

    def offline(self, cassette: Cassette, agent: Any, **how: Any) -> ReplayResult:
        """A replay that reaches no server."""
        before = self.server.count
        result = self.replay(cassette, agent, **how)
        assert self.server.count == before
        return result

    def unchanged(self, cassette: Cassette, agent: Any) -> None:
        """The same agent does the same with no server there, from the start and from the second turn, in any mode."""
        turns = len(cassette.ledger.turns)
        self.server.stop()
        for how, count in (({}, turns), ({"mode": "isolated"}, turns), ({"fork": "turn 2"}, turns - 1)):
            result = self.offline(cassette, agent, **how)
            assert result.verdicts == {"unchanged": count}, (how, told(result))

    def at_once(self, agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Calls that the model wants at once have no order among them."""
        monkeypatch.setitem(shop.PAUSE, "seconds", 0.05)
        cassette = self.record(agent, ["Where are 1047 and 2093?", "Thank you."])
        first = cassette.ledger.turns[0].calls
        assert sorted(call.arguments["order_id"] for call in first) == ["1047", "2093"]
        assert {call.step for call in first} == {1}
        self.unchanged(cassette, agent)

    def stale(self, cassette: Cassette, agent: Any) -> None:
        """Another prompt has no recorded answer; with the model live, what it changes is seen by name."""
        result = self.offline(cassette, agent)
        first = result.turns[0]
        assert first.verdict == "stale", told(result)
        assert "prefix A-" in (first.reason or ""), first.reason
        live = self.replay(cassette, agent, model="auto")
        assert "tools.lookup_order.arguments.order_id" in paths(live), told(live)

    def careless(self, cassette: Cassette, agent: Any) -> None:
        """An agent that hands a tool something else is caught, whatever the framework makes of the exception."""
        result = self.offline(cassette, agent)
        assert result.turns[0].verdict == "unrecorded", told(result)
        assert paths(result)[0] == "tools.lookup_order.arguments.order_id"


def _derived(exchange: Exchange) -> Exchange:
    """What becomes of a model call over a trace."""
    body = json.loads(exchange.request.body)
    assert isinstance(exchange.answer, Response)
    answer = json.loads(exchange.answer.body)
    created = datetime.fromtimestamp(answer.get("created", answer.get("created_at")), UTC)
    span = Span(
        str(exchange.turn),
        "trace",
        None,
        "responses" if exchange.request.url.endswith("/responses") else "chat",
        "generation",
        input=chat_messages(body, role="user"),
        output=chat_messages(answer, role="assistant"),
        provider="openai",
        model=body["model"],
        began=created.isoformat(),
        attributes={"gen_ai.response.id": answer["id"]},
        usage=answer["usage"],
        tools=body.get("tools"),
    )
    made = exchange_of(span, turn=exchange.turn or 1, during=exchange.during)
    assert isinstance(made, Exchange), made
    return made


def changed(agent: Any) -> Any:
    """An agent with another prompt: one that makes the model ask its tools for something else."""
    return type("Changed", (agent,), {"system": f"{shop.SYSTEM} Order numbers take the prefix A-."})


def paths(result: ReplayResult) -> list[str]:
    """Where a replay differs, cause first."""
    return [divergence.path for turn in result.turns for divergence in turn.divergences]


def told(result: ReplayResult) -> list[Any]:
    """What a failing assertion shows."""
    return [
        (turn.verdict, turn.reason, turn.divergences, turn.replayed and turn.replayed.error) for turn in result.turns
    ]
