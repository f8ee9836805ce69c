"""The streams between an MCP client and its server: listened to while recording, played in a replay.

In a replay there is no server: whatever the client sends is answered from the record, and nothing is started or opened.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from .handlers import Handler, current_handler
from .mcp_log import HANDSHAKES, Server, Servers, Transport
from .tool import Tool

_NOT_FOUND = -32601
_opening: ContextVar[bool] = ContextVar("statebase_mcp_opening", default=False)
_servers: WeakKeyDictionary[Handler, Servers] = WeakKeyDictionary()


def servers_of(handler: Handler | None) -> Servers | None:
    """The servers that a replay knows from its record, or that a recording has met; None where there is neither."""
    handler = getattr(handler, "answering", handler)
    if handler is None:
        return None
    found = _servers.get(handler)
    if found is None:
        recorded = getattr(handler, "recorded", None)
        found = Servers(replayed=False) if recorded is None else Servers.recorded_in(recorded)
        _servers[handler] = found
    return found


def recorded_servers(handler: Handler) -> Servers | None:
    """The servers that a recording has met."""
    return _servers.get(handler)


class _Stream:
    """One direction of a connection. What the client's own code does with it goes to the stream inside."""

    def __init__(self, inner: Any, transport: Transport) -> None:
        self._inner = inner
        self.transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> Any:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._inner.__aexit__(*raised)


class ReadStream(_Stream):
    """What comes from the server, each message shown to `heard` first."""

    def __init__(self, inner: Any, transport: Transport, heard: Callable[[dict[str, Any]], None] | None = None) -> None:
        super().__init__(inner, transport)
        self._heard = heard

    async def receive(self) -> Any:
        return self._shown(await self._inner.receive())

    def __aiter__(self) -> ReadStream:
        return self

    async def __anext__(self) -> Any:
        return self._shown(await self._inner.__anext__())

    def _shown(self, item: Any) -> Any:
        if self._heard is not None and not isinstance(item, Exception):
            self._heard(_dumped(item))
        return item


class WriteStream(_Stream):
    """What goes to the server: each message is shown to `sent`, and then sent on where there is a server."""

    def __init__(self, inner: Any, transport: Transport, sent: Callable[[dict[str, Any]], None], *, on: bool) -> None:
        super().__init__(inner, transport)
        self._sent = sent
        self._on = on

    async def send(self, item: Any) -> None:
        self._sent(_dumped(item))
        if self._on:
            await self._inner.send(item)


def _dumped(item: Any) -> dict[str, Any]:
    message: dict[str, Any] = item.message.model_dump(by_alias=True, mode="json", exclude_none=True)
    return message


@asynccontextmanager
async def connection(transport: Transport, live: Callable[[], AbstractAsyncContextManager[Any]], extra: int) -> Any:
    """What a transport's function of the `mcp` package gives: two streams, and `extra` more things.

    live: opens the real connection.
    """
    servers = servers_of(current_handler())
    if _opening.get() or (servers is not None and not servers.replayed):
        async with _really(transport, live, None if _opening.get() else servers) as streams:
            yield streams
    else:
        async with _played(transport) as streams:
            yield (*streams, *[lambda: None] * extra)


@asynccontextmanager
async def _really(transport: Transport, live: Callable[[], Any], servers: Servers | None) -> AsyncIterator[Any]:
    token = _opening.set(True)
    opened = live()
    try:
        read, write, *rest = await opened.__aenter__()
    finally:
        _opening.reset(token)
    try:
        if servers is None:
            yield (read, write, *rest)
        else:
            ear = _Ear(servers, servers.at(transport))
            yield (ReadStream(read, transport, ear.heard), WriteStream(write, transport, ear.sent, on=True), *rest)
    except BaseException as error:
        if not await opened.__aexit__(type(error), error, error.__traceback__):
            raise
    else:
        await opened.__aexit__(None, None, None)


class _Ear:
    """Listens to one connection."""

    def __init__(self, servers: Servers, server: Server) -> None:
        self._servers = servers
        self._server = server
        self._pending: dict[Any, tuple[str, Any]] = {}

    def sent(self, message: dict[str, Any]) -> None:
        # Calls of tools are recorded where the client makes them.
        if "id" in message and message.get("method", "tools/call") != "tools/call":
            self._pending[message["id"]] = message["method"], message.get("params")

    def heard(self, message: dict[str, Any]) -> None:
        asked = self._pending.pop(message.get("id"), None) if "method" not in message else None
        if asked is None:
            return
        method, params = asked
        self._server.hear(method, params, {key: message[key] for key in ("result", "error") if key in message})
        if method in HANDSHAKES:
            self._servers.rename(self._server, _own_name(message.get("result") or {}))


def _own_name(result: Mapping[str, Any]) -> str:
    """What a server calls itself when it is greeted: in the answer, or in one of its notes."""
    notes = result.get("_meta") or {}
    places = [result.get("serverInfo"), *(value for key, value in notes.items() if key.endswith("serverInfo"))]
    return next((str(place["name"]) for place in places if isinstance(place, Mapping) and place.get("name")), "")


@asynccontextmanager
async def _played(transport: Transport) -> AsyncIterator[Any]:
    import anyio

    sender, receiver = anyio.create_memory_object_stream[Any](math.inf)

    def sent(message: dict[str, Any]) -> None:
        if "id" in message and "method" in message:
            outcome = _answer(transport, message["method"], message.get("params") or {})
            sender.send_nowait(_message(message["id"], outcome))

    try:
        yield ReadStream(receiver, transport), WriteStream(sender, transport, sent, on=False)
    finally:
        sender.close()
        receiver.close()


def _answer(transport: Transport, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """`{result}` or `{error}`. Raises UnrecordedCall for what the recording does not know, and marks the turn."""
    handler = current_handler()
    servers = servers_of(handler)
    server = servers.at(transport) if servers is not None else None
    found = server.answer(method, params) if server is not None else None
    if found is not None:
        return found
    if method == "initialize":
        # A recording of another tracer knows calls, and no greetings; nothing of what an agent does depends on this.
        info = {"name": server.name if server else transport.text, "version": "0"}
        return {
            "result": {
                "protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}}, "serverInfo": info,
            }
        }  # fmt: skip
    if method == "ping":
        return {"result": {}}
    if method == "server/discover" or handler is None:
        return {"error": {"code": _NOT_FOUND, "message": f"{method}: there is no server in a replay"}}
    return {"result": handler.call(request_tool(method), dict(params), None)}  # type: ignore[arg-type]


def request_tool(name: str) -> Tool:
    """A tool of a name, for a call that the client makes."""
    from mcp import ClientSession

    return Tool(name, ClientSession.call_tool, f"mcp:{name}", is_method=True, is_async=True)  # type: ignore[arg-type]


def _message(id: Any, outcome: Mapping[str, Any]) -> Any:
    from mcp import types
    from mcp.shared.message import SessionMessage

    if "error" in outcome:
        message: Any = types.JSONRPCError(jsonrpc="2.0", id=id, error=types.ErrorData(**outcome["error"]))
    else:
        message = types.JSONRPCResponse(jsonrpc="2.0", id=id, result=outcome["result"])
    # Version 1 of the package wraps messages once more.
    wrapped = isinstance(types.JSONRPCMessage, type)
    return SessionMessage(types.JSONRPCMessage(message) if wrapped else message)  # type: ignore[operator]
