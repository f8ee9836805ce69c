"""Who decides what becomes of a request: the door that stands where a client would open a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from .exchange import Answer, Request


@dataclass(frozen=True, slots=True)
class Live:
    """The request goes out to its server."""

    done: Callable[[Answer], None] | None = None
    """Told once what came back, its body decoded, when the client has read it, dropped it or lost it."""
    again: Callable[[Answer, int], float | None] | None = None
    """Asked with an answer (its body unread: empty) and the number of tries so far, from 1: seconds to wait before the
    request is sent once more, None to hand the answer to the client."""


Decision: TypeAlias = Answer | Live
Door: TypeAlias = Callable[[Request], Decision]
"""Answers a request, lets it go live, or raises what the client's caller is to see."""

passing: ContextVar[bool] = ContextVar("statebase_passing", default=False)
"""True where what is sent goes out as if nobody watched: inside a live request, and inside a tool that runs."""


@contextmanager
def let_pass() -> Iterator[None]:
    """What is sent inside goes out."""
    token = passing.set(True)
    try:
        yield
    finally:
        passing.reset(token)
