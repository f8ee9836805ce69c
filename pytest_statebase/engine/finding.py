"""Finds the tools that patterns name and those that are marked in the code."""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

from ..errors import ToolError
from ..marks import Mark, marks
from .frameworks import tools_within
from .inside import ENTRY_METHODS, Inside, functions_of, inside, own_name
from .tool import Tool

_WHAT_CAN = "Functions, methods, partials, callable objects, classes and registries of these can be stubbed."


def find_tools(patterns: Iterable[str]) -> list[Tool]:
    """The tools that `patterns` name.

    `module:name` is a function, a partial, a tool object or a registry (dict, list) of them, `module:Class.method` a
    method, `module:Class` the public methods of a class, `module:*` what is public and defined in the module.

    Raises ToolError where a pattern matches nothing or a tool that cannot be stubbed.
    """
    found: dict[tuple[int, int], Tool] = {}
    for pattern in patterns:
        for tool in _find(pattern.strip()):
            known = found.setdefault(_key(tool), tool)
            for other in (known, found.get((id(tool.function), id(None)), tool)):
                if other.name != tool.name:
                    raise ToolError(
                        f"the function {tool.where} is a tool under two names: {other.name!r} and {tool.name!r}",
                        remedy="Its calls cannot be told apart: name the function once, by itself.",
                    )
    by_name: dict[str, Tool] = {}
    for tool in found.values():
        other = by_name.setdefault(tool.name, tool)
        if other.function is not tool.function and other.where != tool.where:
            raise ToolError(
                f"two tools are called {tool.name!r}: {other.where} and {tool.where}",
                remedy="Recordings tell tools apart by name: name one of them only in `statebase_tools`.",
            )
    return list(found.values())


def with_marked(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """`tools` with those that are marked in the code; what is said of a function by name wins."""
    found = {_key(tool): tool for tool in tools}
    for mark in marks():
        for tool in marked_tools(mark):
            known = found.setdefault(_key(tool), tool)
            known.reads |= mark.reads
            known.live |= mark.live
    return tuple(found.values())


def marked_tools(mark: Mark) -> list[Tool]:
    """The tools that one mark makes. A marked method knows its class only by its qualified name."""
    value = mark.target()
    if value is None:
        return []
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__qualname__", None) or own_name(value) or type(value).__qualname__
    where = f"{getattr(value, '__module__', None)}:{name}"
    holder: Any = module
    if isinstance(value, FunctionType):
        *path, last = name.split(".")
        for part in path:
            holder = inspect.getattr_static(holder, part, None)
        held = inspect.getattr_static(holder, last, None) if isinstance(holder, type) else None
        if held is not None and (found := inside(held)) is not None and found.function is value:
            value = held
        elif path and next(iter(inspect.signature(value).parameters), None) in ("self", "cls"):
            holder = type
    tools = list(_expand(f"@tool {where}", holder, name.rpartition(".")[2], where, value))
    return [replace_marks(tool, mark) for tool in tools]


def replace_marks(tool: Tool, mark: Mark) -> Tool:
    """The tool with what its mark says."""
    tool.reads, tool.live = mark.reads, mark.live
    return tool


def _key(tool: Tool) -> tuple[int, int]:
    return id(tool.function), id(tool.instance)


def _find(pattern: str) -> list[Tool]:
    if pattern.partition(":")[0] == "mcp":
        from .mcp import mcp_tools

        return mcp_tools(pattern)
    module, rest = _import(pattern)
    if "*" in rest or "?" in rest or "[" in rest:
        tools = [
            tool
            for name, value in list(vars(module).items())
            if not name.startswith("_") and fnmatch.fnmatchcase(name, rest) and _defined_in(module, value)
            for tool in _expand(pattern, module, name, f"{module.__name__}:{name}", value)
        ]
        if not tools:
            raise ToolError(
                f"the tool pattern {pattern!r} matches nothing",
                remedy=f"{module.__name__} defines no such public function; name the module that defines the tools.",
            )
        return tools
    holder, value = _resolve(pattern, module, rest)
    where = f"{getattr(holder, '__module__', None) or module.__name__}:{rest}"
    return list(_expand(pattern, holder, rest.rpartition(".")[2], where, value))


def _import(pattern: str) -> tuple[ModuleType, str]:
    if ":" in pattern:
        name, rest = pattern.split(":", 1)
        return _import_module(pattern, name), rest
    parts = pattern.split(".")
    for size in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:size])
        if _is_module(name):
            return _import_module(pattern, name), ".".join(parts[size:])
    raise ToolError(f"the tool {pattern!r} names no module", remedy="Write `module:function` or `module:*`.")


