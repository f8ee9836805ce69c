"""Secrets out of HTTP exchanges, before anything is written or compared.

Both sides of a match go through it, so that a request still finds its recording: the same request is redacted to the
same text, and what is redacted already stays as it is.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from urllib.parse import quote, urlsplit, urlunsplit

from ..wire.exchange import Answer, Exchange, Failure, Headers, Request, header_of
from .scrub import REDACTED, Echoes, pairs_scrubbed, scrubbed, unzipped_and_scrubbed
from .secrets import is_secret_header, is_secret_name, is_secret_parameter

__all__ = ["REDACTED", "redacted", "redacted_exchange"]

_SHORTEST = 8
"""Characters from which on a secret is looked for elsewhere; shorter ones are words, too."""
_LONG = 16
_SCHEMES = frozenset({
    "basic", "bearer", "digest", "negotiate", "ntlm", "token", "apikey", "key", "oauth", "dpop", "hoba", "mutual",
    "vapid", "aws4-hmac-sha256", "aws4-ecdsa-p256-sha256", "sharedkey", "genie-key",
})  # fmt: skip
_SPLIT_COOKIES = re.compile(r",(?=\s*[^\s;,=]+=)")
_PART = re.compile(r'(?<=name=")([^"\r\n]{1,80})("[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n)(.*?)(?=\r?\n--)', re.DOTALL)
_FRAMES = "application/vnd.amazon.eventstream"


def redacted(request: Request) -> Request:
    """The request without its secrets."""
    return _request(request, _echoes(request))


def redacted_exchange(exchange: Exchange) -> Exchange:
    """Request and answer without their secrets, those of the request that the answer repeats included."""
    echoes = _echoes(exchange.request)
    return replace(exchange, request=_request(exchange.request, echoes), answer=_answer(exchange.answer, echoes))


def _request(request: Request, echoes: Echoes) -> Request:
    headers, body = _message(request.headers, request.body, echoes)
    return Request(request.method, _url(request.url, echoes), headers, body)


def _answer(answer: Answer, echoes: Echoes) -> Answer:
    if isinstance(answer, Failure):
        return replace(answer, message=scrubbed(answer.message, echoes))
    echoes = _worth([*echoes, *_cookies(answer.headers)])
    headers, body = _message(answer.headers, answer.body, echoes)
    cut = None if answer.cut is None else scrubbed(answer.cut, echoes)
    return replace(answer, headers=headers, body=body, cut=cut)


def _message(headers: Headers, body: bytes, echoes: Echoes) -> tuple[Headers, bytes]:
    clean = _body(body, header_of(headers, "content-type") or "", echoes) if body else body
    fields = tuple([(name, _header(name, value, echoes)) for name, value in headers])
    if len(clean) != len(body):
        length = str(len(clean))
        fields = tuple((name, length if name.lower() == "content-length" else value) for name, value in fields)
    return fields, clean


# --- Secrets that may stand elsewhere, too


def _echoes(request: Request) -> Echoes:
    """The secrets of a request's own headers and address."""
    found: list[str] = []
    for name, value in request.headers:
        if name.lower() == "cookie":
            found += [part.partition("=")[2].strip(' "') for part in value.split(";")]
        elif is_secret_header(name):
            found += _of_header(value)
    found += [value for name, value in request.query if is_secret_parameter(name, value)]
    parts = request.parts
    found += [text for text in (parts.password,) if text]
    return _worth(found)


def _of_header(value: str) -> list[str]:
    scheme, credentials = _scheme(value)
    if scheme.lower() != "basic":
        return [value, credentials]
    from base64 import b64decode

    try:
        said = b64decode(credentials).decode()
    except ValueError:
        return [value, credentials]
    return [value, credentials, said, said.partition(":")[2]]


def _cookies(headers: Headers) -> Iterator[str]:
    for name, value in headers:
        if name.lower() == "set-cookie":
            for cookie in _SPLIT_COOKIES.split(value):
                yield cookie.partition(";")[0].partition("=")[2].strip(' "')


