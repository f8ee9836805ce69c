"""The guard of the process's sockets: nothing is reached or looked up before somebody was asked.

It stands on Python's audit events, which every connection, datagram and look-up raises that is made through the module
`socket`, in any thread, whoever imported what before. A hook cannot be taken off again: it is set at the first use,
and asks nothing while nobody holds it.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal

from . import addresses, methods
from .hosts import Hosts, is_address, is_loopback, plain_host
from .sites import site_of

Check = Callable[["Attempt"], bool]
"""Lets an attempt pass by returning: True where more may be sent to the same host and port later, unasked."""
Kind = Literal["connect", "resolve", "send"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that would leave the process."""

    kind: Kind
    host: str
    """In its plain form; the path of a Unix socket."""
    port: int | None
    site: str | None
    """`file.py:12 in lookup`; None where the code of no project is on the stack."""
    names: tuple[str, ...] = ()
    """Names under which an address was looked up."""
    is_open: bool = False
    """It goes through a connection that is older than the guard."""

    @property
    def where(self) -> str:
        """`db.example.com:5432`, for a person."""
        host = self.names[0] if self.names else self.host
        if self.port is None:
            return host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def is_among(self, hosts: Hosts) -> bool:
        """Whether hosts name what is to be reached. A look-up is, where some port of the host is."""
        if self.kind == "resolve":
            return hosts.knows(self.host)
        if any(hosts.matches(name, self.port) for name in (self.host, *self.names)):
            return True
        return any(self.host in addresses.of(name) for name in hosts.names(self.port))


_lock = threading.Lock()
_checks: list[Check] = []
_check: Check | None = None
_installed = False
_naming = 0
"""How many want names remembered."""
_letting: Counter[tuple[str, int | None]] = Counter()
_reached_before: set[tuple[str, int | None]] = set()
"""To whom more may be sent."""


def guard(check: Check, *, names: bool = True) -> None:
    """Ask `check` from now on of every attempt, in any thread; what it raises, the caller of the socket gets.

    Several may hold the guard, each to `unguard` as often; the check of the first of them is asked. names: remember
    which names were looked up, to tell them.
    """
    global _check, _installed, _naming
    with _lock:
        if not _installed:
            sys.addaudithook(_hook)
            _installed = True
        _checks.append(check)
        if len(_checks) == 1:
            methods.watch(_before)
        _naming += names
        if names and _naming == 1:
            addresses.watch()
        _check = _checks[0]


def unguard(check: Check, *, names: bool = True) -> None:
    """Ask it no longer."""
    global _check, _naming
    with _lock:
        _checks.remove(check)
        _check = _checks[0] if _checks else None
        _naming -= names
        if names and not _naming:
            addresses.forget()
            _reached_before.clear()
        if not _checks:
            methods.forget()
            _reached_before.clear()


@contextmanager
def guarded(check: Check, *, names: bool = True) -> Iterator[None]:
    """Guard inside."""
    guard(check, names=names)
    try:
        yield
    finally:
        unguard(check, names=names)


@contextmanager
def letting(host: str, port: int | None) -> Iterator[None]:
    """Let a host be looked up and reached inside, in any thread; without a port: at every port."""
    key = (plain_host(host), port)
    with _lock:
        _letting[key] += 1
    try:
        yield
    finally:
        with _lock:
            _letting[key] -= 1
            if not _letting[key]:
                del _letting[key]


def _hook(event: str, args: tuple[Any, ...]) -> None:
    # Python raises an event for every `open`, `import` and `id()`: this line is all that most of them may cost.
    check = _check  # another thread may end the guard meanwhile
    if check is not None and event in _EVENTS:
        _seen(check, event, args)


def _seen(check: Check, event: str, args: tuple[Any, ...]) -> None:
    if addresses.is_asking():
        return
    frame = _caller(sys._getframe(2))
    target = _EVENTS[event](args, frame)
    if target is not None:
        _weigh(check, _KINDS[event], *target, frame)


