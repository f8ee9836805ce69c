"""Which calls of an agent came after which, where several lines of its work go on at once.

A strand is what runs one thing after the other: a task, a thread, a piece of work in a thread pool. A strand knows the
calls that it, and those that branched off it, had made so far; one that branches off takes that knowledge along.
Two calls on strands of which neither knows the other's call were made at once: their order is chance.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

_current: ContextVar[Strand | None] = ContextVar("statebase_strand", default=None)
_NOTHING: frozenset[int] = frozenset()


class Strand:
    """One line of work. Not thread-safe but for `branching`: whoever records holds a lock."""

    __slots__ = ("is_placed", "owner", "parent", "seen")

    def __init__(
        self, parent: Strand | None = None, seen: frozenset[int] = _NOTHING, owner: tuple[int, int] | None = None
    ) -> None:
        self.parent = parent
        self.seen = seen
        """The last calls known, without those that came before one of them."""
        self.owner = owner
        """The thread and task that it is; None as long as it has not begun."""
        self.is_placed = True
        """Whether it is known after which calls of its parent it began."""

    def begin(self, number: int) -> frozenset[int]:
        """Note a call that begins here. Returns the last ones before it."""
        before, self.seen = self.seen, frozenset((number,))
        return before

    def line(self) -> Iterator[Strand]:
        """Itself, what it branched off, and so on."""
        strand: Strand | None = self
        while strand is not None:
            yield strand
            strand = strand.parent

    def anchor(self) -> Strand:
        """The furthest up its line to where all is known.

        What came of this one, and was done before a call of `self` that knows nothing of it, was so by chance.
        """
        for strand in self.line():
            if strand.parent is None or not strand.is_placed:
                return strand
        raise AssertionError("a line has an end")

    def end(self, number: int, before: frozenset[int]) -> None:
        """Note that a call of this strand has ended: the strands that it branched off may go on with what it did.

        before: what `begin` gave.
        """
        above = self.parent
        while above is not None:
            above.seen = above.seen - before | {number}
            above = above.parent


@contextmanager
def recording_strands(strand: Strand | None = None) -> Iterator[None]:
    """Have `current_strand` tell strands apart inside: what runs there is one, what it starts are others.

    strand: the one that goes on here, wherever it has been before.
    """
    if strand is None:
        strand = Strand()
    strand.owner = _here()
    token = _current.set(strand)
    try:
        yield
    finally:
        with suppress(ValueError):  # it is left in another context than it was entered in
            _current.reset(token)


def record_from_here(strand: Strand) -> None:
    """From now on `strand` is the one that goes on in this context."""
    strand.owner = strand.owner or _here()
    _current.set(strand)


def current_strand() -> Strand:
    """The strand that this code is part of."""
    strand, owner = _current.get(), _here()
    if strand is None or strand.owner not in (None, owner):
        # Started in a way that `branching` does not see. Nobody knows after what, so it comes after nothing.
        strand = Strand(strand)
        strand.is_placed = False
        _current.set(strand)
    strand.owner = owner
    return strand


def branching() -> Callable[[], object] | None:
    """For whoever starts a task or thread: what to run in its context. None where no strands are told apart."""
    strand = _current.get()
    if strand is None:
        return None
    seen = strand.seen
    return lambda: _current.set(Strand(strand, seen))


def create_task(original: Callable[..., Any], loop: Any, coroutine: Any, **options: Any) -> Any:
    """`loop.create_task` as `original` does it; the task is a strand of its own."""
    parent = _current.get()
    if parent is None:
        return original(loop, coroutine, **options)
    strand = Strand(parent, parent.seen)
    context = options.get("context")
    if context is not None:
        with suppress(RuntimeError):  # it is in use: then its strand is told apart by who runs
            context.run(_current.set, strand)
        return original(loop, coroutine, **options)
    _current.set(strand)
    try:
        task = original(loop, coroutine, **options)
    finally:
        _current.set(parent)
    strand.owner = strand.owner or (threading.get_ident(), id(task))
    return task


def _here() -> tuple[int, int]:
    return threading.get_ident(), _task()


def _task() -> int:
    loop = asyncio._get_running_loop()
    if loop is not None:
        task: Any = asyncio.current_task(loop)
    else:
        trio = sys.modules.get("trio")
        task = trio.lowlevel.current_task() if trio is not None and trio.lowlevel.in_trio_task() else None
    return 0 if task is None else id(task)
