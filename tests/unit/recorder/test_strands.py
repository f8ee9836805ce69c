"""What a recording knows of the order of calls that were made while others went on."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from queue import SimpleQueue
from typing import Any

import pytest

from pytest_statebase import ABSENT, Cassette, record_session, replay
from pytest_statebase.cassette import Plan, ToolRules, read_record, write_record

STORE: dict[str, int] = {}


async def slow(until: Any = None) -> None:
    await ENOUGH[0].wait()


ENOUGH: list[asyncio.Event] = []


async def write(key: str, value: int) -> int | None:
    await asyncio.sleep(0)
    before = STORE.get(key)
    STORE[key] = value
    return before


def plain_write(key: str, value: int) -> int | None:
    time.sleep(0.002)
    before = STORE.get(key)
    STORE[key] = value
    return before


def held() -> None:
    HELD[0].wait(5)


HELD: list[threading.Event] = []


def rows() -> Iterator[int]:
    yield 1
    yield 2


TOOLS = [f"{__name__}:{name}" for name in ("slow", "write", "plain_write", "held", "rows")]


def order(agent: Any) -> dict[Any, list[Any]]:
    """For each call that was made while another one went on: after which ones, by their values."""
    found = steps(agent)
    assert len({step for step, _ in found.values()}) == 1, "one went on all the time"
    return {name: after for name, (_, after) in found.items()}


async def while_slow(*lines: Any) -> None:
    ENOUGH[:] = [asyncio.Event()]
    going = asyncio.create_task(slow())
    await asyncio.sleep(0)
    await asyncio.gather(*lines)
    ENOUGH[0].set()
    await going


def while_held(work: Callable[[ThreadPoolExecutor], object]) -> str:
    HELD[:] = [threading.Event()]
    with ThreadPoolExecutor(3) as pool:
        going = pool.submit(held)
        while not going.running():
            time.sleep(0.001)
        time.sleep(0.01)
        work(pool)
        HELD[0].set()
    return "done"


async def in_one_task(*values: int) -> None:
    for value in values:
        await write("a", value)


async def in_a_task_each(*values: int) -> None:
    for value in values:
        await asyncio.create_task(write("a", value))


async def with_a_limit_each(*values: int) -> None:
    for value in values:
        await asyncio.wait_for(write("a", value), 5)


async def in_a_thread_each(*values: int) -> None:
    for value in values:
        await asyncio.to_thread(plain_write, "a", value)


@pytest.mark.parametrize("line", [in_one_task, in_a_task_each, with_a_limit_each, in_a_thread_each])
def test_each_line_has_its_order_and_none_with_the_others(line: Any) -> None:
    def agent(user_input: str) -> str:
        asyncio.run(while_slow(line(1, 2, 3), line(11, 12)))
        return "done"

    assert order(agent) == {"slow": [], 1: [], 2: [1], 3: [2], 11: [], 12: [11]}


def test_what_was_waited_for_came_before() -> None:
    async def tree() -> None:
        await write("a", 1)
        await asyncio.gather(in_one_task(2, 3), in_a_task_each(4))
        await write("a", 5)

    async def agent(user_input: str) -> str:
        await while_slow(tree())
        return "done"

    assert order(agent) == {"slow": [], 1: [], 2: [1], 3: [2], 4: [1], 5: [3, 4]}


def one_by_one(pool: ThreadPoolExecutor) -> None:
    for value in (1, 2):
        pool.submit(plain_write, "a", value).result()


def in_threads(pool: ThreadPoolExecutor) -> None:
    for value in (1, 2):
        thread = threading.Thread(target=plain_write, args=("a", value))
        thread.start()
        thread.join()


def in_another_pool(pool: ThreadPoolExecutor) -> None:
    with ThreadPool(2) as other:
        for value in (1, 2):
            other.apply(plain_write, ("a", value))


@pytest.mark.parametrize("work", [one_by_one, in_threads, in_another_pool])
def test_threads_that_were_waited_for(work: Any) -> None:
    assert order(lambda user_input: while_held(work)) == {"held": [], 1: [], 2: [1]}


def test_work_that_was_handed_out_at_once_has_no_order() -> None:
    def work(pool: ThreadPoolExecutor) -> None:
        list(pool.map(lambda value: plain_write("a", value), range(5)))

    assert order(lambda user_input: while_held(work)) == {"held": [], 0: [], 1: [], 2: [], 3: [], 4: []}


def steps(agent: Any) -> dict[Any, tuple[int | None, list[Any]]]:
    """For each call: its step, and after which ones of it, by their values."""
    STORE.clear()
    (turn,) = record_session(agent, ["go"], session_id="s", tools=TOOLS).turns
    names = [call.arguments.get("value", call.tool) for call in turn.calls]
    return {
        name: (call.step, [names[i] for i in call.after or ()]) for name, call in zip(names, turn.calls, strict=True)
    }


def handed_out_in_threads(user_input: str) -> str:
    """Each piece of work waits until the one handed out before it is done: by chance none overlaps."""
    done = [threading.Event() for _ in range(4)]
    done[0].set()

    def work(number: int) -> None:
        done[number - 1].wait(5)
        for value in (number, number + 10):
            plain_write("a", value)
        done[number].set()

    plain_write("a", 0)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, (1, 2, 3)))
    plain_write("a", 99)
    plain_write("a", 100)
    return "done"


async def handed_out_in_tasks(user_input: str) -> str:
    done = [asyncio.Event() for _ in range(4)]
    done[0].set()

    async def work(number: int) -> None:
        await done[number - 1].wait()
        await in_one_task(number, number + 10)
        done[number].set()

    await write("a", 0)
    await asyncio.gather(*map(work, (1, 2, 3)))
    await write("a", 99)
    await write("a", 100)
    return "done"


@pytest.mark.parametrize("agent", [handed_out_in_threads, handed_out_in_tasks])
def test_work_that_was_handed_out_at_once_has_no_order_where_none_overlaps_either(agent: Any) -> None:
    assert steps(agent) == {
        0: (1, []),
        1: (2, []),
        11: (2, [1]),
        2: (2, []),
        12: (2, [2]),
        3: (2, []),
        13: (2, [3]),
        99: (3, []),
        100: (4, []),
    }


def test_calls_of_threads_of_which_nobody_knows_when_they_began_keep_their_order() -> None:
    import _thread

    asked: SimpleQueue[Any] = SimpleQueue()
    answered: SimpleQueue[Any] = SimpleQueue()

    def serve() -> None:
        while (value := asked.get()) is not None:
            plain_write("a", value)
            answered.put(value)

    def through_it(value: int) -> None:
        asked.put(value)
        answered.get(timeout=5)

    def agent(user_input: str) -> str:
        through_it(1)
        plain_write("a", 2)
        through_it(3)
        plain_write("a", 4)
        return "done"

    _thread.start_new_thread(serve, ())
    try:
        assert [step for step, _ in steps(agent).values()] == [1, 2, 3, 4]
    finally:
        asked.put(None)


def test_calls_made_while_a_stream_is_open_come_after_it_began() -> None:
    def agent(user_input: str) -> str:
        for row in rows():
            plain_write("a", row)
        return "done"

    assert order(agent) == {"rows": [], 1: ["rows"], 2: [1]}


def test_tasks_of_another_loop_are_never_taken_for_one_line() -> None:
    trio = pytest.importorskip("trio")

    async def line(*values: int) -> None:
        for value in values:
            await trio.to_thread.run_sync(time.sleep, 0.001)
            plain_write("a", value)

    async def main() -> None:
        stream = rows()
        next(stream)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(line, 1, 2)
            nursery.start_soon(line, 11, 12)
        stream.close()

    def agent(user_input: str) -> str:
        trio.run(main)
        return "done"

    found = order(agent)
    assert (found[2], found[12]) == ([1], [11])
    assert 1 not in found[11]
    assert 11 not in found[1]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.11 has no eager tasks")
def test_eager_tasks() -> None:
    async def agent(user_input: str) -> str:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        await while_slow(in_one_task(1, 2), in_a_task_each(11, 12))
        return "done"

    assert order(agent) == {"slow": [], 1: [], 2: [1], 11: [], 12: [11]}


def test_a_changed_order_beside_another_call_is_told(tmp_path: Any) -> None:
    async def agent(user_input: str) -> str:
        await while_slow(in_one_task(1, 2))
        return str(await write("a", 3))

    async def other(user_input: str) -> str:
        await while_slow(in_one_task(2, 1))
        return str(await write("a", 3))

    STORE.clear()
    recorded = record_session(agent, ["go"], session_id="s", tools=TOOLS)
    write_record(tmp_path / "s.record.yaml", recorded)
    assert "after:" in (tmp_path / "s.record.yaml").read_text()
    kept = read_record(tmp_path / "s.record.yaml")
    assert [call.after for call in kept.turns[0].calls] == [call.after for call in recorded.turns[0].calls]
    cassette = Cassette.from_ledger(kept, Plan(tools={"slow": ToolRules(reads=True)}))

    assert replay(cassette, agent, tools=TOOLS).verdicts == {"unchanged": 1}
    assert not any(call.stale for call in replay(cassette, agent, tools=TOOLS).turns[0].calls)
    result = replay(cassette, other, tools=TOOLS)
    assert [call.stale for call in result.turns[0].calls if call.tool == "write"] == [True, True, True]
    assert [one.kind.value for one in result.turns[0].divergences] == ["reordered"]
    assert result.verdicts == {"changed": 1}


def test_a_call_that_its_turn_leaves_behind_shifts_no_places() -> None:
    """It has no result, and those that came after others still do."""

    async def agent(user_input: str) -> str:
        ENOUGH[:] = [asyncio.Event()]
        going.append(asyncio.create_task(slow()))
        await asyncio.sleep(0)
        await in_one_task(1, 2)
        return "done"

    going: list[asyncio.Task[None]] = []
    (turn,) = record_session(agent, ["go"], session_id="s", tools=TOOLS).turns
    assert [(call.tool, call.after, call.result is ABSENT) for call in turn.calls] == [
        ("slow", None, True),
        ("write", None, False),
        ("write", [1], False),
    ]
