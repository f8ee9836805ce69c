"""Recorded values, calls and differences as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..compare import IgnoreRules, diff
from ..compare.paths import render
from ..ledger import ToolCalled
from ..report.jsonsafe import json_safe
from ..report.show import one_line, pretty, structure, visible
from ..values import ABSENT
from .output import wrapped

_NO_LIMIT = 50_000_000
_CHANGES = 8
_LINES = 3


def value_text(value: Any) -> str:
    """A value on one line, whole; a text that is JSON as the structure that it holds."""
    inner = structure(value) if isinstance(value, str) else None
    return one_line(json_safe(value if inner is None else inner, limit=_NO_LIMIT))


def value_lines(value: Any, width: int, *, full: bool, lead: str = "") -> list[str]:
    """A value over a few lines, cut with its size; with `full` whole, and indented by its structure."""
    if full:
        inner = structure(value) if isinstance(value, str) else None
        text = pretty(json_safe(value if inner is None else inner, limit=_NO_LIMIT), width=width - len(lead))
        lines = [lead + text.split("\n")[0], *text.split("\n")[1:]]
        return [part for line in lines for part in (wrapped(line, width) if len(line) > width else [line])]
    if isinstance(value, str) and "\n" in value and structure(value) is None:
        return wrapped(lead + value, width, most=2 * _LINES)
    return wrapped(lead + value_text(value), width, most=_LINES)


def call_text(tool: str, arguments: Any) -> str:
    """`look_up_order(order_id="1047")`."""
    if not isinstance(arguments, Mapping):
        return f"{visible(tool)}({value_text(arguments)})"
    return f"{visible(tool)}({', '.join(f'{visible(key)}={value_text(item)}' for key, item in arguments.items())})"


def answer_lines(call: ToolCalled, width: int, *, full: bool) -> list[str]:
    """What a call came back with."""
    if call.error is not None:
        return wrapped(f"raised {error_text(call.error)}", width, most=None if full else _LINES)
    if call.result is ABSENT:
        return ["(no result recorded)"]
    return value_lines(call.result, width, full=full, lead="says it failed: " if call.said_failed else "→ ")


def error_text(error: Mapping[str, Any]) -> str:
    """`AddressLockedError: order 1052 is already with North Parcel`."""
    kind = str(error.get("type", "error")).rpartition(":")[2]
    return f"{visible(kind)}: {visible(str(error.get('message', '')))}"


def change_lines(before: Any, after: Any, width: int, *, full: bool) -> Iterator[str]:
    """How a state differs from the one before it; the whole state where there was none."""
    if before is ABSENT:
        yield from value_lines(after, width, full=full)
        return
    found = diff(before, after, prefix=("state",), ignore=IgnoreRules())
    for one in found if full else found[:_CHANGES]:
        path = render(one.path[1:]) or "everything"
        yield from wrapped(f"{path}  {_change(one.recorded, one.replayed)}", width, most=None if full else _LINES)
    if not found:
        yield "nothing changed"
    if not full and len(found) > _CHANGES:
        yield f"and {len(found) - _CHANGES:,} more changes (--full shows them)"


def _change(before: Any, after: Any) -> str:
    if before is ABSENT:
        return f"added {value_text(after)}"
    if after is ABSENT:
        return f"removed {value_text(before)}"
    return f"{value_text(before)} → {value_text(after)}"
