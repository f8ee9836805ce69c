"""Tools that run as ever, while whoever is at a turn looks on at their calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType

from ..marks import Mark, watchers
from ..wire.imports import listen, listen_no_more
from .births import hear_no_more, hear_of_classes
from .finding import marked_tools
from .handlers import lock
from .kin import kin_of, loaded_again, overrides_in
from .patches import watch, watch_no_more
from .threads import threads_take_context_along
from .tool import Tool


class Watched:
    """Has the calls of some tools shown to the watcher of their context, from `begin` to `end`.

    So it does with overrides of their methods in subclasses, with what is marked as a tool later, and with what is
    loaded once more. failed: told of what cannot be watched; that runs on unseen.
    """

    def __init__(self, tools: Iterable[Tool], failed: Callable[[Exception], None]) -> None:
        self._given = list(tools)
        self._failed = failed
        self._own: dict[tuple[FunctionType, int], Tool] = {}
        self._functions: dict[FunctionType, Tool] = {}
        self._has_methods = False
        self._on_import = self._loaded
        self._threads = threads_take_context_along()

    def begin(self) -> None:
        """From now on."""
        with lock:
            self._add_all(lambda: self._given)
            watchers.append(self._marked)
            listen(self._on_import, frozenset(tool.function.__module__ for tool in self._given))
            hear_of_classes(self._born)
        self._threads.__enter__()

    def end(self) -> None:
        """Everything is as it was; calls that go on come to their end."""
        self._threads.__exit__(None, None, None)
        with lock:
            hear_no_more(self._born)
            listen_no_more(self._on_import)
            watchers.remove(self._marked)
            for tool in self._own.values():
                watch_no_more(tool)
            self._own.clear()
            self._functions.clear()

    def more(self, found: Callable[[], Iterable[Tool]]) -> None:
        """Watch what `found` gives, too."""
        self._add_all(found)

    def _add_all(self, found: Callable[[], Iterable[Tool]]) -> None:
        try:
            # Most often there is nothing, and a program that forks must not find the lock held for that.
            pending = list(found())
            if pending:
                with lock:
                    while pending:
                        pending += self._added(pending.pop())
        except Exception as error:
            self._failed(error)

    def _added(self, tool: Tool) -> Iterable[Tool]:
        """Watch a tool. Returns what is a tool because it is one."""
        key = tool.function, id(tool.instance)
        # What stands behind a wrapper that is the tool is no call of its own.
        if tool.is_behind or key in self._own:
            return ()
        watch(tool)
        self._own[key] = tool
        self._functions.setdefault(tool.function, tool)
        self._has_methods |= tool.owner is not None
        return () if tool.adapter is not None else kin_of(tool, self._functions.get)

    def _marked(self, mark: Mark) -> None:
        self._add_all(lambda: marked_tools(mark))

    def _loaded(self, module: ModuleType) -> None:
        self._add_all(lambda: loaded_again(module, list(self._own.values()), self._functions.get))

    def _born(self, made: type) -> None:
        if self._has_methods and made.__bases__ != (object,):
            self._add_all(lambda: overrides_in(made, self._functions.get))
