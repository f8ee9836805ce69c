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
from typing import Any, ClassVar

from .alarm import ALARM, EVERY

TRAP_FROM = 3
"""The attempt from which on the agent's frames are trapped."""
GRACE = 10.0
"""Seconds of such attempts, after which the run is stopped."""
_LOCKS = frozenset(
    {"threading", "queue", "concurrent.futures.thread", "concurrent.futures._base", "weakref", "_weakrefset"}
)
_PATIENCE = 10
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Runaway(BaseException):
    """Raised inside an agent to end its turn. That it is swallowed changes nothing: the turn is marked before."""


def _stop_process(message: str) -> None:
    stream = sys.__stderr__
    if stream is not None:
        stream.write(f"\n{message}\n")
        stream.flush()
    os._exit(70)


_stop: Callable[[str], None] = _stop_process


def on_stuck(stop: Callable[[str], None] | None) -> None:
    """Have `stop` end the process where a turn cannot be ended; it gets the message and must not return.

    None: the message goes to standard error, and the process exits with status 70.
    """
    global _stop
    _stop = stop or _stop_process


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
        self._lock = threading.Lock()
        self._by_alarm = False
        self.task: asyncio.Task[Any] | None = None
        self.later: Callable[[float], None] | None = None
        """Told when it ends later: a loop that keeps the time itself."""
        self._cancelled = 0
        self._put_off = 0
        self._is_async = False
        self._is_blocked = False
        """The loop has not come to what it was told last."""
        self._trapped: list[FrameType] = []
        self._trace: Any = None

    def __enter__(self) -> Limit:
        self.thread = threading.get_ident()
        if self._ends == float("inf") and self.seconds:
            self._ends = time.monotonic() + self.seconds
        self.due = self._ends if self.reason is None else time.monotonic()
        self.active = True
        self._by_alarm = ALARM.add(self)
        _WATCHDOG.add(self)
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
        _WATCHDOG.remove(self)
        if self._strikes:
            self._untrap()

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
                _WATCHDOG.hurry()

    def extend(self, seconds: float) -> None:
        """Have the limit end so much later: what is waited for is not the agent's time."""
        if self.active and self.reason is None and self._ends != float("inf"):
            self._ends += seconds
            self.due = self._ends
            if self.later is not None:
                self.later(seconds)

    def timed_out(self) -> str:
        """The reason of a turn that took too long."""
        return f"it took longer than {self.seconds:g} s"

    def strike(self, frame: FrameType | None) -> None:
        """Try to end the turn; in its own thread (`frame`: what was interrupted) by raising Runaway."""
        if self._puts_off(frame or _frame_of(self.thread)):
            return
        self._strikes += 1
        if self.reason is None:
            self.reason = self.timed_out()
        if self._strikes * EVERY > GRACE:
            self._give_up()
        if self._is_async and not (self._is_blocked and _is_in_turn(frame or _frame_of(self.thread))):
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
        self.due = float("inf")
        if self._by_alarm:
            ALARM.remove(self)
        _stop(self._stuck())

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
        self._is_blocked = True
        if task is None:  # trio's; a scope of its own cancels it
            return

        def cancel() -> None:
            self._is_blocked = False
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
            self.reason = self.reason or self.timed_out()
            _stop(self._stuck())

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


class _Watchdog:
    """One thread that waits for what is due: turns outside of the main thread, and alarms without effect."""

    _names: ClassVar[str] = "statebase-watchdog"

    def __init__(self) -> None:
        self._condition = threading.Condition(threading.Lock())
        self._limits: set[Limit] = set()
        self._wakes = float("inf")
        self._thread: threading.Thread | None = None

    def add(self, limit: Limit) -> None:
        """Watch a limit from now on."""
        with self._condition:
            self._limits.add(limit)
            if limit.look() >= self._wakes:
                return
            if self._thread is None or not self._thread.is_alive():
                self._begin()
            self._wakes = limit.look()
            self._condition.notify()

    def _begin(self) -> None:
        from .threads import start_plainly

        self._thread = threading.Thread(target=self._run, name=self._names, daemon=True)
        start_plainly(self._thread)

    def remove(self, limit: Limit) -> None:
        """Watch it no longer."""
        with self._condition:
            self._limits.discard(limit)

    def hurry(self) -> None:
        """Look again at once: a limit is due earlier than it was."""
        with self._condition:
            self._wakes = 0.0
            self._condition.notify()

    def _run(self) -> None:
        while True:
            with self._condition:
                now = time.monotonic()
                due = [limit for limit in self._limits if limit.look() <= now]
                if not due:
                    self._wakes = min((limit.look() for limit in self._limits), default=float("inf"))
                    self._condition.wait(None if self._wakes == float("inf") else self._wakes - now)
                    continue
            for limit in due:
                limit.watch(time.monotonic())


_WATCHDOG = _Watchdog()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WATCHDOG.__init__)  # type: ignore[misc]
