"""Secrets out of HTTP exchanges, before anything is written or compared.

Both sides of a match go through it, so that a request still finds its recording: the same request is redacted to the
same text, and what is redacted already stays as it is.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from urllib.parse import quote, quote_plus, unquote, urlsplit, urlunsplit

from ..wire.exchange import Answer, Exchange, Failure, Headers, Request, header_of
from .fields import PLAIN, REDACTED, Hider
from .gzipped import MAGIC
from .scrub import Echoes, bytes_scrubbed, gzip_scrubbed, pairs_scrubbed, scrubbed
from .secrets import PREFIXES, is_secret_header, is_secret_parameter, remembers_names, set_own_names

__all__ = [
    "REDACTED",
    "Echoes",
    "all_known",
    "redacted",
    "redacted_exchange",
    "set_secret_names",
    "spellings_of",
]

_SHORTEST = 8
"""Characters from which on a secret is looked for elsewhere; shorter ones are words, too."""
_LONG = 16
_SCHEMES = frozenset({
    "basic", "bearer", "digest", "negotiate", "ntlm", "token", "apikey", "key", "oauth", "dpop", "hoba", "mutual",
    "vapid", "aws4-hmac-sha256", "aws4-ecdsa-p256-sha256", "sharedkey", "genie-key",
})  # fmt: skip
_SPLIT_COOKIES = re.compile(r",(?=\s*[^\s;,=]+=)")
_BOUNDARY = re.compile(r'[;\s]boundary="?([^";,\s]+)', re.IGNORECASE)
_FIRST_BOUNDARY = re.compile(r"^--[^\r\n]+", re.MULTILINE)
_PART_NAME = re.compile(r'[;\s]name="?([^"\r\n;]+)', re.IGNORECASE)
_BLANK_LINE = re.compile(r"\n\r?\n")
_JSON_BEGINS = ("{", "[{", '["')
_UNZIPPED = 1 << 20
"""Bytes that may be inside of a body that is gzip, however short it is."""
_FRAMES = "application/vnd.amazon.eventstream"


class _Alike(Hider):
    """Makes all secrets alike, those that were numbered when they were redacted as well."""

    __slots__ = ()

    def more(self, text: str) -> str:
        return _NUMBERED.sub(REDACTED, text) if _DASHED in text else text


_DASHED = f"{REDACTED}-"
_NUMBERED = re.compile(rf"(?:{PREFIXES})?{REDACTED}-\d+")
_ALIKE = _Alike()


def redacted(request: Request, known: Echoes = ()) -> Request:
    """The request as it is matched: without its secrets, which are all alike.

    known: those of other requests, which it may repeat (see `all_known`).
    """
    return _request(request, _together(_echoes(request), known), _ALIKE)


def redacted_exchange(exchange: Exchange, known: Echoes = (), hider: Hider = PLAIN) -> Exchange:
    """Request and answer without their secrets, those of the request that the answer repeats included.

    hider: what comes in the place of what is found in addresses and bodies.
    """
    echoes = _together(_echoes(exchange.request), known)
    request, answer = _request(exchange.request, echoes, hider), _answer(exchange.answer, echoes, hider)
    return replace(exchange, request=request, answer=answer)


def _request(request: Request, echoes: Echoes, hider: Hider) -> Request:
    headers, body = _message(request.headers, request.body, echoes, hider)
    return Request(request.method, _url(request.url, echoes, hider), headers, body)


def _answer(answer: Answer, echoes: Echoes, hider: Hider) -> Answer:
    if isinstance(answer, Failure):
        return replace(answer, message=scrubbed(answer.message, echoes, hider=hider))
    echoes = _worth([*echoes, *_cookies(answer.headers)])
    headers, body = _message(answer.headers, answer.body, echoes, hider)
    cut = None if answer.cut is None else scrubbed(answer.cut, echoes, hider=hider)
    return replace(answer, headers=headers, body=body, cut=cut)


def _message(headers: Headers, body: bytes, echoes: Echoes, hider: Hider) -> tuple[Headers, bytes]:
    clean = _body(body, header_of(headers, "content-type") or "", echoes, hider) if body else body
    header = _header if hider is PLAIN or hider is _ALIKE else _header.__wrapped__
    fields = tuple([(name, header(name, value, echoes, hider)) for name, value in headers])
    if len(clean) != len(body):
        length = str(len(clean))
        fields = tuple((name, length if name.lower() == "content-length" else value) for name, value in fields)
    return fields, clean


def set_secret_names(names: Iterable[str]) -> None:
    """Have headers, parameters and fields of these names be secret as well, in recordings, replays and reports.

    names: whole ones, in which case, `-` and `_` do not count; they take the place of those that were set before, for
    this process. Recording and replay need the same: what was taken out of the one has to be taken out of the other.
    """
    set_own_names(names)


def all_known(known: Echoes, request: Request) -> Echoes:
    """`known` with the keys in the headers of one more request, which other messages of the session may repeat."""
    found = [value for name, value in request.headers if name.lower() != "cookie" and is_secret_header(name)]
    worth = _worth(secret for value in found for secret in _of_header(value) if len(secret) >= _LONG)
    return _together(known, worth)


def _together(some: Echoes, others: Echoes) -> Echoes:
    if not others or some == others:
        return some
    return tuple(sorted({*some, *others}, key=_longest_first))


def _longest_first(value: str) -> tuple[int, str]:
    return -len(value), value


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
        return [credentials]
    try:
        said = base64.b64decode(credentials).decode()
    except ValueError:
        return [credentials]
    return [credentials, said, said.partition(":")[2]]


def _cookies(headers: Headers) -> Iterator[str]:
    for name, value in headers:
        if name.lower() == "set-cookie":
            for cookie in _SPLIT_COOKIES.split(value):
                yield cookie.partition(";")[0].partition("=")[2].strip(' "')


def _worth(values: Iterable[str]) -> Echoes:
    """Those that are long and odd enough to be no word of a text, in all their spellings, the longest first."""
    said = {spelled for value in values if value for spelled in (value, unquote(value))}
    kept = {value for value in said if len(value) >= _SHORTEST and REDACTED not in value and _is_odd(value)}
    kept |= {spelled for value in kept if not value.isalnum() for spelled in _spellings(value)}
    return tuple(sorted(kept, key=_longest_first))


def spellings_of(secrets: Iterable[str]) -> Echoes:
    """How secrets may be written in texts, addresses and JSON, the longest first."""
    found = {spelled for value in secrets for spelled in (value, *(() if value.isalnum() else _spellings(value)))}
    return tuple(sorted(found, key=_longest_first))


def _spellings(value: str) -> Iterator[str]:
    """In addresses and in JSON."""
    yield from (
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
    )
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])


def _is_odd(value: str) -> bool:
    return len(value) >= _LONG or not (value.isalpha() and (value.islower() or value.istitle()))


# --- Headers and addresses


@lru_cache(4096)
def _header(name: str, value: str, echoes: Echoes, hider: Hider) -> str:
    low = name.lower()
    if low == "cookie":
        return "; ".join(_cookie(part.strip()) for part in value.split(";"))
    if low == "set-cookie":
        return ",".join(_set_cookie(one) for one in _SPLIT_COOKIES.split(value))
    if is_secret_header(low):
        scheme, credentials = _scheme(value)
        return f"{scheme} {REDACTED}" if scheme else REDACTED if credentials else value
    return scrubbed(value, echoes, hider=hider)


remembers_names(_header.cache_clear)


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


def _url(url: str, echoes: Echoes, hider: Hider) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return scrubbed(url, echoes, hider=hider)
    host = parts.netloc
    if "@" in host:
        host = f"{REDACTED}@{host.rpartition('@')[2]}"
    query = pairs_scrubbed(parts.query, echoes, hider=hider) if parts.query else ""
    path = "/".join([_segment(part, echoes, hider) for part in scrubbed(parts.path, echoes, hider=hider).split("/")])
    fragment = pairs_scrubbed(parts.fragment, echoes, hider=hider) if parts.fragment else ""
    if (host, query, path, fragment) == (parts.netloc, parts.query, parts.path, parts.fragment):
        return url
    return urlunsplit((parts.scheme, host, path, query, fragment))


def _segment(part: str, echoes: Echoes, hider: Hider) -> str:
    said = unquote(part)
    clean = scrubbed(said, echoes, hider=hider)
    return part if clean == said else quote(clean, safe="")


# --- Bodies


def _body(body: bytes, kind: str, echoes: Echoes, hider: Hider) -> bytes:
    if kind.partition(";")[0].strip().lower() == _FRAMES:
        return _frames(body, echoes, hider)
    if body.startswith(MAGIC):
        return gzip_scrubbed(body, lambda inside: _content(inside, kind, echoes, hider, is_zipped=True), _UNZIPPED)
    return _content(body, kind, echoes, hider, is_zipped=False)


def _content(body: bytes, kind: str, echoes: Echoes, hider: Hider, *, is_zipped: bool) -> bytes:
    name = kind.partition(";")[0].strip().lower()

    def clean(text: str, echoes: Echoes) -> str:
        if name == "application/x-www-form-urlencoded" and not text.startswith(_JSON_BEGINS):
            return pairs_scrubbed(text, echoes, is_zipped=is_zipped, hider=hider)
        if name.startswith("multipart/"):
            text = _parts(text, kind, hider)
        return scrubbed(text, echoes, is_zipped=is_zipped, hider=hider)

    return bytes_scrubbed(body, echoes, clean)


def _parts(text: str, kind: str, hider: Hider) -> str:
    """A multipart body without the values of secret names."""
    said = _BOUNDARY.search(kind)
    first = _FIRST_BOUNDARY.search(text)
    if first is None:
        return text
    boundary = f"--{said[1]}" if said and f"--{said[1]}" in text else first[0].rstrip("- \t")
    split = re.split(rf"^({re.escape(boundary)}(?:--)?[ \t]*\r?$)", text, flags=re.MULTILINE)
    return "".join([_part(part, hider) if number and number % 2 == 0 else part for number, part in enumerate(split)])


def _part(part: str, hider: Hider) -> str:
    blank = _BLANK_LINE.search(part)
    if blank is None:
        return part
    names = _PART_NAME.findall(part, 0, blank.start())
    value = part[blank.end() :].removesuffix("\n").removesuffix("\r")
    if not value or not any(is_secret_parameter(name, "") for name in names):
        return part
    return part[: blank.end()] + hider.secret(value) + part[blank.end() + len(value) :]


def _frames(body: bytes, echoes: Echoes, hider: Hider) -> bytes:
    """An AWS event stream, whose frames tell their lengths and check sums."""
    out, at = [], 0
    while at + 16 <= len(body):
        total, size = struct.unpack_from(">II", body, at)
        if total < 16 + size or at + total > len(body):
            break
        head, payload = body[at + 12 : at + 12 + size], body[at + 12 + size : at + total - 4]
        clean = _body(payload, "", echoes, hider) if payload else payload
        out.append(body[at : at + total] if clean == payload else _frame(head, clean))
        at += total
    # What was cut off, or is none: an error may be JSON whatever its type says.
    return b"".join([*out, _body(body[at:], "", echoes, hider)])


def _frame(head: bytes, payload: bytes) -> bytes:
    prelude = struct.pack(">II", len(head) + len(payload) + 16, len(head))
    data = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return data + struct.pack(">I", zlib.crc32(data))
