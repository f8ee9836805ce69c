"""A real MCP server for the tests: a shop, over stdio or over HTTP on loopback. Runs with versions 1 and 2 of `mcp`.

    python shop_server.py [--http PORT] [--log FILE]

Appends a line to FILE when it starts and for each call.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

try:
    from mcp.server import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server  # type: ignore[no-redef, attr-defined]
from mcp.types import ToolAnnotations

LOG = Path(sys.argv[sys.argv.index("--log") + 1]) if "--log" in sys.argv else None
NAME = sys.argv[sys.argv.index("--name") + 1] if "--name" in sys.argv else "shop"
stock = {"kettle": 3}
server = Server(NAME)
READS = ToolAnnotations.model_validate({"readOnlyHint": True})


def log(line: str) -> None:
    if LOG is not None:
        with LOG.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


@server.tool(annotations=READS)
def in_stock(item: str) -> dict[str, Any]:
    """How many there are."""
    log(f"in_stock {item}")
    return {"item": item, "count": stock[item], "shop": NAME}


@server.tool()
def order(item: str, count: int = 1) -> str:
    """Order some."""
    log(f"order {item}")
    if count > stock.get(item, 0):
        raise ValueError(f"only {stock.get(item, 0)} left")
    stock[item] -= count
    return f"{count} × {item} ordered"


@server.tool()
def vault() -> str:
    """Refused by the protocol, not by the tool."""
    log("vault")
    raise refusal(-32001, "the vault is closed", {"until": "09:00"})


def refusal(code: int, message: str, data: Any) -> Exception:
    from mcp import types
    from mcp.shared import exceptions

    kind: Any = getattr(exceptions, "MCPError", None)
    if kind is not None:
        return kind(code, message, data)  # type: ignore[no-any-return]
    kind = getattr(exceptions, "McpError")  # noqa: B009
    return kind(types.ErrorData(code=code, message=message, data=data))  # type: ignore[no-any-return]


if __name__ == "__main__":
    log("started")
    if "--http" in sys.argv:
        port = int(sys.argv[sys.argv.index("--http") + 1])
        if hasattr(server, "settings") and hasattr(server.settings, "port"):
            server.settings.port = port
            server.run("streamable-http")
        else:
            server.run("streamable-http", port=port)
    else:
        server.run("stdio")
