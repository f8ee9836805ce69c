"""Recorded results and exceptions as the objects that the tool itself would have given.

Nothing is imported here: a class is taken where the tool declares it (its annotations, its module, what that module
imported) or where Python itself has it.
"""

from __future__ import annotations

import builtins
import sys
import typing
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ..errors import ToolError
from ..values import ABSENT, TypedData, copy_value
from .tools import Tool


def error_record(error: BaseException) -> dict[str, Any]:
    """An exception as data: `{type, message, args?, attributes?}`."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}:{kind.__qualname__}"
    record: dict[str, Any] = {"type": name, "message": _text(error)}
    if error.args not in ((), (record["message"],)):
        record["args"] = list(error.args)
    attributes = {key: value for key, value in vars(error).items() if not key.startswith("__")}
    if attributes:
        record["attributes"] = attributes
    return record


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return f"<{type(error).__name__} without a text>"


def build_error(error: Mapping[str, Any], tool: Tool | None) -> BaseException:
    """The recorded exception, of its own class, with its arguments and attributes.

    Raises ToolError where the class is nowhere to be found without importing it.
    """
    name = str(error.get("type") or "RuntimeError")
    message = error.get("message", "")
    found = _class(name, tool)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        raise ToolError(
            f"the recording holds an exception of type {name!r} that {tool.where if tool else 'no tool'} does not know",
            remedy="Import the class in the module that defines the tool; a replay never imports what a file names.",
        )
    args = tuple(copy_value(error["args"])) if "args" in error else ((message,) if message != "" else ())
    built = _instance(found, args)
    built.__dict__.update(copy_value(dict(error.get("attributes") or {})))
    return built


def _instance(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    try:
        built = kind.__new__(kind, *args)
        if kind.__init__ is BaseException.__init__ or kind.__module__ == "builtins":
            built.__init__(*args)  # type: ignore[misc]
    except Exception:
        built = kind.__new__(kind)
    built.args = args
    return built


def _class(name: str, tool: Tool | None) -> Any:
    module, _, path = name.rpartition(":")
    if not module or module == "builtins":
        found = getattr(builtins, path, None)
        if found is not None or tool is None:
            return found
        return tool.function.__globals__.get(path)
    if tool is None or not _reachable(module, tool):
        return None
    value: Any = sys.modules.get(module)
    for part in path.split("."):
        value = vars(value).get(part) if isinstance(value, (type, ModuleType)) else None
    return value


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


def build_result(value: Any, tool: Tool | None) -> Any:
    """A fresh copy of a recorded result, with what the tool declares (dataclasses, models, enums) built again."""
    value = copy_value(value)
    return value if tool is None or value is ABSENT or not _holds_typed(value) else _revive(value, _declared(tool))


def _holds_typed(value: Any) -> bool:
    if isinstance(value, TypedData):
        return True
    if isinstance(value, dict):
        return any(map(_holds_typed, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_holds_typed, value))


def _declared(tool: Tool) -> dict[str, type]:
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


def _field_types(kind: type) -> list[Any]:
    if not (hasattr(kind, "__dataclass_fields__") or hasattr(kind, "model_fields")):
        return []
    try:
        return list(typing.get_type_hints(kind).values())
    except Exception:
        return []


def _revive(value: Any, kinds: Mapping[str, type]) -> Any:
    if isinstance(value, dict):
        return {key: _revive(item, kinds) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_revive(item, kinds) for item in value)
    if not isinstance(value, TypedData):
        return value
    kind = kinds.get(value.type)
    if kind is None:
        raise ToolError(
            f"the recording holds a value of type {value.type!r} that the tool does not declare",
            remedy="Name the class in the tool's return annotation or in the module that defines the tool.",
        )
    if value.kind == "enum":
        return kind[value.fields["name"]]  # type: ignore[index]
    built: Any = object.__new__(kind)
    fields = {key: _revive(item, kinds) for key, item in value.fields.items()}
    if hasattr(kind, "model_construct"):
        return kind.model_construct(**fields)
    for key, item in fields.items():
        object.__setattr__(built, key, item)
    return built
