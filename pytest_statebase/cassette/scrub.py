"""Secrets out of a text, which stays as it is in every other respect: its layout, its escapes, its encodings.

It goes by what the text says, not by what it parses to, so that JSON in lines, in events, in strings of other JSON or
cut off half-way is treated as JSON is.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from urllib.parse import quote, unquote_plus

from .assigned import assigned_scrubbed
from .fields import GRANTED, GRANTING, PLAIN, REDACTED, Hider, fields_scrubbed, put
from .gzipped import MAGIC, gzip_cleaned
from .secrets import (
    FORMATS,
    IN_CONTEXT,
    JSON_WEB_TOKEN,
    is_secret_name,
    is_secret_parameter,
    private_keys,
)

Echoes = tuple[str, ...]
"""Secrets that are known from elsewhere in the exchange, the longest first."""

_IN_RUNS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/="
_RUNS = bytes(97 if code in _IN_RUNS else 32 for code in range(256))
_RUN = b"a" * 15
"""No key is shorter."""
_BEFORE = 24
"""Characters before a run that may tell what it is, as `Bearer` does."""
_SHORT = 15
"""Bytes below which base64 is too short to be read."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}=*")
_DEPTH = 24
"""How often a text may be base64 of base64 before it is redacted unseen. Each time leaves three quarters of it."""
_GROWTH = 32
"""How many times longer than its gzip a text may be, so that nobody's bombs burst here."""

_PARAMETER = re.compile(r"((?:[?&#]|\\u0026)(?:amp;)?)([\w.%\[\]-]{2,})=([^&\s\"'<>\\#]+)", re.ASCII)
_USER = re.compile(r"(?<=://)[^\s/@:\"'?#]*:[^\s/@\"'?#]+(?=@)")
_ELEMENT = re.compile(r"<([\w.-]+:)?([\w.-]+)(\s[^<>]*)?>([^<>]+)(?=</)", re.ASCII)


def scrubbed(text: str, echoes: Echoes = (), depth: int = 0, *, is_zipped: bool = False, hider: Hider = PLAIN) -> str:
    """The text without its secrets.

    depth: how often it was base64; is_zipped: whether it was gzip; hider: what comes instead.
    """
    for echo in echoes:
        if echo in text:
            text = text.replace(echo, hider.secret(echo))
    if len(text) < 6:
        return hider.more(text)
    if '"' in text:
        text = fields_scrubbed(text, '"', hider)
    if "':" in text:
        text = fields_scrubbed(text, "'", hider)
    if "=" in text:
        text = _PARAMETER.sub(lambda match: _parameter(match, hider), text)
    if "=" in text or ":" in text or "--" in text or "login" in text:
        text = assigned_scrubbed(text, hider)
    if "://" in text and "@" in text:
        text = _USER.sub(lambda match: hider.secret(match[0]), text)
    if "</" in text:
        text = _ELEMENT.sub(lambda match: _element(match, hider), text)
    text = _keys(hider.more(text), echoes, depth, is_zipped, hider)
    # Only now: base64 of more than the secret is still to be read before.
    for echo in _in_base64(echoes):
        if echo in text:
            text = text.replace(echo, hider.secret(echo))
    return text


@lru_cache(256)
def _in_base64(echoes: Echoes) -> Echoes:
    """Those that are too short to be found by reading base64."""
    short = [echo.encode("utf-8", "surrogatepass") for echo in echoes if len(echo) < _SHORT]
    return tuple(base64.b64encode(echo).decode("ascii").rstrip("=") for echo in short)


