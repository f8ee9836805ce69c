"""Threads of a turn whose requests are recorded: each gets its own answer, and nothing reaches the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
import requests

from pytest_statebase import Verdict, load_cassette, record_session, replay
from pytest_statebase.cassette import write_http, write_record
from pytest_statebase.wire.exchange import Exchange, Request, Response
from tests.web.servers import Counting, counting

KIND = (("content-type", "application/json"),)
THREADS = 8


@pytest.fixture
def server() -> Iterator[Counting]:
    with counting() as found:
        yield found
        assert found.hits() == 0


def with_requests(url: str, body: Any) -> Any:
    return requests.post(url, json=body, timeout=10).json()


def with_httpx(url: str, body: Any) -> Any:
    with httpx.Client(verify=False) as client:  # certificates take long to read
        return client.post(url, json=body).json()


def with_aiohttp(url: str, body: Any) -> Any:
    async def main() -> Any:
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as answer:
            return await answer.json()

    return asyncio.run(main())


@pytest.mark.parametrize("way", [with_requests, with_httpx, with_aiohttp], ids=lambda way: way.__name__)
def test_fifty_runs_of_eight_threads(server: Counting, tmp_path: Path, way: Callable[[str, Any], Any]) -> None:
    url = f"{server.url}/v1/orders"
    recorded = [
        Exchange(
            Request("POST", url, KIND, json.dumps({"order": number}).encode()),
            Response(200, "OK", KIND, json.dumps({"got": number}).encode()),
            1,
        )
        for number in range(THREADS)
    ]
    write_record(tmp_path / "s.record.yaml", record_session(lambda user_input: "done", ["go"], session_id="sess_web"))
    write_http(tmp_path / "s.http.yaml", recorded)
    (tmp_path / "s.session.yaml").write_text("cassette: 1\n", encoding="utf-8")
    cassette = load_cassette(tmp_path / "s.session.yaml")
    answers: list[list[Any]] = []

    def agent(user_input: str) -> str:
        with ThreadPoolExecutor(THREADS) as pool:
            answers.append(list(pool.map(way, [url] * THREADS, [{"order": number} for number in range(THREADS)])))
        return "done"

    for _ in range(50):
        result = replay(cassette, agent, http="none")
        assert [turn.verdict for turn in result.turns] == [Verdict.UNCHANGED]
    assert answers == [[{"got": number} for number in range(THREADS)]] * 50
