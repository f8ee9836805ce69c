"""Objects of the API as JSON that any client reads: what its models demand is there, whatever was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from enum import Enum
from math import isfinite
from typing import Any

from ..values import ABSENT, TypedData, fields_of
from .items import Item, Page

EPOCH = "1970-01-01T00:00:00Z"
"""Stands where a time was not recorded, as clients take none for an error."""
_DEPTH = 200


def json_bytes(value: Any) -> bytes:
    """`value` as JSON in ASCII. What JSON has no form for becomes a text, not-a-number and the infinities null."""
    try:
        return json.dumps(value, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value, 0), allow_nan=False).encode("ascii")


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if depth > _DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items() if item is not ABSENT}
    if isinstance(value, TypedData):
        return _plain(value.fields, depth + 1)
    fields = fields_of(value)
    if fields is not None:
        return _plain(fields, depth + 1)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


def page_form(found: Page, **more: Any) -> dict[str, Any]:
    """A list of the API."""
    return {
        "object": "list",
        "data": found.data,
        "has_more": found.has_more,
        "first_id": found.first_id,
        "last_id": found.last_id,
        **found.more,
        **more,
    }


def session_form(item: Item) -> Item:
    """A session; `agent_id` is an empty text where none was recorded."""
    created = item.created_at or EPOCH
    more = {"created_at": created, "updated_at": item.updated_at or created, "agent_id": item.agent_id or ""}
    return Item({**item, **more})


def state_form(item: Item) -> Item:
    """The current state."""
    return Item({**item, "updated_at": item.updated_at or item.created_at or EPOCH})


def turn_form(item: Item) -> Item:
    """A turn; the contents of input and output are texts."""
    return Item(
        {
            **item,
            "created_at": item.created_at or EPOCH,
            "input": _content(item.input),
            "output": _content(item.output),
        }
    )


def timed_form(item: Item) -> Item:
    """A memory, a state version."""
    return Item({**item, "created_at": item.created_at or EPOCH})


def listed_trace(item: Item) -> Item:
    """A trace as lists have it: without its details."""
    return Item({key: value for key, value in trace_form(item).items() if key not in ("details", "reasoning")})


def trace_form(item: Item) -> Item:
    """A trace with its details."""
    return Item({**item, "timestamp": item.timestamp or EPOCH})


def _content(item: Item) -> Item:
    content = item.get("content")
    if isinstance(content, str):
        return item
    return Item({**item, "content": "" if content is None else json_bytes(content).decode("ascii")})


def forms(items: Iterable[Any], form: Any) -> list[Item]:
    """Each of `items` in its form."""
    return [form(item) for item in items]
