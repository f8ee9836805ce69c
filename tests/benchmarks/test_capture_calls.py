"""What a captured tool call costs the agent's thread, beside the same call without a capture."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

import pytest

from pytest_statebase import capture
from pytest_statebase.recorder.capture import Recording

TURNS, CALLS = 100, 25
ORDER = {
    "order_id": "1047",
    "status": "delivered",
    "items": [
        {"sku": f"A-{number}", "title": "Headphones", "price_cents": 8990, "tags": ["audio"]} for number in (1, 2)
    ],
    "address": {"street": "Lindenweg 4", "zip": "10115", "city": "Berlin"},
    "notes": "Left with the neighbour, who is at home in the evenings.",
}


def look_up(order_id: str, deep: bool = False) -> dict[str, Any]:
    return ORDER


def bare(order_id: str, deep: bool = False) -> dict[str, Any]:
    return ORDER


Times = list[tuple[float, float]]
"""For each, seconds by the clock and of this thread's own work: the writer's thread wants the interpreter, too."""


class Timed:
    """Keeps how long its block takes."""

    def __init__(self, into: Times) -> None:
        self.into = into

    def __enter__(self) -> None:
        self.work, self.clock = time.thread_time(), time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self.into.append((time.perf_counter() - self.clock, time.thread_time() - self.work))


def called(function: Any, count: int, into: Times) -> None:
    for _ in range(count):
        with Timed(into):
            function("1047", deep=True)


def told(benchmark: Any, name: str, found: Times) -> None:
    for what, times in zip(("clock", "own work"), zip(*found, strict=True), strict=True):
        micro = sorted(one * 1e6 for one in times)
        numbers = {"mean": mean(micro), "median": micro[len(micro) // 2], "p99": quantiles(micro, n=100)[98]}
        benchmark.extra_info[f"{name}, {what}, µs"] = {key: round(value, 2) for key, value in numbers.items()}


@pytest.fixture
def recording(tmp_path: Path) -> Any:
    with capture(tmp_path, tools=[f"{__name__}:look_up"]) as recording:
        yield recording


@pytest.mark.parametrize("pause", [0.0, 0.01], ids=["turn after turn", "with pauses"])
def test_a_captured_call(benchmark: Any, recording: Recording, pause: float) -> None:
    """Budget: under 50 µs an event on the agent's thread, and under 200 µs for 99 of 100."""
    plain: Times = []
    outside: Times = []
    calls: Times = []
    ends: Times = []
    called(bare, TURNS * CALLS, plain)
    called(look_up, TURNS * CALLS, outside)

    def session(number: int) -> None:
        with recording.session(f"s{number}") as session:
            for _ in range(TURNS):
                turn = session.turn("Where is my order?")
                with Timed(ends):
                    turn.__enter__()
                called(look_up, CALLS, calls)
                with Timed(ends):
                    turn.reply("It is there.")
                    turn.__exit__(None, None, None)
                time.sleep(pause)

    numbers = iter(range(100))
    benchmark.pedantic(lambda: session(next(numbers)), rounds=1, warmup_rounds=1)
    assert recording.flush(30)
    told(benchmark, "bare call", plain)
    told(benchmark, "call outside of turns", outside)
    told(benchmark, "captured call", calls)
    told(benchmark, "begin and end of a turn", ends)
    for at, what in enumerate(("clock", "own work")):
        total = sum(one[at] for one in calls) + sum(one[at] for one in ends)
        benchmark.extra_info[f"an event, turns included, {what}, µs"] = round(total * 1e6 / (len(calls) + len(ends)), 2)
    ratio = sum(one[0] for one in outside) / sum(one[0] for one in plain)
    benchmark.extra_info["outside of turns, times a bare call"] = round(ratio, 2)
