"""Threads that belong to the replay that started them.

Python hands a new thread no context (before 3.14), so that a tool called there would not know its replay. While tools
are stubbed, threads and the work given to thread pools take along the context in which they were started, and each is
a strand of its own, as each asyncio task is.
"""

from __future__ import annotations

import _thread
import asyncio
import atexit
import contextvars
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any
from weakref import ReferenceType

from . import strands
from .handlers import own_handler

_POOLS = ("concurrent.futures.thread", "multiprocessing.pool", "trio._core._thread_cache", "anyio._backends._asyncio")
_lock = threading.Lock()
_holders = 0
_time = 0
"""Which time it is that ways into threads are exchanged: what others have wrapped since before does nothing now."""
_start = threading.Thread.start


def _branch() -> contextvars.Context:
    """A copy of this context, for a strand of work of its own."""
    context, enter = contextvars.copy_context(), strands.branching()
    if enter is not None:
        context.run(enter)
    return context


def _is_ours(time: int) -> bool:
    """Whether what runs here belongs to a replay or recording: the threads of others are none of ours.

    time: when the function was put there that asks.
    """
    return time == _time and (own_handler() is not None or strands.branching() is not None)


def _works_for_all(thread: threading.Thread) -> bool:
    """Whether it is a worker of a pool: its jobs bring their contexts along, and others than a replay may have some."""
    args = getattr(thread, "_args", ())
    if not _is_worker(getattr(thread, "_target", None)) and not _is_worker(type(thread)):
        return False
    # What a pool has done first in each of its threads is whose the thread is.
    return not any(callable(one) and not isinstance(one, ReferenceType) for one in args)


def _is_worker(work: Any) -> bool:
    return getattr(work, "__module__", None) in _POOLS


def _starting(start: Callable[..., Any], time: int) -> Callable[..., Any]:
    @functools.wraps(start)
    def started(thread: threading.Thread) -> None:
        if not _is_ours(time) or _works_for_all(thread):
            start(thread)
            return
        context, run = _branch(), thread.run

        def in_context() -> None:
            try:
                _quietly(context.run, run)
            finally:
                # And with it the context, which a thread that is over need not keep.
                vars(thread).pop("run", None)

        thread.run = in_context  # type: ignore[method-assign]
        try:
            start(thread)
        except BaseException:
            vars(thread).pop("run", None)
            raise

    return started


def _quietly(function: Callable[..., Any], /, *args: Any, **kw: Any) -> Any:
    """Call it. What was refused and is told elsewhere ends the thread without a traceback."""
    try:
        return function(*args, **kw)
    except BaseException as error:
        from .web.fence import is_told

        if not is_told(error):
            raise
        return None


def _submitting(submit: Callable[..., Any], time: int) -> Callable[..., Any]:
    @functools.wraps(submit)
    def submitted(pool: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kw: Any) -> Any:
        if not _is_ours(time):
            return submit(pool, function, *args, **kw)
        given = _given_context(function)
        if given is None:
            return submit(pool, _branch().run, function, *args, **kw)
        enter = strands.branching()
        if enter is not None:
            with suppress(RuntimeError):  # somebody runs in it just now
                given.run(enter)
        return submit(pool, contextvars.copy_context().run, function, *args, **kw)

    return submitted


def _given_context(function: Callable[..., Any]) -> contextvars.Context | None:
    """The context that the caller has chosen for it, as `asyncio.to_thread` does."""
    run = function.func if isinstance(function, functools.partial) else function
    owner = getattr(run, "__self__", None)
    return owner if isinstance(owner, contextvars.Context) else None


def _creating(create_task: Callable[..., Any], time: int) -> Callable[..., Any]:
    @functools.wraps(create_task)
    def created(loop: asyncio.BaseEventLoop, coroutine: Any, **options: Any) -> Any:
        if time != _time:
            return create_task(loop, coroutine, **options)
        return strands.create_task(create_task, loop, coroutine, **options)

    return created


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


def _in_context_quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.partial(_quietly, _in_context(function))


class _AtExit:
    """What a turn has run when the process ends. It equals the function, by which it can be taken off again."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._run = _in_context_quietly(function)

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return self._run(*args, **kw)

    def __eq__(self, other: object) -> bool:
        return other is self or bool(self._function == other)

    __hash__ = None  # type: ignore[assignment]


def _registering(register: Callable[..., Any], time: int) -> Callable[..., Any]:
    @functools.wraps(register)
    def registered(function: Callable[..., Any], /, *args: Any, **kw: Any) -> Callable[..., Any]:
        register(_AtExit(function) if _is_ours(time) else function, *args, **kw)
        return function

    return registered


def _handing_on(start: Callable[..., Any], time: int) -> Callable[..., Any]:
    """`start`, a way to have a pool run a function, with the context of whoever calls it."""
    return _with_context(start, time, 1, _in_context)


def _handing_to_thread(start: Callable[..., Any], time: int) -> Callable[..., Any]:
    """`start`, a way to run a function in a new thread, with the context of whoever calls it."""
    handing = _with_context(start, time, 0, _in_context_quietly)

    @functools.wraps(start)
    def started(*args: Any, **kw: Any) -> Any:
        return start(*args, **kw) if args and _is_worker(args[0]) else handing(*args, **kw)

    return started


def _with_context(start: Callable[..., Any], time: int, place: int, hand_on: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(start)
    def started(*args: Any, **kw: Any) -> Any:
        if not _is_ours(time):
            return start(*args, **kw)
        if len(args) > place:
            args = (*args[:place], hand_on(args[place]), *args[place + 1 :])
        elif "func" in kw:
            kw["func"] = hand_on(kw["func"])
        return start(*args, **kw)

    return started


_Making = Callable[[Callable[..., Any], int], Callable[..., Any]]


def _ways() -> Iterator[tuple[Any, str, _Making]]:
    """Every way into a thread or task, with what makes another one of it."""
    yield threading.Thread, "start", _starting
    yield ThreadPoolExecutor, "submit", _submitting
    yield asyncio.BaseEventLoop, "create_task", _creating
    yield atexit, "register", _registering
    yield _thread, "start_new_thread", _handing_to_thread
    yield ThreadPoolExecutor, "map", _handing_on
    pool = sys.modules.get("multiprocessing.pool")
    if pool is not None:
        names = ("apply_async", "_map_async", "imap", "imap_unordered")
        yield from ((pool.ThreadPool, name, _handing_on) for name in names)


_undo: list[tuple[Any, str, Any, Any]] = []
"""What was exchanged: where, what was there itself (None: inherited), and what is there now."""


def _exchange() -> None:
    global _time
    _time += 1
    for owner, name, make in _ways():
        made = make(getattr(owner, name), _time)
        _undo.append((owner, name, vars(owner).get(name), made))
        setattr(owner, name, made)


def _restore() -> None:
    global _time
    _time += 1
    while _undo:
        owner, name, original, made = _undo.pop()
        # Whoever has put something in front of it meanwhile keeps that, and what is behind it does nothing any more.
        if vars(owner).get(name) is not made:
            continue
        if original is None:
            delattr(owner, name)
        else:
            setattr(owner, name, original)


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
