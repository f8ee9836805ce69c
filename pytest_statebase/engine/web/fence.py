"""What an attempt to leave the process means for the replays that run."""

from __future__ import annotations

import errno
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from socket import gaierror
from typing import Any, ClassVar

from ...compare.model import ReplayedRequest
from ...errors import UnrecordedCall
from ...wire.doors import passing
from ...wire.guard import Attempt, guard, unguard
from ...wire.hosts import Hosts
from ..handlers import own_handler, own_turn
from .waiting import site_of_waiting


class _NotFound(gaierror, ConnectionRefusedError):
    """A look-up that was refused: callers of sockets guard against the one, callers of look-ups against the other."""


@dataclass(eq=False, slots=True)
class Fence:
    """What one replay lets through, and what was refused while it ran and is no fault of its turns."""

    allowed: Hosts
    blocked: Hosts
    refused: dict[str, None] = field(default_factory=dict)
    """One line a host and place."""
    is_read: bool = False
    """They were told: what comes later is told at once, on stderr."""

    def tell(self, told: str) -> None:
        """Keep a line, once."""
        if told not in self.refused:
            self.refused[told] = None
            if self.is_read and sys.__stderr__ is not None:
                with suppress(OSError, ValueError):
                    sys.__stderr__.write(f"statebase: {told}\n")
                    sys.__stderr__.flush()


_fences: list[Fence] = []
_run_wide: list[Fence] = []
_afterwards = Fence(Hosts(), Hosts(), is_read=True)
"""Stands when no other does: for what is left once all is over."""
_lock = threading.Lock()
_refusals: set[str] = set()
"""The words of every refusal, by which an exception is known that a client has made of it."""


class fenced:  # noqa: N801 - used like a context manager function, and cheaper than one
    """Have nothing leave the machine inside, but for allowed hosts and for what is under way live.

    What a replayed turn attempts marks it as unrecorded and raises UnrecordedCall in it; what threads attempt that no
    turn started is refused, and told in `refused` of the fence.
    """

    _standing: ClassVar[list[Fence]] = _fences

    def __init__(self, allowed: Hosts, blocked: Hosts) -> None:
        self._fence = Fence(allowed, blocked)

    def __enter__(self) -> Fence:
        with _lock:
            self._standing.append(self._fence)
        guard(check)
        return self._fence

    def __exit__(self, *error: object) -> None:
        unguard(check)
        with _lock:
            self._standing.remove(self._fence)


class fenced_between(fenced):  # noqa: N801
    """From one replay to the next: refuse what threads attempt that replays left behind. The main thread is free."""

    _standing = _run_wide


def check(attempt: Attempt) -> bool:
    """Let an attempt pass, or raise what its caller is to see. True: what a replay may do, it may go on doing."""
    if passing.get():
        return True
    handler: Any = own_handler()
    if handler is None:
        _check_behind(attempt)
        return False
    stop = getattr(handler, "stop", None)
    if stop is None:  # a recording, whose tools run live
        return False
    options = handler.options
    if attempt.is_among(options.blocked_hosts):
        raise _refusal(attempt, _blocked(attempt))
    if attempt.is_among(options.allowed_hosts):
        return True
    why = _told(attempt, site_of_waiting(handler) if attempt.site is None else attempt.site)
    if not stop(attempt, why):
        raise _refusal(attempt, tell_late(handler, _what(attempt), "tried", attempt.site))
    raise UnrecordedCall(why)


def stop_turn(fork: Any, attempt: Attempt, why: str) -> bool:
    """Mark the turn of a fork that made an attempt as unrecorded. False where none is judged any more."""
    with fork.lock:
        run = fork.turn_here()
        if run is None:
            return False
        if run.latch is None:
            entry = ReplayedRequest(_METHODS[attempt.kind], attempt.where, run.turn.number, unrecorded=True)
            entry.explanation = run.latch = why
            run.observed.requests.append(entry)
            run.observed.missed = True
        return True


def tell_late(handler: Any, what: str, verb: str, site: str | None) -> str:
    """Keep for the warnings what a turn attempted that is over, and judged. Returns the line."""
    run = own_turn()
    turn = "its test" if run is None else f"turn {run.turn.number} of {handler.recorded.id}"
    return _tell(f"{what}{_from(site)}: that was {verb} after {turn} had ended", _late_fences(handler))


def tell_behind(what: str, verb: str, site: str | None) -> str:
    """Keep for the warnings what a thread attempted that belongs to no replay. Returns the line."""
    return _tell(
        f"{what}{_from(site)}: that was {verb} in a thread that the agent did not start", list(_fences or _run_wide)
    )


def _late_fences(handler: Any) -> list[Fence]:
    fence = getattr(handler, "fence", None)
    return [fence] if fence in _fences else list(_run_wide or _fences)


def _tell(told: str, fences: list[Fence]) -> str:
    with _lock:
        _refusals.add(told)
    for fence in fences or [_afterwards]:
        fence.tell(told)
    return told


def is_told(error: BaseException) -> bool:
    """Whether an exception comes of a refusal that a verdict, a warning or nothing at all is to tell of."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, UnrecordedCall):
            return True
        with suppress(Exception):  # what an agent's exceptions say of themselves is its own code
            text = str(one)
            if any(told in text for told in tuple(_refusals)):
                return True
        left += (one.__cause__, one.__context__)
    return False


_METHODS = {"connect": "CONNECT", "resolve": "LOOK UP", "send": "SEND"}
_SENTENCES = {
    "connect": "{} was not connected to",
    "resolve": "the address of {} was not looked up",
    "send": "nothing was sent to {}",
}


def _what(attempt: Attempt) -> str:
    return _SENTENCES[attempt.kind].format(attempt.where)


def _from(site: str | None) -> str:
    return f", from {site}" if site else ""


def _told(attempt: Attempt, site: str | None) -> str:
    return f"{_what(attempt)}{_from(site)}: nothing leaves the machine in a replay but to statebase_allowed_hosts"


def _blocked(attempt: Attempt) -> str:
    return blocked(_what(attempt))


def blocked(what: str) -> str:
    """What the refusal of a blocked host says; the warnings do not."""
    told = f"{what}: it is one of statebase_blocked_hosts"
    _refusals.add(told)
    return told


def fences_behind() -> list[Fence]:
    """What stands in the way of code that belongs to no replay."""
    with _lock:
        if _fences:
            return list(_fences)
        return [] if threading.current_thread() is threading.main_thread() else list(_run_wide)


def _check_behind(attempt: Attempt) -> None:
    """An attempt of code that belongs to no replay. What it had open before is its own affair: a debugger's, say."""
    if attempt.is_open:
        return
    fences = fences_behind()
    if any(attempt.is_among(fence.blocked) for fence in fences):
        raise _refusal(attempt, _blocked(attempt))
    if not all(attempt.is_among(fence.allowed) for fence in fences):
        raise _refusal(attempt, tell_behind(_what(attempt), "tried", attempt.site))


def _refusal(attempt: Attempt, text: str) -> OSError:
    if attempt.kind == "resolve":
        return _NotFound(errno.ECONNREFUSED, text)
    return ConnectionRefusedError(errno.ECONNREFUSED, text)
