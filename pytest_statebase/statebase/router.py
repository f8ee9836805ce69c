"""The REST API of StateBase over a local client: requests in, answers out, no socket."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from .client import LocalClient
from .faults import ApiError
from .fields import Fields, Unprocessable
from .routes import Call, find
from .wireform import json_bytes

MAX_BODY = 10_000_000
"""Bytes of a request that are read."""
RATE_LIMIT = 100
"""Requests a minute, as headers tell them."""
_KEPT_FOR = 24 * 3600
_KEPT = 10_000
"""Answers that are kept for who repeats a request with the same `Idempotency-Key`."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered to one request."""

    status: int
    headers: dict[str, str]
    body: bytes = b""


@dataclass(slots=True)
class _Window:
    """The requests of one minute."""

    limit: int | None
    began: float = 0.0
    used: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> tuple[int, float]:
        """How many requests are left after this one, less than none where it is one too many; when a minute begins."""
        now = time.time()
        with self.lock:
            if not self.began <= now < self.began + 60:
                self.began, self.used = now, 0
            self.used += 1
            return (RATE_LIMIT if self.limit is None else self.limit) - self.used, self.began + 60


class Router:
    """Answers requests to the StateBase API from a local client, in every dialect that clients of it speak.

    tool_turns: lists show each tool call as a turn of its own, as production logs it, instead of the turns alone.
    rate_limit: requests a minute, above which 429 is answered; without one there is no limit.
    """

    def __init__(self, client: LocalClient, *, tool_turns: bool = False, rate_limit: int | None = None) -> None:
        self.client = client
        self.tool_turns = tool_turns
        self._window = _Window(rate_limit)
        self._given: OrderedDict[tuple[str, str, str], tuple[float, int, bytes]] = OrderedDict()
        self._lock = threading.RLock()

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The answer to one request; `target` is its path with the query.

        What the API refuses is an answer too. Raises StatebaseError where a recording cannot be read, or where the
        turn that is being replayed may write no more.
        """
        given = {name.lower(): value for name, value in headers.items()}
        left, reset = self._window.take()
        limits = _limits(self._window.limit, left, reset)
        if self._window.limit is not None and left < 0:
            return _refused(limits, reset)
        with self._lock:  # what is read of a session must not change meanwhile
            status, content = self._once(method.upper(), target, given, body)
        return Reply(status, {"content-type": "application/json", **limits}, content)

    def _once(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        """The answer, or the one that was given to the same `Idempotency-Key` before."""
        key = headers.get("idempotency-key")
        if key is None or method not in ("POST", "PATCH"):
            return self._answered(method, target, body)
        name = (method, target.partition("?")[0], key)
        now = time.monotonic()
        kept = self._given.get(name)
        if kept is not None and now - kept[0] < _KEPT_FOR:
            return kept[1:]
        status, content = self._answered(method, target, body)
        self._given[name] = (now, status, content)
        while len(self._given) > _KEPT:
            self._given.popitem(last=False)
        return status, content

    def _answered(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        try:
            if len(body) > MAX_BODY:
                message = f"a body of {len(body):,} bytes; at most {MAX_BODY:,} are read"
                raise ApiError(413, "payload_too_large", message, type="invalid_request_error")
            where, _, query = target.partition("?")
            path = [unquote(segment) for segment in where.strip("/").split("/")]
            route, ids = find(method, path)
            call = Call(self.client, ids, Fields.of_query(query), Fields.of_body(body), self.tool_turns)
            status, content = route(call)
        except ApiError as error:
            return error.status_code, json_bytes({"error": error.error})
        except Unprocessable as error:
            return 422, json_bytes({"detail": error.errors})
        return status, json_bytes(content)


def _limits(limit: int | None, left: int, reset: float) -> dict[str, str]:
    shown = RATE_LIMIT if limit is None else limit
    return {
        "x-ratelimit-limit": str(shown),
        "x-ratelimit-remaining": str(max(left, 1 if limit is None else 0)),
        "x-ratelimit-reset": str(int(reset)),
    }


def _refused(limits: dict[str, str], reset: float) -> Reply:
    wait = max(1, round(reset - time.time()))
    return Reply(
        429,
        {"content-type": "application/json", "retry-after": str(wait), **limits},
        error_body(429, "rate_limit_exceeded", f"too many requests; try again in {wait} s", retry_after=wait),
    )


def error_body(status: int, code: str, message: str, **more: Any) -> bytes:
    """The body of an error that no call of the client made."""
    kinds = {401: "authentication_error", 429: "rate_limit_error"}
    return json_bytes({"error": {"code": code, "message": message, "type": kinds.get(status, "api_error"), **more}})
