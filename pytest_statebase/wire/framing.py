"""Answers as HTTP/1.1 has them on the wire, and bodies that came so."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import responses

from .exchange import Headers, Response
from .streams import is_stream, pieces

_FRAMING = frozenset({"content-length", "transfer-encoding"})


def has_body(method: str, status: int) -> bool:
    """Whether an answer may have a body at all."""
    return method.upper() != "HEAD" and status not in (204, 304) and not 100 <= status < 200


def framed_headers(response: Response, method: str) -> Headers:
    """The headers of an answer, those of its length as they fit its body."""
    if not has_body(method, response.status):
        return tuple(header for header in response.headers if header[0].lower() != "transfer-encoding")
    headers = [header for header in response.headers if header[0].lower() not in _FRAMING]
    if _is_chunked(response):
        return (*headers, ("transfer-encoding", "chunked"))
    return (*headers, ("content-length", str(len(response.body))))


def rendered(response: Response, method: str) -> bytes:
    """An answer as a server sends it. One that was cut lacks its end."""
    reason = response.reason or responses.get(response.status, "")
    lines = [f"HTTP/1.1 {response.status} {reason}"]
    lines += [f"{name}: {value}" for name, value in framed_headers(response, method)]
    head = "".join(f"{' '.join(line.splitlines())}\r\n" for line in lines) + "\r\n"
    return wire_bytes(head) + (b"".join(_body(response)) if has_body(method, response.status) else b"")


def wire_bytes(text: str) -> bytes:
    """Text of a head as bytes."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8")


def _is_chunked(response: Response) -> bool:
    return response.cut is not None or is_stream(response)


def _body(response: Response) -> Iterator[bytes]:
    if not _is_chunked(response):
        yield response.body
        return
    for piece in pieces(response):
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    if response.cut is None:
        yield b"0\r\n\r\n"


def unchunked(raw: bytes) -> tuple[bytes, bool]:
    """What came in chunks, and whether their end came."""
    parts: list[bytes] = []
    at = 0
    while (end := raw.find(b"\n", at)) >= 0:
        try:
            size = int(raw[at:end].split(b";", 1)[0], 16)
        except ValueError:
            break
        if size < 0:
            break
        if size == 0:
            return b"".join(parts), True
        parts.append(raw[end + 1 : end + 1 + size])
        at = end + 1 + size + 2
    return b"".join(parts), False
