"""What a service says of how fast it may be asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..wire.retry import date_of, seconds_until

_EPOCH, _MILLISECONDS = 1e9, 1e11
"""From here on a number is a time since 1970, in seconds and in milliseconds; below it is seconds from now."""


class Limits:
    """The window of a rate limit, as `X-RateLimit-*` tell it. limit: requests in it, None where nobody says.

    now: the clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.limit: int | None = None
        self._not_before = 0.0

    def note(self, headers: Mapping[str, str]) -> None:
        """Read the headers of an answer."""
        limit, remaining = (_number(headers.get(f"x-ratelimit-{name}")) for name in ("limit", "remaining"))
        if limit is not None and limit >= 1:
            self.limit = int(limit)
        reset = _number(headers.get("x-ratelimit-reset"))
        self._not_before = 0.0
        if remaining is not None and remaining < 1 and reset is not None:
            self._not_before = self.now() + _until(reset, headers, self.now())

    def pause(self) -> float:
        """Seconds until the next request may be sent."""
        return max(0.0, self._not_before - self.now())


def retry_after(headers: Mapping[str, str], error: Mapping[str, Any], now: float) -> float | None:
    """The seconds after which a request may be repeated: of the error, else of the headers; None where nobody says."""
    told = error.get("retry_after")
    if isinstance(told, (int, float)) and not isinstance(told, bool) and math.isfinite(told):
        return max(0.0, float(told))
    header = headers.get("retry-after")
    seconds = _number(header)
    if seconds is not None:
        return max(0.0, seconds)
    at = date_of(header)
    if at is not None:
        return seconds_until(at, headers.get("date"), now)
    reset = _number(headers.get("x-ratelimit-reset")) if _number(headers.get("x-ratelimit-remaining")) == 0 else None
    return None if reset is None else _until(reset, headers, now)


def _until(reset: float, headers: Mapping[str, str], now: float) -> float:
    if reset < _EPOCH:
        return max(0.0, reset)
    at = reset / 1000 if reset > _MILLISECONDS else reset
    return seconds_until(at, headers.get("date"), now)


def _number(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None
