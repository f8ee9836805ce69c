"""What the redaction of small events costs, against making JSON of them, which a journal's writer does anyway."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from pytest_statebase.events import Event, ToolCalled, TurnStarted
from pytest_statebase.frames import TurnClosed
from pytest_statebase.privacy import FrameRedactor
from tests.benchmarks.test_http_recordings import seconds

EVENTS, TURN = 20_000, 10
AT = "2026-03-15T10:23:45Z"


def usual(number: int) -> ToolCalled:
    """Few words that come again and again."""
    found = {"status": "delivered", "total": 42.5, "items": ["shoe", "hat"], "eta": AT}
    return ToolCalled("look_up_order", {"order_id": f"ord_{number % 1000}"}, found, id=f"call_{number}", at=AT)


def fresh(number: int) -> ToolCalled:
    """Nothing comes twice."""
    found = {"trace": uuid.UUID(int=number).hex, "note": f"Order {number} was shipped on 2026-03-15 with DHL."}
    return ToolCalled("look_up_order", {"id": str(uuid.UUID(int=number)), "q": f"Where is order {number}?"}, found)


def full(number: int) -> ToolCalled:
    """An address and a token in each."""
    return ToolCalled("find", {"mail": f"u{number}@corp.com"}, {"token": f"tok-{number:08}", "status": "open"})


@pytest.mark.parametrize("made", [usual, fresh, full])
def test_small_events(benchmark: BenchmarkFixture, made: Callable[[int], ToolCalled]) -> None:
    events: list[Event] = [made(number) for number in range(EVENTS)]
    frames = [TurnClosed(f"s{at // 50}", (TurnStarted(1), *events[at : at + TURN])) for at in range(0, EVENTS, TURN)]

    def redact() -> Any:
        redactor = FrameRedactor()
        return [redactor.frame(frame) for frame in frames]

    benchmark.pedantic(redact, rounds=3)
    of_json = seconds(
        lambda: [json.dumps([event.arguments, event.result]) for event in map(made, range(EVENTS))], rounds=3
    )
    benchmark.extra_info["us_an_event"] = round(benchmark.stats.stats.median / EVENTS * 1e6, 1)  # type: ignore[union-attr]
    benchmark.extra_info["times_json"] = round(benchmark.stats.stats.median / of_json, 2)  # type: ignore[union-attr]
