"""Threads that belong to the replay that started them.

Python hands a new thread no context (before 3.14), so that a tool called there would not know its replay. While tools
are stubbed, threads and the work given to thread pools take along the context in which they were started, and each is
a strand of its own, as each asyncio task is.
"""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import BuiltinFunctionType
from typing import Any

from . import strands

_lock = threading.Lock()
_holders = 0
_start = threading.Thread.start
_submit = ThreadPoolExecutor.submit
_create_task = asyncio.BaseEventLoop.create_task


def _branch() -> contextvars.Context:
    """A copy of this context, for a strand of work of its own."""
    context, enter = contextvars.copy_context(), strands.branching()
    if enter is not None:
        context.run(enter)
    return context


def _start_in_context(thread: threading.Thread) -> None:
    context, run = _branch(), thread.run
    thread.run = lambda: context.run(run)  # type: ignore[method-assign]
    try:
        _start(thread)
    except BaseException:
        del thread.run
        raise


def _submit_in_context(pool: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kw: Any) -> Future[Any]:
    given = _given_context(function)
    if given is None:
        return _submit(pool, _branch().run, function, *args, **kw)
    enter = strands.branching()
    if enter is not None:
        with suppress(RuntimeError):  # somebody runs in it just now
            given.run(enter)
    return _submit(pool, contextvars.copy_context().run, function, *args, **kw)


def _given_context(function: Callable[..., Any]) -> contextvars.Context | None:
    """The context that the caller has chosen for it, as `asyncio.to_thread` does."""
    run = function.func if isinstance(function, functools.partial) else function
    owner = getattr(run, "__self__", None)
    return owner if isinstance(owner, contextvars.Context) else None


def _create_task_as_branch(loop: asyncio.BaseEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = strands.create_task(_create_task, loop, coroutine, **options)
    return task


def start_plainly(thread: threading.Thread) -> None:
    """Start a thread of our own, which belongs to no replay."""
    _start(thread)


def _in_context(function: Callable[..., Any]) -> Callable[..., Any]:
    context, enter = contextvars.copy_context(), strands.branching()

    def run(*args: Any, **kw: Any) -> Any:
        # A context can be entered once at a time, and several workers may run the function at once.
        own = context.copy()
        if enter is not None:
            own.run(enter)
        return own.run(function, *args, **kw)

    return run


def _handing_on(start: Callable[..., Any]) -> Callable[..., Any]:
    """`start`, a way to have another thread run a function, with the context of whoever calls it."""
    place = 0 if isinstance(start, BuiltinFunctionType) else 1

    @functools.wraps(start)
    def started(*args: Any, **kw: Any) -> Any:
        if len(args) > place:
            args = (*args[:place], _in_context(args[place]), *args[place + 1 :])
        elif "func" in kw:
            kw["func"] = _in_context(kw["func"])
        return start(*args, **kw)

    return started


def _other_ways() -> Iterator[tuple[Any, str]]:
    """Ways into a thread that neither `Thread.start` nor `submit` knows of, and those that hand out several at once."""
    yield _thread, "start_new_thread"
    yield ThreadPoolExecutor, "map"
    pool = sys.modules.get("multiprocessing.pool")
    if pool is not None:
        yield from ((pool.ThreadPool, name) for name in ("apply_async", "_map_async", "imap", "imap_unordered"))


_undo: list[Callable[[], None]] = []


def _exchange() -> None:
    threading.Thread.start = _start_in_context  # type: ignore[method-assign, assignment]
    ThreadPoolExecutor.submit = _submit_in_context  # type: ignore[method-assign, assignment]
    asyncio.BaseEventLoop.create_task = _create_task_as_branch  # type: ignore[method-assign, assignment]
    for owner, name in _other_ways():
        inherited = name not in vars(owner)
        original = getattr(owner, name)
        setattr(owner, name, _handing_on(original))
        _undo.append(
            functools.partial(delattr, owner, name) if inherited else functools.partial(setattr, owner, name, original)
        )


def _restore() -> None:
    threading.Thread.start = _start  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign]
    asyncio.BaseEventLoop.create_task = _create_task  # type: ignore[method-assign]
    while _undo:
        _undo.pop()()


@contextmanager
def threads_take_context_along() -> Iterator[None]:
    """Have threads started inside run in the context of whoever started them; undone when the last holder leaves."""
    global _holders
    with _lock:
        _holders += 1
        if _holders == 1:
            _exchange()
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _restore()
