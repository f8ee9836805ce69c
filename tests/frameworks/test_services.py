"""Agents that are web services: in this process, where their tools are stubbed, and at an address."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import asgi_agent, http_agent, record_session

from . import shop
from .harness import Bench, framework, told
from .model_server import ModelServer

framework("starlette", "openai", "uvicorn")

from . import with_asgi as own

REQUEST: Any = {"body": {"messages": "{messages}"}, "reply": "reply.text", "state": "session.state"}
SERVICE = asgi_agent(own.app, path="/sessions/{session_id}/messages", **REQUEST)


def test_recorded_and_replayed_offline(bench: Bench) -> None:
    own.CLOSED.clear()
    cassette = bench.record(SERVICE)
    assert own.CLOSED == ["client"]
    calls = [(call.tool, call.arguments["order_id"]) for turn in cassette.ledger.turns for call in turn.calls]
    assert calls == [("lookup_order", "1047"), ("lookup_order", "2093"), ("refund", "2093")]
    bench.unchanged(cassette, SERVICE)


def test_another_prompt(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    cassette = bench.record(SERVICE)
    monkeypatch.setitem(own.SETTINGS, "system", f"{shop.SYSTEM} Order numbers take the prefix A-.")
    bench.stale(cassette, SERVICE)


def test_other_arguments(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    cassette = bench.record(SERVICE)
    monkeypatch.setitem(own.SETTINGS, "prefix", "0")
    bench.careless(cassette, SERVICE)


def test_an_error_of_the_service_is_one_of_the_turn(bench: Bench) -> None:
    ledger = record_session(SERVICE, [""], session_id="s", tools=bench.tools)
    error = ledger.turns[0].error
    assert error is not None
    assert error["type"] == "pytest_statebase.engine.answer:ServiceError"
    assert error["message"] == 'POST /sessions/s/messages answered 422: {"error":"say something"}'


@pytest.fixture
def address(server: ModelServer) -> Iterator[str]:
    """The service in a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    module = f"{own.__name__}:app"
    command = [sys.executable, "-m", "uvicorn", module, "--port", str(port), "--log-level", "error"]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], env=dict(os.environ))
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def test_a_service_at_an_address(bench: Bench, address: str) -> None:
    bench.tools = []
    agent = http_agent(address + "/sessions/{session_id}/messages", **REQUEST)
    cassette = bench.record(agent)
    said = [turn.output["content"] for turn in cassette.ledger.turns]
    assert said[1] == 'In turn 2 I found: "refunded 2093: the customer asked"'
    again = bench.replay(cassette, agent)
    assert again.verdicts == {"unchanged": 2}, told(again)
