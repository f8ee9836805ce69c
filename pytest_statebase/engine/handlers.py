"""Which replay or recording answers a call of a stubbed tool."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from ..errors import StatebaseError, UnrecordedCall
from .tool import Tool

Live = Callable[[], Any]
"""Runs the tool itself with the arguments of the call."""


class Handler(Protocol):
    """What answers the calls of stubbed tools while it is current: a replay or a recording."""

    def call(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any: ...

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any: ...

    def stream(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Generator[Any, Any, Any]: ...

    def stream_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> AsyncGenerator[Any, Any]: ...


_current: ContextVar[Handler | None] = ContextVar("statebase_replay", default=None)
_active: list[Handler] = []
lock = threading.RLock()
caches: dict[Callable[[], Any], int] = {}
"""What empties the caches in front of stubbed tools, with how many hold it."""


@contextmanager
def current(handler: Handler) -> Iterator[None]:
    """Have `handler` answer the calls of stubbed tools that are made inside."""
    token = _current.set(handler)
    with lock:
        _active.append(handler)
        for clear in caches:
            clear()
    try:
        yield
    finally:
        with lock:
            _active.remove(handler)
        _current.reset(token)


def own_handler() -> Handler | None:
    """Who answers calls that are made in this very context, None for a thread that belongs to nobody."""
    return _current.get()


def active_handlers() -> list[Handler]:
    """Every replay and recording that is at a turn just now."""
    with lock:
        return list({id(handler): handler for handler in _active}.values())


def current_handler() -> Handler | None:
    """Who answers calls that are made here and now, None where that cannot be told."""
    found = _current.get()
    if found is not None:
        return found
    with lock:
        return _active[0] if len({id(handler) for handler in _active}) == 1 else None


def handler_for(tool: Tool) -> Handler:
    """Who answers a call of `tool` that is made here and now.

    Raises UnrecordedCall where nobody does, or where that cannot be told.
    """
    if tool.clear is not None and len(_active) > 1 and len({id(handler) for handler in _active}) > 1:
        raise _refused(tool, "keeps its answers in a cache, which the replays that run at once would share")
    found = _current.get()
    if found is not None:
        return found
    # A thread that was there before may be used by any replay; where only one runs, it is that one.
    with lock:
        if len({id(handler) for handler in _active}) == 1:
            return _active[0]
        if _active:
            raise _refused(tool, "was called in a thread that belongs to none of the replays that run")
    raise UnrecordedCall(f"{tool.name} was called outside of any replay; a stubbed tool never runs live by accident")


def fail_all(name: str, message: str, error: StatebaseError | None = None) -> None:
    """Mark the turn of every replay that runs: whatever the agents make of an exception, none of them passes.

    name: of the tool that was called.
    """
    with lock:
        handlers = list(_active)
    for handler in handlers:
        fail = getattr(handler, "fail", None)
        if fail is not None:
            fail(name, message, error)


def _refused(tool: Tool, why: str) -> UnrecordedCall:
    message = f"{tool.name} {why}"
    fail_all(tool.name, message)
    return UnrecordedCall(message)