def _before(kind: Kind, host: str, port: int | None, is_open: bool) -> None:
    """Told by the methods of sockets, of what no event is raised for, or too late."""
    check = _check
    if check is not None and not (is_open and (host, port) in _reached_before):
        _weigh(check, kind, host, port, _caller(sys._getframe(1)), is_open)


def _caller(frame: FrameType) -> FrameType:
    while frame.f_code.co_filename == methods.__file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _weigh(check: Check, kind: Kind, host: str, port: int | None, frame: FrameType, is_open: bool = False) -> None:
    names = addresses.names_of(host) if kind != "resolve" else ()
    is_let = bool(_letting) and _is_let(kind, (host, *names), port)
    if (is_let or check(Attempt(kind, host, port, site_of(frame), names, is_open))) and kind != "resolve":
        _reached_before.add((host, port))


def _is_let(kind: str, hosts: tuple[str, ...], port: int | None) -> bool:
    with _lock:
        let = list(_letting)
    return any(host in hosts and (known in (None, port) or kind == "resolve") for host, known in let)


_Target = tuple[str, int | None]
_LOCAL_FAMILIES = {getattr(socket, name) for name in ("AF_NETLINK", "AF_ALG") if hasattr(socket, name)}
_UNIX = getattr(socket, "AF_UNIX", None)
_LOGS = ("/dev/log", "/var/run/syslog", "/run/systemd/journal/")


def _reached(args: tuple[Any, ...], frame: FrameType) -> _Target | None:
    """Where a socket connects or sends to; None where that is the process's or the system's own plumbing."""
    sock, address = args
    if address is None or sock.family in _LOCAL_FAMILIES:
        return None
    if sock.family == _UNIX:
        path = _path_of(address)
        return None if path.startswith(_LOGS) or _is_plumbing(frame) else (path, None)
    if not isinstance(address, tuple) or len(address) < 2:
        return str(address), None
    if _is_pair(frame):
        return None
    port = address[1]
    return plain_host(address[0]) or "0.0.0.0", port if isinstance(port, int) else None


def _path_of(address: Any) -> str:
    raw = address.encode("utf-8", "surrogateescape") if isinstance(address, str) else bytes(address)
    return ("@" + raw[1:].decode("utf-8", "replace")) if raw[:1] == b"\0" else raw.decode("utf-8", "replace")


def _is_plumbing(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("multiprocessing.")


def _is_pair(frame: FrameType) -> bool:
    """Where the system has no socket pairs, Python connects one through loopback."""
    return frame.f_code.co_filename == socket.__file__ and frame.f_code.co_name.endswith("socketpair")


def _looked_up(args: tuple[Any, ...], frame: FrameType) -> _Target | None:
    """A name that is looked up; None for addresses, for this machine itself, and for what listens anywhere."""
    if args[0] is None:
        return None
    host = plain_host(args[0])
    return None if is_address(host) or _is_here(host) else (host, _port_of(args[1:]))


def _looked_back(args: tuple[Any, ...], frame: FrameType) -> _Target | None:
    """An address or name whose own name is looked up."""
    first = args[0][0] if isinstance(args[0], tuple) else args[0]
    host = plain_host(first)
    return None if _is_here(host) else (host, None)


def _port_of(rest: tuple[Any, ...]) -> int | None:
    return rest[0] if rest and isinstance(rest[0], int) else None


def _is_here(host: str) -> bool:
    return host in ("", "0.0.0.0", "::", "<broadcast>") or is_loopback(host) or host == plain_host(socket.gethostname())


_EVENTS: dict[str, Callable[[tuple[Any, ...], FrameType], _Target | None]] = {
    "socket.connect": _reached,
    "socket.sendto": _reached,
    "socket.sendmsg": _reached,
    "socket.getaddrinfo": _looked_up,
    "socket.gethostbyname": _looked_up,
    "socket.gethostbyaddr": _looked_back,
    "socket.getnameinfo": _looked_back,
}
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(_EVENTS, "resolve"),
    "socket.connect": "connect",
    "socket.sendto": "send",
    "socket.sendmsg": "send",
}
