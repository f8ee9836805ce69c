"""Which names the addresses belong to that are connected to: a host is named once, and reached by its address."""

from __future__ import annotations

import _socket
import functools
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .hosts import is_address, plain_host

_known: dict[str, dict[str, None]] = {}
"""By address: the names that were looked up."""
_asked: dict[str, frozenset[str]] = {}
_own = threading.local()
_getaddrinfo = _socket.getaddrinfo


def watch() -> None:
    """Remember from now on what look-ups answer."""
    for module, name, original, watched in _WATCHED:
        if getattr(module, name) is original:
            setattr(module, name, watched)


def forget() -> None:
    """Remember nothing any more."""
    for module, name, original, watched in _WATCHED:
        if getattr(module, name) is watched:
            setattr(module, name, original)
    _known.clear()
    _asked.clear()


def names_of(address: str) -> tuple[str, ...]:
    """The names that an address was found under."""
    return tuple(_known.get(address, ()))


def of(name: str) -> frozenset[str]:
    """The addresses of a name, looked up once: for those that were looked up before anybody watched."""
    found = _asked.get(name)
    if found is None:
        _own.asking = True
        try:
            found = frozenset(plain_host(info[4][0]) for info in _getaddrinfo(name, None))
        except OSError:
            found = frozenset()
        finally:
            _own.asking = False
        _asked[name] = found
    return found


def is_asking() -> bool:
    """Whether this thread is at a look-up of the guard's own."""
    return getattr(_own, "asking", False)


def _watching(original: Callable[..., Any], addresses_in: Callable[[Any], Iterable[str]]) -> Callable[..., Any]:
    @functools.wraps(original)
    def watched(*args: Any, **kwargs: Any) -> Any:
        answer = original(*args, **kwargs)
        host = args[0] if args else kwargs.get("host")
        if host is not None and not is_address(host := plain_host(host)):
            for address in addresses_in(answer):
                _known.setdefault(plain_host(address), {})[host] = None
        return answer

    return watched


def _watched() -> Iterator[tuple[Any, str, Any, Any]]:
    # `socket.getaddrinfo` looks its native part up at each call, so that whoever imported it before is seen as well.
    yield _socket, "getaddrinfo", _getaddrinfo, _watching(_getaddrinfo, lambda infos: [info[4][0] for info in infos])
    by_name = _watching(socket.gethostbyname, lambda address: [address])
    by_name_ex = _watching(socket.gethostbyname_ex, lambda found: found[2])
    for module in (_socket, socket):
        yield module, "gethostbyname", socket.gethostbyname, by_name
        yield module, "gethostbyname_ex", socket.gethostbyname_ex, by_name_ex


_WATCHED = list(_watched())
