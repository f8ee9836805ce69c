"""Where a state changed, so that the same place in two sessions is the same text: `cart[*].sku`, `orders.*.total`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..compare.paths import render_key
from ..values import ABSENT, TypedData, fields_of, same

WHOLE: Final = "the whole"
"""The place of a state that has nothing in it, or is a value itself."""
_DEEPEST = 24
_TABLE = 64
"""Keys from which on a mapping is a table: its keys are data."""
_LONGEST_KEY = 64
_DATA = re.compile(r"\d{3}|[^\x20-\x7e]|[@/\\:]|^\d+$")
"""What makes a key an id, an address, a date or the like, instead of a name."""

_Item = tuple[Any, str, Any]
"""The key itself, how it is told, the value."""


def changed_paths(value: Any, before: Any = ABSENT) -> Iterator[str]:
    """The places at which a state is not what it was `before`; every place that holds a value where there was none.

    Positions in lists are `[*]`, keys that are data are `*`. A place that is gone is told as `PATH (removed)`. A place
    may come more than once.
    """
    stack = [("", value, before, 0)]
    while stack:
        path, now, was, depth = stack.pop()
        if now is was:
            continue
        items = _items(now) if depth < _DEEPEST else []
        if not items:
            if not same(now, was):
                yield path or WHOLE
            continue
        old = {key: item for key, _, item in _items(was)}
        for key, told, item in items:
            stack.append((_joined(path, told), item, old.pop(key, ABSENT), depth + 1))
        if not isinstance(now, list | tuple) and type(now) is type(was):
            names = {key: told for key, told, _ in _items(was)}
            yield from (f"{_joined(path, names[key])} (removed)" for key in old)


def _items(value: Any) -> list[_Item]:
    """What is directly inside a value; nothing for what is a value itself, or empty."""
    if isinstance(value, list | tuple):
        return [(at, "[*]", item) for at, item in enumerate(value)]
    if isinstance(value, TypedData):
        value = value.fields
    inner = value if isinstance(value, Mapping) else fields_of(value)
    if not inner:
        return []
    is_table = len(inner) > _TABLE
    return [(key, "*" if is_table else _told(key), item) for key, item in inner.items()]


def _told(key: Any) -> str:
    if not isinstance(key, str) or len(key) > _LONGEST_KEY or _DATA.search(key):
        return "*"
    return render_key(key)


def _joined(path: str, told: str) -> str:
    return f"{path}.{told}" if path and told != "[*]" else path + told
