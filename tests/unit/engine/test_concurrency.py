"""Calls find their replay from wherever they are made, replays never mix, and everything is put back."""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import functools
import multiprocessing.pool
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Cassette, Ledger, replay, replay_async
from pytest_statebase.engine.finding import find_tools
from pytest_statebase.engine.tools import stubbed
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted

LIVE: list[str] = []
ITEMS = [f"item {number}" for number in range(8)]


def look(item: str) -> str:
    LIVE.append(item)
    return "live"


async def look_later(item: str) -> str:
    LIVE.append(item)
    return "live"


@functools.lru_cache
def look_cached(item: str) -> str:
    LIVE.append(item)
    return "live"


TOOLS = [f"{__name__}:look", f"{__name__}:look_later", f"{__name__}:look_cached"]


@pytest.fixture(autouse=True)
def _nothing_ran() -> Any:
    LIVE.clear()
    yield
    assert LIVE == []


def cassette(session: str, tool: str = "look", turns: int = 1) -> Cassette:
    """Every item is answered with the session that it was asked in."""
    ledger = Ledger([SessionCreated(session)])
    for number in range(1, turns + 1):
        ledger.append(TurnStarted(number, {"type": "text", "content": "go"}))
        for item in ITEMS:
            ledger.append(ToolCalled(tool, {"item": item}, result=f"{session}/{number}/{item}", step=number))
        answers = " ".join(f"{session}/{number}/{item}" for item in ITEMS)
        ledger.append(TurnAdded({"type": "text", "content": answers}))
    return Cassette.from_ledger(ledger)


def in_bare_threads(function: Callable[[str], str], items: list[str]) -> list[str]:
    found: dict[str, str] = {}
    threads = [threading.Thread(target=lambda item=item: found.update({item: function(item)})) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[item] for item in items]


def in_low_level_threads(function: Callable[[str], str], items: list[str]) -> list[str]:
    found: dict[str, str] = {}
    done = threading.Semaphore(0)

    def work(item: str) -> None:
        found[item] = function(item)
        done.release()

    for item in items:
        _thread.start_new_thread(work, (item,))
    for _ in items:
        done.acquire()
    return [found[item] for item in items]


def in_an_executor(function: Callable[[str], str], items: list[str]) -> list[str]:
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(function, items))


OLD_EXECUTOR = ThreadPoolExecutor(2)
OLD_POOL = multiprocessing.pool.ThreadPool(2)


def in_an_executor_from_before(function: Callable[[str], str], items: list[str]) -> list[str]:
    return list(OLD_EXECUTOR.map(function, items))


def in_a_thread_pool_from_before(function: Callable[[str], str], items: list[str]) -> list[str]:
    some, more = items[:4], items[4:]
    return [*OLD_POOL.map(function, some), *(OLD_POOL.apply_async(function, (item,)).get() for item in more)]


def in_a_copied_context(function: Callable[[str], str], items: list[str]) -> list[str]:
    context = contextvars.copy_context()
    return [context.run(function, item) for item in items]


def in_timers(function: Callable[[str], str], items: list[str]) -> list[str]:
    found: dict[str, str] = {}
    timers = [threading.Timer(0, lambda item=item: found.update({item: function(item)})) for item in items]
    for timer in timers:
        timer.start()
    for timer in timers:
        timer.join()
    return [found[item] for item in items]


WAYS = [
    in_bare_threads, in_low_level_threads, in_an_executor, in_an_executor_from_before, in_a_thread_pool_from_before,
    in_a_copied_context, in_timers,
]  # fmt: skip


