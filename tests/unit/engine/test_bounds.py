"""A turn that does not end by itself is ended, says in what loop it was, and leaves everything as it was."""

# ruff: noqa: SIM105 - loops that swallow everything are what is tested here, written as people write them

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import trio

from pytest_statebase import Ledger, ReplayResult, replay, replay_async
from pytest_statebase.cassette import Cassette
from pytest_statebase.cassette.plan import Plan, ToolRules
from pytest_statebase.engine.limit import Runaway
from pytest_statebase.engine.tools import ToolCaller
from pytest_statebase.errors import OptionError
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted

# What ends a loop may strike in a callback of the garbage collector, where Python can only warn of it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
Agent = Callable[..., Any]
needs_alarms = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarms")


def session(calls: int = 1, *, turns: int = 2, equal: bool = False) -> Cassette:
    """Each turn calls `look` so many times, with an argument of its own each time, or with the same."""
    ledger = Ledger([SessionCreated("sess_1")])
    for number in range(1, turns + 1):
        ledger.append(TurnStarted(number, {"type": "text", "content": "go"}))
        for n in range(calls):
            ledger.append(ToolCalled("look", {"n": 0 if equal else n}, result=n))
        ledger.append(TurnAdded({"type": "text", "content": "done"}))
    return Cassette.from_ledger(ledger, Plan(tools={"look": ToolRules(reads=True)}))


def loops(user_input: str) -> str:
    while True:
        pass


def sleeps(user_input: str) -> str:
    time.sleep(1000)
    return "done"


def swallows_and_sleeps(user_input: str) -> str:
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass


def swallows_and_loops(user_input: str) -> str:
    total = 0
    while True:
        try:
            for number in range(1000):
                total += number
        except:  # noqa: E722
            continue


def swallows_further_in(user_input: str) -> str:
    def again() -> None:
        while True:
            try:
                time.sleep(0.001)
            except BaseException:
                continue

    again()
    return "done"


def hides_it(user_input: str) -> str:
    try:
        loops(user_input)
    except BaseException:
        return "done"
    return ""


def raises_another(user_input: str) -> str:
    try:
        return loops(user_input)
    except BaseException as error:
        raise ValueError("hidden") from error


def waits_for_a_pool(user_input: str) -> str:
    pool = ThreadPoolExecutor(1)
    try:
        return str(pool.submit(time.sleep, 1.0).result())
    finally:
        pool.shutdown(wait=False)


async def sleeps_later(user_input: str) -> str:
    await asyncio.sleep(1000)
    return "done"


async def blocks_the_loop(user_input: str) -> str:
    return loops(user_input)


async def swallows_cancellation(user_input: str) -> str:
    while True:
        try:
            await asyncio.sleep(0.01)
        except BaseException:
            pass


async def swallows_without_time(user_input: str) -> str:
    while True:
        try:
            await asyncio.sleep(0)
        except BaseException:
            pass


SYNC = [loops, sleeps, swallows_and_sleeps, swallows_and_loops, swallows_further_in, hides_it, raises_another]
SYNC += [waits_for_a_pool]
ASYNC = [sleeps_later, blocks_the_loop, swallows_cancellation, swallows_without_time]
BLOCKED = {sleeps, waits_for_a_pool}
"""What Python cannot interrupt from another thread."""


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM), sys.gettrace()
    timer = signal.getitimer(signal.ITIMER_REAL)
    yield
    assert (signal.getsignal(signal.SIGALRM), sys.gettrace()) == before
    assert bool(signal.getitimer(signal.ITIMER_REAL)[0]) == bool(timer[0])


def in_thread(function: Callable[[], ReplayResult]) -> ReplayResult:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def ended(result: ReplayResult, agent: Agent, *, reason: str = "it took longer than 0.1 s") -> None:
    assert result.verdicts == {"error": 1, "not-replayed": 1}, agent
    replayed = result.turns[0].replayed
    assert replayed is not None
    assert replayed.error is not None
    assert replayed.error["type"] == "Runaway"
    assert reason in replayed.error["message"]


