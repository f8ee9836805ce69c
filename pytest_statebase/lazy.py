"""Names of a package that are loaded from their modules when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def loader(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    package: its `__name__`; homes: for each name the module below it that has it.
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(f".{home}", package), name)

    return load
