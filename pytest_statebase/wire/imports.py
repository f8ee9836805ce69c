"""Told when one of some modules has been imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Finder:
    """Finds one of the modules as the other finders do, and tells once it has been executed."""

    def __init__(self, names: frozenset[str], told: Callable[[str], None]) -> None:
        self.names = names
        self.told = told
        self._looking: set[str] = set()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self.names or name in self._looking:
            return None
        self._looking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            loader: Any = _Loader(spec.loader, self.told)
            spec.loader = loader
        return spec


class _Loader:
    """A loader that tells."""

    def __init__(self, loader: Any, told: Callable[[str], None]) -> None:
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
        self._loader.exec_module(module)
        self._told(module.__name__)


_finder: _Finder | None = None


def told_of_imports(names: Iterable[str], told: Callable[[str], None] | None) -> None:
    """From now on `told(name)` when one of these modules has been imported; with None, nobody is told any more."""
    global _finder
    if _finder is not None:
        if _finder in sys.meta_path:
            sys.meta_path.remove(_finder)
        _finder = None
    if told is not None:
        _finder = _Finder(frozenset(names), told)
        sys.meta_path.insert(0, _finder)
