"""The budgets of replays, as ratios or rates in one run. Nothing here asserts a time."""

from __future__ import annotations

import functools
import resource
import statistics
import subprocess
import sys
import time
import timeit
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import AgentReply, Ledger, load_cassette, record_session, replay, tool
from pytest_statebase.cassette import write_record
from pytest_statebase.engine.tools import ToolCaller
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted

AGENT = """
def agent(user_input, state):
    state["turns"] = state.get("turns", 0) + 1
    return f"reply {state['turns']}"
"""


def agent(user_input: str, state: dict[str, Any]) -> str:
    """Costs nothing."""
    state["turns"] = state.get("turns", 0) + 1
    return f"reply {state['turns']}"


def cassette(path: Path, turns: int, session: str = "sess_1") -> Path:
    ledger = record_session(agent, [f"say {n}" for n in range(turns)], session_id=session, state={"turns": 0})
    write_record(path.with_name(f"{path.name}.record.yaml"), ledger)
    plan = path.with_name(f"{path.name}.session.yaml")
    plan.write_text(f"cassette: 1\nsession: {session}\n", encoding="utf-8")
    return plan


@pytest.mark.parametrize("turns", [3, 300])
def test_turns_a_second(benchmark: Any, tmp_path: Path, turns: int) -> None:
    """Budget: 5,000 turns a second with loading, on one core."""
    plan = cassette(tmp_path / "one", turns)
    result = benchmark(lambda: replay(load_cassette(plan), agent))
    assert result.passed
    benchmark.extra_info["turns_a_second"] = round(turns / benchmark.stats.stats.median)


@pytest.mark.parametrize("calls", [100, 1000])
def test_a_stubbed_call(benchmark: Any, calls: int) -> None:
    """What one answered call costs, at 100 and at 1,000 recorded calls: the two should not differ."""
    ledger = Ledger([SessionCreated("sess_1"), TurnStarted(1, {"type": "text", "content": "go"})])
    for number in range(calls):
        ledger.append(ToolCalled("look", {"order": str(number)}, result={"order": str(number), "total": 42.5}))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))
    from pytest_statebase.cassette import Cassette

    recording = Cassette.from_ledger(ledger)
    spent: list[float] = []

    def work(tools: ToolCaller) -> AgentReply:
        began = time.perf_counter()
        for number in range(calls):
            tools.call("look", {"order": str(number)})
        spent.append(time.perf_counter() - began)
        return AgentReply("done")

    assert benchmark(lambda: replay(recording, work)).passed
    benchmark.extra_info["microseconds_a_call"] = round(min(spent) / calls * 1e6, 1)


def look(order: str) -> dict[str, Any]:
    """A tool that never runs."""
    raise AssertionError


@pytest.mark.parametrize("calls", [100, 1000])
def test_a_stubbed_function(benchmark: Any, calls: int) -> None:
    """Budget: 50 microseconds for a call of a stubbed function, whatever the number of recorded calls."""
    ledger = Ledger([SessionCreated("sess_1"), TurnStarted(1, {"type": "text", "content": "go"})])
    for number in range(calls):
        ledger.append(ToolCalled("look", {"order": str(number)}, result={"order": str(number), "total": 42.5}))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))
    from pytest_statebase.cassette import Cassette
    from pytest_statebase.engine.tools import find_tools

    recording, tools = Cassette.from_ledger(ledger), find_tools([f"{__name__}:look"])
    spent: list[float] = []

    def work(user_input: str) -> str:
        began = time.perf_counter()
        for number in range(calls):
            look(str(number))
        spent.append(time.perf_counter() - began)
        return "done"

    assert benchmark(lambda: replay(recording, work, tools=tools)).passed
    benchmark.extra_info["microseconds_a_call"] = round(min(spent) / calls * 1e6, 1)


def test_a_marked_tool_in_production(benchmark: Any) -> None:
    """Budget: a call of a marked tool costs what a call of the bare function does."""

    def bare(order: str) -> str:
        return order

    def marked(order: str) -> str:
        return order

    marked = tool(marked)
    ratios: list[float] = []

    def once() -> None:
        calls = [functools.partial(function, "x") for function in (bare, marked)]
        times = [min(timeit.repeat(call, number=20_000, repeat=5)) for call in calls]
        ratios.append(times[1] / times[0])

    benchmark.pedantic(once, rounds=5, iterations=1)
    benchmark.extra_info["times_the_bare_function"] = round(statistics.median(ratios), 2)


def _pytest(where: Path, *args: str) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args],
        cwd=where,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 5), done.stdout + done.stderr
    return time.perf_counter() - began


def test_a_thousand_sessions_against_a_thousand_empty_tests(benchmark: Any, tmp_path: Path) -> None:
    """Budget: at most 2 times 1,000 empty tests, collection and report included."""
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "mine.py").write_text(AGENT)
    fixtures, empty = tmp_path / "fixtures", tmp_path / "empty"
    fixtures.mkdir()
    empty.mkdir()
    for number in range(1000):
        cassette(fixtures / f"s{number}", 3, f"sess_{number}")
    (empty / "test_empty.py").write_text("\n".join(f"def test_{number}(): pass" for number in range(1000)))
    pairs: list[float] = []

    def once() -> None:
        plain = _pytest(tmp_path, "empty")
        pairs.append(_pytest(tmp_path, "--statebase-replay", "--statebase-agent=mine:agent") / plain)

    benchmark.pedantic(once, rounds=3, iterations=1)
    benchmark.extra_info["times_empty_tests"] = [round(ratio, 2) for ratio in sorted(pairs)]


def test_installed_but_unused(benchmark: Any, tmp_path: Path) -> None:
    """Budget: at most 10 ms on an empty `pytest --collect-only`, in processor time (others disturb it less)."""
    spent: dict[str, list[float]] = {"with": [], "without": []}

    def once() -> None:
        for kind, extra in (("without", ("-p", "no:statebase")), ("with", ())):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            _pytest(tmp_path, "--collect-only", *extra)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent[kind].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    benchmark.pedantic(once, rounds=11, iterations=1, warmup_rounds=1)
    medians = {kind: statistics.median(times) * 1000 for kind, times in spent.items()}
    benchmark.extra_info["milliseconds"] = round(medians["with"] - medians["without"], 1)
