"""Threads that belong to the replay that started them.

Python hands a new thread no context (before 3.14), so that a tool called there would not know its replay. While tools
are stubbed, threads and the work given to thread pools take along the context in which they were started.
"""

from __future__ import annotations

import _thread
import contextvars
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

_lock = threading.Lock()
_holders = 0
_start = threading.Thread.start
_submit = ThreadPoolExecutor.submit


def _start_in_context(thread: threading.Thread) -> None:
    context, run = contextvars.copy_context(), thread.run
    thread.run = lambda: context.run(run)  # type: ignore[method-assign]
    try:
        _start(thread)
    except BaseException:
        del thread.run
        raise


def _submit_in_context(pool: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kw: Any) -> Future[Any]:
    return _submit(pool, contextvars.copy_context().run, function, *args, **kw)


def start_plainly(thread: threading.Thread) -> None:
    """Start a thread of our own, which belongs to no replay."""
    _start(thread)


def _in_context(function: Callable[..., Any]) -> Callable[..., Any]:
    context = contextvars.copy_context()
    # A context can be entered once at a time, and several workers may run the function at once.
    return lambda *args, **kw: context.copy().run(function, *args, **kw)


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
    """Ways into a thread that neither `Thread.start` nor an executor knows of."""
    yield _thread, "start_new_thread"
    pool = sys.modules.get("multiprocessing.pool")
    if pool is not None:
        yield from ((pool.ThreadPool, name) for name in ("apply_async", "_map_async", "imap", "imap_unordered"))


_undo: list[Callable[[], None]] = []


def _exchange() -> None:
    threading.Thread.start = _start_in_context  # type: ignore[method-assign, assignment]
    ThreadPoolExecutor.submit = _submit_in_context  # type: ignore[method-assign, assignment]
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
