"""Agents that use the shop over MCP, each in its own way."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client import streamable_http
from mcp.shared import exceptions

SERVER = Path(__file__).parent / "shop_server.py"
MCPError: type[Exception] = getattr(exceptions, "MCPError", None) or exceptions.McpError
LOOSE = {"shop": [sys.executable, str(SERVER)]}
"""The command of each server; tests change it."""
URL = ["http://127.0.0.1:1/mcp"]


@asynccontextmanager
async def stdio(name: str = "shop") -> AsyncIterator[ClientSession]:
    command, *args = LOOSE[name]
    async with (
        stdio_client(StdioServerParameters(command=command, args=args)) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def http() -> AsyncIterator[ClientSession]:
    open_it = getattr(streamable_http, "streamable_http_client", None) or streamable_http.streamablehttp_client
    async with open_it(URL[0]) as (read, write, *_), ClientSession(read, write) as session:
        await session.initialize()
        yield session


def told(result: Any) -> dict[str, Any]:
    """What an agent sees of a result."""
    assert type(result).__name__ == "CallToolResult"
    form: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {key: form[key] for key in ("content", "structuredContent", "isError") if key in form}


class Buyer:
    """Connects anew in each turn."""

    connect: Callable[[], AbstractAsyncContextManager[ClientSession]] = staticmethod(stdio)

    async def __call__(self, user_input: str) -> str:
        async with self.connect() as session:
            listed = [tool.name for tool in (await session.list_tools()).tools]
            stock = await session.call_tool("in_stock", {"item": "kettle"})
            bought = await session.call_tool("order", {"item": "kettle", "count": int(user_input)})
            try:
                await session.call_tool("vault")
                refused = "open"
            except MCPError as error:
                refused = f"{type(error).__name__} {error.error.code} {error.error.message} {error.error.data} {error}"
            return json.dumps([listed, told(stock), told(bought), refused])


class WebBuyer(Buyer):
    connect = staticmethod(http)


class Keeper:
    """Keeps one connection from its first turn on."""

    def __init__(self) -> None:
        self.session: asyncio.Future[ClientSession] | None = None

    async def keep(self) -> None:
        async with stdio() as session:
            assert self.session is not None
            self.session.set_result(session)
            await self.over.wait()

    async def __call__(self, user_input: str) -> str:
        if self.session is None:
            self.session, self.over = asyncio.get_running_loop().create_future(), asyncio.Event()
            self.task = asyncio.create_task(self.keep())
        session = await self.session
        stock = await session.call_tool("in_stock", {"item": "kettle"})
        again = await session.call_tool("in_stock", arguments={"item": "kettle"})
        if user_input == "bye":
            self.over.set()
            await self.task
        return json.dumps([told(stock), told(again)])


class Careless(Buyer):
    """Asks for something else, and makes nothing of the exception."""

    async def __call__(self, user_input: str) -> str:
        async with self.connect() as session:
            try:
                await session.call_tool("in_stock", {"item": "toaster"})
            except Exception:
                return "all good"
        return "?"


class TwoShops:
    """Asks the same of two servers."""

    async def __call__(self, user_input: str) -> str:
        said = []
        for name in user_input.split():
            async with stdio(name) as session:
                said.append(told(await session.call_tool("in_stock", {"item": "kettle"}))["structuredContent"])
        return json.dumps(said)
