"""What the agents of these tests work for: a shop with two tools, plain functions."""

from __future__ import annotations

import time
from typing import Any

LIVE: list[str] = []
"""Names of tools that really ran."""
PAUSE = {"seconds": 0.0}
"""How long a look-up takes."""
INPUTS = ["Where is order 1047?", "A refund for 2093, please."]
SYSTEM = "You help the customers of a shop."
ORDERS = {"1047": "delivered", "2093": "lost", "A-1047": "delivered", "A-2093": "lost"}


def lookup_order(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    LIVE.append("lookup_order")
    time.sleep(PAUSE["seconds"])
    return {"order": order_id, "status": ORDERS[order_id]}


def refund(order_id: str, reason: str) -> str:
    """Refund an order."""
    LIVE.append("refund")
    return f"refunded {order_id}: {reason}"


TOOLS = {"lookup_order": lookup_order, "refund": refund}
PARAMETERS = {
    "lookup_order": {"order_id": {"type": "string"}},
    "refund": {"order_id": {"type": "string"}, "reason": {"type": "string"}},
}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments."""
    return {"type": "object", "properties": PARAMETERS[name], "required": list(PARAMETERS[name])}
