"""A call without an answer is the turn's verdict, whatever the agent makes of it; and nothing ever runs live."""
# ruff: noqa: SIM105 - how agents catch things is what this is about

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_statebase import Cassette, Ledger, ReplayResult, replay
from pytest_statebase.errors import ToolError, UnrecordedCall
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted

LIVE: list[str] = []
RUNS = 200


def known(item: str) -> str:
    LIVE.append("known")
    return item


def missing(item: str = "x") -> str:
    LIVE.append("missing")
    return item


async def missing_later(item: str = "x") -> str:
    LIVE.append("missing_later")
    return item


TOOLS = [f"{__name__}:known", f"{__name__}:missing", f"{__name__}:missing_later"]


@pytest.fixture(autouse=True)
def _nothing_ran() -> Any:
    LIVE.clear()
    yield
    assert LIVE == []


def cassette(*calls: ToolCalled, turns: int = 1) -> Cassette:
    ledger = Ledger([SessionCreated("s")])
    for number in range(1, turns + 1):
        ledger.append(TurnStarted(number, {"type": "text", "content": "go"}))
        for call in calls:
            ledger.append(call)
        ledger.append(TurnAdded({"type": "text", "content": "fine"}))
    return Cassette.from_ledger(ledger)


KNOWN = ToolCalled("known", {"item": "a"}, result="recorded")


def run(agent: Any, *, turns: int = 1, tools: list[str] = TOOLS) -> ReplayResult:
    return replay(cassette(KNOWN, turns=turns), agent, tools=tools)


# --- what agents do with exceptions ------------------------------------------------------------------------------


def except_exception() -> None:
    try:
        missing()
    except Exception:
        pass


def bare_except() -> None:
    try:
        missing()
    except:  # noqa: E722
        pass


def fallback() -> str:
    try:
        return missing()
    except BaseException:
        return "a friendly answer instead"


def retries() -> None:
    for _ in range(5):
        try:
            missing()
            return
        except BaseException:
            time.sleep(0)


def pool() -> None:
    with ThreadPoolExecutor(4) as workers:
        futures = [workers.submit(missing, str(number)) for number in range(4)]
    assert all(isinstance(future.exception(), UnrecordedCall) for future in futures)


def pool_that_nobody_asks() -> None:
    with ThreadPoolExecutor(2) as workers:
        workers.submit(missing)


def thread() -> None:
    def work() -> None:
        fallback()

    one = threading.Thread(target=work)
    one.start()
    one.join()


def callback() -> None:
    with ThreadPoolExecutor(1) as workers:
        workers.submit(known, "a").add_done_callback(lambda future: fallback())


def finally_returns() -> None:
    try:
        missing()
    finally:
        return  # noqa: B012


def in_a_destructor() -> None:
    class Late:
        def __del__(self) -> None:
            fallback()

    Late()


def framework() -> str:
    """The way of frameworks: a tool's error becomes a message for the model."""
    try:
        content = missing()
    except BaseException as error:
        content = f"Error: {error!r}. Please try again."
    return content


