"""Any value as JSON that every reader has: other types become a mapping of one key, their tag.

`Decimal("1.10")` is `{"!decimal": "1.10"}`. A mapping that could be taken for such a tag, or that has keys
that are no texts, is `{"!map": [[key, value], …]}`.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from ..cassette.scrub import scrubbed
from ..values import ABSENT, TypedData, fields_of

VALUE_LIMIT = 20_000
"""Characters of one value that a row keeps; what is longer is cut and says its size."""

DEPTH = 60
"""Levels of one value that a row keeps; what is nested deeper is cut as a text."""
_INT_BITS = 2_000


class _TooBigError(Exception):
    """The value has more than the characters left, or is nested too deep."""


def json_safe(value: Any, *, limit: int = VALUE_LIMIT) -> Any:
    """`value` as plain JSON that shares nothing mutable with it; never raises.

    limit: characters; a longer value becomes `{"!cut": {"head": text, "size": characters in all}}`.
    """
    kind = type(value)
    if kind is str and len(value) <= limit:
        return value
    if kind is bool or value is None or (kind is int and value.bit_length() < _INT_BITS):
        return value
    try:
        if kind is str:
            return _cut(value, limit)
        return _convert(value, [limit], 0)
    except _TooBigError:
        return _cut(_long_text(value), limit)
    except Exception as error:  # recorded objects are strangers: anything they define may raise
        return {"!unreadable": f"{_name(kind)}: {_name(type(error))} while it was read"}


def _cut(text: str, limit: int) -> dict[str, Any]:
    return {"!cut": {"head": text[:limit], "size": len(text)}}


def _convert(value: Any, left: list[int], depth: int) -> Any:
    """`left[0]` is what the whole value may still take."""
    kind = type(value)
    if kind is str:
        left[0] -= len(value) + 2
    else:
        left[0] -= 4
    if left[0] < 0 or depth > DEPTH:
        raise _TooBigError
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return value if value.bit_length() < _INT_BITS else {"!int": hex(value)}
    if kind is dict:
        return _mapping(value, left, depth + 1)
    if kind is list:
        return [_convert(item, left, depth + 1) for item in value]
    if kind is float:
        return value if math.isfinite(value) else {"!float": repr(value)}
    return _other(kind, value, left, depth + 1)


def _mapping(value: Mapping[Any, Any], left: list[int], depth: int) -> Any:
    made = {}
    for key, item in value.items():
        if type(key) is not str:
            return _pairs(value, left, depth)
        left[0] -= len(key) + 4
        made[key] = _convert(item, left, depth)
    if len(made) == 1 and next(iter(made)).startswith("!"):
        return _pairs(value, left, depth)
    return made


def _pairs(value: Mapping[Any, Any], left: list[int], depth: int) -> Any:
    return {"!map": [[_convert(key, left, depth), _convert(item, left, depth)] for key, item in value.items()]}


_TEXTS: dict[type, tuple[str, Callable[[Any], str]]] = {
    decimal.Decimal: ("!decimal", str),
    datetime.datetime: ("!datetime", datetime.datetime.isoformat),
    datetime.date: ("!date", datetime.date.isoformat),
    datetime.time: ("!time", datetime.time.isoformat),
    datetime.timedelta: ("!timedelta", str),
    uuid.UUID: ("!uuid", str),
    complex: ("!complex", repr),
    bytes: ("!bytes", lambda value: repr(value)[2:-1]),
}


def _other(kind: type, value: Any, left: list[int], depth: int) -> Any:
    if kind in _TEXTS:
        tag, text = _TEXTS[kind]
        return {tag: _paid(text(value), left)}
    if value is ABSENT:
        return {"!absent": True}
    if isinstance(value, TypedData):
        return {f"!{value.kind}": {"type": value.type, "fields": _convert(dict(value.fields), left, depth)}}
    if isinstance(value, enum.Enum):
        return {
            "!enum": {"type": _name(kind), "fields": {"name": value.name, "value": _convert(value.value, left, depth)}}
        }
    if kind is tuple:
        return {"!tuple": [_convert(item, left, depth) for item in value]}
    if isinstance(value, (set, frozenset)):
        items = [_convert(item, left, depth) for item in value]
        return {"!set": sorted(items, key=lambda item: json.dumps(item, sort_keys=True))}
    if isinstance(value, BaseException):
        return {"!error": {"type": _name(kind), "fields": {"args": _convert(list(value.args), left, depth)}}}
    return _object(kind, value, left, depth)


def _object(kind: type, value: Any, left: list[int], depth: int) -> Any:
    fields = fields_of(value)
    if fields is not None:
        return {"!object": {"type": _name(kind), "fields": _convert(fields, left, depth)}}
    if isinstance(value, str):
        return _paid(str.__str__(value), left)
    if isinstance(value, int):
        return _convert(int(value), left, depth)
    if isinstance(value, Mapping):
        return _mapping(value, left, depth)
    if isinstance(value, (list, tuple)):
        return {f"!{kind.__name__}": [_convert(item, left, depth) for item in value]}
    return {"!repr": _paid(safe_repr(value), left)}


def _paid(text: str, left: list[int]) -> str:
    left[0] -= len(text)
    if left[0] < 0:
        raise _TooBigError
    return text


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def safe_repr(value: Any) -> str:
    """`repr(value)` without secrets (requests show their address), or its type where that raises."""
    try:
        return scrubbed(repr(value))
    except Exception as error:  # the same strangers
        return f"<{_name(type(value))}, whose repr raised {type(error).__name__}>"


def _long_text(value: Any) -> str:
    """The text of a value that is too big to be walked item by item."""
    try:
        return json.dumps(value, ensure_ascii=False, default=safe_repr, skipkeys=True)
    except (TypeError, ValueError, RecursionError):
        return safe_repr(value)


def short_text(value: Any, limit: int) -> str:
    """`value` as one short text, for what needs no second look.

    limit: characters, the `…` of a cut one not counted.
    """
    text: str
    if type(value) is str:
        text = value
    else:
        try:
            text = _ENCODE(value)
        except (TypeError, ValueError, RecursionError):
            text = safe_repr(value)
    return text if len(text) <= limit else text[:limit] + "…"


_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
