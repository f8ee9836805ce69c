"""Functions whose code is exchanged: for a stub, or for one that lets who is at a turn look on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakSet

from .handlers import Stay, Watcher, current_handler, handler_for, lock, own_handler
from .inside import ENTRY_METHODS, own_name
from .tool import Tool
from .trampoline import kind_of, trampoline, twin

Dispatcher = Callable[[dict[str, Any], tuple[Any, ...], dict[str, Any]], Any]


@dataclass(slots=True)
class Patch:
    """A function whose own code is not in place."""

    code: CodeType
    """Its own."""
    stub: Tool | None = None
    """The tool that it is for those that answer its calls."""
    count: int = 0
    """How many have it stubbed."""
    watched: list[Tool] = field(default_factory=list)
    """The tool that it is for those that only look on, once for each."""
    watching: CodeType | None = None
    """The code for these."""
    by_instance: dict[int, Tool] = field(default_factory=dict)
    """For functions that do the work of several tool objects: the tool of each."""


patches: dict[FunctionType, Patch] = {}
kept: dict[FunctionType, WeakSet[Stay]] = {}
"""Tools of replays that are over, as long as something goes on that one of their turns began."""


def is_stubbed(function: FunctionType) -> bool:
    """Whether calls of this very function are answered, now."""
    return stub_of(function) is not None


def stub_of(function: FunctionType) -> Tool | None:
    """The tool that a function is, where its calls are answered now."""
    patch = patches.get(function)
    return None if patch is None or patch.count == (function in kept) else patch.stub


def original_code(function: FunctionType) -> CodeType:
    """A function's own code, whether it is stubbed or not."""
    patch = patches.get(function)
    return function.__code__ if patch is None else patch.code


def _patch_of(tool: Tool) -> Patch:
    patch = patches.get(tool.function)
    if patch is None:
        patch = patches[tool.function] = Patch(tool.function.__code__)
    if tool.instance is not None:
        patch.by_instance[id(tool.instance)] = tool
    return patch


def install(tool: Tool) -> None:
    """Stub a tool's function once more."""
    patch = _patch_of(tool)
    if stub_of(tool.function) is None:
        patch.stub = tool
        if tool.stub is None or tool.stub[0] is not patch.code:
            original = twin(tool.function, patch.code)
            code = trampoline(patch.code, _dispatcher(tool, original), is_method=tool.is_method)
            tool.stub = (patch.code, code)
        tool.function.__code__ = tool.stub[1]
    patch.count += 1


def restore(function: FunctionType) -> None:
    """Stub it once less."""
    patch = patches[function]
    patch.count -= 1
    if not patch.count:
        _leave(function, patch)


def watch(tool: Tool) -> None:
    """Have watchers see the calls of a tool's function, once more. Where it is stubbed, they see them as well."""
    patch = _patch_of(tool)
    patch.watched.append(tool)
    if patch.watching is None:
        original = twin(tool.function, patch.code)
        patch.watching = trampoline(patch.code, _onlooker(tool, original), is_method=tool.is_method)
    if not patch.count:
        tool.function.__code__ = patch.watching


def watch_no_more(tool: Tool) -> None:
    """Once less."""
    patch = patches[tool.function]
    patch.watched.remove(tool)
    if not patch.watched:
        patch.watching = None
        if not patch.count:
            _leave(tool.function, patch)


def _leave(function: FunctionType, patch: Patch) -> None:
    function.__code__ = patch.watching or patch.code
    if patch.watching is None:
        del patches[function]


def let_go() -> None:
    """Restore what was kept, where nothing is left over any more."""
    with lock:
        for function in [function for function, left in kept.items() if not left]:
            del kept[function]
            restore(function)


def _is_passed(tool: Tool) -> bool:
    """Whether the function itself is to run: nobody replays it any more, or its wrapper runs and is the call."""
    if tool.function in kept and stub_of(tool.function) is None:
        let_go()
        return not getattr(own_handler(), "is_closed", False)
    if not tool.is_behind:
        return False
    handler: Any = current_handler()
    return handler is not None and (not hasattr(handler, "stop") or handler.options.unrecorded == "call")


def tool_of(tool: Tool, args: tuple[Any, ...]) -> Tool:
    """The tool that a call means: where tool objects share a method, the object tells."""
    if tool.instance is None or not args or args[0] is tool.instance:
        return tool
    patch = patches.get(tool.function)
    known = patch.by_instance.get(id(args[0])) if patch is not None else None
    if known is not None and known.instance is args[0]:
        return known
    # An object that nobody named is no reason to run live: it is a tool under its own name.
    method = tool.function.__name__
    name = own_name(args[0]) or (type(args[0]).__name__ if method in ENTRY_METHODS else method)
    return replace(tool, name=name, instance=args[0])


def _onlooker(tool: Tool, original: FunctionType) -> Dispatcher:
    """What lets every call run, and shows it to the watcher of this context, where there is one."""

    def dispatch(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        handler = own_handler()
        if not isinstance(handler, Watcher):
            return original(*args, **kwargs)
        return handler.look(tool, original, named, args, kwargs)

    return dispatch


def _dispatcher(tool: Tool, original: FunctionType) -> Dispatcher:
    """What has the calls answered, but for those of a context that has a watcher."""
    answer = tool.adapter(original) if tool.adapter is not None else _answering(tool, original)

    def dispatch(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        handler = own_handler()
        if isinstance(handler, Watcher):
            return handler.look(tool, original, named, args, kwargs)
        return answer(named, args, kwargs)

    return dispatch


def _answering(tool: Tool, original: FunctionType) -> Dispatcher:
    kind = kind_of(tool.function.__code__)

    def dispatch(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _is_passed(tool):
            return original(*args, **kwargs)
        meant = tool if tool.instance is None else tool_of(tool, args)
        arguments = meant.bind(named, args, kwargs)
        if meant.is_awaited:
            return handler_for(meant).call_async(meant, arguments, lambda: original(*args, **kwargs))
        return handler_for(meant).call(meant, arguments, lambda: original(*args, **kwargs))

    async def dispatch_async(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _is_passed(tool):
            return await original(*args, **kwargs)
        meant = tool if tool.instance is None else tool_of(tool, args)
        arguments = meant.bind(named, args, kwargs)
        return await handler_for(meant).call_async(meant, arguments, lambda: original(*args, **kwargs))

    def stream(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _is_passed(tool):
            return original(*args, **kwargs)
        meant = tool if tool.instance is None else tool_of(tool, args)
        handler, arguments = handler_for(meant), meant.bind(named, args, kwargs)
        how = handler.stream if kind == inspect.CO_GENERATOR else handler.stream_async
        return how(meant, arguments, lambda: original(*args, **kwargs))

    return {0: dispatch, inspect.CO_COROUTINE: dispatch_async}.get(kind, stream)
