"""The tools of an agent: reached wherever the agent holds them.

A tool is stubbed by exchanging the code of the function object itself, so that every place that holds the function
(its module, `from tools import f`, registries, partials, bound methods) reaches the stub, whatever was imported when.
Name, signature, defaults, annotations, documentation and being async belong to the function object and stay.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any

from ..marks import Mark, watchers
from .finding import find_tools, import_remedy, marked_tools, with_marked
from .handlers import Handler, caches, current, handler_for, lock
from .inside import ENTRY_METHODS, own_name
from .threads import threads_take_context_along
from .tool import CONTEXT_NAMES, Tool
from .trampoline import kind_of, trampoline, twin

__all__ = [
    "CONTEXT_NAMES",
    "Handler",
    "Tool",
    "ToolCaller",
    "current",
    "find_tools",
    "import_remedy",
    "is_stubbed",
    "original_code",
    "stubbed",
    "with_marked",
]


@dataclass(slots=True)
class _Patch:
    code: CodeType
    count: int = 0
    by_instance: dict[int, Tool] = field(default_factory=dict)
    """For functions that do the work of several tool objects: the tool of each."""


_patches: dict[FunctionType, _Patch] = {}
_late: list[Tool] = []
"""Tools that were marked while others were stubbed already."""
_holders = 0


@contextmanager
def stubbed(tools: Iterable[Tool]) -> Iterator[None]:
    """Have the current handler answer every call of `tools` made inside; the functions are restored afterwards.

    What is marked as a tool in the meantime is stubbed at once.
    """
    done: list[Tool] = []
    try:
        with lock:
            _hold(1)
            for tool in tools:
                _install(tool)
                done.append(tool)
        with threads_take_context_along():
            yield
    finally:
        with lock:
            for tool in done:
                _restore(tool)
            _hold(-1)


def is_stubbed(function: FunctionType) -> bool:
    """Whether calls of this very function are answered, now."""
    return function in _patches


def original_code(function: FunctionType) -> CodeType:
    """A function's own code, whether it is stubbed or not."""
    patch = _patches.get(function)
    return function.__code__ if patch is None else patch.code


def _hold(change: int) -> None:
    global _holders
    _holders += change
    if _holders == 1 and change == 1:
        watchers.append(_stub_late)
    elif _holders == 0:
        watchers.remove(_stub_late)
        while _late:
            _restore(_late.pop())


def _stub_late(mark: Mark) -> None:
    with lock:
        for tool in marked_tools(mark):
            if tool.function not in _patches:
                _install(tool)
                _late.append(tool)


def _install(tool: Tool) -> None:
    patch = _patches.get(tool.function)
    if patch is None:
        patch = _patches[tool.function] = _Patch(tool.function.__code__)
        if tool.stub is None or tool.stub[0] is not patch.code:
            original = twin(tool.function, patch.code)
            code = trampoline(patch.code, _dispatcher(tool, original), is_method=tool.is_method)
            tool.stub = (patch.code, code)
        tool.function.__code__ = tool.stub[1]
    patch.count += 1
    if tool.instance is not None:
        patch.by_instance[id(tool.instance)] = tool
    if tool.clear is not None:
        tool.clear()
        caches[tool.clear] = caches.get(tool.clear, 0) + 1


def _restore(tool: Tool) -> None:
    patch = _patches[tool.function]
    patch.count -= 1
    if not patch.count:
        tool.function.__code__ = patch.code
        del _patches[tool.function]
    if tool.clear is not None:
        caches[tool.clear] -= 1
        if not caches[tool.clear]:
            del caches[tool.clear]
        # What it holds is recorded, and nothing that production may see.
        tool.clear()


def _tool_of(tool: Tool, args: tuple[Any, ...]) -> Tool:
    """The tool that a call means: where tool objects share a method, the object tells."""
    if tool.instance is None or not args or args[0] is tool.instance:
        return tool
    patch = _patches.get(tool.function)
    known = patch.by_instance.get(id(args[0])) if patch is not None else None
    if known is not None and known.instance is args[0]:
        return known
    # An object that nobody named is no reason to run live: it is a tool under its own name.
    method = tool.function.__name__
    name = own_name(args[0]) or (type(args[0]).__name__ if method in ENTRY_METHODS else method)
    return replace(tool, name=name, instance=args[0])


def _dispatcher(tool: Tool, original: FunctionType) -> Callable[..., Any]:
    if tool.adapter is not None:
        return tool.adapter(original)
    kind = kind_of(tool.function.__code__)

    def dispatch(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        meant = tool if tool.instance is None else _tool_of(tool, args)
        arguments = meant.bind(named, args, kwargs)
        if meant.is_awaited:
            return handler_for(meant).call_async(meant, arguments, lambda: original(*args, **kwargs))
        return handler_for(meant).call(meant, arguments, lambda: original(*args, **kwargs))

    async def dispatch_async(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        meant = tool if tool.instance is None else _tool_of(tool, args)
        arguments = meant.bind(named, args, kwargs)
        return await handler_for(meant).call_async(meant, arguments, lambda: original(*args, **kwargs))

    def stream(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        meant = tool if tool.instance is None else _tool_of(tool, args)
        handler, arguments = handler_for(meant), meant.bind(named, args, kwargs)
        how = handler.stream if kind == inspect.CO_GENERATOR else handler.stream_async
        return how(meant, arguments, lambda: original(*args, **kwargs))

    return {0: dispatch, inspect.CO_COROUTINE: dispatch_async}.get(kind, stream)


class ToolCaller:
    """Handed to an agent as `tools`: every tool of the session by name, whether Python knows it or not.

    `tools.lookup_order(order_id="1047")`, `tools["lookup_order"](order_id="1047")`, `tools.call("lookup_order", {…})`.
    """

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, Mapping[str, Any]], Any]) -> None:
        self._call = call

    def call(self, name: str, arguments: Mapping[str, Any] | Any) -> Any:
        """Call tool `name`; returns the recorded result or raises the recorded error."""
        return self._call(name, arguments)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return lambda **arguments: self._call(name, arguments)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]