def _is_module(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _import_module(pattern: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        what = f"the tool pattern {pattern!r} does not import: {type(error).__name__}: {error}"
        raise ToolError(what, remedy=import_remedy(error)) from error


def import_remedy(error: BaseException) -> str:
    """What to do about an import that failed: the path, or the line that raised."""
    if isinstance(error, ModuleNotFoundError):
        return "Is its directory on the path (pytest's ini `pythonpath`)?"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    last = frames[-1]
    return f"It was raised at {last.filename}:{last.lineno}: {last.line}"


def _defined_in(module: ModuleType, value: Any) -> bool:
    """Whether a value of a module is one of its functions, cached ones and tool objects that hold one included."""
    if isinstance(value, (type, ModuleType, Mapping, list, tuple)):
        return False
    found = inside(value) if callable(value) else None
    if found is not None and found.given:
        return False
    if found is None and own_name(value) is not None:
        found = next(functions_of(value), None)
    return found is not None and inspect.unwrap(found.function).__module__ == module.__name__


def _resolve(pattern: str, module: ModuleType, rest: str) -> tuple[Any, Any]:
    holder: Any = module
    value: Any = module
    for part in rest.split("."):
        holder = value
        value = inspect.getattr_static(holder, part, None)
        if value is None:
            raise ToolError(
                f"the tool {pattern!r} does not exist: {getattr(holder, '__name__', holder)} has no {part!r}",
                remedy="Write `module:function`, `module:Class.method` or `module:*`.",
            )
    return holder, value


# --- what a name stands for --------------------------------------------------------------------------------------


def _expand(pattern: str, holder: Any, name: str, where: str, value: Any) -> Iterator[Tool]:
    """The tools that `value`, found as `name` in `holder`, stands for."""
    if isinstance(value, (Mapping, list, tuple, set, frozenset)):
        yield from _registry(pattern, where, value)
        return
    if isinstance(value, type):
        yield from _class_tools(pattern, where, value)
        return
    found = inside(value)
    if found is not None:
        if isinstance(holder, type):
            static = isinstance(value, staticmethod)
            found = replace(found, is_method=not static)
            yield _owned(_tool(where, _function_name(found, name), found), holder)
            return
        plain = isinstance(value, FunctionType) or found.function.__name__ != "<lambda>"
        yield _tool(where, _function_name(found, name) if plain else name, found)
        return
    within = tools_within(value)
    if within is not None:
        yield from _within(pattern, where, within)
        return
    tools = [_tool(where, own_name(value) or name, one) for one in functions_of(value)]
    if not tools and not callable(value) and type(value).__module__ != "builtins":
        _refuse_unseen(pattern, where, value)
        tools = list(_methods(pattern, type(value)))
    if not tools:
        raise ToolError(
            f"the tool {where} (from {pattern!r}) is a {type(value).__name__}, which cannot be stubbed",
            remedy=f"Name the function that it wraps or calls. {_WHAT_CAN}",
        )
    yield from tools


def _within(pattern: str, where: str, entries: list[tuple[str | None, Any]]) -> Iterator[Tool]:
    """The tools of an agent, a toolset or a graph; those that run at the provider have no function here."""
    empty = True
    for key, entry in entries:
        for one in [inside(entry)] if isinstance(entry, FunctionType) else functions_of(entry):
            if one is not None:
                empty = False
                name = own_name(entry) or key or _function_name(one, type(entry).__name__)
                yield _tool(f"{where}[{name!r}]", name, one)
    if empty:
        raise ToolError(
            f"none of the tools of {where} (from {pattern!r}) can be stubbed",
            remedy="They run elsewhere. Name what calls them, or `mcp` for tools of MCP servers.",
        )


def _function_name(found: Inside, name: str) -> str:
    own = found.function.__name__
    return name if own == "<lambda>" or own in ENTRY_METHODS else own


def _tool(where: str, name: str, found: Inside) -> Tool:
    function = found.function
    is_async = inspect.iscoroutinefunction(function)
    tool = Tool(name, function, where, found.is_method, is_async, found.instance, given=found.given, clear=found.clear)
    if found.adapter is not None:
        tool.name, tool.adapter = f"agents:{name}", found.adapter
    return tool


def _owned(tool: Tool, holder: type) -> Tool:
    tool.owner = None if holder is type else holder
    return tool


def _registry(pattern: str, where: str, entries: Any) -> Iterator[Tool]:
    """The tools of a dict (the keys are their names) or of a list."""
    named = entries.items() if isinstance(entries, Mapping) else ((None, entry) for entry in entries)
    empty = True
    for number, (key, entry) in enumerate(named):
        empty = False
        place = f"{where}[{number if key is None else key!r}]"
        found = inside(entry)
        if found is not None:
            name = key if isinstance(key, str) else _function_name(found, f"tool_{number}")
            yield _tool(place, name, found)
            continue
        held = list(functions_of(entry))
        if not held:
            raise ToolError(
                f"the tool {place} (from {pattern!r}) is a {type(entry).__name__}, which cannot be stubbed",
                remedy=_WHAT_CAN,
            )
        name = own_name(entry) or (key if isinstance(key, str) else _function_name(held[0], type(entry).__name__))
        for one in held:
            yield _tool(place, name, one)
    if empty:
        what = f"the registry {where} (from {pattern!r}) is empty"
        raise ToolError(what, remedy="It must be filled when its module is imported.")


def _class_tools(pattern: str, where: str, owner: type) -> Iterator[Tool]:
    """A class of tools (it has a name and `_run`, `forward` or `__call__`) is one tool; any other, its methods."""
    entries = [found for name in ENTRY_METHODS if (found := _own_entry(owner, name)) is not None]
    methods = list(_methods(pattern, owner))
    if entries and (own_name(owner) is not None or not methods):
        for found in entries:
            yield _owned(_tool(where, own_name(owner) or owner.__name__, found), owner)
    elif methods:
        _refuse_unseen(pattern, where, owner)
        yield from methods
    else:
        raise ToolError(
            f"the class {where} (from {pattern!r}) has no public method of its own",
            remedy="Name a method: `module:Class.method`.",
        )


def _refuse_unseen(pattern: str, where: str, value: Any) -> None:
    """Raise ToolError where the public methods of a class, or of an object of it, are not what is called."""
    owner = value if isinstance(value, type) else type(value)
    for base in owner.__mro__ if _root(owner) != "builtins" else ():
        for name in ("__getattr__", "__getattribute__"):
            if name in vars(base) and _root(base) == _root(owner):
                raise ToolError(
                    f"{where} (from {pattern!r}) makes its attributes in {name}: its tools cannot be found",
                    remedy="Name the methods that are tools, `module:Class.method`, or what does their work.",
                )
    if getattr(owner, "_is_protocol", False):
        raise ToolError(
            f"{where} (from {pattern!r}) is a protocol: a class that follows it need not say so, and would run live",
            remedy="Name the classes that follow it.",
        )
    own = shadowed(value, lambda name: hasattr(owner, name))
    if own is not None:
        raise ToolError(
            f"{where}.{own} (from {pattern!r}) is set on the object, in place of the method of its class",
            remedy=f"Name it by itself: {where}.{own}",
        )


def shadowed(value: Any, is_tool: Callable[[str], bool]) -> str | None:
    """The first public attribute of an object that is called instead of a method, for methods that are tools."""
    own = {} if isinstance(value, type) else inspect.getattr_static(value, "__dict__", None) and vars(value)
    names = (name for name, held in (own or {}).items() if name[:1] != "_" and callable(held))
    return next((name for name in names if is_tool(name)), None)


def _own_entry(owner: type, name: str) -> Inside | None:
    for base in owner.__mro__:
        if name in vars(base):
            found = inside(vars(base)[name])
            ours = found is not None and _root(base) == _root(owner)
            return replace(found, is_method=True) if ours and found is not None else None
    return None


def _methods(pattern: str, owner: type) -> Iterator[Tool]:
    """The public methods of a class and of its bases in the same package."""
    seen: set[str] = set()
    for base in owner.__mro__:
        for name, value in list(vars(base).items()) if _root(base) == _root(owner) else ():
            if name.startswith("_") or name in seen or isinstance(value, type):
                continue
            seen.add(name)
            if inside(value) is not None:
                yield from _expand(pattern, base, name, f"{base.__module__}:{base.__qualname__}.{name}", value)


def _root(owner: type) -> str:
    return owner.__module__.partition(".")[0]
