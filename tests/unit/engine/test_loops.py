"""One event loop for all replays of a thread, and nothing of one replay in the next."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Ledger, record_session, replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.engine import loops
from pytest_statebase.ledger import SessionCreated, TurnAdded, TurnStarted


def session() -> Cassette:
    ledger = Ledger([SessionCreated("sess_1")])
    for number in (1, 2):
        ledger.append(TurnStarted(number, {"type": "text", "content": "go"}))
        ledger.append(TurnAdded({"type": "text", "content": "done"}))
    return Cassette.from_ledger(ledger)


def replayed(agent: Callable[..., Awaitable[str]]) -> None:
    result = replay(session(), agent)
    assert result.verdicts == {"unchanged": 2}, result.turns


def loop_of_a_replay() -> asyncio.AbstractEventLoop:
    seen: list[asyncio.AbstractEventLoop] = []

    async def agent(user_input: str) -> str:
        seen.append(asyncio.get_running_loop())
        return "done"

    replayed(agent)
    assert seen[0] is seen[1]
    return seen[0]


def test_replays_and_recordings_of_a_thread_share_a_loop() -> None:
    seen: list[asyncio.AbstractEventLoop] = []

    async def agent(user_input: str) -> str:
        seen.append(asyncio.get_running_loop())
        return "done"

    record_session(agent, ["go"], session_id="sess_1")
    assert seen == [loop_of_a_replay()]
    assert loop_of_a_replay() is loop_of_a_replay()


def test_a_lock_that_an_agent_keeps_works_in_every_replay() -> None:
    lock, turns = asyncio.Lock(), []

    async def agent(user_input: str) -> str:
        async def other() -> None:
            async with lock:
                turns.append(user_input)

        async with lock:
            waiting = asyncio.create_task(other())
            await asyncio.sleep(0)  # which has it wait in this loop
        await waiting
        return "done"

    replayed(agent)
    replayed(agent)
    assert len(turns) == 4


def test_each_thread_has_a_loop_that_is_closed_with_it() -> None:
    seen: list[asyncio.AbstractEventLoop] = []
    thread = threading.Thread(target=lambda: seen.append(loop_of_a_replay()))
    thread.start()
    thread.join()
    gc.collect()
    assert seen[0] is not loop_of_a_replay()
    assert seen[0].is_closed()


def test_it_is_not_the_current_loop_of_the_thread() -> None:
    own = asyncio.new_event_loop()
    asyncio.set_event_loop(own)
    try:
        assert loop_of_a_replay() is not own
        assert asyncio.get_event_loop() is own
    finally:
        asyncio.set_event_loop(None)
        own.close()


def test_a_sync_agent_runs_loops_of_its_own_meanwhile() -> None:
    async def work() -> str:
        return "done"

    def agent(user_input: str) -> str:
        return asyncio.run(work())

    before = loop_of_a_replay()
    assert replay(session(), agent).passed
    assert loop_of_a_replay() is before


def test_what_a_replay_leaves_behind_ends_with_it() -> None:
    told: list[str] = []

    async def background() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            told.append("task")
            asyncio.get_running_loop().create_task(background_of_background())

    async def background_of_background() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            told.append("task of the task")

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            told.append("generator")

    kept: list[Any] = []
    may_end = threading.Event()

    def in_thread() -> None:
        may_end.wait(30)
        told.append("thread")

    async def agent(user_input: str) -> str:
        loop = asyncio.get_running_loop()
        if not kept:
            kept.extend([loop.create_task(background()), numbers(), loop.run_in_executor(None, in_thread)])
            loop.set_exception_handler(lambda loop, context: None)
            loop.set_debug(True)
            assert await anext(kept[1]) == 1
            await asyncio.sleep(0)
        else:
            assert told == []
            may_end.set()
        return "done"

    replayed(agent)
    assert sorted(told) == ["generator", "task", "task of the task", "thread"]

    async def next_agent(user_input: str) -> str:
        loop = asyncio.get_running_loop()
        assert loop is kept[0].get_loop()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert loop.get_exception_handler() is None
        assert not loop.get_debug()
        assert await asyncio.to_thread(threading.get_ident) != threading.get_ident()
        return "done"

    replayed(next_agent)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_task_that_does_not_end_costs_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "PATIENCE", 0.05)
    over = False

    async def swallows() -> None:
        while not over:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    async def agent(user_input: str) -> str:
        asyncio.get_running_loop().create_task(swallows())
        return "done"

    before = loop_of_a_replay()
    replayed(agent)
    over = True
    assert before.is_closed()
    assert loop_of_a_replay() is not before


def test_tasks_that_leave_tasks_behind_for_ever_cost_the_loop() -> None:
    async def again() -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            asyncio.get_running_loop().create_task(again())
            await asyncio.sleep(0)

    async def agent(user_input: str) -> str:
        asyncio.get_running_loop().create_task(again())
        return "done"

    before = loop_of_a_replay()
    replayed(agent)
    assert before.is_closed()
    assert loop_of_a_replay() is not before


def test_an_agent_that_closes_or_breaks_the_loop_breaks_no_other_replay() -> None:
    async def agent(user_input: str) -> str:
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.stop)
        await asyncio.sleep(1000)
        return "done"

    with pytest.raises(RuntimeError, match="stopped before"):
        replay(session(), agent)
    before = loop_of_a_replay()
    before.close()
    assert loop_of_a_replay() is not before


FORKS = """
import asyncio, os, sys
from pytest_statebase import replay
from tests.unit.engine.test_loops import loop_of_a_replay, replayed, session

before = loop_of_a_replay()
child = os.fork()
if child == 0:
    sys.exit(0 if loop_of_a_replay() is not before and not before.is_closed() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

async def agent(user_input):
    await asyncio.to_thread(os.getpid)  # the loop has to be woken up
    return "done"

replayed(agent)
assert loop_of_a_replay() is before
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_process_has_a_loop_of_its_own_and_leaves_that_of_its_parent_alone() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_loop_that_is_collected_with_a_circle_is_closed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    gc.collect()
    told.clear()
    kept: Any = loops._Kept()
    kept.circle = [kept]
    del kept
    gc.collect()
    assert told == []
