"""A run that has to stop is stopped once, by one thread, and nobody goes on meanwhile."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from pytest_statebase.engine.limit import GRACE, Limit
from pytest_statebase.engine.stop import on_stuck

LATE = 2 * GRACE + 1


class Stop:
    """Takes the place of the end of the process: takes its time, and ends when it is let."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.threads: list[int] = []
        self.began = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, message: str) -> None:
        self.threads.append(threading.get_ident())
        self.began.set()
        assert self.may_end.wait(30)
        self.told.append(message)


@pytest.fixture
def stop() -> Iterator[Stop]:
    stop = Stop()
    on_stuck(stop)
    yield stop
    stop.may_end.set()
    on_stuck(None)


@pytest.fixture
def limit() -> Iterator[Limit]:
    with Limit(1000, "sess_1, turn 1,") as limit:
        yield limit


def started(function: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def watch_late(limit: Limit) -> None:
    """What the watchdog does where it finds that the alarm has no effect."""
    limit.watch(limit.due + LATE)


def strike_once_too_often(limit: Limit) -> None:
    """What the alarm does where the agent has swallowed everything for too long."""
    limit.reason = limit.reason or "it took longer than 1000 s"
    limit._strikes = 10_000
    limit.strike(sys._getframe())


def test_the_alarm_does_not_stop_what_the_watchdog_stops(stop: Stop, limit: Limit) -> None:
    watchdog = started(lambda: watch_late(limit))
    assert stop.began.wait(30)
    strike_once_too_often(limit)
    assert stop.threads == [watchdog.ident]
    stop.may_end.set()
    watchdog.join(30)
    assert stop.told == [
        "sess_1, turn 1, could not be ended: it took longer than 1000 s, and the agent swallowed or never saw what was "
        "raised in it for 10 s. The run stops here."
    ]


def test_the_watchdog_does_not_stop_what_the_alarm_stops(stop: Stop, limit: Limit) -> None:
    def watch() -> None:
        assert stop.began.wait(30)
        limit.due = 0.0  # as it was found before
        watch_late(limit)
        stop.may_end.set()

    watchdog = started(watch)
    strike_once_too_often(limit)
    watchdog.join(30)
    assert stop.threads == [threading.get_ident()]
    assert len(stop.told) == 1


def test_two_turns_that_cannot_be_ended_stop_the_run_once(stop: Stop, limit: Limit) -> None:
    other = Limit(1000, "sess_2, turn 1,")
    with other:
        first = started(lambda: watch_late(other))
        assert stop.began.wait(30)
        watch_late(limit)
        stop.may_end.set()
        first.join(30)
    assert [message.partition(" could")[0] for message in stop.told] == ["sess_2, turn 1,"]


def test_a_turn_that_has_ended_stops_nothing(stop: Stop) -> None:
    with Limit(1000, "sess_1, turn 1,") as limit:
        pass
    stop.may_end.set()
    watch_late(limit)
    limit.reason, limit._strikes = "late", 10_000
    limit.strike(sys._getframe())
    assert stop.threads == []


def test_who_ends_a_turn_meanwhile_goes_no_further(stop: Stop, limit: Limit) -> None:
    order: list[str] = []

    def ends() -> None:
        time.sleep(0.1)
        order.append("the stop ends")
        stop.may_end.set()

    started(lambda: watch_late(limit))
    assert stop.began.wait(30)
    started(ends)
    limit.disarm()
    order.append("the turn goes on")
    assert order == ["the stop ends", "the turn goes on"]
    assert len(stop.told) == 1