@needs_alarms
@pytest.mark.parametrize("agent", [*SYNC, *ASYNC], ids=lambda agent: agent.__name__)
def test_a_turn_takes_no_longer_than_its_limit(agent: Agent) -> None:
    ended(replay(session(), agent, turn_timeout=0.1), agent)
    assert replay(session(calls=0), lambda user_input: "done", turn_timeout=30).passed


@pytest.mark.parametrize("agent", [a for a in [*SYNC, *ASYNC] if a not in BLOCKED], ids=lambda agent: agent.__name__)
def test_a_turn_of_another_thread_as_well(agent: Agent) -> None:
    ended(in_thread(lambda: replay(session(), agent, turn_timeout=0.1)), agent)


@needs_alarms
@pytest.mark.parametrize("agent", ASYNC, ids=lambda agent: agent.__name__)
def test_a_turn_inside_the_loop_of_the_caller(agent: Agent) -> None:
    async def main() -> None:
        ended(await replay_async(session(), agent, turn_timeout=0.1), agent)
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        await asyncio.sleep(0.01)

    asyncio.run(main())


def test_a_turn_inside_trio() -> None:
    async def agent(user_input: str) -> str:
        await trio.sleep(1000)
        return "done"

    async def main() -> ReplayResult:
        return await replay_async(session(), agent, turn_timeout=0.1)

    ended(trio.run(main), agent)


def test_two_turns_in_one_loop_have_a_limit_each() -> None:
    async def quick(user_input: str) -> str:
        await asyncio.sleep(0.15)
        return "done"

    async def main() -> list[ReplayResult]:
        slow = replay_async(session(calls=0), sleeps_later, turn_timeout=0.1)
        return list(await asyncio.gather(slow, replay_async(session(calls=0), quick, turn_timeout=30)))

    slow, quickly = asyncio.run(main())
    ended(slow, sleeps_later)
    assert quickly.passed


def test_who_awaits_the_replay_can_still_cancel_it() -> None:
    async def main() -> None:
        task = asyncio.create_task(replay_async(session(), sleeps_later, turn_timeout=5))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_without_a_limit_a_turn_takes_its_time() -> None:
    def slow(user_input: str) -> str:
        time.sleep(0.05)
        return "done"

    assert replay(session(calls=0), slow, turn_timeout=0).passed


@pytest.mark.parametrize("seconds", [-1, float("nan"), 1e12])
def test_a_limit_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(OptionError, match="no time limit"):
        replay(session(), loops, turn_timeout=seconds)


@needs_alarms
def test_an_interrupt_restores_everything() -> None:
    def agent(user_input: str) -> str:
        raise KeyboardInterrupt

    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(KeyboardInterrupt):
        replay(session(), agent, turn_timeout=5)
    assert signal.getsignal(signal.SIGALRM) is handler


@needs_alarms
def test_the_alarm_of_another_goes_off_in_time() -> None:
    class Theirs(BaseException):
        pass

    def rings(number: int, frame: Any) -> None:
        raise Theirs

    before = signal.signal(signal.SIGALRM, rings)
    left = signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(Theirs):
            replay(session(), swallows_further_in, turn_timeout=30)
        signal.setitimer(signal.ITIMER_REAL, 30)
        assert replay(session(calls=0), lambda user_input: "done", turn_timeout=30).passed
        assert 25 < signal.getitimer(signal.ITIMER_REAL)[0] <= 30
    finally:
        signal.setitimer(signal.ITIMER_REAL, *left)
        signal.signal(signal.SIGALRM, before)


def test_a_turn_that_cannot_be_ended_stops_the_process(tmp_path: Path) -> None:
    source = """
import time
import pytest_statebase.engine.limit as limit
from tests.unit.engine.test_bounds import session
from pytest_statebase import replay
limit.GRACE = 0.3
def agent(user_input):
    while True:
        try:
            while True:
                try:
                    time.sleep(0.01)
                except BaseException:
                    pass
        except BaseException:
            pass
replay(session(), agent, turn_timeout=0.1)
"""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", source], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 70, done.stderr
    assert "sess_1, turn 1, could not be ended: it took longer than 0.1 s" in done.stderr


# --- calls -----------------------------------------------------------------------------------------------------------


