"""The HTTP requests and model calls of a turn, ready for the page."""

from __future__ import annotations

from collections.abc import Iterable

from ..rows import Row
from ..show import visible
from .viewmodel import Mark, RequestView

_ANSWERS = {"record": "the record", "accepted": "the accepted baseline", "live": "its server, live", "none": "nothing"}
_KEPT = "an earlier run, live"


def requests_view(requests: Iterable[Row]) -> list[RequestView]:
    """What the replayed agent sent, in order."""
    return [_request(request) for request in requests]


def _request(request: Row) -> RequestView:
    told = request.get("flags", ())
    flags = [name for name in told if name not in ("model", "kept")]
    turn = f", turn {request['from_turn']}" if "from_turn" in request else ""
    source = _KEPT if "kept" in told else _ANSWERS.get(request["source"], request["source"])
    explanation = "\n".join(filter(None, (request.get("explanation"), request.get("hint"))))
    return RequestView(
        method=visible(request["method"]),
        address=visible(request["address"]),
        kind="model call" if "model" in told else "request",
        answer=visible(source) + turn,
        flags=[Mark(visible(name), "fail" if name == "unrecorded" else "review") for name in flags],
        explanation=visible(explanation, lines=True).strip("\n") if explanation else None,
    )
