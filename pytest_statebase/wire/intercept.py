"""Stands where Python's HTTP clients open their connections, while somebody wants to decide of their requests."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from .doors import Door, passing
from .imports import listen, listen_no_more
from .watch import Watch

Find = Callable[[], Door | Watch | None]
"""Who decides of a request that is made here and now, or watches it; None where it goes on as if nothing were there."""

CLIENTS = {
    "httpcore": "httpcore",
    "httpcore2": "httpcore",
    "urllib3": "urllib3",
    "http.client": "stdlib",
    "aiohttp": "aiohttp",
}
"""Module that is looked for → module of `clients` that knows it."""

_lock = threading.RLock()
_finds: list[Find] = []
_undo: list[tuple[Any, str, Any, Any]] = []
_done: list[ModuleType] = []


def door_for_request() -> Door | Watch | None:
    """Who decides of the request that is about to be sent."""
    finds = _finds  # which is replaced, and never changed
    if not finds or passing.get():
        return None
    return next((door for find in reversed(finds) if (door := find()) is not None), None)


@contextmanager
def intercepted(find: Find) -> Iterator[None]:
    """Have the doors that `find` names decide of every request; clients are as they were when the last holder leaves.

    `find` is asked in the thread and context of each request. Clients that are imported later are reached as well.
    Of several that hold it at once, the last one that names a door decides.
    """
    global _finds
    with _lock:
        _finds = [*_finds, find]
        if len(_finds) == 1:
            _begin()
    _catch_up()
    try:
        yield
    finally:
        with _lock:
            left = list(_finds)
            left.remove(find)
            _finds = left
            if not _finds:
                _end()


def _begin() -> None:
    listen(_imported, CLIENTS)
    for name in CLIENTS:
        if name in sys.modules and not _is_half(name):
            _install(name)


def _catch_up() -> None:
    """Reach what another thread was at importing, once it is there."""
    for name in CLIENTS:
        if name in sys.modules and not any(module is sys.modules[name] for module in _done):
            _install(name)


def _imported(module: ModuleType) -> None:
    _install(module.__name__)


def _is_half(name: str) -> bool:
    return bool(getattr(getattr(sys.modules[name], "__spec__", None), "_initializing", False))


def _end() -> None:
    listen_no_more(_imported)
    _done.clear()
    while _undo:
        owner, attribute, original, replacement = _undo.pop()
        # Somebody may have exchanged it again and not put it back: what we put there asks nobody from now on.
        if owner.__dict__.get(attribute) is replacement:
            setattr(owner, attribute, original)


def _install(name: str) -> None:
    """Reach one client library. One that is not as those that are known is left to the guard."""
    module: Any = importlib.import_module(name)
    client: Any = importlib.import_module(f".clients.{CLIENTS[name]}", __package__)
    with _lock:
        if not _finds or any(done is module for done in _done):
            return
        _done.append(module)
        try:
            found = [
                (owner, attribute, owner.__dict__[attribute], replacement)
                for owner, attribute, replacement in client.replacements(module, door_for_request)
            ]
        except Exception:
            return
        for owner, attribute, _, replacement in found:
            setattr(owner, attribute, replacement)
        _undo.extend(found)
