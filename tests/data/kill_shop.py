"""The agent and the tool of the trials in `kill_trials`: the same words have always the same answer."""

from __future__ import annotations

from typing import Any

from pytest_statebase import AgentReply


def look_up(order: str) -> dict[str, Any]:
    """What is known of an order."""
    number = sum(map(ord, order))
    items = [{"sku": f"S-{number % (7 + at)}", "price": (number, at)} for at in range(number % 40)]
    # Some are long: a write of many pages can be cut off in its middle.
    return {"order": order, "items": items, "note": "Left at the door. " * (0 if number % 9 else 5_000)}


def agent(session_id: str, user_input: str, state: dict[str, Any]) -> AgentReply:
    """Asks for the order that the user names, and for one more where there are many items."""
    order = user_input.rsplit(" ", 1)[-1].rstrip("?")
    found = look_up(order)
    if len(found["items"]) > 20:
        look_up(f"{order}-b")
    text = f"{len(found['items'])} items for {session_id} are on their way. " * (1 + len(order) % 9)
    return AgentReply(text, {**state, "order": order, "turns": state.get("turns", 0) + 1}, "It was asked for")
