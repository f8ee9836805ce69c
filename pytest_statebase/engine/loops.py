"""The event loop of a thread: one for all its replays, as a program has one in production.

What an agent keeps for the whole process (clients with open connections, locks, queues) belongs to the loop in which it
was first used. What a replay leaves behind in the loop (tasks, generators, threads, settings) ends with the replay.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import os
import sys
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any
from weakref import WeakSet, finalize

from .threads import start_plainly

PATIENCE = 10.0
"""Seconds that tasks have to end once they are cancelled. A loop in which some do not is given up."""
_ROUNDS = 100
"""So often may tasks that are cancelled leave others behind."""
_JOIN = 300.0
"""Seconds that threads have to end: those of asyncio."""


@contextmanager
def event_loop() -> Iterator[Lease]:
    """The loop of this thread for one replay. No loop may be running here."""
    kept: _Kept | None = getattr(_here, "kept", None)
    if kept is None or not kept.is_usable():
        kept = _here.kept = _Kept()
    lease = Lease(kept)
    try:
        yield lease
    finally:
        lease.end()


class _Kept:
    """A loop, and who has it at the moment. It is closed with its thread, or when the process ends."""

    def __init__(self) -> None:
        # Made so, it does not become the current loop of the thread, which is that of other plugins.
        self.runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.loop = self.runner.get_loop()
        self.threads: _Threads | None = None
        self._process = os.getpid()
        # Not `__del__`: where this is collected with a circle, the sockets of the loop may be so before.
        finalize(self, _close_loop, self.loop, self._process).atexit = False  # other threads may be at it then

    def is_usable(self) -> bool:
        """False where it was closed, and in a child process, which shares its selector with the parent."""
        return self._process == os.getpid() and not self.loop.is_closed()

    def close(self) -> None:
        """Close the loop. Nothing is left in it that would have to be awaited."""
        _close_loop(self.loop, self._process)


def _close_loop(loop: asyncio.AbstractEventLoop, process: int) -> None:
    if process != os.getpid():
        # Never let it be collected: that closes it, in the selector that it shares with the parent.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(loop))
    elif not loop.is_running():
        loop.close()


class _Here(threading.local):
    kept: _Kept | None = None


_here = _Here()


@atexit.register
def _close() -> None:
    _here.kept = None


class _Threads(ThreadPoolExecutor):
    """What `run_in_executor` and `to_thread` run in."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="asyncio")
        self.are_used = False

    def submit(self, *args: Any, **options: Any) -> Any:
        self.are_used = True
        return super().submit(*args, **options)


class Lease:
    """The loop while one replay has it."""

    def __init__(self, kept: _Kept) -> None:
        self._kept = kept
        self._before = asyncio.all_tasks(kept.loop), kept.threads
        self._threads = kept.threads = _Threads()
        self._generators: WeakSet[AsyncGenerator[Any, Any]] = WeakSet()
        loop = kept.loop
        loop.set_default_executor(self._threads)
        self._settings = loop.get_exception_handler(), loop.get_task_factory(), loop.get_debug()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """What the coroutine returns, run to its end in a copy of the context that is here."""
        return self._kept.runner.run(self._watched(coroutine), context=copy_context())

    async def _watched(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Know the generators that begin meanwhile: asyncio can only close all of them, for good."""
        asyncios = sys.get_asyncgen_hooks().firstiter

        def begins(generator: AsyncGenerator[Any, Any]) -> None:
            self._generators.add(generator)
            if asyncios is not None:
                asyncios(generator)

        sys.set_asyncgen_hooks(firstiter=begins)
        try:
            return await coroutine
        finally:
            sys.set_asyncgen_hooks(firstiter=asyncios)

    def end(self) -> None:
        """Give the loop back as it was."""
        kept, loop = self._kept, self._kept.loop
        tasks, kept.threads = self._before
        if loop.is_closed():
            self._threads.shutdown(wait=False)
            return
        try:
            is_clean = self.run(self._ended(tasks))
        except BaseException:
            kept.close()
            raise
        if not is_clean:
            kept.close()
            return
        handler, factory, debug = self._settings
        loop.set_exception_handler(handler)
        loop.set_task_factory(factory)
        loop.set_debug(debug)
        if kept.threads is not None:
            loop.set_default_executor(kept.threads)

    async def _ended(self, before: set[asyncio.Task[Any]]) -> bool:
        """End everything that is left; False where something does not end."""
        this = asyncio.current_task()
        for _ in range(_ROUNDS):
            left = asyncio.all_tasks() - before - {this}
            for task in left:
                task.cancel()
            generators, self._generators = list(self._generators), WeakSet()
            left |= {asyncio.ensure_future(_closed(one)) for one in generators}
            if not left:
                break
            if not await _all_done(left):
                return False
        else:
            return False
        return not self._threads.are_used or await self._joined()

    async def _joined(self) -> bool:
        """Wait for threads, which may need the loop to come to their end."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def join() -> None:
            self._threads.shutdown(wait=True)
            if not loop.is_closed():
                loop.call_soon_threadsafe(over.set)

        start_plainly(threading.Thread(target=join, daemon=True))
        try:
            await asyncio.wait_for(over.wait(), _JOIN)
        except TimeoutError:
            return False
        return True


async def _closed(generator: AsyncGenerator[Any, Any]) -> None:
    await generator.aclose()


async def _all_done(tasks: set[asyncio.Task[Any]]) -> bool:
    done, pending = await asyncio.wait(tasks, timeout=PATIENCE)
    for task in done:
        if not task.cancelled() and task.exception() is not None:
            asyncio.get_running_loop().call_exception_handler(
                {
                    "message": "unhandled exception at the end of a replay",
                    "exception": task.exception(),
                    "task": task,
                }
            )
    return not pending
