"""What a tool gave or raised, as it stood at that moment. Keeping it never breaks the agent that runs live."""

from __future__ import annotations

import copy
import enum
from collections import deque
from collections.abc import Collection, Iterator
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from ..values import ABSENT, TypedData, Uncopied, copy_value, fields_of

_ATOMS = frozenset({str, int, float, bool, type(None), bytes})
_SEQUENCES = frozenset({set, frozenset, deque})
_MAX_CAUSES = 20
_NOT_KEPT = frozenset({"args", "obj"})
"""Attributes of exceptions that are rebuilt from elsewhere, or lead to any object at all (`AttributeError.obj`)."""


_MOST_PARTS = 1_000_000
"""Parts of one value that are copied. A few lists that hold each other twice and again have more than fit anywhere."""


class _TooManyPartsError(Exception):
    pass


def snapshot(value: Any) -> Any:
    """A copy of `value` that later changes do not reach; `Uncopied` in the place of each part that has no copy.

    An object that cannot be copied as a whole is kept as data, field by field. `Uncopied` is all of a value of more
    than a million parts.
    """
    try:
        return _snapshot(value, [_MOST_PARTS])
    except RecursionError:
        return copy_value(value)
    except _TooManyPartsError:
        return Uncopied(type(value))


def _snapshot(value: Any, room: list[int]) -> Any:
    """room: how many parts more may be copied."""
    kind = type(value)
    if kind in _ATOMS or value is ABSENT:
        return value
    if kind is dict:
        _enter(value, room)
        return {key: _snapshot(item, room) for key, item in value.items()}
    if kind is list or kind is tuple:
        _enter(value, room)
        return kind([_snapshot(item, room) for item in value])
    if issubclass(kind, BaseException):
        return _error_data(value, 0)
    try:
        return copy.deepcopy(value)
    except RecursionError:
        raise
    except Exception:  # what strangers' objects raise when they are not to be copied may be anything
        return _piecemeal(kind, value, room)


def _enter(value: Collection[Any], room: list[int]) -> None:
    room[0] -= len(value) + 1
    if room[0] < 0:
        raise _TooManyPartsError


def _piecemeal(kind: type, value: Any, room: list[int]) -> Any:
    try:
        fields = None if issubclass(kind, (type, enum.Enum)) else fields_of(value)
    except RecursionError:
        raise
    except Exception:  # and when they are looked at
        return Uncopied(kind)
    if fields is not None:
        return TypedData(
            f"{kind.__module__}:{kind.__qualname__}", {key: _snapshot(item, room) for key, item in fields.items()}
        )
    if kind in _SEQUENCES:
        _enter(value, room)
        return kind(_snapshot(item, room) for item in value)
    return Uncopied(kind)


def copied(value: Any) -> Any:
    """A copy of what a real tool gave; the value itself where it cannot be copied (a lock, a connection)."""
    try:
        return copy_value(value)
    except Exception:  # results are strangers, and copying one must not fail the agent
        return value


# --- exceptions --------------------------------------------------------------------------------------------------


def error_record(error: BaseException) -> dict[str, Any]:
    """An exception as data, without secrets: `{type, message, args?, attributes?, notes?, cause?}`.

    Messages of HTTP clients tell whole addresses.
    """
    cleaned: dict[str, Any] = _cleaned(raw_error_record(error))
    return cleaned


def raw_error_record(error: BaseException) -> dict[str, Any]:
    """The same, with whatever secrets it holds: for who takes them out later."""
    return _record(error, _MAX_CAUSES)


def _cleaned(value: Any) -> Any:
    # A capture takes secrets out elsewhere, and is not to wait for all that knows them.
    from ..cassette.scrub import scrubbed

    def cleaned(value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return scrubbed(value)
        if kind is dict:
            return {key: cleaned(item) for key, item in value.items()}
        return kind(map(cleaned, value)) if kind in (list, tuple) else value

    return cleaned(value)


def _record(error: BaseException, causes: int) -> dict[str, Any]:
    message = _text(error)
    record: dict[str, Any] = {"type": _name(type(error)), "message": message}
    alone = error.args[0] if len(error.args) == 1 else None
    if error.args and not (type(alone) is str and alone == message != ""):
        record["args"] = snapshot(list(error.args))
    attributes, complete = _attributes(error)
    if attributes:
        record["attributes"] = attributes
    if not complete:
        record["args"] = Uncopied(type(error))
    notes = getattr(error, "__notes__", None)
    if notes:
        record["notes"] = [str(note) for note in notes]
    if error.__cause__ is not None and causes:
        record["cause"] = _record(error.__cause__, causes - 1)
    return record


def _name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}:{kind.__qualname__}"


def _error_data(error: BaseException, depth: int) -> TypedData:
    """An exception that is a value, or part of one (of a group), as data."""
    fields = {"args": snapshot(list(error.args)), **_attributes(error)[0]}
    if notes := getattr(error, "__notes__", None):
        fields["__notes__"] = list(notes)
    if error.__cause__ is not None and depth < _MAX_CAUSES:
        fields["__cause__"] = _error_data(error.__cause__, depth + 1)
    return TypedData(f"{type(error).__module__}:{type(error).__qualname__}", fields, "error")


def _attributes(error: BaseException) -> tuple[dict[str, Any], bool]:
    """What its arguments alone do not bring back, and whether there is a way at all to make such an exception."""
    found = {key: snapshot(value) for key, value in vars(error).items() if not key.startswith("__")}
    try:
        again: BaseException | None = bare_error(type(error), error.args)
    except Exception:
        return found, False
    for name in descriptors_of(type(error)):
        value = getattr(error, name, ABSENT)
        if value is not ABSENT and not _equal(value, getattr(again, name, ABSENT)):
            found[name] = snapshot(value)
    return found, True


def _equal(left: Any, right: Any) -> bool:
    try:
        return left is right or bool(type(left) is type(right) and left == right)
    except Exception:
        return False


def descriptors_of(kind: type) -> Iterator[str]:
    """The attributes that an exception keeps outside of its `__dict__`: those of C types, and slots."""
    for base in kind.__mro__:
        if base not in (BaseException, object):
            for name, value in vars(base).items():
                kept = isinstance(value, (MemberDescriptorType, GetSetDescriptorType)) and name not in _NOT_KEPT
                if kept and not name.startswith("__"):
                    yield name


def bare_error(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """An exception of that class with those `args`, whatever its own constructor takes."""
    try:
        built = kind.__new__(kind, *args)
        if kind.__init__ is BaseException.__init__ or kind.__module__ == "builtins":
            built.__init__(*args)  # type: ignore[misc]
    except Exception:
        built = kind.__new__(kind)
    built.args = args
    return built


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return f"<{type(error).__name__} without a text>"
