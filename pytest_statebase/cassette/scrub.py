"""Secrets out of a text, which stays as it is in every other respect: its layout, its escapes, its encodings.

It goes by what the text says, not by what it parses to, so that JSON in lines, in events, in strings of other JSON or
cut off half-way is treated as JSON is.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote, unquote_plus

from .secrets import FORMATS, IN_CONTEXT, PRIVATE_KEY, holds_secret_numbers, is_secret_name, is_secret_parameter

REDACTED: Final = "REDACTED"
Echoes = tuple[str, ...]
"""Secrets that are known from elsewhere in the exchange, the longest first."""

_IN_RUNS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/="
_RUNS = bytes(97 if code in _IN_RUNS else 32 for code in range(256))
_RUN = b"a" * 15
"""No key is shorter."""
_BEFORE = 24
"""Characters before a run that may tell what it is, as `Bearer` does."""
_ENCODED = 20
"""Characters of base64 from which on it may hold a key."""
_INSIDE = 1 << 20
"""Bytes of an encoded text that are looked into."""
_DEPTH = 3

_NAMED = {
    '"': re.compile(r'"([\w.-]{2,60})(\\*)"[ \t\r\n]*:[ \t\r\n]*(?=[\\"\[\d-])', re.ASCII),
    "'": re.compile(r"'([\w.-]{2,60})(\\*)'[ \t\r\n]*:[ \t\r\n]*(?=[\\'\[\d-])", re.ASCII),
}
_QUOTES = {'"': re.compile(r'(\\*)"'), "'": re.compile(r"(\\*)'")}
_NUMBER = re.compile(r"-?[0-9][0-9.]*(?:[eE][+-]?[0-9]+)?")
_OF_MODELS = re.compile(r'[ \n]*,[ \n]*\\*"(?:logprob|bytes|top_logprobs|prob|score|token_str)\b')
_PARAMETER = re.compile(r"((?:[?&]|\\u0026)(?:amp;)?)([\w.-]{2,60})=([^&\s\"'<>\\#]+)", re.ASCII)
_USER = re.compile(r"(?<=://)[^\s/@:\"'?#]*:[^\s/@\"'?#]+(?=@)")
_ELEMENT = re.compile(r"<([\w.-]+:)?([\w.-]+)(\s[^<>]*)?>([^<>]+)(?=</)", re.ASCII)


def scrubbed(text: str, echoes: Echoes = (), depth: int = 0) -> str:
    """The text without its secrets."""
    for echo in echoes:
        if echo in text:
            text = text.replace(echo, REDACTED)
    if len(text) < 6:
        return text
    if '"' in text:
        text = _fields(text, '"')
    if "':" in text:
        text = _fields(text, "'")
    if "=" in text:
        text = _PARAMETER.sub(_parameter, text)
    if "://" in text and "@" in text:
        text = _USER.sub(REDACTED, text)
    if "</" in text:
        text = _ELEMENT.sub(_element, text)
    return _keys(text, echoes, depth)


def _kept(match: re.Match[str]) -> str:
    return match["kept"] + REDACTED


def _parameter(match: re.Match[str]) -> str:
    begin, name, value = match.groups()
    return f"{begin}{name}={REDACTED}" if is_secret_parameter(name, value) else match[0]


def _element(match: re.Match[str]) -> str:
    if not is_secret_name(match[2]) or not match[4].strip():
        return match[0]
    return f"<{match[1] or ''}{match[2]}{match[3] or ''}>{REDACTED}"


def pairs_scrubbed(text: str, echoes: Echoes) -> str:
    """The same for a query or a form, where only the values that change are encoded anew."""
    return "&".join(_pair(pair, echoes) for pair in text.split("&"))


def _pair(pair: str, echoes: Echoes) -> str:
    name, sign, raw = pair.partition("=")
    if not raw:
        return pair
    value = unquote_plus(raw)
    if is_secret_parameter(unquote_plus(name), value):
        return f"{name}{sign}{REDACTED}"
    clean = scrubbed(value, echoes)
    return pair if clean == value else f"{name}{sign}{quote(clean, safe='')}"


# --- JSON


def _fields(text: str, mark: str) -> str:
    """JSON, or what looks like it, without the values of secret names."""
    pattern = _NAMED[mark]
    # Most texts name few things, many times over.
    if not any(is_secret_name(name) for name in {found[0] for found in pattern.findall(text)}):
        return text
    out, done = [], 0
    for match in pattern.finditer(text):
        if match.start() >= done and is_secret_name(match[1]):
            for start, end, put in _values(text, match, mark):
                out += [text[done:start], put]
                done = end
    return "".join([*out, text[done:]])


def _values(text: str, match: re.Match[str], mark: str) -> Iterator[tuple[int, int, str]]:
    """Where what is secret under a name stands, and what comes instead."""
    at, escape = match.end(), match[2]
    opening = escape + mark
    if text.startswith(opening, at):
        start, end = at + len(opening), _end(text, at + len(opening), escape, mark)
        if start < end and not _OF_MODELS.match(text, end + len(opening)):
            yield start, end, REDACTED
    elif text.startswith("[", at):
        yield from _items(text, at + 1, escape, mark)
    elif holds_secret_numbers(match[1]) and (number := _NUMBER.match(text, at)):
        yield number.start(), number.end(), "0"


def _items(text: str, at: int, escape: str, mark: str) -> Iterator[tuple[int, int, str]]:
    """The texts of a list."""
    opening = escape + mark
    while True:
        at = _after_blank(text, at)
        if not text.startswith(opening, at):
            return
        start, end = at + len(opening), _end(text, at + len(opening), escape, mark)
        if start < end:
            yield start, end, REDACTED
        at = _after_blank(text, end + len(opening))
        if not text.startswith(",", at):
            return
        at += 1


def _after_blank(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\n", "\t", "\r"):
        at += 1
    return at


def _end(text: str, start: int, escape: str, mark: str) -> int:
    """Where a text ends whose quotes stand behind that many backslashes, as in JSON that is a string of JSON."""
    level = len(escape)
    for match in _QUOTES[mark].finditer(text, start):
        over = len(match[1]) - level
        if over >= 0 and over % (2 * (level + 1)) == 0:
            return match.end() - len(escape) - 1
    return len(text)


# --- Runs of letters and digits


def _keys(text: str, echoes: Echoes, depth: int) -> str:
    """The text without what looks like a key, wherever it stands."""
    found = set(_runs(text))
    if not found:
        return text
    around = "\n".join([before + run for before, run in found])
    for tokens, pattern in IN_CONTEXT:
        if any(token in around for token in tokens):
            text = pattern.sub(_kept, text)
    if "PRIVATE KEY" in text:
        text = PRIVATE_KEY.sub(REDACTED, text)
    for run in sorted({run for _, run in found}, key=lambda one: (-len(one), one)):
        clean = _run(run, echoes, depth)
        if clean != run:
            text = text.replace(run, clean)
    return text


def _runs(text: str) -> Iterator[tuple[str, str]]:
    """Everything without a blank that is long enough for a key, with a little of what stands before it."""
    data = text.encode("utf-8", "surrogatepass")
    marked = data.translate(_RUNS)
    at = marked.find(_RUN)
    while at >= 0:
        end = marked.find(b" ", at)
        end = len(data) if end < 0 else end
        yield data[max(0, at - _BEFORE) : at].decode("ascii", "replace"), data[at:end].decode("ascii")
        at = marked.find(_RUN, end)


def _run(run: str, echoes: Echoes, depth: int) -> str:
    clean = FORMATS.sub(REDACTED, run)
    if clean != run or depth >= _DEPTH:
        return clean
    # What stands before a `=` is a name, but for the padding at the end.
    body = run.rstrip("=")
    start = body.rfind("=") + 1
    return run[:start] + _encoded(run[start:], echoes, depth)


def _encoded(text: str, echoes: Echoes, depth: int) -> str:
    """Base64 without the secrets of what it says."""
    inside = _decoded(text)
    if inside is None:
        return text
    data, was_gzip = _unzipped(inside)
    try:
        said = data.decode("utf-8")
    except UnicodeDecodeError:
        return text
    clean = scrubbed(said, echoes, depth + 1)
    if clean == said:
        return text
    coded = base64.b64encode(_stored(clean.encode()) if was_gzip else clean.encode()).decode("ascii")
    if "-" in text or "_" in text:
        coded = coded.translate(_TO_URLS)
    return coded if text.endswith("=") or len(text.rstrip("=")) % 4 == 0 else coded.rstrip("=")


_TO_URLS = str.maketrans("+/", "-_")
_FROM_URLS = str.maketrans("-_", "+/")


def _decoded(text: str) -> bytes | None:
    """The bytes that base64 says; None where it is none."""
    plain = text.rstrip("=").translate(_FROM_URLS)
    if len(plain) < _ENCODED or len(plain) % 4 == 1:
        return None
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        return None


def unzipped_and_scrubbed(data: bytes, clean: Callable[[bytes], bytes]) -> bytes:
    """What is gzip with what is inside cleaned; stays as it is where nothing changes."""
    inside, was_gzip = _unzipped(data)
    if not was_gzip:
        return data
    after = clean(inside)
    return data if after == inside else _stored(after)


def _unzipped(data: bytes) -> tuple[bytes, bool]:
    if not data.startswith(b"\x1f\x8b\x08"):
        return data, False
    try:
        unzip = zlib.decompressobj(31)
        inside = unzip.decompress(data, _INSIDE)
    except zlib.error:
        return data, False
    return (inside, True) if unzip.eof and not unzip.unused_data else (data, False)


def _stored(data: bytes) -> bytes:
    """Gzip without compression, which comes out the same wherever it is made."""
    out = [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"]
    for at in range(0, len(data) or 1, 65535):
        block = data[at : at + 65535]
        is_last = at + 65535 >= len(data)
        size = len(block)
        out += [bytes([is_last]), size.to_bytes(2, "little"), (size ^ 0xFFFF).to_bytes(2, "little"), block]
    out += [zlib.crc32(data).to_bytes(4, "little"), (len(data) & 0xFFFFFFFF).to_bytes(4, "little")]
    return b"".join(out)
