"""Modules that are imported while a replay runs: what they bring must not run live either."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from ..errors import ToolError, UnrecordedCall
from ..wire.imports import listen, listen_no_more
from .handlers import fail_all, lock
from .reach import check_module, is_own

_watched: list[frozenset[str]] = []


def _check(module: ModuleType) -> None:
    if not is_own(module):
        return
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
            listen(_check)
    try:
        yield
    finally:
        with lock:
            _watched.remove(named)
            if not _watched:
                listen_no_more(_check)
