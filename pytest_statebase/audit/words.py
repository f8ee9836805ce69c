"""Recorded values in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ledger import ToolCalled
from ..report.jsonsafe import json_safe
from ..report.show import one_line, visible

_WIDTH = 60


def brief(value: Any, width: int = _WIDTH) -> str:
    """A value on one line in at most `width` characters; texts in quotes."""
    text = one_line(json_safe(value))
    if len(text) <= width:
        return text
    return text[: width - 2] + '…"' if isinstance(value, str) else text[: width - 1] + "…"


def call_brief(call: ToolCalled, width: int = 100) -> str:
    """`refund(order_id="1047", …)`."""
    if not isinstance(call.arguments, Mapping):
        return f"{visible(call.tool)}({brief(call.arguments)})"
    told = ", ".join(f"{visible(key)}={brief(item, 40)}" for key, item in call.arguments.items())
    return f"{visible(call.tool)}({told if len(told) <= width else told[: width - 1] + '…'})"


def error_brief(error: Mapping[str, Any]) -> str:
    """`AddressLockedError: order 1052 is with the carrier`."""
    kind = str(error.get("type", "error")).rpartition(":")[2]
    return f"{visible(kind)}: {brief(str(error.get('message', '')))}"


def output_of(output: Any) -> Any:
    """The content of an output; the whole of one that has none."""
    return output["content"] if isinstance(output, Mapping) and "content" in output else output


def joined(words: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
