"""Modules that are imported while a replay runs: what they bring must not run live either."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..errors import ToolError, UnrecordedCall
from .handlers import fail_all, lock
from .reach import check_module, is_own

_watched: list[frozenset[str]] = []


class _Finder:
    """Finds what the other finders find, and looks at the module once it is there."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                _look_after(spec.loader)
                return spec
        return None


_FINDER = _Finder()


def _look_after(loader: Any) -> None:
    execute = getattr(loader, "exec_module", None)
    if execute is None or isinstance(loader, type):
        return

    def exec_module(module: ModuleType) -> None:
        execute(module)
        if is_own(module):
            _check(module)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # a loader of C modules
        return


def _check(module: ModuleType) -> None:
    with lock:
        named = frozenset().union(*_watched)
    try:
        check_module(module, named)
    except ToolError as error:
        # The agent may take it for a module that is missing; the replay must not.
        fail_all(module.__name__, str(error), error)
        raise UnrecordedCall(str(error)) from error


@contextmanager
def watch_imports(named: frozenset[str]) -> Iterator[None]:
    """Refuse, until the end, modules of the project that define a function under one of these names without a stub."""
    if not named:
        yield
        return
    with lock:
        _watched.append(named)
        if len(_watched) == 1:
            sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        with lock:
            _watched.remove(named)
            if not _watched:
                sys.meta_path.remove(_FINDER)
