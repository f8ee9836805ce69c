"""The tools of an agent: reached wherever the agent holds them.

A tool is stubbed by exchanging the code of the function object itself, so that every place that holds the function
(its module, `from tools import f`, registries, partials, bound methods) reaches the stub, whatever was imported when.
Name, signature, defaults, annotations, documentation and being async belong to the function object and stay.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakSet

from ..errors import ToolError, UnrecordedCall
from ..marks import Mark, watchers
from ..wire.imports import listen, listen_no_more
from .births import hear_no_more, hear_of_classes
from .finding import find_tools, import_remedy, marked_tools, with_marked
from .handlers import (
    Handler,
    Stay,
    caches,
    current,
    current_handler,
    fail_all,
    handler_for,
    lock,
    own_handler,
    stays,
)
from .inside import ENTRY_METHODS, own_name
from .kin import kin_of, loaded_again, overrides_in
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
    "stub_kin",
    "stubbed",
    "with_marked",
]


@dataclass(slots=True)
class _Patch:
    code: CodeType
    tool: Tool
    count: int = 0
    by_instance: dict[int, Tool] = field(default_factory=dict)
    """For functions that do the work of several tool objects: the tool of each."""


_patches: dict[FunctionType, _Patch] = {}
_late: list[Tool] = []
"""Tools that were found while others were stubbed already."""
_kept: dict[FunctionType, WeakSet[Stay]] = {}
"""Tools of replays that are over, as long as something goes on that one of their turns began."""
_holders = 0


@contextmanager
def stubbed(tools: Iterable[Tool]) -> Iterator[None]:
    """Have the current handler answer every call of `tools` made inside; the functions are restored afterwards.

    So it does with overrides of its methods in subclasses, and with what is marked as a tool, defined by a subclass or
    loaded once more in the meantime. Where a turn left something behind, what that calls is refused afterwards.
    Raises ToolError for an override that cannot be stubbed.
    """
    done: list[Tool] = []
    before = stays()
    try:
        with lock:
            _hold(1)
            for tool in tools:
                _install(tool)
                done.append(tool)
            done += _kin(done)
        with threads_take_context_along():
            yield
    finally:
        with lock:
            left = stays() - before
            for tool in (*done, *_hold(-1)):
                _leave(tool, left)
            _let_go()


def is_stubbed(function: FunctionType) -> bool:
    """Whether calls of this very function are answered, now."""
    return _stub_of(function) is not None


def _stub_of(function: FunctionType) -> Tool | None:
    patch = _patches.get(function)
    return None if patch is None or patch.count == (function in _kept) else patch.tool


def stub_kin() -> None:
    """Stub what has come up since: overrides in subclasses that nobody saw being made."""
    with lock:
        _late.extend(_kin(patch.tool for function, patch in list(_patches.items()) if _stub_of(function) is not None))


def _kin(tools: Iterable[Tool]) -> list[Tool]:
    """Install what is a tool because of these, and return it."""
    found: list[Tool] = []
    pending = [tool for tool in tools if tool.adapter is None]
    while pending:
        for tool in kin_of(pending.pop(), _stub_of):
            if _stub_of(tool.function) is None:
                _install(tool)
                found.append(tool)
                pending.append(tool)
    return found


def original_code(function: FunctionType) -> CodeType:
    """A function's own code, whether it is stubbed or not."""
    patch = _patches.get(function)
    return function.__code__ if patch is None else patch.code


def _hold(change: int) -> list[Tool]:
    """One more or one less that has tools stubbed. Returns those that were found late, when it was the last."""
    global _holders
    _holders += change
    if _holders == 1 and change == 1:
        watchers.append(_stub_late)
        listen(_stub_again)
        hear_of_classes(_stub_born)
    elif _holders == 0 and change == -1:
        watchers.remove(_stub_late)
        listen_no_more(_stub_again)
        hear_no_more(_stub_born)
        found = _late[:]
        _late.clear()
        return found
    return []


def _stub_late(mark: Mark) -> None:
    with lock:
        for tool in marked_tools(mark):
            _add(tool)


def _add(tool: Tool) -> None:
    if _stub_of(tool.function) is None:
        _install(tool)
        _late.append(tool)
        _late.extend(_kin([tool]))


def _stub_again(module: ModuleType) -> None:
    with lock:
        tools = [patch.tool for patch in _patches.values() if patch.tool.adapter is None]
        _add_all(module.__name__, lambda: loaded_again(module, tools, _stub_of))


def _stub_born(made: type) -> None:
    if made.__bases__ != (object,):
        with lock:
            _add_all(made.__qualname__, lambda: overrides_in(made, _stub_of))


def _add_all(name: str, found: Callable[[], Iterator[Tool]]) -> None:
    try:
        for tool in list(found()):
            _add(tool)
    except ToolError as error:
        # The agent may go on without it; the replay must not.
        fail_all(name, str(error), error)
        raise UnrecordedCall(str(error)) from error


def _install(tool: Tool) -> None:
    patch = _patches.get(tool.function)
    if patch is None:
        patch = _patches[tool.function] = _Patch(tool.function.__code__, tool)
    if _stub_of(tool.function) is None:
        patch.tool = tool
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


def _leave(tool: Tool, left: Set[Stay]) -> None:
    """The end of a stub, but for calls of what is left over."""
    if tool.function in _kept:
        _kept[tool.function].update(left)
        _restore(tool.function)
    elif tool.adapter is None and left:
        _kept[tool.function] = WeakSet(left)
    else:
        _restore(tool.function)
    if tool.clear is not None:
        caches[tool.clear] -= 1
        if not caches[tool.clear]:
            del caches[tool.clear]
        # What it holds is recorded, and nothing that production may see.
        tool.clear()


def _restore(function: FunctionType) -> None:
    patch = _patches[function]
    patch.count -= 1
    if not patch.count:
        function.__code__ = patch.code
        del _patches[function]


def _let_go() -> None:
    """Restore what was kept, where nothing is left over any more."""
    with lock:
        for function in [function for function, left in _kept.items() if not left]:
            del _kept[function]
            _restore(function)


def _is_passed(tool: Tool) -> bool:
    """Whether the function itself is to run: nobody replays it any more, or its wrapper runs and is the call."""
    if tool.function in _kept and _stub_of(tool.function) is None:
        _let_go()
        return not getattr(own_handler(), "is_closed", False)
    if not tool.is_behind:
        return False
    handler: Any = current_handler()
    return handler is not None and (not hasattr(handler, "stop") or handler.options.unrecorded == "call")


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
        if _is_passed(tool):
            return original(*args, **kwargs)
        meant = tool if tool.instance is None else _tool_of(tool, args)
        arguments = meant.bind(named, args, kwargs)
        if meant.is_awaited:
            return handler_for(meant).call_async(meant, arguments, lambda: original(*args, **kwargs))
        return handler_for(meant).call(meant, arguments, lambda: original(*args, **kwargs))

    async def dispatch_async(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _is_passed(tool):
            return await original(*args, **kwargs)
        meant = tool if tool.instance is None else _tool_of(tool, args)
        arguments = meant.bind(named, args, kwargs)
        return await handler_for(meant).call_async(meant, arguments, lambda: original(*args, **kwargs))

    def stream(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _is_passed(tool):
            return original(*args, **kwargs)
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
