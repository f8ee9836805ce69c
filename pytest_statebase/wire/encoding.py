"""Bodies without their content encoding, so that a recording of one client answers another."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from typing import Any

from .exchange import Headers, header_of

_FRAMING = frozenset({"content-encoding", "transfer-encoding", "content-length"})
Decode = Callable[[bytes, "int | None"], bytes]
"""Gets a body, and how many bytes of it are enough."""


def decoded(headers: Headers, body: bytes, *, is_raw: bool = False, most: int | None = None) -> tuple[Headers, bytes]:
    """Headers and body as they are without their encoding: `content-length` fits, the other two are gone.

    is_raw: the body is just as it came. Else one that is decoded already, as recordings have it, is left alone. One
    that nothing here can decode keeps its `content-encoding`. Of a body that was cut off, what came is decoded. An
    empty one, as of HEAD, keeps its length. most: bytes after which decoding stops: a longer body has one byte more.
    """
    encodings = [part.strip().lower() for part in (header_of(headers, "content-encoding") or "").split(",")]
    left = [name for name in encodings if name and name != "identity"]
    is_empty = not body
    while left and not is_empty:
        found = _undone(left[-1], body, is_raw, None if most is None else most + 1)
        if found is None:
            break
        body = found
        left.pop()
    if is_empty:
        dropped = _FRAMING - {"content-length"}
        return tuple(header for header in headers if header[0].lower() not in dropped), body
    return _reframed(headers, body, ", ".join(left)), body


def _reframed(headers: Headers, body: bytes, encoding: str) -> Headers:
    kept = [header for header in headers if header[0].lower() not in _FRAMING]
    if encoding:
        kept.append(("content-encoding", encoding))
    if len(kept) != len(headers):
        kept.append(("content-length", str(len(body))))
    return tuple(kept)


def _undone(encoding: str, body: bytes, is_raw: bool, most: int | None) -> bytes | None:
    """The body without one encoding; None where that cannot be undone here."""
    may_be_decoded = not is_raw and _is_text(body)
    for decode in _decoders(encoding):
        try:
            return decode(body, most)
        except Exception:  # each library has errors of its own
            if may_be_decoded:
                return body
    return body if may_be_decoded else None


def _is_text(body: bytes) -> bool:
    """Encoded bodies are no text: one that is was decoded before."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in body


def _decoders(encoding: str) -> list[Decode]:
    """What undoes an encoding, of a whole body or of what came of one."""
    if encoding in ("gzip", "x-gzip"):
        return [_inflated(16 + zlib.MAX_WBITS)]
    if encoding == "deflate":
        return [_inflated(zlib.MAX_WBITS), _inflated(-zlib.MAX_WBITS)]
    if encoding == "br":
        return _brotli(_library("brotli", "brotlicffi"))
    if encoding == "zstd":
        return _zstd(_library("compression.zstd", "zstandard"))
    return []


def _inflated(bits: int) -> Decode:
    return lambda body, most: _members(lambda: zlib.decompressobj(bits), body, most, 0)


def _members(decoder: Callable[[], Any], body: bytes, most: int | None, all_of_it: int) -> bytes:
    """Decode one part after the other. What comes after the last of them, and is none, is passed over.

    all_of_it: what a decoder takes for no limit.
    """
    out = b""
    while body and (most is None or len(out) < most):
        one = decoder()
        try:
            out += one.decompress(body, all_of_it if most is None else most - len(out))
        except Exception:
            if not out:
                raise
            break
        body = one.unused_data
    return out


def _brotli(library: Any) -> list[Decode]:
    if library is None:
        return []

    def decode(body: bytes, most: int | None) -> bytes:
        decoder = library.Decompressor()
        process = decoder.process if hasattr(decoder, "process") else decoder.decompress
        if most is None:
            return bytes(process(body))
        try:
            return bytes(process(body, output_buffer_limit=most))
        except TypeError:  # it knows no limit
            return bytes(process(body))

    return [decode]


def _zstd(library: Any) -> list[Decode]:
    if library is None:
        return []

    def decode(body: bytes, most: int | None) -> bytes:
        decoder = library.ZstdDecompressor()
        if not hasattr(decoder, "stream_reader"):
            return _members(library.ZstdDecompressor, body, most, -1)
        # The last frame may have been cut off, and there may be several.
        return bytes(decoder.stream_reader(body, read_across_frames=True).read(-1 if most is None else most))

    return [decode]


def _library(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None
