"""Bodies in the pieces in which they came, or could have come."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .exchange import Response

EVENTS = "text/event-stream"
_BLANK = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
LINES = frozenset({"application/x-ndjson", "application/jsonl", "application/json-lines", "application/stream+json"})


def kind_of(response: Response) -> str:
    """The media type of a body, without its parameters."""
    return (response.header("content-type") or "").partition(";")[0].strip().lower()


def is_stream(response: Response) -> bool:
    """Whether a body is a stream of events or lines."""
    kind = kind_of(response)
    return kind == EVENTS or kind in LINES


def pieces(response: Response) -> Iterator[bytes]:
    """The body event by event where it is a stream of them, line by line where it is lines, else in one piece."""
    kind, body = kind_of(response), response.body
    if kind == EVENTS:
        start = 0
        for match in _BLANK.finditer(body):
            yield body[start : match.end()]
            start = match.end()
        if start < len(body):
            yield body[start:]
    elif kind in LINES:
        # A JSON text may hold what other ideas of a line end at.
        yield from re.findall(rb"[^\n]*\n|[^\n]+", body)
    elif body:
        yield body