def bytes_scrubbed(data: bytes, echoes: Echoes, clean: Callable[[str, Echoes], str]) -> bytes:
    """The same for bytes: what is no UTF-8 is read with a letter for each byte."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        spelled = tuple(echo if echo.isascii() else _by_byte(echo) for echo in echoes)
        return clean(data.decode("latin-1"), spelled).encode("latin-1")
    return clean(text, echoes).encode("utf-8")


def _by_byte(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def gzip_scrubbed(data: bytes, clean: Callable[[bytes], bytes], least: int = 0) -> bytes:
    """Gzip without the secrets of what is inside.

    least: bytes that may be inside of the shortest gzip. Gzip with much more than it has itself, gzip inside of gzip
    and what cannot be read is redacted as a whole.
    """

    def cleaned(inside: bytes) -> bytes:
        return REDACTED.encode() if inside.startswith(MAGIC) else clean(inside)

    after = gzip_cleaned(data, cleaned, max(least, _GROWTH * len(data)))
    return REDACTED.encode() if after is None else after


def _kept(match: re.Match[str], hider: Hider) -> str:
    return match["kept"] + hider.secret(match[0][len(match["kept"]) :])


def _parameter(match: re.Match[str], hider: Hider) -> str:
    begin, name, value = match.groups()
    return f"{begin}{name}={hider.secret(value)}" if is_secret_parameter(unquote_plus(name), value) else match[0]


def _element(match: re.Match[str], hider: Hider) -> str:
    if not is_secret_name(match[2]) or not match[4].strip():
        return match[0]
    return f"<{match[1] or ''}{match[2]}{match[3] or ''}>{hider.secret(match[4])}"


def pairs_scrubbed(text: str, echoes: Echoes, *, is_zipped: bool = False, hider: Hider = PLAIN) -> str:
    """The same for a query or a form, where only the values that change are encoded anew."""
    pairs = text.split("&")
    is_grant = any(pair.partition("=")[0] in GRANTING for pair in pairs)
    return "&".join([_pair(pair, echoes, is_zipped, is_grant, hider) for pair in pairs])


def _pair(pair: str, echoes: Echoes, is_zipped: bool, is_grant: bool, hider: Hider) -> str:
    name, sign, raw = pair.partition("=")
    if not raw:
        return scrubbed(pair, echoes, is_zipped=is_zipped, hider=hider)
    value = unquote_plus(raw)
    if is_secret_parameter(unquote_plus(name), value) or (is_grant and name in GRANTED):
        return f"{name}{sign}{quote(hider.secret(value), safe='')}"
    clean = scrubbed(hider.named(value, name), echoes, is_zipped=is_zipped, hider=hider)
    name = scrubbed(name, echoes, hider=hider)
    return f"{name}{sign}{raw if clean == value else quote(clean, safe='')}"


# --- Runs of letters and digits


def _keys(text: str, echoes: Echoes, depth: int, is_zipped: bool, hider: Hider) -> str:
    """The text without what looks like a key, wherever it stands."""
    data = text.encode("utf-8", "surrogatepass")
    runs = list(_runs(data))
    if not runs:
        return text
    before = text
    around = b"\n".join([data[max(0, start - _BEFORE) : end] for start, end in runs]).decode("ascii", "replace")
    for tokens, pattern in IN_CONTEXT:
        if any(token in around for token in tokens):
            text = pattern.sub(lambda match: _kept(match, hider), text)
    if "PRIVATE KEY" in text:
        text = put(text, ((start, end, hider.secret(text[start:end])) for start, end in private_keys(text)))
    if text is not before:
        data = text.encode("utf-8", "surrogatepass")
        runs = list(_runs(data))
    out, done = [], 0
    known: dict[bytes, bytes] = {}
    for start, end in runs:
        run = data[start:end]
        clean = known.get(run)
        if clean is None:
            clean = known[run] = _run(run.decode("ascii"), echoes, depth, is_zipped, hider).encode("ascii")
        if clean != run:
            out += [data[done:start], clean]
            done = end
    return b"".join([*out, data[done:]]).decode("utf-8", "surrogatepass") if out else text


def _runs(data: bytes) -> Iterator[tuple[int, int]]:
    """Where everything without a blank stands that is long enough for a key."""
    marked = data.translate(_RUNS)
    at = marked.find(_RUN)
    while at >= 0:
        end = marked.find(b" ", at)
        end = len(data) if end < 0 else end
        yield at, end
        at = marked.find(_RUN, end)


def _run(run: str, echoes: Echoes, depth: int, is_zipped: bool, hider: Hider) -> str:
    clean = JSON_WEB_TOKEN.sub(lambda match: _kept(match, hider), run) if "eyJ" in run else run
    clean = FORMATS.sub(lambda match: hider.secret(match[0]), clean)
    if clean != run:
        return clean
    return _BASE64.sub(lambda match: _encoded(match[0], echoes, depth, is_zipped, hider), run)


def _encoded(text: str, echoes: Echoes, depth: int, is_zipped: bool, hider: Hider) -> str:
    """Base64 without the secrets of what it says."""
    inside = _decoded(text)
    if inside is None:
        return text
    if depth >= _DEPTH:
        return REDACTED

    def clean(data: bytes, is_zipped: bool) -> bytes:
        return bytes_scrubbed(
            data, echoes, lambda said, known: scrubbed(said, known, depth + 1, is_zipped=is_zipped, hider=hider)
        )

    if not inside.startswith(MAGIC):
        after = clean(inside, is_zipped)
    elif is_zipped:
        return REDACTED
    else:
        after = gzip_scrubbed(inside, lambda data: clean(data, True))
    if after == inside:
        return text
    coded = base64.b64encode(after).decode("ascii")
    if "-" in text or "_" in text:
        coded = coded.translate(_TO_URLS)
    return coded if text.endswith("=") or len(text.rstrip("=")) % 4 == 0 else coded.rstrip("=")


_TO_URLS = str.maketrans("+/", "-_")
_FROM_URLS = str.maketrans("-_", "+/")


def _decoded(text: str) -> bytes | None:
    """The bytes that base64 says; None where it is none."""
    plain = text.rstrip("=").translate(_FROM_URLS)
    if len(plain) % 4 == 1:
        return None
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error:
        return None
