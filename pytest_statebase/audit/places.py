"""Where in a document of a cassette something stands, in words that hold nothing of what was recorded but its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..cassette.leaves import Keys
from ..cassette.personal import holds_secret, spots
from ..compare.paths import Index, render
from ..report.show import visible


def place_of(document: Any, keys: Keys) -> str:
    """`turn 2, tool look_up_order, result.email` for the keys that lead to it in a document of a record."""
    value = document if isinstance(document, Mapping) else {}
    places: list[str] = []
    kind = value.get("kind")
    if kind == "turn":
        places.append(f"turn {value.get('number')}")
    elif isinstance(kind, str):
        places.append({"event": "between turns", "end": "the end"}.get(kind, f"the {kind}"))
    if len(keys) > 1 and keys[0] == "events" and type(keys[1]) is int:
        item = value["events"][keys[1]] if keys[1] < len(value["events"]) else {}
        places.append(f"tool {item['tool']}" if isinstance(item, Mapping) and "tool" in item else f"event {keys[1]}")
        keys = keys[2:]
    path = render(tuple(Index(key) if type(key) is int else told_key(key) for key in keys))
    return visible(", ".join([*places, path] if path else places))


def told_key(key: Any) -> Any:
    """A key that holds personal data itself is not told; the number of a turn is one."""
    if isinstance(key, str) and key.isdecimal():
        return int(key)
    return "(a key)" if isinstance(key, str) and (spots(key) or holds_secret(key)) else key
