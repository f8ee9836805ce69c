"""The tools of an agent: reached wherever the agent holds them.

A tool is stubbed by exchanging the code of the function object itself, so that every place that holds the function
(its module, `from tools import f`, registries, partials, bound methods) reaches the stub, whatever was imported when.
Name, signature, defaults, annotations, documentation and being async belong to the function object and stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from weakref import WeakSet

from ..errors import ToolError, UnrecordedCall
from ..marks import Mark, watchers
from ..wire.imports import listen, listen_no_more
from .births import hear_no_more, hear_of_classes
from .finding import find_tools, import_remedy, marked_tools, with_marked
from .handlers import Handler, Stay, caches, current, fail_all, lock, stays
from .kin import kin_of, loaded_again, overrides_in
from .patches import install, is_stubbed, kept, let_go, original_code, patches, restore, stub_of
from .threads import threads_take_context_along
from .tool import CONTEXT_NAMES, Tool

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


_late: list[Tool] = []
"""Tools that were found while others were stubbed already."""
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
            let_go()


def stub_kin() -> None:
    """Stub what has come up since: overrides in subclasses that nobody saw being made."""
    with lock:
        _late.extend(_kin(_stubs()))


def _stubs() -> list[Tool]:
    return [tool for tool in map(stub_of, list(patches)) if tool is not None]


def _kin(tools: Iterable[Tool]) -> list[Tool]:
    """Install what is a tool because of these, and return it."""
    found: list[Tool] = []
    pending = [tool for tool in tools if tool.adapter is None]
    while pending:
        for tool in kin_of(pending.pop(), stub_of):
            if stub_of(tool.function) is None:
                _install(tool)
                found.append(tool)
                pending.append(tool)
    return found


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
    if stub_of(tool.function) is None:
        _install(tool)
        _late.append(tool)
        _late.extend(_kin([tool]))


def _stub_again(module: ModuleType) -> None:
    with lock:
        tools = [patch.stub for patch in patches.values() if patch.stub is not None and patch.stub.adapter is None]
        _add_all(module.__name__, lambda: loaded_again(module, tools, stub_of))


def _stub_born(made: type) -> None:
    if made.__bases__ != (object,):
        with lock:
            _add_all(made.__qualname__, lambda: overrides_in(made, stub_of))


def _add_all(name: str, found: Callable[[], Iterator[Tool]]) -> None:
    try:
        for tool in list(found()):
            _add(tool)
    except ToolError as error:
        # The agent may go on without it; the replay must not.
        fail_all(name, str(error), error)
        raise UnrecordedCall(str(error)) from error


def _install(tool: Tool) -> None:
    install(tool)
    if tool.clear is not None:
        tool.clear()
        caches[tool.clear] = caches.get(tool.clear, 0) + 1


def _leave(tool: Tool, left: Set[Stay]) -> None:
    """The end of a stub, but for calls of what is left over."""
    if tool.function in kept:
        kept[tool.function].update(left)
        restore(tool.function)
    elif tool.adapter is None and left:
        kept[tool.function] = WeakSet(left)
    else:
        restore(tool.function)
    if tool.clear is not None:
        caches[tool.clear] -= 1
        if not caches[tool.clear]:
            del caches[tool.clear]
        # What it holds is recorded, and nothing that production may see.
        tool.clear()


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
