"""Types beyond JSON: the tag of each, how it is written, how it is built again. Nothing is ever imported."""

from __future__ import annotations

import base64
import collections
import datetime
import enum
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PosixPath, WindowsPath
from typing import Any
from zoneinfo import ZoneInfo

from ..values import ABSENT, TypedData, Uncopied, fields_of

_ESCAPED = re.compile(r"[\\\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\\|u[0-9a-f]{4})|\\")
_ZONED = re.compile(r"(.+)\[([A-Za-z0-9_+/-]+)\]")
_QUOTIENT = re.compile(r"-?[0-9]+(/[0-9]+)?")
_SECONDS = re.compile(r"(-?)(\d+)(?:\.(\d{6}))?")


def escape_surrogates(text: str) -> str:
    r"""A text with lone surrogates as one without: `\udXXX` for each, `\\` for a backslash."""
    return _ESCAPED.sub(lambda found: "\\\\" if found[0] == "\\" else f"\\u{ord(found[0]):04x}", text)


def _unescape(found: re.Match[str]) -> str:
    if found[1] is None:
        raise ValueError("a single backslash")
    return "\\" if found[1] == "\\" else chr(int(found[1][1:], 16))


def _timedelta_text(value: datetime.timedelta) -> str:
    whole = (value.days * 86400 + value.seconds) * 1_000_000 + value.microseconds
    seconds, micro = divmod(abs(whole), 1_000_000)
    return ("-" if whole < 0 else "") + str(seconds) + (f".{micro:06d}" if micro else "")


def _timedelta(text: str) -> datetime.timedelta:
    match = _SECONDS.fullmatch(text)
    if match is None:
        raise ValueError("wanted seconds such as 90 or -0.500000")
    value = datetime.timedelta(seconds=int(match[2]), microseconds=int(match[3] or 0))
    return -value if match[1] else value


def _datetime_text(value: datetime.datetime) -> str:
    zone = value.tzinfo
    if isinstance(zone, ZoneInfo) and zone.key:
        return f"{value.isoformat()}[{zone.key}]"
    return value.isoformat()


def _datetime(text: str) -> datetime.datetime:
    match = _ZONED.fullmatch(text)
    if match is None:
        return datetime.datetime.fromisoformat(text)
    fixed = datetime.datetime.fromisoformat(match[1])
    local = fixed.replace(tzinfo=ZoneInfo(match[2]))
    return local if local.utcoffset() == fixed.utcoffset() else local.replace(fold=1)


def _unbase64(text: str) -> bytes:
    return base64.b64decode("".join(text.split()), validate=True)


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _complex(text: str) -> complex:
    return complex(text)


def _fraction(text: str) -> Fraction:
    # Fraction itself also takes 1e999999999, and computes it.
    if _QUOTIENT.fullmatch(text) is None:
        raise ValueError("wanted a quotient such as 3 or -1/3")
    return Fraction(text)


_SCALAR_FORMS: dict[type, tuple[str, Callable[[Any], str]]] = {
    Decimal: ("!decimal", str),
    datetime.datetime: ("!datetime", _datetime_text),
    datetime.date: ("!date", datetime.date.isoformat),
    datetime.time: ("!time", datetime.time.isoformat),
    datetime.timedelta: ("!timedelta", _timedelta_text),
    bytes: ("!bytes", _base64),
    bytearray: ("!bytearray", _base64),
    uuid.UUID: ("!uuid", str),
    complex: ("!complex", lambda value: repr(value).strip("()")),
    Fraction: ("!fraction", str),
    PosixPath: ("!path", str),
    WindowsPath: ("!path", str),
}
_LIST_FORMS: dict[type, str] = {
    tuple: "!tuple",
    set: "!set",
    frozenset: "!frozenset",
    collections.deque: "!deque",
}
_MAPPING_FORMS: dict[type, str] = {collections.OrderedDict: "!ordereddict", collections.Counter: "!counter"}
_TYPED_TAGS = {"object": "!object", "error": "!error", "enum": "!enum"}


