"""The clock of a replayed turn: it starts at the time at which the turn was recorded, and ticks.

What tells the time of day (`datetime.now`, `date.today`, `time.time`) is shifted inside the turn's own context alone:
other threads and tasks, two replays at once among them, keep their own time. Monotonic clocks are never touched.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any

from ..compare.shapes import as_moment
from ..errors import OptionError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_shift: ContextVar[int | None] = ContextVar("statebase_clock", default=None)
"""Nanoseconds since 1970 less those of the monotonic clock."""
_lock = threading.Lock()
_holders = 0
_travel: Any = None


@contextmanager
def shiftable() -> Iterator[bool]:
    """Have `shifted` take effect inside; undone when the last holder leaves.

    Yields False where a test has set the clock itself (with time-machine or freezegun), which is then left as it is.
    Raises OptionError where time-machine is missing.
    """
    held = _take()
    try:
        yield held
    finally:
        if held:
            _leave()


def _take() -> bool:
    global _holders, _travel
    try:
        import time_machine
    except ImportError as error:
        what = f"statebase_clock = recorded needs time-machine, which does not import: {error}"
        raise OptionError(what, remedy="pip install time-machine, or set statebase_clock = real.") from error
    with _lock:
        if _holders == 0:
            if time_machine.escape_hatch.is_travelling():
                return False
            _travel = time_machine.travel(0)
            try:
                traveller = _travel.start()
            except RuntimeError:  # freezegun is active
                return False
            real = time_machine.escape_hatch.time.time_ns

            def time_ns() -> int:
                shift = _shift.get()
                return real() if shift is None else shift + time.monotonic_ns()

            traveller.time_ns = time_ns
        _holders += 1
    return True


def _leave() -> None:
    global _holders
    with _lock:
        _holders -= 1
        if _holders == 0:
            _travel.stop()


def shift_to(at: Any) -> int | None:
    """The shift that makes the clock show `at` now; None for what is no time."""
    moment = as_moment(at)
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND * 1000 - time.monotonic_ns()


class shifted:  # noqa: N801 - used like a context manager function, and cheaper than one
    """Inside, and in what is started inside, the clock is shifted; None leaves it as it is."""

    __slots__ = ("_shift", "_token")

    def __init__(self, shift: int | None) -> None:
        self._shift = shift

    def __enter__(self) -> None:
        self._token = _shift.set(self._shift)

    def __exit__(self, *error: object) -> None:
        _shift.reset(self._token)