WAYS = [
    except_exception, bare_except, fallback, retries, pool, pool_that_nobody_asks, thread, callback, finally_returns,
    in_a_destructor, framework,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_no_way_of_catching_hides_a_miss(way: Callable[[], Any]) -> None:
    def agent(user_input: str) -> str:
        known("a")
        way()
        return "fine"

    (turn,) = run(agent).turns
    assert turn.verdict == "unrecorded"
    assert sum(call.unrecorded for call in turn.calls) == 1


async def gathered() -> None:
    results = await asyncio.gather(missing_later(), missing_later("y"), return_exceptions=True)
    assert len(results) == 2


async def never_awaited() -> None:
    asyncio.ensure_future(missing_later())  # noqa: RUF006


async def done_callback() -> None:
    task = asyncio.ensure_future(asyncio.sleep(0))
    task.add_done_callback(lambda task: fallback())
    await task
    await asyncio.sleep(0)


async def shielded() -> None:
    try:
        await asyncio.shield(missing_later())
    except BaseException:
        pass


async def to_thread() -> None:
    await asyncio.to_thread(fallback)


async def task_group() -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(missing_later())
    except BaseException:
        pass


ASYNC_WAYS = [gathered, never_awaited, done_callback, shielded, to_thread, task_group]


@pytest.mark.parametrize("way", ASYNC_WAYS, ids=lambda way: way.__name__)
def test_no_async_way_of_catching_hides_a_miss(way: Callable[[], Any]) -> None:
    async def agent(user_input: str) -> str:
        known("a")
        await way()
        return "fine"

    (turn,) = run(agent).turns
    assert turn.verdict == "unrecorded"
    assert any(call.unrecorded for call in turn.calls)


def test_after_a_miss_every_call_fails_at_once_and_no_state_is_kept() -> None:
    seen: list[str] = []

    def agent(user_input: str, state: dict[str, Any]) -> str:
        fallback()
        state["wrong"] = True
        try:
            known("a")
        except BaseException as error:
            seen.append(str(error))
        return "fine"

    result = run(agent, turns=2)
    assert result.verdicts == {"unrecorded": 1, "not-replayed": 1}
    assert len(seen) == 1
    assert "missing" in seen[0]


# --- no live call in 200 runs ------------------------------------------------------------------------------------


def test_a_pool_of_eight_threads_makes_no_live_call() -> None:
    def agent(user_input: str) -> str:
        with ThreadPoolExecutor(8) as workers:
            list(workers.map(lambda number: known("a") if number == 0 else fallback(), range(8)))
        return "fine"

    for _ in range(RUNS):
        assert run(agent).verdicts == {"unrecorded": 1}


def test_swallowed_misses_make_no_live_call() -> None:
    def agent(user_input: str) -> str:
        for way in (except_exception_all, bare_except, fallback, retries):
            way()
        return "fine"

    def except_exception_all() -> None:
        try:
            missing()
        except BaseException:
            missing_again()

    def missing_again() -> None:
        try:
            missing("again")
        except BaseException:
            pass

    for _ in range(RUNS):
        assert run(agent).verdicts == {"unrecorded": 1}


@pytest.mark.parametrize("path", ["knwon", "Known", "known.x", "no_such_module_at_all:known"])
def test_a_mistyped_tool_path_makes_no_live_call(path: str) -> None:
    pattern = path if ":" in path else f"{__name__}:{path}"
    for _ in range(RUNS):
        with pytest.raises(ToolError):
            run(lambda user_input: known("a"), tools=[pattern])


def test_a_tool_that_no_pattern_names_makes_no_live_call() -> None:
    def agent(user_input: str) -> str:
        return known("a")

    for _ in range(RUNS):
        with pytest.raises(ToolError, match="known is a tool of the recording"):
            run(agent, tools=[f"{__name__}:missing"])


LATE = """
import test_no_hiding
def known(item):
    test_no_hiding.LIVE.append("late")
class Holder:
    def other(self): ...
"""


@pytest.mark.parametrize("named", [True, False], ids=["named", "unnamed"])
@pytest.mark.parametrize("way", ["import", "import_module", "swallowed"])
def test_an_import_that_comes_too_late_makes_no_live_call(
    way: str, named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_tools.py").write_text(LATE)
    monkeypatch.syspath_prepend(str(tmp_path))
    agent_module = ModuleType("late_agent")
    sys.modules["late_agent"] = agent_module

    def agent(user_input: str) -> str:
        if way == "import":
            import late_tools  # type: ignore[import-not-found]
        else:
            try:
                late_tools = importlib.import_module("late_tools")
            except BaseException:
                if way == "swallowed":
                    return "fine"
                raise
        late_tools.known("a")
        return "fine"

    agent.__module__ = "late_agent"
    for _ in range(RUNS // 6 + 1):
        sys.modules.pop("late_tools", None)
        if named:
            assert run(agent, tools=["late_tools:known"]).verdicts == {"unchanged": 1}
        else:
            with pytest.raises(ToolError, match="late_tools:known is not stubbed"):
                run(agent, tools=[])
            assert "late_tools" not in sys.modules
    sys.modules.pop("late_tools", None)
    del sys.modules["late_agent"]
    assert not any(type(finder).__module__.startswith("pytest_statebase") for finder in sys.meta_path)


def test_a_module_that_the_agent_imports_inside_a_function_is_looked_at_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lazy_tools.py").write_text(LATE)
    (tmp_path / "lazy_agent.py").write_text(
        "def agent(user_input):\n    import lazy_tools\n    return lazy_tools.known('a')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import lazy_agent  # type: ignore[import-not-found]
    import lazy_tools  # type: ignore[import-not-found]

    with pytest.raises(ToolError, match="lazy_tools:known is not stubbed"):
        run(lazy_agent.agent, tools=[])
    assert lazy_tools.known is not None


def test_a_call_after_the_replay_has_ended_makes_no_live_call() -> None:
    go, threads, refused = threading.Event(), [], []

    def work() -> None:
        go.wait(10)
        try:
            known("a")
        except UnrecordedCall as error:
            refused.append(str(error))

    def agent(user_input: str) -> str:
        known("a")
        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return "fine"

    from pytest_statebase.engine.finding import find_tools
    from pytest_statebase.engine.tools import stubbed

    # A run of replays keeps its tools stubbed to its end: so does whoever holds `stubbed`.
    with stubbed(find_tools(TOOLS)):
        for _ in range(RUNS):
            assert run(agent).verdicts == {"unchanged": 1}
        go.set()
        for one in threads:
            one.join()
    assert len(refused) == RUNS