def form_of(value: Any) -> tuple[str, Any]:
    """The tag of a value that is no plain JSON value, and its plain form: a text, a list or a dict.

    Raises TypeError, with the reason, for a type that has no form.
    """
    kind = type(value)
    scalar = _SCALAR_FORMS.get(kind)
    if scalar is not None:
        return scalar[0], scalar[1](value)
    if kind in _LIST_FORMS:
        return _LIST_FORMS[kind], _items(value)
    if kind in _MAPPING_FORMS:
        return _MAPPING_FORMS[kind], dict(value)
    typed = value if kind is TypedData else typed_data(value)
    if kind is Uncopied:
        raise TypeError(f"the type {value.type} has no form in a record")
    if typed is None or value is ABSENT:
        raise TypeError(f"the type {type_name(kind)} has no form in a record")
    return _TYPED_TAGS[typed.kind], _typed_form(typed)


def _items(value: Iterable[Any]) -> list[Any]:
    if isinstance(value, collections.deque) and value.maxlen is not None:
        raise TypeError("a deque with a maxlen has no form in a record")
    return list(value)


def _typed_form(typed: TypedData) -> dict[str, Any]:
    if typed.kind == "enum":
        return {"type": typed.type, **typed.fields}
    return {"type": typed.type, "fields": dict(typed.fields)}


def type_name(kind: type) -> str:
    """`module:qualified.name`."""
    return f"{kind.__module__}:{kind.__qualname__}"


def typed_data(value: Any) -> TypedData | None:
    """A dataclass, pydantic model, enum member or exception as data with its type's name, else None."""
    name = type_name(type(value))
    if isinstance(value, enum.Enum):
        return TypedData(name, {"name": value.name, "value": value.value}, "enum")
    if isinstance(value, BaseException):
        return TypedData(name, {"args": list(value.args), **getattr(value, "__dict__", {})}, "error")
    if isinstance(value, type):
        return None
    fields = fields_of(value)
    return None if fields is None else TypedData(name, fields)


def _json_text(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        raise ValueError("it nests too deep for a JSON text") from None


def _distinct(kind: type) -> Callable[[list[Any]], Any]:
    def build(items: list[Any]) -> Any:
        made = kind(items)
        if len(made) != len(items):
            raise ValueError("an element stands twice")
        return made

    return build


def _counter(items: dict[Any, Any]) -> Any:
    return collections.Counter(items)


def _typed(kind: str) -> Callable[[dict[Any, Any]], TypedData]:
    def build(form: dict[Any, Any]) -> TypedData:
        name = form.get("type")
        if not isinstance(name, str):
            raise ValueError("`type` must be the type's name")
        wanted = {"type", "name", "value"} if kind == "enum" else {"type", "fields"}
        fields = {key: form.get(key) for key in ("name", "value")} if kind == "enum" else form.get("fields")
        if set(form) != wanted or not isinstance(fields, Mapping):
            raise ValueError(f"wanted the keys {', '.join(sorted(wanted))}")
        return TypedData(name, fields, kind)

    return build


SCALARS: dict[str, Callable[[str], Any]] = {
    "!decimal": Decimal,
    "!datetime": _datetime,
    "!date": datetime.date.fromisoformat,
    "!time": datetime.time.fromisoformat,
    "!timedelta": _timedelta,
    "!bytes": _unbase64,
    "!bytearray": lambda text: bytearray(_unbase64(text)),
    "!uuid": uuid.UUID,
    "!complex": _complex,
    "!fraction": _fraction,
    "!path": Path,
    "!surrogates": lambda text: _ESCAPE.sub(_unescape, text),
}
"""What a tagged text becomes."""

LISTS: dict[str, Callable[[list[Any]], Any]] = {
    "!json": _json_text,
    "!tuple": tuple,
    "!set": _distinct(set),
    "!frozenset": _distinct(frozenset),
    "!deque": collections.deque,
}
"""What a tagged list becomes."""

MAPPINGS: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "!json": _json_text,
    "!ordereddict": collections.OrderedDict,
    "!counter": _counter,
    "!object": _typed("object"),
    "!error": _typed("error"),
    "!enum": _typed("enum"),
}
"""What a tagged mapping becomes."""

TYPED = tuple(_TYPED_TAGS.values())
UNORDERED = frozenset({"!set", "!frozenset"})
KNOWN = sorted({*SCALARS, *LISTS, *MAPPINGS})
