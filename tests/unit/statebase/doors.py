"""The three ways to a session, with the same calls: the local client, the real package, and raw HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import httpx
from statebase import StateBase

from pytest_statebase.ledger import Ledger
from pytest_statebase.statebase import ApiError, LocalClient
from pytest_statebase.statebase.router import Router

_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_TIMES = frozenset({"created_at", "updated_at", "timestamp", "ttl_expires_at"})


class Refused(Exception):
    """An answer that is an error. code: None where it is one of validation."""

    def __init__(self, status: int, code: str | None) -> None:
        super().__init__(status, code)
        self.told = (status, code)


class Door:
    """A client of its own with the sessions it made, which the test knows by names that all doors share."""

    def __init__(self, ledgers: Mapping[str, Ledger]) -> None:
        self.local = LocalClient(ledgers)
        self.ids = {name: name for name in ledgers}

    def named(self, value: Any) -> Any:
        """An answer without times, and with the shared names for the ids of sessions."""
        text = json.dumps(value)
        for name, mine in sorted(self.ids.items(), key=lambda pair: -len(pair[1])):
            text = text.replace(mine, name)
        return _without_times(json.loads(text))

    def ledger(self, name: str) -> str:
        """What happened in a session, as a text without times."""
        events = self.local._store.get(self.ids[name]).ledger.events
        return str(self.named(_TIME.sub("", repr(events))))

    def id(self, name: str) -> str:
        return self.ids.get(name, name)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in _TIMES}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


class Here(Door):
    """The local client."""

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """`sessions.create` and so on."""
        group, _, method = name.partition(".")
        function: Callable[..., Any] = getattr(getattr(self.local, group), method)
        try:
            return function(*args, **kwargs)
        except ApiError as error:
            raise Refused(error.status_code, error.code) from error


class Wire(Door):
    """Raw HTTP: in this process, or through the client of the real package to a server."""

    def __init__(self, ledgers: Mapping[str, Ledger]) -> None:
        super().__init__(ledgers)
        self.router = Router(self.local)
        self.package: StateBase | None = None
        """Of the real package, where this door leads to a server."""

    def ask(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The JSON that comes back."""
        given = {name: value for name, value in query.items() if value is not None}
        target = quote(path) + (f"?{urlencode(given)}" if given else "")
        content = b"" if body is None else json.dumps(body).encode()
        if self.package is None:
            reply = self.router.answer(method, target, {"Content-Type": "application/json"}, content)
            return _read(reply.status, reply.body)
        got = self.package.client.request(method, self.package.base_url + target, content=content)
        return _read(got.status_code, got.content)

    def sdk(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A call of the real package, its objects as plain data."""
        group, _, method = name.partition(".")
        try:
            found = getattr(getattr(self.package, group), method)(*args, **kwargs)
        except httpx.HTTPStatusError as error:
            return _read(error.response.status_code, error.response.content)
        if isinstance(found, list):
            return [one.model_dump() for one in found]
        return found.model_dump() if hasattr(found, "model_dump") else found

    def all(self, path: str, limit: int, **query: Any) -> list[Any]:
        """A list to its end, page by page."""
        found: list[Any] = []
        after = None
        while True:
            page = self.ask("GET", path, limit=limit, starting_after=after, **query)
            assert len(page["data"]) <= limit
            assert (page["first_id"], page["last_id"]) == (
                (page["data"][0]["id"], page["data"][-1]["id"]) if page["data"] else (None, None)
            )
            found += page["data"]
            after = page["last_id"]
            if not page["has_more"]:
                return found


def _read(status: int, content: bytes) -> Any:
    value = json.loads(content)
    if status >= 400:
        raise Refused(status, value["error"]["code"] if "error" in value else None)
    return value


def shown(value: Any) -> Any:
    """An answer of the local client as HTTP shows it: an unknown agent is an empty text, no content likewise."""
    if isinstance(value, list):
        return [shown(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("object") == "session":
        return {**value, "agent_id": value["agent_id"] or ""}
    if value.get("object") == "turn":
        ends = {key: {**value[key], "content": value[key]["content"] or ""} for key in ("input", "output")}
        return {**value, **ends}
    return {key: shown(item) for key, item in value.items()}


def as_far_as(package: Any, whole: Any) -> Any:
    """What the package shows of an answer: its objects know fewer keys."""
    if isinstance(package, dict) and isinstance(whole, dict):
        return {key: as_far_as(item, whole.get(key)) for key, item in package.items()}
    if isinstance(package, list) and isinstance(whole, list) and len(package) == len(whole):
        return [as_far_as(*pair) for pair in zip(package, whole, strict=True)]
    return whole
