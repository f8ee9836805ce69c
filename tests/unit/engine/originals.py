"""Whether a replay puts everything back. Run in a process of its own by `test_concurrency.py`."""

from __future__ import annotations

import _thread
import asyncio
import multiprocessing.pool
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_statebase import Cassette, Ledger, replay
from pytest_statebase.engine.finding import find_tools
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted


def look(item: str) -> str:
    return "live"


TOOLS = [f"{__name__}:look"]


def ways_to_start() -> list[Any]:
    return [
        threading.Thread.start,
        ThreadPoolExecutor.submit,
        ThreadPoolExecutor.map,
        asyncio.BaseEventLoop.create_task,
        _thread.start_new_thread,
        multiprocessing.pool.ThreadPool.apply_async,
        multiprocessing.pool.ThreadPool._map_async,  # type: ignore[attr-defined]
    ]


@pytest.mark.parametrize("ending", [None, ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_it_is_put_back(ending: type[BaseException] | None) -> None:
    events = [SessionCreated("a"), TurnStarted(1), ToolCalled("look", {"item": "x"}, result=1), TurnAdded("fine")]
    cassette = Cassette.from_ledger(Ledger(events))
    tools = find_tools(TOOLS)
    before, ways = [tool.function.__code__ for tool in tools], ways_to_start()

    def agent(user_input: str | None) -> str:
        assert [tool.function.__code__ for tool in tools] != before
        assert all(now is not original for now, original in zip(ways_to_start(), ways, strict=True))
        if ending is not None:
            raise ending
        return "fine"

    if ending in (KeyboardInterrupt, GeneratorExit):
        with pytest.raises(ending):
            replay(cassette, agent, tools=TOOLS)
    else:
        replay(cassette, agent, tools=TOOLS)
    assert [tool.function.__code__ for tool in tools] == before
    assert all(now is original for now, original in zip(ways_to_start(), ways, strict=True))
    assert "apply_async" not in vars(multiprocessing.pool.ThreadPool)
    assert "map" not in vars(ThreadPoolExecutor)
