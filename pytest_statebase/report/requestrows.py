"""The HTTP requests of a replay in its row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..compare.model import Observed, ReplayedRequest, ReplayResult, Source

READS = frozenset({"GET", "HEAD", "OPTIONS"})


def requests_row(result: ReplayResult) -> dict[str, int]:
    """Requests and model calls by how they were answered; empty where there were none."""
    counted: Counter[str] = Counter()
    for turn in result.turns:
        for request in turn.replayed.requests if turn.replayed else ():
            counted[("model_" if request.model else "") + _how(request)] += 1
    return dict(counted)


def _how(request: ReplayedRequest) -> str:
    if request.source is Source.RECORD:
        return "answered"
    if request.kept:
        return "kept"
    return "unrecorded" if request.source is Source.NONE else request.source.value


def turn_requests(seen: Observed) -> list[dict[str, Any]]:
    """The requests of a turn, for a person."""
    return [_request(request) for request in seen.requests]


def _request(request: ReplayedRequest) -> dict[str, Any]:
    row: dict[str, Any] = {"method": request.method, "address": request.address, "source": request.source.value}
    flags = [name for name in ("model", "renamed", "kept", "unrecorded") if getattr(request, name)]
    if request.recorded_turn is not None and request.recorded_turn != request.turn:
        row["from_turn"] = request.recorded_turn
    if flags:
        row["flags"] = flags
    if request.explanation:
        row["explanation"] = request.explanation
    if request.hint:
        row["hint"] = request.hint
    return row


def is_write(request: Mapping[str, Any]) -> bool:
    """Whether a request of a row is neither a read nor a model call."""
    return request["method"].upper() not in READS and "model" not in request.get("flags", ())
