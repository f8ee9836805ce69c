"""Gzip that is cleaned inside."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

MAGIC: Final = b"\x1f\x8b\x08"


def gzip_cleaned(data: bytes, clean: Callable[[bytes], bytes], most: int) -> bytes | None:
    """Gzip with all that is inside cleaned; it stays as it is where nothing changes.

    most: bytes that may be inside. None where there are more, or what is inside cannot be read.
    """
    try:
        inside, rest, is_whole = _opened(data, most)
    except (zlib.error, OverflowError):
        return None
    after, rest_after = clean(inside), clean(rest)
    if (after, rest_after) == (inside, rest):
        return data
    stored = _stored(after)
    return stored + rest_after if is_whole else stored[:-_CHECKS]


_CHECKS = 8
"""Bytes of the check sum and the length at the end."""


def _opened(data: bytes, most: int) -> tuple[bytes, bytes, bool]:
    """What all its members hold, what comes after them, and whether the last one is whole."""
    out: list[bytes] = []
    while data.startswith(MAGIC):
        unzip = zlib.decompressobj(31)
        # One byte more shows that there is more.
        out.append(unzip.decompress(data, most + 1))
        most -= len(out[-1])
        if most < 0:
            raise OverflowError
        if not unzip.eof:
            return b"".join(out), b"", False
        data = unzip.unused_data
    return b"".join(out), data, True


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