def asking(way: Callable[..., list[str]], meet: threading.Barrier | None = None) -> Callable[[str], str]:
    def agent(user_input: str) -> str:
        if meet is not None:
            meet.wait(20)
        return " ".join(way(look, ITEMS))

    return agent


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_into_a_thread_finds_its_replay(way: Any) -> None:
    assert replay(cassette("a", turns=2), asking(way), tools=TOOLS).verdicts == {"unchanged": 2}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_two_replays_at_once_never_mix(way: Any) -> None:
    meet = threading.Barrier(2)
    results: dict[str, Any] = {}

    def run(session: str) -> None:
        results[session] = replay(cassette(session, turns=3), asking(way, meet), tools=TOOLS)

    in_bare_threads(lambda session: run(session) or "", ["a", "b"])
    assert {session: result.verdicts for session, result in results.items()} == {
        "a": {"unchanged": 3},
        "b": {"unchanged": 3},
    }


def test_replays_in_one_event_loop_never_mix() -> None:
    async def agent(user_input: str) -> str:
        return " ".join(await asyncio.gather(*(look_later(item) for item in ITEMS)))

    async def main() -> list[Any]:
        sessions = [cassette(name, "look_later", 2) for name in "abcd"]
        return await asyncio.gather(*(replay_async(one, agent, tools=TOOLS) for one in sessions))

    assert [result.verdicts for result in asyncio.run(main())] == [{"unchanged": 2}] * 4


def test_calls_made_at_once_are_answered_by_content() -> None:
    async def agent(user_input: str) -> str:
        async def one(item: str) -> str:
            await asyncio.sleep(0.001 * (len(ITEMS) - ITEMS.index(item)))
            return await look_later(item)

        return " ".join(await asyncio.gather(*map(one, ITEMS)))

    assert replay(cassette("a", "look_later"), agent, tools=TOOLS).verdicts == {"unchanged": 1}


def test_a_call_that_could_be_of_either_replay_is_a_miss_of_both() -> None:
    asked: list[tuple[threading.Event, threading.Event]] = []
    work = threading.Event()
    done = threading.Event()

    def worker() -> None:
        work.wait(20)
        try:
            look(ITEMS[0])
        except BaseException:
            done.set()

    thread = threading.Thread(target=worker)
    thread.start()
    meet = threading.Barrier(2)

    def agent(user_input: str) -> str:
        meet.wait(20)
        work.set()
        done.wait(20)
        meet.wait(20)
        return "fine"

    results: dict[str, Any] = {}
    in_bare_threads(lambda s: results.update({s: replay(cassette(s), agent, tools=TOOLS)}) or "", ["a", "b"])
    thread.join()
    assert [result.verdicts for result in results.values()] == [{"unrecorded": 1}] * 2
    assert "belongs to none of the replays" in (results["a"].turns[0].calls[0].explanation or "")
    assert asked == []


def test_a_cache_shared_by_two_replays_is_refused() -> None:
    meet = threading.Barrier(2)

    def agent(user_input: str) -> str:
        meet.wait(20)
        try:
            return " ".join(look_cached(item) for item in ITEMS)
        except BaseException:
            return "hidden"
        finally:
            meet.wait(20)

    results: dict[str, Any] = {}
    run = functools.partial(replay, agent=agent, tools=TOOLS)
    in_bare_threads(lambda s: results.update({s: run(cassette(s, "look_cached"))}) or "", ["a", "b"])
    assert [result.verdicts for result in results.values()] == [{"unrecorded": 1}] * 2


def test_originals_are_back_after_any_ending() -> None:
    """In a process of its own: what another test left alive keeps its guard."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", Path(__file__).parent / "originals.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def stubbed_by_two(item: str) -> str:
    """Of one test alone: what others leave behind keeps their stubs."""
    return "live"


def test_a_tool_stubbed_by_two_is_restored_by_the_last() -> None:
    code, tools = stubbed_by_two.__code__, [f"{__name__}:stubbed_by_two"]
    first, second = stubbed(find_tools(tools)), stubbed(find_tools(tools))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert stubbed_by_two.__code__ is not code
    second.__exit__(None, None, None)
    assert stubbed_by_two.__code__ is code
