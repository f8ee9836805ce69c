"""What an attempt to leave the process means for the replays that run."""

from __future__ import annotations

import errno
import threading
from dataclasses import dataclass, field
from socket import gaierror
from typing import Any, ClassVar, NoReturn

from ...compare.model import ReplayedRequest
from ...errors import UnrecordedCall
from ...wire.doors import passing
from ...wire.guard import Attempt, guard, unguard
from ...wire.hosts import Hosts
from ..handlers import own_handler
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


_fences: list[Fence] = []
_run_wide: list[Fence] = []
_lock = threading.Lock()


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
        _refuse_late(attempt, handler)
    raise UnrecordedCall(why)


def stop_turn(fork: Any, attempt: Attempt, why: str) -> bool:
    """Mark the ongoing turn of a fork as unrecorded. False where it has none any more."""
    with fork.lock:
        run = fork.run
        if run is None or run.over:
            return False
        if run.latch is None:
            entry = ReplayedRequest(_METHODS[attempt.kind], attempt.where, run.turn.number, unrecorded=True)
            entry.explanation = run.latch = why
            run.observed.requests.append(entry)
            run.observed.missed = True
        return True


_METHODS = {"connect": "CONNECT", "resolve": "LOOK UP", "send": "SEND"}
_SENTENCES = {
    "connect": "{} was not connected to",
    "resolve": "the address of {} was not looked up",
    "send": "nothing was sent to {}",
}


def _told(attempt: Attempt, site: str | None) -> str:
    what = _SENTENCES[attempt.kind].format(attempt.where)
    place = f", from {site}" if site else ""
    return f"{what}{place}: nothing leaves the machine in a replay but to statebase_allowed_hosts"


def _blocked(attempt: Attempt) -> str:
    return f"{_SENTENCES[attempt.kind].format(attempt.where)}: it is one of statebase_blocked_hosts"


def _check_behind(attempt: Attempt) -> None:
    """An attempt of code that belongs to no replay. What it had open before is its own affair: a debugger's, say."""
    if attempt.is_open:
        return
    with _lock:
        fences = list(_fences)
    if not fences:
        if threading.current_thread() is threading.main_thread():
            return
        with _lock:
            fences = list(_run_wide)
    if not fences:
        return
    if any(attempt.is_among(fence.blocked) for fence in fences):
        raise _refusal(attempt, _blocked(attempt))
    if not all(attempt.is_among(fence.allowed) for fence in fences):
        _refuse(attempt, fences, "in a thread that the agent did not start")


def _refuse_late(attempt: Attempt, handler: Any) -> NoReturn:
    fence = getattr(handler, "fence", None)
    with _lock:
        fences = [fence] if fence in _fences else list(_run_wide or _fences)
    _refuse(attempt, fences, "after its turn had ended")


def _refuse(attempt: Attempt, fences: list[Fence], when: str) -> NoReturn:
    site = f", from {attempt.site}" if attempt.site else ""
    told = f"{_SENTENCES[attempt.kind].format(attempt.where)}{site}: that was tried {when}"
    for fence in fences:
        fence.refused[told] = None
    raise _refusal(attempt, told)


def _refusal(attempt: Attempt, text: str) -> OSError:
    if attempt.kind == "resolve":
        return _NotFound(errno.ECONNREFUSED, text)
    return ConnectionRefusedError(errno.ECONNREFUSED, text)
