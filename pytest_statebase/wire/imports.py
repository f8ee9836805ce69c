"""Told when modules have been imported."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Container, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

Told: TypeAlias = Callable[[ModuleType], None]
"""Gets a module that has just been executed. What it raises, the import raises."""


class _Listener(NamedTuple):
    told: Told
    names: Container[str] | None


_listeners: list[_Listener] = []
_lock = threading.Lock()


class _Here(threading.local):
    names: frozenset[str] = frozenset()
    """What this thread is looking for: other finders ask all finders in their turn."""
    found: frozenset[int] = frozenset()
    """The modules that it executes and that a finder has found: they are told of by it."""


_here = _Here()


class _Finder:
    """Finds what the other finders find, and tells once it has been executed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        told = [one.told for one in list(_listeners) if one.names is None or name in one.names]
        if not told or name in _here.names:
            return None
        _here.names = _here.names | {name}
        try:
            spec = self._found(name, path, target)
        finally:
            _here.names = _here.names - {name}
        if spec is not None:
            _tell(spec, told)
        return spec

    def _found(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                return spec
        return None


_FINDER = _Finder()


def _tell(spec: ModuleSpec, told: list[Told]) -> None:
    # Python's own loaders are classes, of modules that concern nobody.
    if hasattr(spec.loader, "exec_module") and not isinstance(spec.loader, type):
        loader: Any = _Loader(spec.loader, told)
        spec.loader = loader


class _Loader:
    """A loader that tells. It is gone when the module is executed: one loader may load many modules."""

    def __init__(self, loader: Any, told: list[Told]) -> None:
        self._loader = loader
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        create = getattr(self._loader, "create_module", None)
        found: ModuleType | None = None if create is None else create(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        before = _here.found
        _here.found = before | {id(module)}
        try:
            self._loader.exec_module(module)
        finally:
            _here.found = before
        for told in self._told:
            told(module)


def _exec_module(loader: SourceFileLoader, module: ModuleType) -> None:
    """For modules that are made of a file without any finder (`spec_from_file_location`)."""
    super(SourceFileLoader, loader).exec_module(module)
    if id(module) not in _here.found:
        for one in list(_listeners):
            if one.names is None or module.__name__ in one.names:
                one.told(module)


_FROM_FILES: Any = SourceFileLoader


def listen(told: Told, names: Container[str] | None = None) -> None:
    """From now on `told` hears of every import of a module, or of those with these names."""
    with _lock:
        _listeners.append(_Listener(told, names))
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
            _FROM_FILES.exec_module = _exec_module


def listen_no_more(told: Told) -> None:
    """It hears of none any more."""
    with _lock:
        _listeners[:] = [one for one in _listeners if one.told is not told]
        if not _listeners and _FINDER in sys.meta_path:
            sys.meta_path.remove(_FINDER)
            if vars(SourceFileLoader).get("exec_module") is _exec_module:
                del _FROM_FILES.exec_module
