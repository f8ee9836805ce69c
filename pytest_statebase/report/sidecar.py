"""To be written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .brief import brief

if TYPE_CHECKING:
    from .runs import Run

__all__ = ["brief", "write_sidecar"]


def write_sidecar(path: Path, made: Run) -> None:
    raise NotImplementedError
