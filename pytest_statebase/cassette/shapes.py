"""The events of a record as mappings, key by key, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any

from ..errors import UnstorableError
from ..ledger import (
    Event,
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    Said,
    SessionCreated,
    SessionEnded,
    SessionForked,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from ..values import ABSENT
from .parts import MOST_BITS

Types = tuple[type, ...] | None

_TEXT = (str, NoneType)
_STR = (str,)
_INT = (int,)
_COUNT = (int, NoneType)
_NUMBER = (int, float, NoneType)
_MAP = (dict, NoneType)
_FLAG = (bool,)
_INPUT = (dict, list, NoneType)
_ANY = None
_NAMES = {str: "a text", int: "an integer", float: "a number", bool: "true or false", dict: "a mapping", list: "a list"}
_PLURALS = {int: "integers", str: "texts"}


class MalformedError(Exception):
    """Something in a document is not what it should be; `keys` lead to it."""

    def __init__(self, what: str, *keys: Any, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.keys = keys
        self.remedy = remedy

    def under(self, *keys: Any) -> MalformedError:
        """The same, seen from further outside."""
        return MalformedError(self.what, *keys, *self.keys, remedy=self.remedy)


@dataclass(frozen=True)
class Shape:
    """Which keys an event is written with, in order: key → (field, types that it may have)."""

    kind: type
    keys: Mapping[str, tuple[str, Types]]
    defaults: Mapping[str, Any]
    required: frozenset[str]
    keeps_extra: bool

    @cached_property
    def types(self) -> dict[str, Types]:
        """By field, the types that it may have; those of `extra` as well."""
        return {**dict(self.keys.values()), **({"extra": (dict,)} if self.keeps_extra else {})}


def _shape(kind: type, **keys: Types | tuple[str, Types]) -> Shape:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    table: dict[str, tuple[str, Types]] = {}
    for key, spec in keys.items():
        renamed = isinstance(spec, tuple) and bool(spec) and isinstance(spec[0], str)
        table[key] = spec if renamed else (key, spec)  # type: ignore[assignment]
    defaults = {name: _default(field) for name, field in fields.items()}
    required = frozenset(key for key, (name, _) in table.items() if defaults[name] is dataclasses.MISSING)
    return Shape(kind, table, defaults, required, "extra" in fields)


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default


SESSION = _shape(
    SessionCreated, id=_STR, agent_id=_TEXT, user_id=_TEXT, created_at=("at", _TEXT), state=_ANY, metadata=_MAP,
    actor=_TEXT, reasoning=_TEXT, http=_FLAG,
)  # fmt: skip
STARTED = _shape(TurnStarted, number=_INT, at=_TEXT, authored=_FLAG, input=_INPUT)
ADDED = _shape(
    TurnAdded, output=_ANY, error=_MAP, reasoning=_TEXT, metadata=_MAP, interrupted=_FLAG, actor=_TEXT,
    ended_at=("at", _TEXT),
)  # fmt: skip
ENDED = _shape(SessionEnded, reason=_TEXT, at=_TEXT, input=_INPUT)
SAID = _shape(Said, said=("text", _STR), at=_TEXT)
TOOL = _shape(
    ToolCalled, tool=_STR, step=_COUNT, after=(list, NoneType), id=_TEXT, agent=_TEXT, at=_TEXT, during=_COUNT,
    arguments=_ANY, result=_ANY, error=_MAP, is_error=_FLAG, latency_ms=_NUMBER,
)  # fmt: skip
STATE = _shape(
    StateUpdated, state=("version", _INT), value=_ANY, reasoning=_TEXT, actor=_TEXT, at=_TEXT, during=_COUNT
)  # fmt: skip
ROLLBACK = _shape(
    StateRolledBack, rollback=("version", _INT), to=("to_version", _INT), value=_ANY, reason=_TEXT, actor=_TEXT,
    at=_TEXT, during=_COUNT,
)  # fmt: skip
MEMORY = _shape(
    MemoryAdded, content=_STR, type=_STR, tags=(list, NoneType), id=_TEXT, actor=_TEXT, at=_TEXT, during=_COUNT
)
UPDATED = _shape(
    MemoryUpdated, memory_updated=("number", _INT), was=_STR, content=_TEXT, type=_TEXT, tags=(list, NoneType),
    metadata=_MAP, actor=_TEXT, at=_TEXT, during=_COUNT,
)  # fmt: skip
DELETED = _shape(MemoryDeleted, memory_deleted=("number", _INT), was=_STR, actor=_TEXT, at=_TEXT, during=_COUNT)
SEARCH = _shape(MemorySearched, search=("query", _STR), results=(list,), at=_TEXT, during=_COUNT)
FORKED = _shape(SessionForked, forked=("id", _STR), source=_STR, point=_STR, version=_COUNT, at=_TEXT)

ITEMS = {
    "tool": TOOL,
    "said": SAID,
    "state": STATE,
    "rollback": ROLLBACK,
    "memory": MEMORY,
    "memory_updated": UPDATED,
    "memory_deleted": DELETED,
    "search": SEARCH,
    "forked": FORKED,
}
"""The shape of an event in a list of events, by the key that tells it."""
BY_EVENT = {shape.kind: shape for shape in (*ITEMS.values(), SESSION, STARTED, ADDED, ENDED)}
_IN_MEMORY = ("content", "type", "tags", "id")
_OF: Mapping[str, type] = {"after": int, "tags": str}
"""What the lists hold."""


def decode(shape: Shape, form: Mapping[Any, Any]) -> Any:
    """The event that the mapping tells.

    Raises MalformedError for a value of a wrong type and for a missing key.
    """
    fields: dict[str, Any] = {}
    extra: dict[Any, Any] = {}
    known = shape.keys
    for key, value in form.items():
        spec = known.get(key)
        if spec is None:
            extra[key] = value
        elif spec[1] is None or type(value) in spec[1]:
            fields[spec[0]] = value
            if type(value) is list and key in _OF:
                _check_items(key, value)
        else:
            raise MalformedError(f"`{key}` must be {_named(spec[1])}, not {_shown(value)}", key)
    if extra and shape.keeps_extra:
        fields["extra"] = extra
    try:
        return shape.kind(**fields)
    except TypeError:
        missing = ", ".join(f"`{key}`" for key in shape.keys if key in shape.required and key not in form)
        raise MalformedError(f"{missing} is missing") from None


def built(shape: Shape, fields: Mapping[str, Any]) -> Any:
    """The event with these fields, by their own names.

    Raises MalformedError for a value of a wrong type, and for a field that is missing or unknown.
    """
    check_fields(shape, fields)
    try:
        return shape.kind(**fields)
    except TypeError:
        raise MalformedError("a field is missing") from None


def check_fields(shape: Shape, fields: Mapping[str, Any]) -> None:
    """Raise MalformedError for a field of a wrong type, and for one that is unknown."""
    types = shape.types
    for name, value in fields.items():
        wanted = types.get(name, ())
        if wanted is not None and type(value) not in wanted:
            raise MalformedError(f"`{name}` must be {_named(wanted) or 'no field'}, not {_shown(value)}", name)
        if type(value) is list and name in _OF:
            _check_items(name, value)
        elif wanted is not None and type(value) is int and value.bit_length() > MOST_BITS:
            raise MalformedError(f"`{name}` must be an integer of at most {MOST_BITS:,} bits", name)


def _check_items(key: str, items: list[Any]) -> None:
    for index, item in enumerate(items):
        if type(item) is not _OF[key]:
            raise MalformedError(f"`{key}` must hold {_PLURALS[_OF[key]]}, not {_shown(item)}", key, index)


def _named(types: tuple[type, ...]) -> str:
    return " or ".join(_NAMES[kind] for kind in types if kind in _NAMES)


def _shown(value: Any) -> str:
    return f"{value!r:.60}"


def encode(event: Event) -> dict[Any, Any]:
    """The mapping that tells the event; what is as it is by default is left out.

    Raises UnstorableError where a key of `extra` has a meaning of its own.
    """
    shape = BY_EVENT[type(event)]
    form: dict[Any, Any] = {}
    for key, (name, _) in shape.keys.items():
        value = getattr(event, name)
        if key in shape.required or not _is_default(value, shape.defaults[name]):
            form[key] = value
    for key, value in getattr(event, "extra", {}).items():
        if key in shape.keys:
            raise UnstorableError(
                f"`extra` holds the key {key!r}, which has a meaning of its own", where=shape.kind.__name__
            )
        form[key] = value
    return form


def _is_default(value: Any, default: Any) -> bool:
    if default is None or default is ABSENT or type(default) is bool:
        return value is default
    return type(value) is type(default) and bool(value == default)


def item_of(event: Event) -> dict[Any, Any]:
    """The event as an item of a list of events."""
    form = encode(event)
    if not isinstance(event, MemoryAdded):
        return form
    inner = {key: form.pop(key) for key in _IN_MEMORY if key in form}
    return {"memory": inner, **form}


def memory_form(item: Mapping[Any, Any]) -> dict[Any, Any]:
    """The item `{memory: {content, …}, …}` as one mapping.

    Raises MalformedError where the two clash.
    """
    inner = item["memory"]
    if type(inner) is not dict:
        raise MalformedError("`memory` must be a mapping with `content`", "memory")
    outer = {key: value for key, value in item.items() if key != "memory"}
    both = next((key for key in inner if key in outer), None)
    if both is not None:
        raise MalformedError(f"`{both}` stands inside and beside `memory`", both)
    return {**inner, **outer}
