"""Live model calls that take longer than a turn may: that time is the provider's, and one that hangs ends as well."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from pytest_statebase import Ledger, ReplayResult, replay, replay_async
from pytest_statebase.cassette import Cassette
from pytest_statebase.engine.web import budget
from pytest_statebase.ledger import SessionCreated, TurnAdded, TurnStarted
from tests.frameworks.model_server import ModelServer
from tests.frameworks.script import shop

httpx = pytest.importorskip("httpx", reason="the agents of these tests talk to their model with httpx")
aiohttp = pytest.importorskip("aiohttp")

LIMIT = 1.0
"""Enough for what the clients do themselves, on a machine that is busy too."""
Agent = Callable[[str, str], Any]


@pytest.fixture
def slow() -> Iterator[ModelServer]:
    """Takes longer than a turn may."""

    def script(asked: Any) -> Any:
        time.sleep(1.2 * LIMIT)
        return shop(asked)

    with ModelServer(script) as server:
        yield server


@pytest.fixture
def hung() -> Iterator[ModelServer]:
    """Answers when the test is over."""
    over = threading.Event()

    def script(asked: Any) -> Any:
        over.wait(60)
        return shop(asked)

    with ModelServer(script) as server:
        yield server
        over.set()


ASKED = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def said(answer: Any) -> str:
    return str(answer["choices"][0]["message"]["content"])


def plain(url: str) -> str:
    return said(httpx.post(url, json=ASKED, timeout=None).json())


def streamed(url: str) -> str:
    with httpx.stream("POST", url, json={**ASKED, "stream": True}, timeout=None) as answer:
        assert "data: [DONE]" in answer.read().decode()
    return "You said: hello"


def in_threads(url: str) -> str:
    threads = [threading.Thread(target=plain, args=(url,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return plain(url)


async def by_httpx(url: str) -> str:
    async with httpx.AsyncClient(timeout=None) as client:
        return said((await client.post(url, json=ASKED)).json())


async def by_aiohttp(url: str) -> str:
    async with aiohttp.ClientSession() as client, client.post(url, json=ASKED) as answer:
        return said(await answer.json())


async def in_trio(url: str) -> str:
    return await by_httpx(url)


def session() -> Cassette:
    ledger = Ledger([SessionCreated("sess_1")])
    ledger.append(TurnStarted(1, {"type": "text", "content": "hello"}))
    ledger.append(TurnAdded({"type": "text", "content": "You said: hello"}))
    return Cassette.from_ledger(ledger)


def replayed(ask: Callable[[str], Any], server: ModelServer, **how: Any) -> ReplayResult:
    url = f"{server.url}/v1/chat/completions"

    def agent(user_input: str) -> Any:
        return ask(url)

    hosts = [f"127.0.0.1:{server.port}"]
    options = {"turn_timeout": LIMIT, "model": "live", "model_hosts": hosts, **how}
    if ask is not in_trio:
        return replay(session(), agent, **options)

    async def main() -> ReplayResult:
        return await replay_async(session(), agent, **options)

    return trio.run(main)


ALL = [plain, streamed, in_threads, by_httpx, by_aiohttp, in_trio]


@pytest.mark.parametrize("ask", ALL)
def test_a_slow_model_is_no_runaway(slow: ModelServer, ask: Callable[[str], Any]) -> None:
    result = replayed(ask, slow)
    assert result.passed, result.turns
    assert result.turns[0].replayed is not None
    assert result.turns[0].replayed.error is None
    assert slow.count == (3 if ask is in_threads else 1)


def test_nor_is_one_that_is_busy_first(slow: ModelServer) -> None:
    slow.fail(1, 429, retry_after=str(1.2 * LIMIT))
    assert replayed(plain, slow).passed
    assert slow.count == 2


def test_the_agents_own_time_still_counts(slow: ModelServer) -> None:
    def asks_and_loops(url: str) -> str:
        plain(url)
        while True:
            time.sleep(0.01)

    result = replayed(asks_and_loops, slow)
    assert result.verdicts == {"error": 1}
    assert result.turns[0].replayed is not None
    error = result.turns[0].replayed.error
    assert error == {"type": "Runaway", "message": f"the turn was ended: it took longer than {LIMIT:g} s"}


@pytest.mark.parametrize("ask", [plain, by_httpx, by_aiohttp, in_trio])
def test_a_model_that_hangs_is_inconclusive(
    hung: ModelServer, ask: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(budget, "LONGEST_TRY", 2.0)
    result = replayed(ask, hung, keep=tmp_path)
    assert result.verdicts == {"inconclusive": 1}
    assert result.turns[0].reason == "the turn was ended: a live model call had no answer within 2 s"
    assert hung.count == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"closed" in path.read_bytes()] == []