def test_an_endless_loop_of_one_call_is_named() -> None:
    def agent(user_input: str, tools: ToolCaller) -> str:
        while True:
            tools.call("look", {"n": 0})

    result = replay(session(), agent)
    ended(result, agent, reason="it made the same call 26 times; look(n=0) was called 26 times")


def test_an_endless_loop_of_other_calls_is_named() -> None:
    def agent(user_input: str, tools: ToolCaller) -> str:
        while True:
            for n in range(20):
                tools.call("look", {"n": n})

    result = replay(session(20, equal=False), agent)
    ended(result, agent, reason="it made 201 calls where 20 were recorded; look(n=0) was called 11 times")


def test_a_loop_that_swallows_the_end_of_it() -> None:
    def agent(user_input: str, tools: ToolCaller) -> str:
        while True:
            try:
                tools.call("look", {"n": 0})
            except BaseException:
                pass

    ended(replay(session(), agent), agent, reason="look(n=0) was called")


@pytest.mark.parametrize("equal", [False, True])
def test_an_honest_run_three_times_as_long_passes_the_bounds(equal: bool) -> None:
    def agent(user_input: str, tools: ToolCaller) -> str:
        for n in range(300):
            tools.call("look", {"n": 0 if equal else n % 100})
        return "done"

    result = replay(session(100, equal=equal), agent)
    assert result.verdicts == {"changed": 1, "off-script": 1}
    assert len(result.turns[0].calls) == 300


def again_and_again(user_input: str, tools: ToolCaller) -> str:
    while True:
        try:
            tools.call("look", {"n": 99})
        except:  # noqa: E722
            pass


async def again_and_again_later(user_input: str, tools: ToolCaller) -> str:
    while True:
        try:
            tools.call("look", {"n": 99})
        except BaseException:
            await asyncio.sleep(0)


def in_threads(user_input: str, tools: ToolCaller) -> str:
    def call() -> None:
        with contextlib.suppress(BaseException):
            tools.call("look", {"n": 99})

    while True:
        try:
            thread = threading.Thread(target=call, daemon=True)
            thread.start()
            thread.join()
        except BaseException:
            pass


@needs_alarms
@pytest.mark.parametrize("agent", [again_and_again, again_and_again_later, in_threads])
def test_retries_after_a_miss_end(agent: Callable[..., Awaitable[str] | str]) -> None:
    result = replay(session(), agent)
    assert result.verdicts == {"unrecorded": 1, "not-replayed": 1}
    (missed,) = (call for call in result.turns[0].calls if call.unrecorded)
    assert missed.explanation is not None
    assert "look(n=99) has no answer" in missed.explanation
    assert "the turn was ended: it went on calling, more than 25 times, after a call had no answer; " in (
        missed.explanation
    )
    assert "look(n=99) was refused at least 2" in missed.explanation


def test_a_time_limit_after_a_miss_is_the_miss() -> None:
    def agent(user_input: str, tools: ToolCaller) -> str:
        try:
            tools.call("look", {"n": 99})
        except BaseException:
            loops(user_input)
        return "done"

    # Time enough to get to the miss, on a busy machine too.
    assert replay(session(), agent, turn_timeout=1).verdicts == {"unrecorded": 1, "not-replayed": 1}


def test_endless_recursion_is_an_error_as_any() -> None:
    def agent(user_input: str) -> str:
        return agent(user_input)

    result = replay(session(), agent)
    assert result.verdicts == {"error": 1, "not-replayed": 1}
    replayed = result.turns[0].replayed
    assert replayed is not None
    assert replayed.error is not None
    assert replayed.error["type"] == "RecursionError"


def test_in_isolated_mode_the_next_turn_runs() -> None:
    def agent(user_input: str, turn: int) -> str:
        return loops(user_input) if turn == 1 else "done"

    assert replay(session(calls=0), agent, turn_timeout=1, mode="isolated").verdicts == {"error": 1, "unchanged": 1}


def test_no_thread_takes_the_context_of_a_replay_along() -> None:
    replay(session(calls=0), lambda user_input: "done", turn_timeout=30)
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("statebase-watchdog") <= 1
    assert issubclass(Runaway, BaseException)
    assert not issubclass(Runaway, Exception)
