"""Which replay or recording a request belongs to, wherever in the process it is made."""

from __future__ import annotations

import threading
from typing import Any

from ...wire.doors import Door
from ...wire.exchange import Answer, Failure, Request
from ..handlers import active_handlers, own_handler


def door_here() -> Door | None:
    """Who decides of a request that is made here and now; None where nobody has to."""
    handler: Any = own_handler()
    if handler is not None:
        return getattr(handler, "door", None)
    handlers: Any = active_handlers()
    if not handlers:
        # Between replays: the fixtures of a test run go where they like, threads that an agent left do not.
        return None if threading.current_thread() is threading.main_thread() else _refuse
    # A thread that was there before: its request is nobody's, unless only one replay can have caused it.
    return getattr(handlers[0], "door_behind", None) if len(handlers) == 1 else _refuse


def _refuse(request: Request) -> Answer:
    return Failure("connect", f"{request.address} was not reached: no request leaves while replays run")
