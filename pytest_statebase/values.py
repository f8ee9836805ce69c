"""Values as they travel through a session: copied, compared and told apart to the type."""

from __future__ import annotations

import copy
import enum
import math
import re
from collections.abc import Hashable, Mapping
from dataclasses import _FIELD, dataclass  # type: ignore[attr-defined]
from typing import Any, Final, Literal


class Absent(enum.Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> Literal[False]:
        return False


ABSENT: Final = Absent.ABSENT
"""Not recorded. Different from `None`, which is a value that was recorded."""


@dataclass(frozen=True, slots=True)
class TypedData:
    """A dataclass, pydantic model, enum member or exception as data: its type's name and its fields.

    A record never imports what it names. A stub builds the real object again where the tool itself
    declares that type.
    """

    type: str
    """`module:qualified.name`."""
    fields: Mapping[str, Any]
    kind: str = "object"
    """`object`, `error` or `enum` (with the fields `name` and `value`)."""


class Uncopied:
    """Stands where a value could neither be copied nor kept as data: a lock, a connection, an open file.

    It has no form in a record, and no stub answers with it.
    """

    __slots__ = ("type",)

    def __init__(self, kind: type) -> None:
        self.type = f"{kind.__module__}:{kind.__qualname__}"

    def __repr__(self) -> str:
        return f"<not copied: {self.type}>"


_ATOMS = frozenset({str, int, float, bool, type(None), bytes})


def copy_value(value: Any) -> Any:
    """A copy that shares nothing mutable with `value`, but for what cannot be copied (a lock, a generator).

    Plain JSON values are copied without `copy.deepcopy`; depth is no limit.
    """
    try:
        return _copy(value)
    except RecursionError:
        return _copy_deep(value)


def _copy(value: Any) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: item if type(item) in _ATOMS else _copy(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _ATOMS else _copy(item) for item in value]
    if value is ABSENT:
        return value
    try:
        return copy.deepcopy(value)
    except RecursionError:
        raise
    except Exception:  # what strangers' objects raise when they are not to be copied may be anything
        return value


def _copy_deep(value: Any) -> Any:
    """As `copy_value`, step by step: for what is deeper than Python recurses, or holds itself."""
    root: list[Any] = [None]
    made: dict[int, Any] = {}
    pending: list[tuple[Any, Any, Any]] = [(root, 0, value)]
    while pending:
        into, place, item = pending.pop()
        if id(item) in made:
            into[place] = made[id(item)]
        elif type(item) is dict:
            into[place] = made[id(item)] = dict.fromkeys(item)
            pending += [(into[place], key, inner) for key, inner in item.items()]
        elif type(item) is list:
            into[place] = made[id(item)] = [None] * len(item)
            pending += [(into[place], index, inner) for index, inner in enumerate(item)]
        else:
            into[place] = _copy(item)
    return root[0]


def freeze(value: Any) -> Hashable:
    """A hashable form of `value`: two are equal exactly when the values are, to the type, in any key order.

    `1`, `1.0` and `True` differ, `0.0` and `-0.0`, a list and a tuple, and NaN equals NaN.
    """
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value  # type: ignore[no-any-return]
    if kind is dict:
        return ("d", frozenset((freeze(key), freeze(item)) for key, item in value.items()))
    if kind is list:
        return ("l", *map(freeze, value))
    if kind is bool:
        return ("b", value)
    if kind is float:
        return ("f", "nan" if math.isnan(value) else value or repr(value))
    return _freeze_other(kind, value)


def _freeze_other(kind: type, value: Any) -> Hashable:
    name = f"{kind.__module__}:{kind.__qualname__}"
    if isinstance(value, TypedData):
        return (value.type, value.fields["name"] if value.kind == "enum" else freeze(dict(value.fields)))
    if isinstance(value, enum.Enum):
        return (name, value.name)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return (name, *map(freeze, value))
    if isinstance(value, (set, frozenset)):
        return (name, frozenset(map(freeze, value)))
    if isinstance(value, Mapping):
        return (name, frozenset((freeze(key), freeze(item)) for key, item in value.items()))
    if isinstance(value, BaseException):
        return (name, freeze(list(value.args)))
    fields = fields_of(value)
    if fields is not None:
        return (name, freeze(fields))
    if hasattr(value, "isoformat"):
        # Equality of datetimes looks through offsets; the text does not.
        return (name, value.isoformat())
    try:
        hash(value)
    except TypeError:
        return (name, repr(value))
    return (name, value)


def fields_of(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass instance, a pydantic model or a named tuple by name, else None.

    What else the instance holds (a pydantic model's extras, what `__post_init__` added) comes after them.
    """
    kind = type(value)
    names = getattr(kind, "__dataclass_fields__", None)
    if isinstance(names, dict):
        found = {name: getattr(value, name) for name, field in names.items() if _is_field(field, value)}
        more = getattr(value, "__dict__", None)
        if more and len(more) > len(found):
            found |= {key: more[key] for key in more if key not in found and not hasattr(kind, key)}
        return found
    names = getattr(kind, "model_fields", None)
    if isinstance(names, dict):
        extra = getattr(value, "__pydantic_extra__", None) or {}
        return {**{name: getattr(value, name) for name in names}, **extra}
    names = getattr(kind, "_fields", None)
    if isinstance(value, tuple) and isinstance(names, tuple):
        return dict(zip(names, value, strict=True))
    return None


def _is_field(field: Any, value: Any) -> bool:
    """Not the pseudo-fields ClassVar and InitVar, nor a field that was never set."""
    return getattr(field, "_field_type", None) is _FIELD and hasattr(value, field.name)


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal to the type (see `freeze`); quick where they share what they hold."""
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return isinstance(left, TypedData) != isinstance(right, TypedData) and freeze(left) == freeze(right)
    try:
        return _same(left, right)
    except RecursionError:
        if kind is dict or kind is list:
            return _same_deep(left, right)
        raise


def _same(left: Any, right: Any) -> bool:
    """As `freeze(left) == freeze(right)`, without a copy of mappings and lists."""
    if left is right:
        return True
    kind = type(left)
    if kind is type(right):
        if kind is str or kind is int or kind is bool:
            return bool(left == right)
        if kind is list:
            return len(left) == len(right) and all(map(_same, left, right))
        # Keys that are no texts (`1`, `1.0` and `True`) may be equal without being the same.
        if kind is dict and _TEXTS.issuperset(map(type, left)) and _TEXTS.issuperset(map(type, right)):
            return left.keys() == right.keys() and all(map(_same, left.values(), map(right.__getitem__, left)))
    return freeze(left) == freeze(right)


_TEXTS = frozenset({str})


def _same_deep(left: Any, right: Any) -> bool:
    """As `same`, step by step: for what is deeper than Python recurses, or holds itself."""
    pending, seen = [(left, right)], set()
    while pending:
        left, right = pending.pop()
        kind = type(left)
        if kind is not type(right) or ((kind is dict or kind is list) and len(left) != len(right)):
            return False
        if (id(left), id(right)) in seen:
            continue
        if kind is dict:
            if {(type(key), key) for key in left} != {(type(key), key) for key in right}:
                return False
            pending += [(item, right[key]) for key, item in left.items()]
        elif kind is list:
            pending += zip(left, right, strict=True)
        elif not same(left, right):
            return False
        if kind is dict or kind is list:
            seen.add((id(left), id(right)))
    return True


def changed_alike(current: Any, before: Any, after: Any) -> Any:
    """`current` with the change from `before` to `after` made to it: mappings key by key, anything else as a whole.

    Where `current` equals `before` the result equals `after`.
    """
    if not (type(current) is type(before) is type(after) is dict):
        return current if same(before, after) else after
    result = {key: value for key, value in current.items() if key in after or key not in before}
    for key, value in after.items():
        if key not in before:
            result[key] = value
        elif key in current:
            result[key] = changed_alike(current[key], before[key], value)
        elif not same(before[key], value):
            result[key] = value
    return result


def first_difference(left: str, right: str) -> int:
    """The first position at which two texts differ; the shorter one's length where there is none."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible_text(text: str, *, lines: bool = False) -> str:
    """A text with everything that has no shape of its own as `\\x1b`, `\\u202e` and the like.

    lines: keep line breaks and tabs.
    """
    if text.isascii() and text.isprintable():
        return text
    if not lines:
        return _UNSEEN.sub(_escape, text)
    text = text.replace("\r\n", "\n")
    return "\n".join("\t".join(_UNSEEN.sub(_escape, cell) for cell in line.split("\t")) for line in text.split("\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    short = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if short:
        return short
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