def _worth(values: Iterable[str]) -> Echoes:
    """Those that are long and odd enough to be no word of a text, in all their spellings, the longest first."""
    kept = {value for value in values if len(value) >= _SHORTEST and REDACTED not in value and _is_odd(value)}
    kept |= {quote(value, safe="") for value in kept}
    return tuple(sorted(kept, key=lambda value: (-len(value), value)))


def _is_odd(value: str) -> bool:
    return len(value) >= _LONG or not (value.isalpha() and (value.islower() or value.istitle()))


# --- Headers and addresses


@lru_cache(4096)
def _header(name: str, value: str, echoes: Echoes) -> str:
    low = name.lower()
    if low == "cookie":
        return "; ".join(_cookie(part.strip()) for part in value.split(";"))
    if low == "set-cookie":
        return ",".join(_set_cookie(one) for one in _SPLIT_COOKIES.split(value))
    if is_secret_header(low):
        scheme, credentials = _scheme(value)
        return f"{scheme} {REDACTED}" if scheme else REDACTED if credentials else value
    return scrubbed(value, echoes)


def _scheme(value: str) -> tuple[str, str]:
    """`Bearer` and what comes after it, of an Authorization header."""
    scheme, blank, credentials = value.partition(" ")
    return (scheme, credentials.strip()) if blank and scheme.lower() in _SCHEMES else ("", value)


def _cookie(pair: str) -> str:
    name, sign, value = pair.partition("=")
    return f"{name}{sign}{REDACTED}" if value else pair


def _set_cookie(text: str) -> str:
    pair, sign, attributes = text.partition(";")
    return f"{_cookie(pair)}{sign}{attributes}"


def _url(url: str, echoes: Echoes) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return scrubbed(url, echoes)
    host = parts.netloc
    if "@" in host:
        host = f"{REDACTED}@{host.rpartition('@')[2]}"
    query = pairs_scrubbed(parts.query, echoes) if parts.query else ""
    path = scrubbed(parts.path, echoes)
    if (host, query, path) == (parts.netloc, parts.query, parts.path):
        return url
    return urlunsplit((parts.scheme, host, path, query, parts.fragment))


# --- Bodies


def _body(body: bytes, kind: str, echoes: Echoes) -> bytes:
    kind = kind.partition(";")[0].strip().lower()
    if kind == _FRAMES:
        return _frames(body, echoes)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return _binary(body, kind, echoes)
    if kind == "application/x-www-form-urlencoded":
        return pairs_scrubbed(text, echoes).encode("utf-8")
    if kind.startswith("multipart/"):
        text = _PART.sub(_part, text)
    return scrubbed(text, echoes).encode("utf-8")


def _binary(body: bytes, kind: str, echoes: Echoes) -> bytes:
    """What is no text: each byte of a letter its own."""
    if body.startswith(b"\x1f\x8b"):
        return unzipped_and_scrubbed(body, lambda inside: _body(inside, "", echoes))
    text = body.decode("latin-1")
    if kind.startswith("multipart/"):
        text = _PART.sub(_part, text)
    return scrubbed(text, tuple(echo for echo in echoes if echo.isascii())).encode("latin-1")


def _part(match: re.Match[str]) -> str:
    name, between, value = match.groups()
    return f"{name}{between}{REDACTED}" if value and is_secret_name(name) else match[0]


def _frames(body: bytes, echoes: Echoes) -> bytes:
    """An AWS event stream, whose frames tell their lengths and check sums."""
    out, at = [], 0
    while at + 16 <= len(body):
        total, size = struct.unpack_from(">II", body, at)
        if total < 16 + size or at + total > len(body):
            break
        head, payload = body[at + 12 : at + 12 + size], body[at + 12 + size : at + total - 4]
        clean = _body(payload, "", echoes) if payload else payload
        out.append(body[at : at + total] if clean == payload else _frame(head, clean))
        at += total
    return b"".join([*out, body[at:]])


def _frame(head: bytes, payload: bytes) -> bytes:
    prelude = struct.pack(">II", len(head) + len(payload) + 16, len(head))
    data = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return data + struct.pack(">I", zlib.crc32(data))
