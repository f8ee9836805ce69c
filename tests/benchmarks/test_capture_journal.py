"""What capture costs: an event on the agent's thread, events a second to the disk, memory while the disk stands still.

Budgets: under 50 µs an event on the agent's thread (99 of 100 under 200 µs), 20,000 events a second, memory as the
limits say. Run with `pytest tests/benchmarks/test_capture_journal.py -s` to see the figures.
"""

from __future__ import annotations

import random
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from pytest_statebase.events import Event, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.frames import Frame, TurnClosed, TurnOpened
from pytest_statebase.journal import Limits, Writer, files
from pytest_statebase.journal.lines import line_of
from pytest_statebase.privacy import FrameRedactor

Redact = Callable[[Frame], Frame]
WORDS = (
    *("order", "refund", "parcel", "address", "delivered", "please", "thank", "change", "Tuesday", "size", "since"),
    *("card", "return", "label"),
)
AT = "2026-03-15T10:23:45.123456Z"
CALLS = 4


def turns(count: int, *, seed: int = 5) -> list[TurnClosed]:
    """Turns as they are in a shop: 4 calls with results of some hundred bytes, each followed by a new state."""
    dice = random.Random(seed)
    return [_turn(f"sess_{number % 50}", number, dice) for number in range(1, count + 1)]


def _turn(session: str, number: int, dice: random.Random) -> TurnClosed:
    events: list[Event] = [TurnStarted(number, {"type": "text", "content": _words(dice, 12)}, AT)]
    for step in range(1, CALLS + 1):
        order = f"#W{dice.randrange(10**7):07d}"
        items = [{"item": _words(dice, 3), "price": dice.randrange(10**5) / 100, "left": True} for _ in range(3)]
        result = {"order": order, "status": dice.choice(WORDS), "items": items}
        events.append(ToolCalled("look_up", {"order_id": order}, result, step=step, at=AT, latency_ms=12))
        events.append(StateUpdated(number * CALLS + step, {"order": order, "seen": number}, "Looked up", at=AT))
    events.append(TurnAdded({"type": "text", "content": _words(dice, 30)}, at=AT, metadata={"latency_ms": 90}))
    return TurnClosed(session, tuple(events), state_before={"order": None, "seen": number - 1})


def _words(dice: random.Random, count: int) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(count))


def events_of(frames: list[TurnClosed]) -> int:
    return sum(len(frame.events) for frame in frames)


def told(benchmark: BenchmarkFixture, **figures: float) -> None:
    """Figures beside the timing, also on the terminal."""
    benchmark.extra_info.update(figures)
    print(", ".join(f"{name.replace('_', ' ')} {value:,.1f}" for name, value in figures.items()))


REDACTIONS = {"as it is": lambda: lambda frame: frame, "redacted": lambda: FrameRedactor().frame}


@pytest.mark.parametrize("redaction", REDACTIONS)
def test_an_event_on_the_agents_thread(benchmark: BenchmarkFixture, tmp_path: Path, redaction: str) -> None:
    """Two frames a turn, while the writer works, each turn followed by what an agent does: waiting for something."""
    frames = turns(1500)
    writer = Writer(tmp_path / "captured", redact=REDACTIONS[redaction]())  # type: ignore[no-untyped-call]
    spent: list[float] = []

    def run() -> None:
        for frame in frames:
            began = time.perf_counter_ns()
            writer.put(TurnOpened(frame.session, frame.events[0].input, AT))  # type: ignore[union-attr]
            writer.put(frame)
            spent.append((time.perf_counter_ns() - began) / 1000)
            time.sleep(0.0005)

    benchmark.pedantic(run, rounds=1)
    assert writer.stop(60)
    assert writer.counts.kept["turns"] == len(frames)
    spent.sort()
    an_event = len(frames[0].events)
    told(
        benchmark,
        us_an_event=sum(spent) / len(spent) / an_event,
        us_a_turn_median=spent[len(spent) // 2],
        us_a_turn_p99=spent[len(spent) * 99 // 100],
        us_a_turn_most=spent[-1],
    )


@pytest.mark.parametrize("redaction", REDACTIONS)
def test_events_a_second_to_the_disk(benchmark: BenchmarkFixture, tmp_path: Path, redaction: str) -> None:
    """From put to the return of the write, as fast as they come; against their lines alone, ready made."""
    frames = turns(2000)
    lines = [line_of(frame, 1, 1.0)[0] for frame in frames]
    limits = Limits(queue_frames=len(frames) + 1, queue_bytes=1 << 30)
    writers = iter(range(10))
    spent: list[float] = []

    def run() -> None:
        began = time.process_time()
        writer = Writer(
            tmp_path / str(next(writers)),
            redact=REDACTIONS[redaction](),
            limits=limits,  # type: ignore[no-untyped-call]
        )
        for frame in frames:
            assert writer.put(frame)
        assert writer.stop(60)
        assert writer.counts.kept["turns"] == len(frames)
        spent.append(time.process_time() - began)

    benchmark.pedantic(run, rounds=3)
    began = time.perf_counter()
    with (tmp_path / "lines").open("wb", buffering=0) as file:
        for line in lines:
            file.write(line)
    alone = time.perf_counter() - began
    fastest = benchmark.stats.stats.min
    told(
        benchmark,
        events_a_second=events_of(frames) / fastest,
        events_a_second_of_the_processor=events_of(frames) / min(spent),
        bytes_an_event=sum(map(len, lines)) / events_of(frames),
        times_the_bare_writes=fastest / alone,
    )


def test_memory_while_the_disk_stands_still(
    benchmark: BenchmarkFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits, as it is counted, and what it takes in truth."""
    go_on = threading.Event()
    write = files._write

    def stalled(fd: int, data: Any) -> int:
        go_on.wait(60)
        return write(fd, data)

    monkeypatch.setattr(files, "_write", stalled)
    limits = Limits(queue_bytes=8 << 20, queue_frames=1_000_000)
    writer = Writer(tmp_path / "captured", limits=limits)
    dice = random.Random(1)

    def run() -> int:
        tracemalloc.start()
        for number in range(1, 6001):
            writer.put(_turn(f"sess_{number}", number, dice))
            assert writer.waiting()[1] <= limits.queue_bytes
        return tracemalloc.get_traced_memory()[0]

    taken = benchmark.pedantic(run, rounds=1)
    tracemalloc.stop()
    assert writer.counts.lost["queue full"] > 1000
    go_on.set()
    assert writer.stop(60)
    counted = limits.queue_bytes
    told(benchmark, counted_mb=counted / 1e6, in_truth_mb=taken / 1e6, truth_by_count=taken / counted)
