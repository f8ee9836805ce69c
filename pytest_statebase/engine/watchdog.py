"""A thread that looks at turns that are due where no alarm does: not in the main thread, or without effect."""

from __future__ import annotations

import os
import threading
import time
from typing import ClassVar, Protocol

from .threads import start_plainly


class Watched(Protocol):
    """What is to be looked at when its time comes."""

    def look(self) -> float:
        """When the watchdog has to look next, by the monotonic clock."""

    def watch(self, now: float) -> None:
        """What there is to do now."""


class Watchdog:
    """Holds what is to be watched, and the thread, which begins with the first of them."""

    _name: ClassVar[str] = "statebase-watchdog"

    def __init__(self) -> None:
        self._condition = threading.Condition(threading.Lock())
        self._watched: set[Watched] = set()
        self._wakes = float("inf")
        self._thread: threading.Thread | None = None

    def add(self, one: Watched) -> None:
        """Watch it from now on."""
        with self._condition:
            self._watched.add(one)
            if one.look() >= self._wakes:
                return
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                start_plainly(self._thread)
            self._wakes = one.look()
            self._condition.notify()

    def remove(self, one: Watched) -> None:
        """Watch it no longer. The thread may be at it still."""
        with self._condition:
            self._watched.discard(one)

    def hurry(self) -> None:
        """Look again at once: something is due earlier than it was."""
        with self._condition:
            self._wakes = 0.0
            self._condition.notify()

    def _run(self) -> None:
        while True:
            with self._condition:
                now = time.monotonic()
                due = [one for one in self._watched if one.look() <= now]
                if not due:
                    self._wakes = min((one.look() for one in self._watched), default=float("inf"))
                    self._condition.wait(None if self._wakes == float("inf") else self._wakes - now)
                    continue
            for one in due:
                one.watch(time.monotonic())


WATCHDOG = Watchdog()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WATCHDOG.__init__)  # type: ignore[misc]
