"""To be written."""

from __future__ import annotations

from pathlib import Path

from .runs import Run


def write_summary(path: Path, made: Run) -> None:
    raise NotImplementedError
