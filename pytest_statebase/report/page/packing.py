"""Rows in compressed chunks: summaries first, each session unpacked in the browser when it is opened."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

_CHUNK = 48_000
"""Characters of JSON after which the next chunk begins: many small sessions share one, which packs them better."""

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


def packed(value: Any) -> str:
    """A JSON value as base64 of raw deflate. The text holds nothing that HTML could take for markup."""
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    data = compressor.compress(_encode(value).encode("ascii")) + compressor.flush()
    return base64.b64encode(data).decode("ascii")


def unpacked(text: str) -> Any:
    """What `packed` packed."""
    return json.loads(zlib.decompress(base64.b64decode(text), -15))


def chunked(sessions: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[list[str], list[int]]:
    """Sessions by anchor in packed mappings, and for each session the number of its chunk."""
    chunks: list[str] = []
    places: list[int] = []
    now: dict[str, Mapping[str, Any]] = {}
    size = 0
    for anchor, row in sessions:
        now[anchor] = row
        places.append(len(chunks))
        size += len(_encode(row))
        if size >= _CHUNK:
            chunks.append(packed(now))
            now, size = {}, 0
    if now:
        chunks.append(packed(now))
    return chunks, places
