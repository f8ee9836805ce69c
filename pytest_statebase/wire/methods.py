"""What the audit events of sockets do not tell: names that a socket looks up itself, and connections that are open."""

from __future__ import annotations

import _socket
import functools
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import UnrecordedCall
from .hosts import is_address, is_loopback, plain_host

Ask = Callable[[Literal["connect", "send"], str, "int | None", bool], None]
"""Asked before: what is to be done, to which host and port, and whether through a connection that is open already."""
_ask: Ask | None = None
_INTERNET = (socket.AF_INET, socket.AF_INET6)


def watch(ask: Ask) -> None:
    """Have `ask` told from now on; what it raises, the caller of the socket gets."""
    global _ask
    _ask = ask
    if not _places or (len(_places) == len(_PLAIN) and "ssl" in sys.modules):
        _places[:] = _find_places()
    for place in _places:
        place.original = place.owner.__dict__.get(place.name)
        if place.original is not place.wrapped:  # somebody else has exchanged it meanwhile
            place.wrapped, place.replacement = place.original, place.make(getattr(place.owner, place.name))
        setattr(place.owner, place.name, place.replacement)


def forget() -> None:
    """Have everything as it was, but for what was exchanged again by somebody who has not put it back."""
    global _ask
    _ask = None
    for place in _places:
        if place.owner.__dict__.get(place.name) is not place.replacement:
            continue
        if place.original is None:
            delattr(place.owner, place.name)
        else:
            setattr(place.owner, place.name, place.original)


def _named(kind: Literal["connect", "send"], sock: Any, address: Any) -> None:
    """A socket looks a name up before Python tells of it."""
    ask = _ask  # another thread may end the guard meanwhile
    if ask is None or sock.family not in _INTERNET or not isinstance(address, tuple) or len(address) < 2:
        return
    host = plain_host(address[0])
    if host and host != "<broadcast>" and not is_address(host) and not is_loopback(host):
        ask(kind, host, address[1] if isinstance(address[1], int) else None, False)


def _sending(sock: Any) -> None:
    """Nobody is told of what is sent through a connection, which may be older than the guard."""
    ask = _ask
    if ask is None or sock.family not in _INTERNET:
        return
    try:
        peer = sock.getpeername()
    except OSError:  # not connected: it says so itself
        return
    ask("send", plain_host(peer[0]), peer[1], True)


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def connect(sock: Any, address: Any) -> Any:
        try:
            _named("connect", sock, address)
            return original(sock, address)
        except UnrecordedCall:
            # Callers close it for an OSError alone, and a socket that nobody closed is a warning somewhere later.
            sock.close()
            raise

    return connect


def _connect_ex(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def connect_ex(sock: Any, address: Any) -> Any:
        try:
            _named("connect", sock, address)
            return original(sock, address)
        except ConnectionRefusedError as refusal:  # the guard's: the method itself raises none
            return refusal.errno

    return connect_ex


def _sendto(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def sendto(sock: Any, *args: Any) -> Any:
        if args:
            _named("send", sock, args[-1])
        return original(sock, *args)

    return sendto


def _sendmsg(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def sendmsg(sock: Any, *args: Any) -> Any:
        address = args[3] if len(args) > 3 else None
        _sending(sock) if address is None else _named("send", sock, address)
        return original(sock, *args)

    return sendmsg


def _send(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def send(sock: Any, *args: Any, **kwargs: Any) -> Any:
        _sending(sock)
        return original(sock, *args, **kwargs)

    return send


_PLAIN = {
    "connect": _connect,
    "connect_ex": _connect_ex,
    "sendto": _sendto,
    "send": _send,
    "sendall": _send,
    "sendfile": _send,
    **({"sendmsg": _sendmsg} if hasattr(socket.socket, "sendmsg") else {}),
}
_ENCRYPTED = {"send": _send, "write": _send}


@dataclass(slots=True)
class _Place:
    """A method that is exchanged."""

    owner: type
    name: str
    make: Callable[[Any], Any]
    replacement: Any
    wrapped: Any
    """What the class itself had when the replacement was made; None where the method is inherited."""
    original: Any = None


_places: list[_Place] = []


def _find_places() -> Iterator[_Place]:
    # pytest-socket and others put a class of their own in its place, derived from it.
    own = next(kind for kind in socket.socket.__mro__ if _socket.socket in kind.__bases__)
    ssl = sys.modules.get("ssl")
    for owner, methods in ((own, _PLAIN), *([(ssl.SSLSocket, _ENCRYPTED)] if ssl is not None else [])):
        for name, make in methods.items():
            yield _Place(owner, name, make, make(getattr(owner, name)), owner.__dict__.get(name))
