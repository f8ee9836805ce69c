"""What the model of the tests answers: rules over the conversation, the same on every run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Call:
    """The model wants a tool to be called."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


Move: TypeAlias = str | list[Call]
"""A text, or calls of tools."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, whatever API it came through."""

    system: str
    user: str
    """What the user said last."""
    turn: int
    """How often the user has spoken."""
    results: tuple[tuple[str, str], ...]
    """What tools answered since then: name and text."""
    tools: tuple[str, ...]


Script: TypeAlias = Callable[[Asked], Move]


def shop(asked: Asked) -> Move:
    """The assistant of a shop. `pirate` in the system text changes how it talks, `prefix` what it asks tools for."""
    greeting = "Ahoy! " if "pirate" in asked.system else ""
    answered = [name for name, _ in asked.results]
    wants_refund = "refund" in asked.user.lower()
    desk = next((tool for tool in asked.tools if tool.startswith("transfer_to_")), None)
    if wants_refund and desk and desk not in answered:
        return [Call(desk)]
    numbers = re.findall(r"\b\d{4}\b", asked.user)
    if numbers:
        orders = [f"A-{number}" if "prefix" in asked.system else number for number in numbers]
        if "lookup_order" in asked.tools and "lookup_order" not in answered:
            return [Call("lookup_order", {"order_id": order}) for order in orders]
        if wants_refund and "refund" in asked.tools and "refund" not in answered:
            return [Call("refund", {"order_id": orders[0], "reason": "the customer asked"})]
    item = re.search(r"\bkettle|toaster\b", asked.user)
    if item and "in_stock" in asked.tools and "in_stock" not in answered:
        return [Call("in_stock", {"item": item[0]})]
    if asked.results:
        return f"{greeting}In turn {asked.turn} I found: {asked.results[-1][1]}"
    return f"{greeting}You said: {asked.user}"
