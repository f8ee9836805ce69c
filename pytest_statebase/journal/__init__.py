"""The journal of captured sessions: written in production, line by checked line, and read to make cassettes.

Whoever writes loads nothing of what reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import loader

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

__getattr__ = loader(__name__, _HOMES)
