"""Which replay or recording a request belongs to, wherever in the process it is made."""

from __future__ import annotations

import threading
from typing import Any

from ...wire.doors import Decision, Door, Live
from ...wire.exchange import Failure, Request
from ...wire.sites import site_here
from ..handlers import active_handlers, own_handler
from .fence import blocked, fences_behind, tell_behind


def door_here() -> Door | None:
    """Who decides of a request that is made here and now; None where nobody has to."""
    handler: Any = own_handler()
    if handler is not None:
        return getattr(handler, "door", None)
    handlers: Any = active_handlers()
    if not handlers:
        # Between replays: the fixtures of a test run go where they like, threads that an agent left do not.
        return None if threading.current_thread() is threading.main_thread() else _behind
    # A thread that was there before: its request is nobody's, unless only one replay can have caused it.
    return getattr(handlers[0], "door_behind", None) if len(handlers) == 1 else _behind


def _behind(request: Request) -> Decision:
    """A request of a thread that belongs to no replay."""
    host, port, fences = request.host, request.port, fences_behind()
    if any(fence.blocked.matches(host, port) for fence in fences):
        return Failure("connect", blocked(f"{request.address} was not reached"))
    if fences and all(fence.allowed.matches(host, port) for fence in fences):
        return Live()
    return Failure("connect", tell_behind(f"{request.method} {request.address} was refused", "requested", site_here()))
