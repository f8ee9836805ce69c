"""Answers that a client could not read when they were recorded: it cannot in the replay either, in the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import aiohttp
import httpx
import pytest
import requests

from pytest_statebase.cassette import write_http
from pytest_statebase.cassette.http import read_http
from pytest_statebase.engine.web.pending import exchange_from, exchange_line
from pytest_statebase.wire.exchange import Answer, Exchange, Failure
from pytest_statebase.wire.intercept import intercepted
from tests.web.http_server import plain, serving
from tests.web.test_clients import Heard


def _aiohttp(url: str) -> str:
    async def main() -> str:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return await response.text()

    return asyncio.run(main())


def _outcome(get: Callable[[str], str], url: str) -> tuple[type, str]:
    try:
        return str, get(url)
    except Exception as error:
        return type(error), ""


CLIENTS = {
    "aiohttp": _aiohttp,
    "httpx": lambda url: httpx.get(url).text,
    "requests": lambda url: requests.get(url, timeout=5).text,
}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("encoding", ["gzip", "zstd", "deflate"])
def test_a_body_that_is_not_in_its_encoding(name: str, encoding: str, tmp_path: Path) -> None:
    heard = Heard()
    with serving(lambda got: plain(b"abcde", f"content-encoding: {encoding}")) as server:
        url = f"{server.url}/"
        with intercepted(lambda: heard):
            live = _outcome(CLIENTS[name], url)
    (answer,) = heard.done
    exchange = Exchange(heard.asked[0], answer)
    assert exchange_from(exchange_line(exchange)) == exchange

    write_http(tmp_path / "a.http.yaml", [exchange])
    (read,) = read_http(tmp_path / "a.http.yaml").exchanges
    asked = []

    def door(request: object) -> Answer:
        asked.append(request)
        return read.answer

    with intercepted(lambda: door):
        assert _outcome(CLIENTS[name], url) == live
    assert len(asked) == len(heard.asked) == 1


def test_of_a_live_body_nothing_but_its_encoding_is_believed() -> None:
    heard = Heard()
    with serving(lambda got: plain(b"abcde", "content-encoding: gzip")) as server, intercepted(lambda: heard):
        assert _outcome(CLIENTS["httpx"], server.url)[0] is httpx.DecodingError
    response = heard.response
    assert (response.body, response.is_encoded, response.header("content-encoding")) == (b"abcde", True, "gzip")


def test_aiohttp_does_not_ask_again_for_what_it_could_not_read() -> None:
    asked = []

    def door(request: object) -> Answer:
        asked.append(request)
        return Failure("unreadable", "no HTTP")

    with intercepted(lambda: door):
        kind, _ = _outcome(_aiohttp, "http://api.test/")
    assert (kind, len(asked)) == (aiohttp.ClientResponseError, 1)
