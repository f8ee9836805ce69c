"""The process's one alarm, shared by the turns of the main thread and by whoever had set it before."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

EVERY = 0.05
"""Seconds between two attempts at ending a turn."""


class Due(Protocol):
    """What is to be struck at a time of the monotonic clock."""

    due: float
    foreign: BaseException | None

    def strike(self, frame: FrameType | None) -> None: ...


class Alarm:
    """While it holds anything, SIGALRM is its own. An alarm set before goes off in time, and is put back with what is
    left of its time."""

    def __init__(self) -> None:
        self._limits: list[Due] = []
        self._handler: Any = None
        self._theirs = float("inf")
        self._interval = 0.0

    def add(self, limit: Due) -> bool:
        """Strike `limit` when it is due. False where there are no alarms: not in this thread or on this system."""
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            return False
        if not self._limits:
            if signal.getsignal(signal.SIGALRM) is None:
                return False
            left, self._interval = signal.setitimer(signal.ITIMER_REAL, 0)
            self._theirs = time.monotonic() + left if left else float("inf")
            self._handler = signal.signal(signal.SIGALRM, self._rings)
        self._limits.append(limit)
        self._set()
        return True

    def remove(self, limit: Due) -> None:
        """Strike it no more; with the last of them, everything is as it was."""
        if limit not in self._limits:
            return
        self._limits.remove(limit)
        if self._limits:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)
        if self._theirs != float("inf"):
            signal.setitimer(signal.ITIMER_REAL, _left(self._theirs), self._interval)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Stay in charge inside, between one turn and the next: taking over and giving back takes its time."""
        nobody = _Nobody()
        held = self.add(nobody)
        try:
            yield
        finally:
            if held:
                self.remove(nobody)

    def hurry(self) -> None:
        """Something is due earlier than it was."""
        if threading.current_thread() is threading.main_thread():
            self._set()
        else:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def _set(self) -> None:
        due = min([self._theirs, *(limit.due for limit in self._limits)])
        signal.setitimer(signal.ITIMER_REAL, 0 if due == float("inf") else _left(due))

    def _rings(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic() + 1e-3  # a timer may ring a little early
        due = [limit for limit in self._limits if limit.due <= now]
        for limit in due:
            limit.due = now + EVERY
        theirs = self._theirs <= now
        if theirs:
            self._theirs = now + self._interval if self._interval else float("inf")
        self._set()
        if theirs:
            self._ring_theirs(number, frame)
        for limit in due:
            limit.strike(frame)

    def _ring_theirs(self, number: int, frame: FrameType | None) -> None:
        if not callable(self._handler):
            return
        try:
            self._handler(number, frame)
        except BaseException as error:
            for limit in self._limits:
                limit.foreign = error
            raise


class _Nobody:
    """Never due."""

    def __init__(self) -> None:
        self.due = float("inf")
        self.foreign: BaseException | None = None

    def strike(self, frame: FrameType | None) -> None:
        """Nothing to do."""


def _left(due: float) -> float:
    return max(due - time.monotonic(), 1e-4)


ALARM = Alarm()
