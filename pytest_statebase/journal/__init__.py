"""The journal of captured sessions: written in production, line by checked line, and read to make cassettes.

Whoever writes loads nothing of what reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assemble import CapturedSession, read_sessions
    from .limits import Limits
    from .read import Damage, is_journal
    from .status import read_statuses
    from .writer import Writer

__all__ = ["CapturedSession", "Damage", "Limits", "Writer", "is_journal", "read_sessions", "read_statuses"]

_HOMES = {
    "CapturedSession": "assemble",
    "Damage": "read",
    "Limits": "limits",
    "Writer": "writer",
    "is_journal": "read",
    "read_sessions": "assemble",
    "read_statuses": "status",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{home}", __name__), name)
