"""Recorded results and exceptions as the objects that the tool itself would have given.

Nothing is imported here: a class is taken where the tool declares it (its annotations, its module, what that module
imported), or where it is loaded already.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import sys
import typing
from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import Any

from ..errors import ToolError
from ..values import ABSENT, TypedData, Uncopied, copy_value
from .snapshot import bare_error, copied, descriptors_of, error_record
from .tool import Tool

__all__ = ["build_error", "build_result", "copied", "error_record"]


# --- exceptions --------------------------------------------------------------------------------------------------


def build_error(error: Mapping[str, Any], tool: Tool | None) -> BaseException:
    """The recorded exception, of its own class, with its arguments, attributes, notes and cause.

    Raises ToolError where the class is nowhere to be found without importing it.
    """
    message = error.get("message", "")
    args = error.get("args", [message] if message != "" else [])
    built = _error(
        str(error.get("type") or "RuntimeError"), build_result(args, tool), error.get("attributes") or {}, tool
    )
    if notes := error.get("notes"):
        built.__notes__ = list(notes)
    if cause := error.get("cause"):
        built.__cause__ = build_error(cause, tool)
    return built


def _error(name: str, args: Any, attributes: Mapping[str, Any], tool: Tool | None) -> BaseException:
    found = _error_class(name, tool)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        raise ToolError(
            f"the recording holds an exception of type {name!r} that {tool.where if tool else 'no tool'} does not know",
            remedy="Import the class in the module that defines the tool; a replay never imports what a file names.",
        )
    try:
        built = bare_error(found, tuple(args))
    except Exception as problem:
        raise ToolError(f"the recorded exception of type {name!r} cannot be built: {problem}") from problem
    outside = frozenset(descriptors_of(found))
    for key, value in build_result(dict(attributes), tool).items():
        if key in outside:
            setattr(built, key, value)
        else:
            built.__dict__[key] = value
    return built


def _error_class(name: str, tool: Tool | None) -> Any:
    module, _, path = name.rpartition(":")
    if not module or module == "builtins":
        found = getattr(builtins, path, None)
        if found is not None or tool is None:
            return found
        return tool.function.__globals__.get(path)
    return _loaded(module, path)


def _loaded(module: str, path: str) -> Any:
    value: Any = sys.modules.get(module)
    for part in path.split("."):
        value = vars(value).get(part) if isinstance(value, (type, ModuleType)) else None
    return value


# --- results -----------------------------------------------------------------------------------------------------


def build_result(value: Any, tool: Tool | None) -> Any:
    """A fresh copy of a recorded result, with what the tool declares (dataclasses, models, enums) built again."""
    value = copy_value(value)
    return value if value is ABSENT or not _holds_typed(value) else _revive(value, tool)


def _holds_typed(value: Any) -> bool:
    kind = type(value)
    if kind is str or kind is int:
        return False
    if isinstance(value, (TypedData, Uncopied)):
        return True
    if isinstance(value, dict):
        return any(map(_holds_typed, value.values()))
    return isinstance(value, (list, tuple, deque)) and any(map(_holds_typed, value))


def _revive(value: Any, tool: Tool | None) -> Any:
    if isinstance(value, dict):
        items = {key: _revive(item, tool) for key, item in value.items()}
        return items if type(value) is dict else type(value)(items)
    if isinstance(value, (list, tuple, deque)) and not hasattr(value, "_fields"):
        return type(value)(_revive(item, tool) for item in value)
    if isinstance(value, Uncopied):
        raise ToolError(
            f"the recording holds no copy of a value of type {value.type!r}",
            remedy="Return plain data from the tool, and record the session again.",
        )
    if not isinstance(value, TypedData):
        return value
    fields = {key: _revive(item, tool) for key, item in value.fields.items()}
    if value.kind == "error":
        return _error_value(value.type, fields, tool)
    kind = _class(value.type, tool)
    try:
        return _build(kind, fields, is_enum=value.kind == "enum")
    except (TypeError, ValueError, KeyError, AttributeError) as problem:
        raise ToolError(
            f"the recorded value of type {value.type!r} does not fit that class today: {problem}",
            remedy="Say under `tools` in statebase.yaml how old results are read (`result: module:function`).",
        ) from problem


def _error_value(name: str, fields: dict[str, Any], tool: Tool | None) -> BaseException:
    notes, cause = fields.pop("__notes__", None), fields.pop("__cause__", None)
    built = _error(name, fields.pop("args", ()), fields, tool)
    if notes:
        built.__notes__ = list(notes)
    if cause is not None:
        built.__cause__ = cause
    return built


def _build(kind: Any, fields: dict[str, Any], *, is_enum: bool) -> Any:
    if is_enum:
        name = fields["name"]
        return kind[name] if name in kind.__members__ else kind(fields["value"])
    if hasattr(kind, "__pydantic_fields_set__") or hasattr(kind, "model_fields"):
        return _model(kind, fields)
    if hasattr(kind, "_fields"):
        return kind(*[fields[name] for name in kind._fields])
    built = object.__new__(kind)
    for name, field in kind.__dataclass_fields__.items():
        if field._field_type is dataclasses._FIELD and name not in fields:  # type: ignore[attr-defined]
            fields[name] = _default(field)
    for key, item in fields.items():
        object.__setattr__(built, key, item)
    return built


def _default(field: Any) -> Any:
    """A field that came after the recording, as its class fills it in."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    if field.default is dataclasses.MISSING:
        raise TypeError(f"it lacks {field.name!r}")
    return field.default


