"""What a server says of another try: whether it may go otherwise, and when."""

from __future__ import annotations

from collections.abc import Container
from datetime import UTC
from email.utils import parsedate_to_datetime

_LASTING = frozenset({501, 505})
"""Of 5xx: the server will not do it the next time either."""


def may_pass(status: int, passing: Container[int]) -> bool:
    """Whether an answer may be another one a moment later: 5xx that may pass, and what is named besides."""
    return status in passing or (status >= 500 and status not in _LASTING)


def date_of(header: str | None) -> float | None:
    """The date of a header in seconds since 1970; without a zone it is UTC. None for what is none."""
    try:
        found = parsedate_to_datetime(header or "")
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def seconds_until(then: float, date: str | None, now: float) -> float:
    """How long it is until `then` by the server's own clock, which its `Date` header tells: ours may be wrong."""
    told = date_of(date)
    return max(0.0, then - (now if told is None else told))
