"""Patterns of hosts, as people write them."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from ..errors import OptionError

_REMEDY = "Write a host, host:port, *.example.com, 127.0.0.1:8000, [::1]:80 or the path of a Unix socket."
_NAME = re.compile(r"(\*\.)?[\w-]+(\.[\w-]+)*\Z")
_SERVICE = ("api.statebase.org", "*.api.statebase.org")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class _Pattern:
    host: str
    port: int | None

    def fits(self, host: str) -> bool:
        """Whether a host, in its plain form, is meant, at whatever port."""
        mine = self.host
        if mine == host or (host in _LOOPBACK and mine in _LOOPBACK):
            return True
        is_path = host.startswith(("/", "@"))
        if mine.startswith(("/", "@")):
            return is_path and fnmatchcase(host, mine)
        return not is_path and (mine == "*" or (mine.startswith("*.") and host.endswith(mine[1:])))


@dataclass(frozen=True, slots=True)
class Hosts:
    """Hosts that patterns name. Without patterns there are none."""

    patterns: tuple[_Pattern, ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Hosts:
        """`host`, `host:port`, `*.example.com` (what is below), `*`, addresses (`[::1]:80`), paths of Unix sockets.

        `localhost`, `127.0.0.1` and `::1` are one host. Raises OptionError for what is no pattern.
        """
        return cls(tuple(_pattern(text.strip()) for text in texts))

    def matches(self, host: str, port: int | None) -> bool:
        """Whether that port of a host is named. Without a port: whether the host is, with all its ports."""
        host = plain_host(host)
        return any(one.fits(host) and one.port in (None, port) for one in self.patterns)

    def knows(self, host: str) -> bool:
        """Whether at least one port of a host is named."""
        host = plain_host(host)
        return any(one.fits(host) for one in self.patterns)

    def names(self, port: int | None) -> list[str]:
        """The single hosts that are named by name, for that port."""
        plain = (one.host for one in self.patterns if one.port in (None, port))
        return [host for host in plain if _NAME.match(host) and not host.startswith("*") and not is_address(host)]


def api_hosts(texts: Iterable[str] = ()) -> Hosts:
    """The hosts of the StateBase API: those of the service with its regions, and further ones that are named.

    Raises OptionError for what is no host.
    """
    return Hosts.parse((*_SERVICE, *texts))


def plain_host(host: Any) -> str:
    """One form for all the ways to write a host: lower case, no dot at the end, no brackets, no zone."""
    text = host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else str(host)
    if text.startswith(("/", "@")):
        return text
    text = text.strip("[]").rstrip(".").partition("%")[0].lower()
    if not text.isascii():
        try:
            text = text.encode("idna").decode("ascii")
        except UnicodeError:
            return text
    return _plain_ipv6(text) if ":" in text else text


def _plain_ipv6(text: str) -> str:
    try:
        packed = socket.inet_pton(socket.AF_INET6, text)
    except OSError:
        return text
    if packed[:12] == b"\0" * 10 + b"\xff\xff":
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    return socket.inet_ntop(socket.AF_INET6, packed)


def is_address(host: str) -> bool:
    """Whether a host is written as an address, which nobody has to look up."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.inet_pton(family, host)
    except (OSError, ValueError):
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether a host, in its plain form, is this machine's loopback."""
    return host in _LOOPBACK or host.startswith("127.") or host.endswith(".localhost")


def _pattern(text: str) -> _Pattern:
    if text.startswith(("/", "@", "unix:")):
        return _Pattern(text.removeprefix("unix:"), None)
    host, port = _split(text)
    if port is not None and not (port.isdecimal() and 0 < int(port) < 65536):
        _refuse(text)
    plain = plain_host(host)
    is_name = ":" not in plain and _NAME.match(plain)
    if plain != "*" and not is_name and not is_address(plain):
        _refuse(text)
    return _Pattern(plain, None if port is None else int(port))


def _split(text: str) -> tuple[str, str | None]:
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")) or not is_address(plain_host(host)):
            _refuse(text)
        return host, rest[1:] if rest else None
    if text.count(":") != 1:
        return text, None
    host, _, port = text.partition(":")
    return host, port


def _refuse(text: str) -> NoReturn:
    raise OptionError(f"{text!r} is no pattern of hosts", remedy=_REMEDY)
