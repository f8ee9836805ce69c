"""Values as they travel through a session: copied, compared and told apart to the type."""

from __future__ import annotations

import copy
import enum
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
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


_ATOMS = frozenset({str, int, float, bool, type(None), bytes})


def copy_value(value: Any) -> Any:
    """A copy that shares nothing mutable with `value`; plain JSON values are copied without `copy.deepcopy`."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: item if type(item) in _ATOMS else copy_value(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _ATOMS else copy_value(item) for item in value]
    if value is ABSENT:
        return value
    return copy.deepcopy(value)


def freeze(value: Any) -> Hashable:
    """A hashable form of `value`: two are equal exactly when the values are, to the type, in any key order.

    `1`, `1.0` and `True` differ, a list differs from a tuple, and NaN equals NaN.
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
        return ("f", "nan" if math.isnan(value) else value)
    return _freeze_other(kind, value)


def _freeze_other(kind: type, value: Any) -> Hashable:
    name = f"{kind.__module__}:{kind.__qualname__}"
    if isinstance(value, TypedData):
        return (value.type, value.fields["name"] if value.kind == "enum" else freeze(dict(value.fields)))
    if isinstance(value, enum.Enum):
        return (name, value.name)
    if isinstance(value, tuple):
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
    """The fields of a dataclass instance or a pydantic model by name, else None."""
    names = getattr(type(value), "__dataclass_fields__", None)
    if names is None:
        names = getattr(type(value), "model_fields", None)
    if not isinstance(names, dict):
        return None
    return {name: getattr(value, name) for name in names}


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal to the type (see `freeze`)."""
    kind = type(left)
    if kind is not type(right):
        return isinstance(left, TypedData) != isinstance(right, TypedData) and freeze(left) == freeze(right)
    if kind is str or kind is int or kind is bool or left is None:
        return bool(left == right)
    return freeze(left) == freeze(right)


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
