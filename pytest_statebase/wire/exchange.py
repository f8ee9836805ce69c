"""HTTP requests and what came back, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import SplitResult, parse_qsl, urlsplit

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names as they were sent, in order; a name may come more than once."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it was sent. Its body is decoded: what `content-encoding` says of it is undone."""

    method: str
    url: str
    """Absolute."""
    headers: Headers = ()
    body: bytes = b""

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def host(self) -> str:
        return (self.parts.hostname or "").lower()

    @property
    def port(self) -> int:
        parts = self.parts
        return parts.port or _PORTS.get(parts.scheme, 0)

    @property
    def address(self) -> str:
        """`https://api.example.com/v1/x`, without query, credentials or a port that goes without saying."""
        parts = self.parts
        return f"{origin(parts.scheme, self.host, self.port)}{parts.path or '/'}"

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.parts.query, keep_blank_values=True)

    def header(self, name: str) -> str | None:
        """The first header of that name, in whatever case."""
        return header_of(self.headers, name)


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered. Its body is decoded, and no header speaks of an encoding that could be undone."""

    status: int
    reason: str = ""
    headers: Headers = ()
    body: bytes = b""
    cut: str | None = None
    """Why the body ends before its time: the error that the client met, or that it read no further."""
    is_encoded: bool = False
    """Whether the body is as it came: what `content-encoding` says cannot be undone."""

    def header(self, name: str) -> str | None:
        """The first header of that name, in whatever case."""
        return header_of(self.headers, name)


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer came back, or none that the client could read."""

    kind: Literal["connect", "timeout", "closed", "unreadable"]
    """`unreadable`: something came, in which the client found no answer."""
    message: str = ""


Answer: TypeAlias = Response | Failure
GAVE_UP = Failure("closed", "the client waited no longer")
"""What came back of a request that was cancelled."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request with its answer, and when in a session it was made."""

    request: Request
    answer: Answer
    turn: int | None = None
    """None in recordings that know no turns."""
    during: int | None = None
    """The position, from 0, of the tool call of that turn inside of which it was made."""
    at: str | None = None
    latency_ms: int | None = None
    derived: tuple[str, ...] | None = None
    """For one that was made from a trace and never sent as it stands: what of the request the trace did not tell, of
    `messages` (put together from what came before), `parameters`, `provider`, `system` and `tools`. None for one that
    was sent."""


def origin(scheme: str, host: str, port: int | None) -> str:
    """`https://api.example.com`: an IPv6 address in brackets, and no port that goes without saying."""
    shown = "" if port is None or port == _PORTS.get(scheme) else f":{port}"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}{shown}"


def header_of(headers: Headers, name: str) -> str | None:
    """The first header of that name, in whatever case."""
    wanted = name.lower()
    return next((value for key, value in headers if key.lower() == wanted), None)
