"""Async clients that an agent keeps for the whole process, over replays whose model calls go live."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frameworks.model_server import ModelServer

pytest.importorskip("httpx", reason="the agents of these tests talk to their model with httpx, openai and aiohttp")
pytest.importorskip("openai")
pytest.importorskip("aiohttp")

AGENTS = """
import asyncio, os
import aiohttp, httpx, openai

URL = os.environ["MODEL_URL"] + "/v1/chat/completions"
httpx_client = httpx.AsyncClient()
openai_client = openai.AsyncOpenAI(base_url=os.environ["MODEL_URL"] + "/v1", api_key="none", max_retries=0)
session = None
lock = asyncio.Lock()


async def plain(messages):
    async with lock:
        done = await httpx_client.post(URL, json={"model": "m", "messages": messages})
    return done.json()["choices"][0]["message"]["content"]


async def by_openai(messages):
    done = await openai_client.chat.completions.create(model="m", messages=messages)
    return done.choices[0].message.content


async def by_aiohttp(messages):
    global session
    if session is None:
        session = aiohttp.ClientSession()
    async with session.post(URL, json={"model": "m", "messages": messages}) as done:
        return (await done.json())["choices"][0]["message"]["content"]


def in_loops_of_its_own(messages):
    return asyncio.run(plain(messages))
"""
RECORD = """
import os, sys
import agents
from pytest_statebase import record_session
from pytest_statebase.cassette import Plan, write_http, write_plan, write_record

for name in ("one", "two", "three"):
    http = []
    ledger = record_session(
        getattr(agents, sys.argv[1]), ["hello", f"I am {name}"], session_id=f"sess_{name}", state={}, http=http
    )
    assert not any(turn.error for turn in ledger.turns), [turn.error for turn in ledger.turns]
    write_record(f"fixtures/{name}.record.yaml", ledger)
    write_http(f"fixtures/{name}.http.yaml", http)
    write_plan(f"fixtures/{name}.session.yaml", Plan(session=f"sess_{name}"))
"""
REPLAYS = 3
CALLS = 2 * REPLAYS


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as server:
        monkeypatch.setenv("MODEL_URL", server.url)
        yield server


def recorded(pytester: pytest.Pytester, server: ModelServer, agent: str) -> None:
    """Three sessions of two turns, each with a model call."""
    pytester.makepyfile(agents=AGENTS, record=RECORD)
    pytester.makeini(
        f"[pytest]\nstatebase_agent = agents:{agent}\npythonpath = .\nasyncio_default_fixture_loop_scope = function\n"
        f"statebase_model_hosts = 127.0.0.1:{server.port}\n"
    )
    Path(pytester.path / "fixtures").mkdir()
    done = pytester.run(sys.executable, "record.py", agent)
    assert done.ret == 0, done.stderr.str()
    assert server.count == CALLS


@pytest.mark.parametrize("agent", ["plain", "by_openai", "by_aiohttp", "in_loops_of_its_own"])
def test_each_live_call_is_sent_once(pytester: pytest.Pytester, server: ModelServer, agent: str) -> None:
    recorded(pytester, server, agent)
    result = pytester.runpytest_subprocess("--statebase-replay", "--statebase-model=live", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=REPLAYS)
    assert server.count == 2 * CALLS


ASYNC_TEST = """
import pytest

@pytest.mark.asyncio
@pytest.mark.parametrize("name", ["one", "two", "three"])
async def test_replay(statebase_replay, name):
    assert (await statebase_replay(f"sess_{name}")).passed
"""


def test_async_tests_have_a_loop_each(pytester: pytest.Pytester, server: ModelServer) -> None:
    recorded(pytester, server, "by_openai")
    pytester.makepyfile(test_replays=ASYNC_TEST)
    result = pytester.runpytest_subprocess("test_replays.py", "--statebase-model=live", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=REPLAYS)
    assert server.count == 2 * CALLS
