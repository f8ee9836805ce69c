"""What a browser would read as something else.

JavaScript has one type for all numbers, 53 bits for the whole ones, and puts the keys of a mapping that are whole
numbers before all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LARGEST = 2**53
_INDEX = re.compile(r"[0-9]+")
_COUNTED = frozenset({"duration_ms", "turn", "v", "after", "back", "until", "failing", "others", "traces"})
"""What the row itself counts and measures, or tells in texts."""


def exact_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose values read in a browser as they were recorded: `1.0` is `{"!float": "1.0"}`, and no `1`.

    Mappings that may get into another order are `{"!map": [[key, value], …]}`, as those with keys that are no texts.
    What the row itself counts and measures stays a number.
    """
    inner = {name: [_exact(part) for part in row[name]] for name in ("turns", "versions") if name in row}
    return _exact({key: item for key, item in row.items() if key not in inner}) | inner


def _exact(part: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item if key in _COUNTED else exact(item) for key, item in part.items()}


def exact(value: Any) -> Any:
    """The same of any value; it is the very same object where nothing in it is affected."""
    kind = type(value)
    if kind is float:
        return {"!float": repr(value)} if value.is_integer() else value
    if kind is int:
        return {"!int": str(value)} if not -_LARGEST < value < _LARGEST else value
    if kind is dict:
        items = {key: exact(item) for key, item in value.items()}
        if len(items) > 1 and any(_INDEX.fullmatch(key) for key in items):
            return {"!map": [[key, item] for key, item in items.items()]}
        return items if any(items[key] is not item for key, item in value.items()) else value
    if kind is list:
        made = [exact(item) for item in value]
        return made if any(one is not item for one, item in zip(made, value, strict=True)) else value
    return value
