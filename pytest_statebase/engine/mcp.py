"""Tools of MCP servers, recorded and answered at the client's call (PyPI package `mcp`, versions 1 and 2).

`mcp` in `statebase_tools` stands for them all: `ClientSession.call_tool` and the functions that open connections are
reached wherever they were imported. The package is imported only where that is written.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ..errors import ToolError
from .handlers import current_handler, handler_for
from .mcp_log import Naming, Transport
from .mcp_wire import ReadStream, connection, request_tool, servers_of
from .tool import Seen, Tool

PATTERNS: dict[str, Naming] = {"mcp": "tool", "mcp:*": "server.tool"}
_TRANSPORTS = (
    "mcp.client.stdio:stdio_client",
    "mcp.client.sse:sse_client",
    "mcp.client.streamable_http:streamable_http_client",
    "mcp.client.streamable_http:streamablehttp_client",
    "mcp.client.websocket:websocket_client",
)


def mcp_tools(pattern: str) -> list[Tool]:
    """What has to be stubbed for `mcp` (tools by their own names) or `mcp:*` (`server.tool`).

    Raises ToolError for another pattern, and where the package is not there.
    """
    naming = PATTERNS.get(pattern)
    if naming is None:
        what = f"{pattern!r} is no pattern for the tools of MCP servers"
        raise ToolError(what, remedy="Write `mcp`, or `mcp:*` for names such as `server.tool`.")
    try:
        from mcp import ClientSession
    except ImportError as error:
        what = f"{pattern!r} stands for the tools of MCP servers, and the package `mcp` does not import: {error}"
        raise ToolError(what, remedy="pip install mcp") from error
    call_tool: Any = ClientSession.call_tool
    call = Tool("mcp:call_tool", call_tool, "mcp:ClientSession.call_tool", is_method=True, is_async=True)
    call.adapter, call.seen = _calling(naming), _seen
    return [call, *_transports()]


def _transports() -> Iterator[Tool]:
    for place in _TRANSPORTS:
        module, _, name = place.partition(":")
        try:
            function = getattr(importlib.import_module(module), name, None)
        except ImportError:  # it needs a package that is not there: nobody can open one
            continue
        if isinstance(function, FunctionType):
            tool = Tool(f"mcp:{name}", function, place)
            tool.adapter = _opening(name)
            yield tool


def _opening(name: str) -> Callable[[FunctionType], Callable[..., Any]]:
    def adapted(original: FunctionType) -> Callable[..., Any]:
        def dispatch(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            first = args[0] if args else next(iter(kwargs.values()))
            transport = _transport(kwargs.get("server", kwargs.get("url", first)))
            extra = 1 if "http" in name and _is_version_1() else 0
            return connection(transport, lambda: original(*args, **kwargs), extra)

        return dispatch

    return adapted


def _transport(target: Any) -> Transport:
    command = getattr(target, "command", None)
    if command is not None:
        return Transport.of_command(str(command), [str(arg) for arg in target.args])
    return Transport.of_url(str(target))


def _is_version_1() -> bool:
    return not hasattr(importlib.import_module("mcp"), "MCPError")


def _calling(naming: Naming) -> Callable[[FunctionType], Callable[..., Any]]:
    def adapted(original: FunctionType) -> Callable[..., Any]:
        async def dispatch(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            servers = servers_of(current_handler())
            transport = _server(args[0])
            name = named["name"]
            if servers is not None:
                server = None if transport is None else servers.at(transport)
                name = servers.name_of(server, name, naming, _own_name(args[0]))
            tool = request_tool(name)
            handler = handler_for(tool)

            async def live() -> Any:
                try:
                    return _encoded(await original(*args, **kwargs))
                except _error_class() as error:
                    raise _as_data(error) from None

            is_replay = servers is None or servers.replayed
            try:
                # What a replay connects to is no server, so that nothing could run live there.
                answer = await handler.call_async(tool, _arguments(named), None if is_replay else live)  # type: ignore[arg-type]
            except Exception as error:
                real = _as_error(error)
                if real is error:
                    raise
                raise real from None
            return _decoded(answer)

        return dispatch

    return adapted


def _seen(named: dict[str, Any]) -> Seen:
    """A call while nobody knows of servers: connections are most often older than the turn that uses them."""

    def recorded(error: BaseException) -> BaseException:
        return _as_data(error) if isinstance(error, _error_class()) else error

    return Seen(request_tool(named["name"]), _arguments(named), _encoded, recorded)


def _server(session: Any) -> Transport | None:
    """How the server of a session is reached; None where the project made the streams itself."""
    holders = (session, getattr(session, "_dispatcher", None))
    streams = (getattr(holder, "_read_stream", None) for holder in holders)
    return next((stream.transport for stream in streams if isinstance(stream, ReadStream)), None)


def _own_name(session: Any) -> str | None:
    name = getattr(getattr(session, "server_info", None), "name", None)
    return name if isinstance(name, str) else None


def _arguments(named: dict[str, Any]) -> dict[str, Any]:
    """The tool's own arguments; in another round of a call that needed the user, what the user said as well."""
    arguments = dict(named.get("arguments") or {})
    for key in ("input_responses", "request_state"):
        if named.get(key) is not None:
            value = named[key]
            items = value.items() if isinstance(value, dict) else ()
            arguments[f"_{key}"] = {k: _plain(item) for k, item in items} if items else value
    return arguments


def _plain(value: Any) -> Any:
    return value.model_dump(by_alias=True, mode="json", exclude_none=True) if hasattr(value, "model_dump") else value


def _encoded(result: Any) -> Any:
    """A result as the server sent it."""
    form = _plain(result)
    if isinstance(form, dict) and form.get("resultType") == "complete":
        del form["resultType"]
    return form


def _decoded(answer: Any) -> Any:
    """The package's own result; of a text or another value, as people write it in `answers`, one that holds it."""
    from mcp import types

    if not (isinstance(answer, dict) and ("content" in answer or "resultType" in answer)):
        answer = _wrapped(answer)
    if answer.get("resultType") == "input_required":
        return types.InputRequiredResult.model_validate(answer)
    return types.CallToolResult.model_validate(answer)


def _wrapped(value: Any) -> dict[str, Any]:
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    wrapped: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return {**wrapped, "structuredContent": value} if isinstance(value, dict) else wrapped


def _error_class() -> type[Exception]:
    module = importlib.import_module("mcp.shared.exceptions")
    found: type[Exception] = getattr(module, "MCPError", None) or module.McpError
    return found


def _as_data(error: Exception) -> Exception:
    """An error of the protocol as an exception that holds nothing but data: what stands in a record."""
    kind = _error_class()
    twin: Any = type(kind.__name__, (Exception,), {"__module__": kind.__module__, "__qualname__": kind.__qualname__})
    made: Exception = twin(error.error.message)  # type: ignore[attr-defined]
    made.__dict__.update(error=_plain(error.error), __original=error)  # type: ignore[attr-defined]
    return made


def _as_error(error: Exception) -> Exception:
    """The package's own exception for one that holds data, any other one as it is."""
    original = error.__dict__.get("__original")
    if isinstance(original, Exception):
        return original
    data = error.__dict__.get("error")
    kind = _error_class()
    if not (isinstance(error, kind) and isinstance(data, dict)):
        return error
    if _is_version_1():
        from mcp import types

        return kind(types.ErrorData(**data))
    return kind(data["code"], data["message"], data.get("data"))
