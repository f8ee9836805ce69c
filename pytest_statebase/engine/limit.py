"""The end of a turn that does not end by itself.

A turn of the main thread is interrupted by an alarm, a turn of another thread by an exception that is raised in it, an
async turn by cancelling its task first. An agent that swallows what ends it is struck again, and in the end trapped:
the next line raises that no `except` clause of its function guards.
"""

from __future__ import annotations

import asyncio
import ctypes
import dis
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from .alarm import ALARM, EVERY
from .stop import claim, stop, wait_if_stopping
from .watchdog import WATCHDOG

TRAP_FROM = 3
"""The attempt from which on the agent's frames are trapped."""
GRACE = 10.0
"""Seconds of such attempts, after which the run is stopped."""
_LOCKS = frozenset(
    {"threading", "queue", "concurrent.futures.thread", "concurrent.futures._base", "weakref", "_weakrefset"}
)
_PATIENCE = 10
_EARLY = 1e-3
_LOOK = 0.5
"""Seconds between two looks at whether a turn still waits."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Runaway(BaseException):
    """Raised inside an agent to end its turn. That it is swallowed changes nothing: the turn is marked before."""


class Limit:
    """The time limit of one turn. `with` it, the turn's thread (or task) is interrupted once it is due.

    seconds: 0 for none. name: of the turn, for the message of a turn that could not be ended.
    """

    def __init__(self, seconds: float, name: str) -> None:
        self.seconds = seconds
        self.name = name
        self.reason: str | None = None
        """Why the turn was ended before its time."""
        self.foreign: BaseException | None = None
        """What another's alarm (pytest-timeout's) raised meanwhile."""
        self.active = False
        self.due = float("inf")
        self._ends = float("inf")
        self._strikes = 0
        self.thread = 0
        self._lock = threading.RLock()  # signals and the garbage collector may come in between
        self._by_alarm = False
        self.task: asyncio.Task[Any] | None = None
        self.cancels: Callable[[], None] | None = None
        """Has the turn cancelled by its loop, where that is not asyncio's."""
        self._cancelled = 0
        self._put_off = 0
        self._is_async = False
        self.is_blocked = False
        """The loop has not come to what it was told last."""
        self._trapped: list[FrameType] = []
        self._trace: Any = None
        self._waits: dict[object, tuple[float, float]] = {}
        """What is waited for, until when at most, and how many seconds that is."""
        self._left = 0.0
        """Seconds that the turn has when nothing is waited for any more."""
        self.is_hung = False
        """Whether it was ended because what it waited for took too long."""

    def __enter__(self) -> Limit:
        self.thread = threading.get_ident()
        if self._ends == float("inf") and self.seconds:
            self._ends = time.monotonic() + self.seconds
        self.due = self._ends if self.reason is None else time.monotonic()
        self.active = True
        self._by_alarm = ALARM.add(self)
        WATCHDOG.add(self)
        return self

    def __exit__(self, *error: object) -> None:
        self.disarm()

    def of_task(self) -> Limit:
        """The limit, for a turn that goes on in the running task of a loop."""
        self._is_async = True
        try:
            self.task = asyncio.current_task()
        except RuntimeError:
            self.task = None
        return self

    def disarm(self) -> None:
        """Interrupt nothing any more. To be called twice: what was raised just before is raised in here."""
        with self._lock:
            self.active = False
        if self._by_alarm:
            ALARM.remove(self)
        WATCHDOG.remove(self)
        if self._strikes:
            self._untrap()
        wait_if_stopping()

    async def settle(self) -> None:
        """Take back the cancellations of the task that were the limit's own."""
        task, self.task = self.task, None
        if task is None or not self._cancelled:
            return
        for _ in range(self._cancelled):
            task.uncancel()
        self._cancelled = 0
        try:
            await asyncio.sleep(0)  # a cancellation that was not delivered yet
        except asyncio.CancelledError:
            if task.cancelling():
                raise

    def expire(self, reason: str) -> None:
        """End the turn now, from whatever thread, for this reason. The first reason stays."""
        if self.reason is None:
            self.reason = reason
            here = threading.get_ident() == self.thread
            self.due = time.monotonic() + (EVERY if here else 0.0)
            if self.active and self._by_alarm:
                ALARM.hurry()
            elif self.active:
                WATCHDOG.hurry()

    def wait_for(self, call: object, seconds: float) -> None:
        """Until `waited_for`, it is not the agent's time: the turn waits for somebody, so many seconds at most.

        Of several that are waited for, the first that takes too long ends the turn. The same one again begins anew.
        """
        with self._lock:
            now = time.monotonic()
            if self.reason is not None or self._ends == float("inf"):
                return
            if not self._waits:
                self._left = self._ends - now
            seconds = max(seconds, self._left)
            waits = {**self._waits, call: (now + seconds, seconds)}
            self._ends = min(waits.values())[0]
            self._waits = waits

    def waited_for(self, call: object) -> None:
        """That is over. Nothing where it is not waited for."""
        with self._lock:
            if self.reason is None and self._waits.pop(call, None) is not None:
                self._ends = min(self._waits.values())[0] if self._waits else time.monotonic() + self._left

    def time_out(self) -> None:
        """End the turn because its time is up."""
        with self._lock:
            if self.reason is None:
                self.is_hung = bool(self._waits)
                self.reason = f"it took longer than {self.seconds:g} s"
                if self.is_hung:
                    self.reason = f"a live model call had no answer within {min(self._waits.values())[1]:g} s"

    def _is_early(self) -> bool:
        """Whether the turn has time left, as something was waited for."""
        with self._lock:
            left = self._ends - time.monotonic()
            if self.reason is not None or left <= _EARLY:
                self.time_out()
                return False
            self.due = time.monotonic() + min(left, _LOOK)
            return True

    def strike(self, frame: FrameType | None) -> None:
        """Try to end the turn; in its own thread (`frame`: what was interrupted) by raising Runaway."""
        if self._is_early() or self._puts_off(frame or _frame_of(self.thread)):
            return
        self._strikes += 1
        if self._strikes * EVERY > GRACE:
            self._give_up()
            return
        if self._is_async and not (self.is_blocked and _is_in_turn(frame or _frame_of(self.thread))):
            self._cancel()
        elif frame is None:
            with self._lock:
                if self.active:
                    _raise_in(self.thread, self._trapping() if self._strikes >= TRAP_FROM else Runaway)
        else:
            if self._strikes >= TRAP_FROM:
                self._trap(list(_frames_above(frame)))
            raise Runaway

    def _give_up(self) -> None:
        """End the process, undisturbed: what is written before takes longer than it is from one strike to the next."""
        with self._lock:
            is_mine = self.active and claim()
            self.due = float("inf")
        if self._by_alarm and threading.get_ident() == self.thread:
            ALARM.remove(self)
        if is_mine:
            stop(self._stuck())

    def _puts_off(self, frame: FrameType | None) -> bool:
        """Whether to wait a moment: what is raised inside of a lock's own code may leave it locked for ever."""
        if self._put_off < _PATIENCE and _is_delicate(frame):
            self._put_off += 1
            self.due = time.monotonic() + 0.002
            if self._by_alarm:
                ALARM.hurry()
            return True
        self._put_off = 0
        return False

    def _cancel(self) -> None:
        task = self.task
        self.is_blocked = True
        if task is None:
            if self.cancels is not None:
                self.cancels()
            return

        def cancel() -> None:
            self.is_blocked = False
            if self.active and task.cancel():
                self._cancelled += 1
                if self._strikes >= TRAP_FROM:
                    self._trap(list(_frames_awaiting(task)))

        task.get_loop().call_soon_threadsafe(cancel)

    def _trapping(self) -> type[Runaway]:
        """Runaway for another thread: made there when it is raised, it traps the frames from within."""

        class Trapping(Runaway):
            def __init__(trapped, *args: object) -> None:  # noqa: N805
                super().__init__(*args)
                if self.active:
                    self._trap(list(_frames_above(sys._getframe(1))))

        return Trapping

    def _trap(self, frames: list[FrameType]) -> None:
        """Have the next unguarded line of one of these frames raise: at each attempt another, as only one of them may
        hold the loop, and what is raised further in it swallows."""
        if not frames:
            return
        if not self._trapped:
            self._trace = sys.gettrace()

        def raises(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line" and self.active and not _is_in_try(frame):
                raise Runaway
            return raises

        frame = frames[(self._strikes - TRAP_FROM) % len(frames)]
        frame.f_trace = raises
        self._trapped.append(frame)
        sys.settrace(_trace_nothing)

    def _untrap(self) -> None:
        if self._trapped:
            sys.settrace(self._trace)
            for frame in self._trapped:
                frame.f_trace = None
            self._trapped.clear()

    def _stuck(self) -> str:
        return (
            f"{self.name} could not be ended: {self.reason}, and the agent swallowed or never saw what was raised in "
            f"it for {GRACE:g} s. The run stops here."
        )

    def watch(self, now: float) -> None:
        """What the watchdog does once the turn is due."""
        if not self._by_alarm:
            self.due = now + EVERY
            self.strike(None)
        elif now > self.due + 2 * GRACE:
            # The alarm has no effect: code that is not Python's holds the thread.
            self.time_out()
            self._give_up()

    def look(self) -> float:
        """When the watchdog has to look next."""
        return self.due + 2 * GRACE + EVERY if self._by_alarm else self.due


def _is_in_try(frame: FrameType) -> bool:
    """Whether the frame's own `except` clauses would see what is raised now."""
    entries: list[Any] = dis.Bytecode(frame.f_code).exception_entries  # type: ignore[attr-defined]
    # Those with `lasti` clean up and raise again.
    return any(entry.start <= frame.f_lasti < entry.end and not entry.lasti for entry in entries)


def _trace_nothing(frame: FrameType, event: str, argument: Any) -> None:
    return None


def _frame_of(thread: int) -> FrameType | None:
    return sys._current_frames().get(thread)


def _is_in_turn(frame: FrameType | None) -> bool:
    """Whether the agent is executing. A loop that was interrupted between its tasks must not be raised in."""
    while frame is not None:
        if frame.f_code.co_name == "finish" and frame.f_code.co_filename.endswith(_TURN):
            return True
        frame = frame.f_back
    return False


def _frames_above(frame: FrameType | None) -> Iterator[FrameType]:
    """The agent's frames, from the innermost to where the turn begins."""
    while frame is not None and not frame.f_code.co_filename.endswith(_TURN):
        if _is_the_agents(frame):
            yield frame
        frame = frame.f_back


def _is_delicate(frame: FrameType | None) -> bool:
    """Whether the agent is inside of code that must not be interrupted halfway, where that can be helped."""
    while frame is not None and not frame.f_code.co_filename.endswith(_TURN):
        if frame.f_globals.get("__name__") in _LOCKS or frame.f_code.co_filename.startswith(_PACKAGE):
            return True
        if _is_the_agents(frame):
            return False
        frame = frame.f_back
    return False


def _is_the_agents(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__"))
    return not (frame.f_code.co_filename.startswith(_PACKAGE) or name.startswith("asyncio.") or name in _LOCKS)


def _frames_awaiting(task: asyncio.Task[Any]) -> Iterator[FrameType]:
    """The agent's suspended frames, from the turn's inwards."""
    awaited: Any = task.get_coro()
    while awaited is not None:
        for kind in ("cr", "gi", "ag"):
            frame = getattr(awaited, f"{kind}_frame", None)
            if frame is not None:
                if _is_the_agents(frame):
                    yield frame
                awaited = getattr(awaited, f"{kind}_await" if kind != "gi" else "gi_yieldfrom", None)
                break
        else:
            return


_TURN = os.path.join("engine", "turn.py")


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    """Have an exception raised in a thread at its next bytecode."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))
