"""Told of the classes that are made while tools are stubbed."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

_original: Callable[..., Any] = builtins.__build_class__
_told: list[Callable[[type], None]] = []


def _build(*args: Any, **kwargs: Any) -> Any:
    made = _original(*args, **kwargs)
    if isinstance(made, type):
        for told in list(_told):
            told(made)
    return made


def hear_of_classes(told: Callable[[type], None]) -> None:
    """From now on `told` gets every class that a `class` statement makes; what it raises, the statement raises."""
    global _original
    if not _told and builtins.__build_class__ is not _build:
        _original = builtins.__build_class__
        builtins.__build_class__ = _build
    _told.append(told)


def hear_no_more(told: Callable[[type], None]) -> None:
    """It hears of none any more."""
    _told.remove(told)
    # Who has put something in front of it meanwhile, keeps it.
    if not _told and builtins.__build_class__ is _build:
        builtins.__build_class__ = _original
