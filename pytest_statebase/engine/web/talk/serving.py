"""A reply as the answer to a request: in its API, plain or as a stream."""

from __future__ import annotations

import json
from typing import Any

from ....wire.exchange import Request, Response
from ..models import body_of
from .answers import WRITERS, Reply
from .apis import api_of
from .streams import EVENTS


def answer_of(reply: Reply, request: Request) -> Response | None:
    """The answer that a request gets for it, in its API, as a stream where it asks for one; None: no known API."""
    api = api_of(request)
    if api is None:
        return None
    body = body_of(request)
    body = body if isinstance(body, dict) else {}
    if api == "gemini" and _is_streamed_gemini(request):
        if ("alt", "sse") not in request.query:
            return _json([WRITERS[api](reply, body)])
        return _events(EVENTS[api](reply, body))
    if body.get("stream") is True:
        return _events(EVENTS[api](reply, body))
    return _json(WRITERS[api](reply, body))


def _is_streamed_gemini(request: Request) -> bool:
    return request.parts.path.lower().rstrip("/").endswith(":streamgeneratecontent")


def _json(value: Any) -> Response:
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return Response(200, "OK", (("content-type", "application/json"),), body)


def _events(events: list[tuple[str | None, Any]]) -> Response:
    """Server-sent events, each with a name or without."""
    told = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        told.append(f"event: {name}\ndata: {text}\n\n" if name else f"data: {text}\n\n")
    body = "".join(told).encode("utf-8", "surrogatepass")
    return Response(200, "OK", (("content-type", "text/event-stream; charset=utf-8"),), body)
