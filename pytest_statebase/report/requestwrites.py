"""Which HTTP requests of a turn did something in the world, or would have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..compare.model import Facet, Kind
from .requestrows import READS, is_write
from .rows import Row


def request_writes(turn: Row) -> Iterator[tuple[str, str, Any]]:
    """For every such request of a replayed turn: its name, its state as `Write` has it, and what was said in it.

    The recorded ones that were not made come last.
    """
    for request in turn.get("requests", ()):
        if is_write(request):
            yield f"{request['method']} {_bare(request['address'])}", _state(request), ""
    for found in turn["divergences"]:
        if found["facet"] == Facet.HTTP and found["kind"] == Kind.MISSING and not found.get("note"):
            name = found["path"].removeprefix('http."').removesuffix('"')
            if name.partition(" ")[0].upper() not in READS:
                said = found.get("recorded", "")
                yield from [(name, "missing", said)] * (len(said) if isinstance(said, list) else 1)


def _state(request: Row) -> str:
    if "unrecorded" in request.get("flags", ()):
        return "unrecorded"
    if request["source"] == "live":
        return "extra"
    return "moved" if "from_turn" in request else "made"


def _bare(address: str) -> str:
    return address.partition("://")[2] or address
