"""Which replay or recording answers a call of a stubbed tool."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from ..errors import StatebaseError, UnrecordedCall
from .tool import Tool

if TYPE_CHECKING:
    from .ongoing import Ongoing

Live = Callable[[], Any]
"""Runs the tool itself with the arguments of the call."""


class Handler(Protocol):
    """What answers the calls of stubbed tools while it is current: a replay or a recording."""

    def call(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any: ...

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any: ...

    def stream(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Generator[Any, Any, Any]: ...

    def stream_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> AsyncGenerator[Any, Any]: ...


class Watcher:
    """A handler that lets every call run as if nobody looked on."""

    @property
    def is_over(self) -> bool:
        """Whether it looks at nothing any more, though a context still has it: it is nobody's handler then."""
        return False

    def look(
        self, tool: Tool, original: FunctionType, named: dict[str, Any], args: tuple[Any, ...], kw: dict[str, Any]
    ) -> Any:
        """What `original(*args, **kw)` gives or raises. named: the arguments by parameter name."""
        raise NotImplementedError


class Stay:
    """In every context that a turn handed on (threads, tasks, timers, jobs), and alive as long as one of these is.

    turn: None in what a test does itself.
    """

    __slots__ = ("__weakref__", "turn")

    def __init__(self, turn: Ongoing | None) -> None:
        self.turn = turn


_current: ContextVar[Handler | Watcher | None] = ContextVar("statebase_replay", default=None)
_stay: ContextVar[Stay | None] = ContextVar("statebase_turn", default=None)
_stays: WeakSet[Stay] = WeakSet()
_active: list[Handler] = []
lock = threading.RLock()
caches: dict[Callable[[], Any], int] = {}
"""What empties the caches in front of stubbed tools, with how many hold it."""


@contextmanager
def current(handler: Handler, turn: Ongoing | None = None) -> Iterator[None]:
    """Have `handler` answer the calls of stubbed tools that are made inside, which belongs to `turn`."""
    token = _current.set(handler)
    stay = _stay.set(_new_stay(turn))
    with lock:
        _active.append(handler)
        for clear in caches:
            clear()
    try:
        yield
    finally:
        with lock:
            _active.remove(handler)
        _stay.reset(stay)
        _current.reset(token)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Have `watcher` see the calls of watched tools that are made inside."""
    token = _current.set(watcher)
    try:
        yield
    finally:
        with suppress(ValueError):  # it is left in another context than it was entered in
            _current.reset(token)


def watch_from_here(watcher: Watcher) -> None:
    """From now on `watcher` sees the calls of watched tools that are made in this context."""
    _current.set(watcher)


def _new_stay(turn: Ongoing | None) -> Stay:
    stay = Stay(turn)
    with lock:
        _stays.add(stay)
    return stay


def own_turn() -> Ongoing | None:
    """The turn in which this very context began, be it over by now. None where no turn is known."""
    stay = _stay.get()
    return None if stay is None else stay.turn


def is_anything_left() -> bool:
    """Whether a context is alive in which what a turn or test began may go on."""
    with lock:
        return len(_stays) > 0


def stays() -> WeakSet[Stay]:
    """The contexts that are alive in which what a turn or test began may go on."""
    with lock:
        return _stays.copy()


def own_handler() -> Handler | Watcher | None:
    """Who answers or watches calls that are made in this very context, None for a thread that belongs to nobody.

    A watcher that is over is nobody: its context may live on for long, in threads that were started there too.
    """
    found = _current.get()
    return None if isinstance(found, Watcher) and found.is_over else found


def active_handlers() -> list[Handler]:
    """Every replay and recording that is at a turn just now."""
    with lock:
        return list({id(handler): handler for handler in _active}.values())


def current_handler() -> Handler | None:
    """Who answers calls that are made here and now, None where that cannot be told."""
    found = own_handler()
    if found is not None:
        return None if isinstance(found, Watcher) else found
    with lock:
        return _active[0] if len({id(handler) for handler in _active}) == 1 else None


def handler_for(tool: Tool) -> Handler:
    """Who answers a call of `tool` that is made here and now.

    Raises UnrecordedCall where nobody does, or where that cannot be told.
    """
    if tool.clear is not None and len(_active) > 1 and len({id(handler) for handler in _active}) > 1:
        raise _refused(tool, "keeps its answers in a cache, which the replays that run at once would share")
    found = own_handler()
    if found is not None and not isinstance(found, Watcher):
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