def _model(kind: Any, fields: dict[str, Any]) -> Any:
    """A pydantic model without validation, which the tool's own one has passed already."""
    known = {name: fields.pop(name) for name in kind.model_fields if name in fields}
    for name, field in kind.model_fields.items():
        if name not in known:
            if field.is_required():
                raise TypeError(f"it lacks {name!r}")
            known[name] = field.get_default(call_default_factory=True)
    if fields and kind.model_config.get("extra") != "allow":
        raise TypeError(f"it has no field {min(fields)!r}")
    private = {
        name: value
        for name, attribute in kind.__private_attributes__.items()
        if type(value := attribute.get_default()).__name__ != "PydanticUndefinedType"
    }
    built = kind.__new__(kind)
    object.__setattr__(built, "__dict__", known)
    object.__setattr__(built, "__pydantic_fields_set__", set(known))
    object.__setattr__(built, "__pydantic_extra__", fields if kind.model_config.get("extra") == "allow" else None)
    object.__setattr__(built, "__pydantic_private__", private or None)
    return built


def _class(name: str, tool: Tool | None) -> Any:
    kind = None
    if tool is not None:
        kind = _declared(tool).get(name) or _all_declared(tool).get(name)
        if kind is None:
            module, _, path = name.rpartition(":")
            kind = _loaded(module, path) if _reachable(module, tool) else None
    if not isinstance(kind, type) or not _is_data(kind):
        raise ToolError(
            f"the recording holds a value of type {name!r} that {tool.where if tool else 'no tool'} does not declare",
            remedy="Name the class in the tool's return annotation or in the module that defines the tool.",
        )
    return kind


def _is_data(kind: type) -> bool:
    return issubclass(kind, enum.Enum) or any(
        hasattr(kind, name) for name in ("__dataclass_fields__", "model_fields", "_fields")
    )


def _reachable(module: str, tool: Tool) -> bool:
    """Whether the tool's module belongs to the same package or refers to something of it."""
    root = module.partition(".")[0]
    if tool.function.__module__.partition(".")[0] == root:
        return True
    for value in tool.function.__globals__.values():
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(home, str) and home.partition(".")[0] == root:
            return True
    return False


def _all_declared(tool: Tool) -> dict[str, type]:
    try:
        hints = typing.get_type_hints(tool.function)
    except Exception:  # annotations may name what is only imported for type checkers
        hints = {}
    found: dict[str, type] = {}
    pending: list[Any] = [hints.get("return"), *tool.function.__globals__.values()]
    while pending:
        kind = pending.pop()
        pending.extend(typing.get_args(kind))
        if isinstance(kind, type) and f"{kind.__module__}:{kind.__qualname__}" not in found:
            found[f"{kind.__module__}:{kind.__qualname__}"] = kind
            pending.extend(_field_types(kind))
    return found


_declared = lru_cache(maxsize=512)(_all_declared)


def _field_types(kind: type) -> list[Any]:
    if not _is_data(kind) or issubclass(kind, enum.Enum):
        return []
    try:
        return list(typing.get_type_hints(kind).values())
    except Exception:
        return []
