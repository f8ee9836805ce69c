"""A service under load that is killed, goes on, and is ended: each turn that it had reported as kept is replayed.

As docs/capture.md has it: sessions and turns by hand, two workers, then doctor, import and a replay.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

import pytest_statebase
from pytest_statebase.journal import read_sessions
from tests.web.http_server import Got, plain, serving

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a whole group of processes is killed")
ROOT = Path(pytest_statebase.__file__).parents[1]
CLIENTS, PER_SESSION, KILLED_AFTER, AFTERWARDS = 10, 4, 60, 8
SHOP = """
import asyncio, os, random, time, uuid
import httpx

client = httpx.AsyncClient(timeout=60)


async def look_up(order):
    await asyncio.sleep(0.001)
    if order.endswith("7"):
        raise KeyError(order)
    return {"order": order, "ref": uuid.uuid4().hex}


def search_notes(text):
    time.sleep(0.001)
    return [random.random()]


async def found(order):
    try:
        return await look_up(order)
    except KeyError:
        return None


async def answer(session_id, user_input):
    order, notes = await asyncio.gather(found(user_input), asyncio.to_thread(search_notes, user_input))
    url = f"{os.environ['MODEL']}/say/{session_id}"
    said = await client.post(url, json={"order": order, "notes": notes, "thread": session_id})
    return said.text
"""
SERVICE = """
import asyncio, json
from pytest_statebase import capture
from shop import answer

recording = capture("captured", tools=["shop:look_up", "shop:search_notes"], agent_id="shop")


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        recording.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        recording.stop()
        return await send({"type": "lifespan.shutdown.complete"})
    asked = json.loads((await receive())["body"] or b"{}")
    told = {}
    if asked:
        with recording.session(asked["thread"]).turn(asked["text"]) as turn:
            told["reply"] = await answer(asked["thread"], asked["text"])
            turn.reply(told["reply"])
        await asyncio.to_thread(recording.flush)
        told["kept"] = turn.kept
    body = json.dumps(told).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body[:9], "more_body": True})
    await send({"type": "http.response.body", "body": body[9:]})
"""
SETTINGS = """
[pytest]
pythonpath = .
statebase_agent = shop:answer
statebase_tools =
    shop:look_up
    shop:search_notes
"""
Told = tuple[str, str, str]
"""Session, words, reply."""


@contextmanager
def service(here: Path, model: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port), "--workers", "2"]
    with subprocess.Popen(
        [*command, "--log-level", "error"], cwd=here, env=environment(model), start_new_session=True
    ) as process:
        try:
            for _ in range(600):
                try:
                    httpx.post(f"http://127.0.0.1:{port}/", json={})
                    break
                except httpx.TransportError:
                    assert process.poll() is None
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/", process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def environment(model: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "MODEL": model}


async def load(url: str, begun: int, each: int, kept: list[Told], enough: Any = None) -> None:
    """Clients that ask at once; a session goes on for some turns, whoever answers it."""

    async def one(client: httpx.AsyncClient, number: int) -> None:
        for at in range(begun, begun + each):
            asked = {"thread": f"s{number}-{at // PER_SESSION}", "text": f"{number}{at}"}
            answer = (await client.post(url, json=asked)).json()
            if answer["kept"]:
                kept.append((asked["thread"], asked["text"], answer["reply"]))
            if enough is not None and len(kept) >= KILLED_AFTER:
                enough()

    async with httpx.AsyncClient(timeout=60) as client:
        await asyncio.gather(*(one(client, number) for number in range(CLIENTS)), return_exceptions=enough is not None)


def command(here: Path, model: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *args], cwd=here, capture_output=True, text=True, timeout=120, env=environment(model)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_was_reported_as_kept_is_replayed(tmp_path: Path) -> None:
    for name, text in {"shop.py": SHOP, "service.py": SERVICE, "pytest.ini": SETTINGS}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    numbers = count(1)

    def say(got: Got) -> list[Any]:
        return plain(f"{next(numbers)}: {json.loads(got.body)['thread']}".encode())

    kept: list[Told] = []
    with serving(say) as model:
        with service(tmp_path, model.url) as (url, process):
            asyncio.run(load(url, 0, 40, kept, enough=lambda: os.killpg(process.pid, signal.SIGKILL)))
            assert process.wait(30) == -signal.SIGKILL
        before = len(kept)
        assert before >= KILLED_AFTER
        with service(tmp_path, model.url) as (url, process):
            asyncio.run(load(url, 4, AFTERWARDS, kept))
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    assert len(kept) == before + CLIENTS * AFTERWARDS

    found = {
        (one.id, turn.text, turn.output["content"])
        for one in read_sessions([tmp_path / "captured"])
        for turn in one.ledger.turns
    }
    assert set(kept) <= found
    assert "kept: " in command(tmp_path, model.url, "pytest_statebase.cli", "doctor", "captured")
    command(tmp_path, model.url, "pytest_statebase.cli", "import", "captured", "--out", "fixtures")
    command(tmp_path, model.url, "pytest_statebase.cli", "verify", "-q", "fixtures")
    replayed = command(tmp_path, model.url, "pytest", "-p", "no:cacheprovider", "--statebase-replay")
    assert f"turns: {len(found)} unchanged" in replayed
