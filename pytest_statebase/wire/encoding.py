"""Bodies without their content encoding, so that a recording of one client answers another."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Callable
from typing import Any

from .exchange import Headers, header_of

_FRAMING = frozenset({"content-encoding", "transfer-encoding", "content-length"})
Decode = Callable[[bytes], bytes]


def decoded(headers: Headers, body: bytes, *, is_raw: bool = False) -> tuple[Headers, bytes]:
    """Headers and body as they are without their encoding: `content-length` fits, the other two are gone.

    is_raw: the body is just as it came. Else one that is decoded already, as recordings have it, is left alone. One
    that nothing here can decode keeps its `content-encoding`. Of a body that was cut off, what came is decoded. An
    empty one, as of HEAD, keeps its length.
    """
    encodings = [part.strip().lower() for part in (header_of(headers, "content-encoding") or "").split(",")]
    left = [name for name in encodings if name and name != "identity"]
    is_empty = not body
    while left and not is_empty:
        found = _undone(left[-1], body, is_raw)
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


def _undone(encoding: str, body: bytes, is_raw: bool) -> bytes | None:
    """The body without one encoding; None where that cannot be undone here."""
    may_be_decoded = not is_raw and _is_text(body)
    for decode in _decoders(encoding):
        try:
            return decode(body)
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
    """What undoes an encoding: of a whole body, then of what came of one."""
    if encoding in ("gzip", "x-gzip"):
        return [gzip.decompress, _part(16 + zlib.MAX_WBITS)]
    if encoding == "deflate":
        return [zlib.decompress, _raw_deflate, _part(zlib.MAX_WBITS)]
    if encoding == "br":
        return _brotli(_library("brotli", "brotlicffi"))
    if encoding == "zstd":
        return _zstd(_library("compression.zstd", "zstandard"))
    return []


def _part(bits: int) -> Decode:
    return lambda body: zlib.decompressobj(bits).decompress(body)


def _raw_deflate(body: bytes) -> bytes:
    return zlib.decompress(body, -zlib.MAX_WBITS)


def _brotli(library: Any) -> list[Decode]:
    if library is None:
        return []

    def part(body: bytes) -> bytes:
        decoder = library.Decompressor()
        process = decoder.process if hasattr(decoder, "process") else decoder.decompress
        return bytes(process(body))

    return [library.decompress, part]


def _zstd(library: Any) -> list[Decode]:
    if library is None:
        return []

    def frames(body: bytes) -> bytes:
        decoder = library.ZstdDecompressor()
        if not hasattr(decoder, "stream_reader"):
            return bytes(library.decompress(body))
        # The last frame may have been cut off, and there may be several.
        return bytes(decoder.stream_reader(body, read_across_frames=True).read())

    def part(body: bytes) -> bytes:
        return bytes(library.ZstdDecompressor().decompress(body))

    return [frames, part]


def _library(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None
