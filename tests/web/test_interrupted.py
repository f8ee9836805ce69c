"""Live answers that end before their time: kept where that is the agent's own doing, never where it was interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
import requests

from pytest_statebase import Cassette, ReplayResult, Verdict, record_session, replay
from pytest_statebase.engine.web.pending import exchange_from
from pytest_statebase.wire.exchange import Response
from pytest_statebase.wire.tee import UNREAD

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


class Halting:
    """Answers with the head and the first event of a stream, tells of it, and goes on when the client is gone."""

    def __init__(self, listening: socket.socket) -> None:
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1/chat/completions"
        self.sent = threading.Event()
        self.interrupts = False
        self._listening = listening

    def serve(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with client:
                data = b""
                while not data.endswith(b"{}"):
                    data += client.recv(65536)
                client.sendall(HEAD + b"data: 1\n\n")
                self.sent.set()
                if self.interrupts:
                    os.kill(os.getpid(), signal.SIGINT)
                client.settimeout(10)
                with contextlib.suppress(OSError):
                    client.recv(1)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Halting]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        halting = Halting(listening)
        thread = threading.Thread(target=halting.serve, daemon=True)
        thread.start()
        yield halting
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    signal.signal(signal.SIGINT, before)


def run(server: Halting, keep: Path, agent: Callable[..., Any]) -> ReplayResult:
    ledger = record_session(lambda user_input: "done", ["go"], session_id="sess_web")
    host = server.url.split("/")[2]
    return replay(Cassette.from_ledger(ledger), agent, model="auto", model_hosts=[host], keep=keep)


def kept(keep: Path) -> list[Any]:
    lines = [line for file in keep.glob("*.jsonl") for line in file.read_text().splitlines()]
    return [exchange_from(line).answer for line in lines if "complete" not in line[:20]]


def with_requests(url: str, *, all_of_it: bool) -> str:
    with requests.post(url, data=b"{}", stream=True, timeout=10) as answer:
        for _ in answer.iter_content(1):
            if not all_of_it:
                break
    return "done"


def with_httpx(url: str, *, all_of_it: bool) -> str:
    with httpx.Client() as client, client.stream("POST", url, content=b"{}") as answer:
        for _ in answer.iter_bytes():
            if not all_of_it:
                break
    return "done"


async def with_async_httpx(url: str, *, all_of_it: bool) -> str:
    async with httpx.AsyncClient() as client, client.stream("POST", url, content=b"{}") as answer:
        async for _ in answer.aiter_bytes():
            if not all_of_it:
                break
    return "done"


async def with_aiohttp(url: str, *, all_of_it: bool) -> str:
    async with aiohttp.ClientSession() as client, client.post(url, data=b"{}") as answer:
        async for _ in answer.content.iter_any():
            if not all_of_it:
                break
    return "done"


CLIENTS = pytest.mark.parametrize("client", [with_requests, with_httpx, with_async_httpx, with_aiohttp])


@CLIENTS
def test_an_agent_that_stops_reading(server: Halting, tmp_path: Path, client: Callable[..., Any]) -> None:
    result = run(server, tmp_path, lambda user_input: client(server.url, all_of_it=False))
    assert [turn.verdict for turn in result.turns] == [Verdict.UNCHANGED]
    (answer,) = kept(tmp_path)
    assert isinstance(answer, Response)
    assert b"data: 1\n\n".startswith(answer.body)
    assert answer.cut == UNREAD


@CLIENTS
def test_an_interrupt(server: Halting, tmp_path: Path, client: Callable[..., Any]) -> None:
    server.interrupts = True
    with pytest.raises(KeyboardInterrupt):
        run(server, tmp_path, lambda user_input: client(server.url, all_of_it=True))
    assert kept(tmp_path) == []


@pytest.mark.parametrize("client", [with_async_httpx, with_aiohttp])
def test_a_task_that_ends_with_the_run(server: Halting, tmp_path: Path, client: Callable[..., Any]) -> None:
    tasks = []

    async def agent(user_input: str) -> str:
        tasks.append(asyncio.create_task(client(server.url, all_of_it=True)))
        while not server.sent.is_set():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        return "done"

    run(server, tmp_path, agent)
    assert tasks[0].done()
    assert kept(tmp_path) == []
