"""Calls an ASGI application in this process: no server, no socket, no client library."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextvars import copy_context
from typing import Any
from urllib.parse import unquote, urlsplit

from ..errors import AgentError
from .answer import ServiceAnswer, ServiceError

_VERSIONS = {"version": "3.0", "spec_version": "2.4"}
_HOST = "agent.test"


class Application:
    """One application with its lifespan, which begins with the first request and ends with the replay."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._state: dict[str, Any] = {}
        self._lifespan: _Lifespan | None = None

    async def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> ServiceAnswer:
        """What the application answers; an exception that it raises goes to the caller.

        target: path and query. Raises AgentError where its start-up fails, and outside of asyncio.
        """
        await self._started()
        exchange = _Exchange(body)
        sent = {"host": _HOST, "content-length": str(len(body)), **{name.lower(): v for name, v in headers.items()}}
        address = urlsplit(target)
        scope = {
            "type": "http",
            "asgi": dict(_VERSIONS),
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(address.path),
            "raw_path": address.path.encode("ascii"),
            "query_string": address.query.encode("ascii"),
            "root_path": "",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 50000),
            "server": (_HOST, 80),
            "state": dict(self._state),
        }
        await self._app(scope, exchange.receive, exchange.send)
        answer = exchange.answer()
        if answer is None:
            raise ServiceError(f"{method} {target} had no answer: the application returned without one")
        return answer

    async def _started(self) -> None:
        if _is_in_trio():
            raise AgentError("an ASGI application runs in asyncio, and this replay runs in trio")
        loop = asyncio.get_running_loop()
        if self._lifespan is None or self._lifespan.loop is not loop:
            self._state.clear()
            self._lifespan = _Lifespan(self._app, self._state, loop)
        await self._lifespan.started()


def _is_in_trio() -> bool:
    trio = sys.modules.get("trio")
    return bool(trio is not None and trio.lowlevel.in_trio_run())


class _Exchange:
    """One request on its way into the application, and what comes back."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._over = asyncio.Event()
        self._status: int | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []

    async def receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._over.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self._chunks.append(bytes(message.get("body", b"")))
            if not message.get("more_body", False):
                self._over.set()

    def answer(self) -> ServiceAnswer | None:
        if self._status is None:
            return None
        headers = {bytes(name).decode("latin-1").lower(): bytes(v).decode("latin-1") for name, v in self._headers}
        return ServiceAnswer(self._status, headers, b"".join(self._chunks))


class _Lifespan:
    """Start-up and shutdown of the application, in a task that lasts until the replay ends."""

    def __init__(self, app: Any, state: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._app = app
        self._state = state
        self._begun: asyncio.Future[str | None] = loop.create_future()
        self._received = 0
        self._task = loop.create_task(self._run(), context=copy_context())

    async def started(self) -> None:
        failure = await asyncio.shield(self._begun)
        if failure is not None:
            raise AgentError(f"the application did not start: {failure}")

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": dict(_VERSIONS), "state": self._state}
        try:
            await self._app(scope, self._receive, self._send)
        except Exception as error:
            # An application that knows no lifespan raises at once; it is called without.
            self._begin(None if self._received == 0 else f"{type(error).__name__}: {error}")
        finally:
            self._begin(None)

    async def _receive(self) -> dict[str, Any]:
        self._received += 1
        if self._received > 1:
            try:
                await self.loop.create_future()
            except asyncio.CancelledError:
                # The replay is over: time for the application to tidy up, which it can still await.
                if self._received > 2:
                    raise
        return {"type": "lifespan.startup" if self._received == 1 else "lifespan.shutdown"}

    async def _send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "lifespan.startup.failed":
            self._begin(message.get("message") or "it says no more")
        else:
            self._begin(None)

    def _begin(self, failure: str | None) -> None:
        if not self._begun.done():
            self._begun.set_result(failure)
