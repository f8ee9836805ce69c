"""What is a tool because another one is: overrides in subclasses, what a wrapper wraps, what is loaded once more."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

from ..errors import ToolError
from .inside import ENTRY_METHODS, Inside, functions_of, inside, own_name
from .tool import Tool

StubOf = Callable[[FunctionType], "Tool | None"]
"""The tool that stands for a function just now, None for any other function."""


def kin_of(tool: Tool, stub_of: StubOf) -> Iterator[Tool]:
    """The overrides of a method in the subclasses that are loaded, and the function that the tool wraps.

    Raises ToolError for an override that cannot be stubbed.
    """
    if tool.owner is not None:
        for subclass in _subclasses(tool.owner):
            yield from overrides_in(subclass, stub_of)
    wrapped = vars(tool.function).get("__wrapped__")
    if isinstance(wrapped, FunctionType) and stub_of(wrapped) is None:
        yield replace(tool, function=wrapped, instance=None, clear=None, is_behind=True)


def _subclasses(owner: type) -> list[type]:
    found: dict[type, None] = {}
    pending: list[type] = type.__subclasses__(owner)
    while pending:
        one = pending.pop()
        if one not in found:
            found[one] = None
            pending += type.__subclasses__(one)
    return list(found)


def overrides_in(owner: type, stub_of: StubOf) -> Iterator[Tool]:
    """The methods of a class that stand in place of a stubbed one of its bases.

    Raises ToolError for one that cannot be stubbed.
    """
    for name, value in list(vars(owner).items()):
        overridden = _overridden(owner, name, stub_of) if callable(value) or hasattr(value, "__get__") else None
        if overridden is None:
            continue
        found = inside(value)
        where = f"{owner.__module__}:{owner.__qualname__}.{name}"
        if found is None:
            raise ToolError(
                f"{where} takes the place of the tool {overridden.name}, and is a {type(value).__name__}, which cannot "
                "be stubbed: the replay would run it live",
                remedy="Write it as a method, or leave the class out of what the agent uses.",
            )
        if stub_of(found.function) is None:
            own = own_name(owner) if name in ENTRY_METHODS else None
            yield replace(
                _at(overridden, where, found),
                name=own or overridden.name,
                is_method=not isinstance(value, staticmethod),
                instance=overridden.instance,
                owner=owner,
            )


def _overridden(owner: type, name: str, stub_of: StubOf) -> Tool | None:
    for base in owner.__mro__[1:]:
        held = inside(vars(base)[name]) if base is not object and name in vars(base) else None
        tool = stub_of(held.function) if held is not None else None
        # What objects of a framework share is the framework's: its own subclasses are no tools.
        if tool is not None and (tool.instance is None or _root(base) == _root(owner)):
            return tool
    return None


def _root(owner: type) -> str:
    return owner.__module__.partition(".")[0]


def _at(tool: Tool, where: str, found: Inside) -> Tool:
    function = found.function
    return replace(
        tool,
        function=function,
        where=where,
        is_async=inspect.iscoroutinefunction(function),
        given=found.given,
        clear=found.clear,
    )


def loaded_again(module: ModuleType, tools: list[Tool], stub_of: StubOf) -> Iterator[Tool]:
    """The tools whose module this is once more: reloaded, imported anew, or executed under another name."""
    for tool in tools:
        for path in _paths(tool, module):
            holder, value = _resolve(module, path)
            if isinstance(value, type):
                holder, value = value, inspect.getattr_static(value, tool.function.__name__, None)
            if value is None:
                continue
            one = inside(value)
            for found in [one] if one is not None else functions_of(value):
                if stub_of(found.function) is None:
                    instance = None if tool.instance is None else found.instance
                    owner = holder if isinstance(holder, type) else None
                    yield replace(_at(tool, tool.where, found), instance=instance, owner=owner)


def _paths(tool: Tool, module: ModuleType) -> Iterator[str]:
    """Where the tool would stand in the module: as it was named, and as it was defined."""
    home, _, path = tool.where.partition(":")
    if _is_same(home, module):
        yield path
    if _is_same(tool.function.__module__, module):
        yield tool.function.__qualname__


def _is_same(name: str | None, module: ModuleType) -> bool:
    if name == module.__name__:
        return True
    file = getattr(sys.modules.get(name or ""), "__file__", None)
    return file is not None and file == getattr(module, "__file__", None)


def _resolve(module: ModuleType, path: str) -> tuple[Any, Any]:
    """What stands at `name`, `Class.method` or `REGISTRY['key']`, and what holds it; None where nothing does."""
    try:
        return _evaluated(ast.parse(path, mode="eval").body, module)
    except (SyntaxError, LookupError, TypeError, AttributeError):
        return None, None


def _evaluated(node: ast.expr, module: ModuleType) -> tuple[Any, Any]:
    if isinstance(node, ast.Name):
        return module, vars(module)[node.id]
    if isinstance(node, ast.Attribute):
        holder = _evaluated(node.value, module)[1]
        return holder, inspect.getattr_static(holder, node.attr)
    if isinstance(node, ast.Subscript):
        holder = _evaluated(node.value, module)[1]
        return holder, holder[ast.literal_eval(node.slice)]
    raise LookupError
