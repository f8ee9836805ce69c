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
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import BuiltinFunctionType
from typing import Any
from weakref import ReferenceType

from . import strands
from .handlers import own_handler
from .web.fence import is_told

_POOLS = ("concurrent.futures.thread", "multiprocessing.pool", "trio._core._thread_cache", "anyio._backends._asyncio")
_lock = threading.Lock()
_holders = 0
_start = threading.Thread.start
_submit = ThreadPoolExecutor.submit
_create_task = asyncio.BaseEventLoop.create_task
_register = atexit.register


def _branch() -> contextvars.Context:
    """A copy of this context, for a strand of work of its own."""
    context, enter = contextvars.copy_context(), strands.branching()
    if enter is not None:
        context.run(enter)
    return context


def _is_ours() -> bool:
    """Whether what runs here belongs to a replay or recording: the threads of others are none of ours."""
    return own_handler() is not None or strands.branching() is not None


def _works_for_all(thread: threading.Thread) -> bool:
    """Whether it is a worker of a pool: its jobs bring their contexts along, and others than a replay may have some."""
    args = getattr(thread, "_args", ())
    if not _is_worker(getattr(thread, "_target", None)) and not _is_worker(type(thread)):
        return False
    # What a pool has done first in each of its threads is whose the thread is.
    return not any(callable(one) and not isinstance(one, ReferenceType) for one in args)


def _is_worker(work: Any) -> bool:
    return getattr(work, "__module__", None) in _POOLS


def _start_in_context(thread: threading.Thread) -> None:
    if not _is_ours() or _works_for_all(thread):
        _start(thread)
        return
    context, run = _branch(), thread.run

    def in_context() -> None:
        try:
            _quietly(context.run, run)
        finally:
            del thread.run  # and with it the context, which a thread that is over need not keep

    thread.run = in_context  # type: ignore[method-assign]
    try:
        _start(thread)
    except BaseException:
        del thread.run
        raise


def _quietly(function: Callable[..., Any], /, *args: Any, **kw: Any) -> Any:
    """Call it. What was refused and is told elsewhere ends the thread without a traceback."""
    try:
        return function(*args, **kw)
    except BaseException as error:
        if not is_told(error):
            raise
        return None


def _submit_in_context(pool: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kw: Any) -> Future[Any]:
    if not _is_ours():
        return _submit(pool, function, *args, **kw)
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


def _register_in_context(function: Callable[..., Any], /, *args: Any, **kw: Any) -> Callable[..., Any]:
    _register(_AtExit(function) if _is_ours() else function, *args, **kw)
    return function


def _handing_on(start: Callable[..., Any]) -> Callable[..., Any]:
    """`start`, a way to have another thread run a function, with the context of whoever calls it."""
    is_new_thread = isinstance(start, BuiltinFunctionType)
    place = 0 if is_new_thread else 1
    hand_on = _in_context_quietly if is_new_thread else _in_context

    @functools.wraps(start)
    def started(*args: Any, **kw: Any) -> Any:
        if not _is_ours() or (is_new_thread and args and _is_worker(args[0])):
            return start(*args, **kw)
        if len(args) > place:
            args = (*args[:place], hand_on(args[place]), *args[place + 1 :])
        elif "func" in kw:
            kw["func"] = hand_on(kw["func"])
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
    atexit.register = _register_in_context
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
    atexit.register = _register
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
