"""Earlier runs: a small file that runs append to, and what it tells of the trend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .rows import Row
from .runs import Run


@dataclass(frozen=True, slots=True)
class Trend:
    """Runs in the order of their times, this one last."""

    points: Sequence[Mapping[str, Any]]


def trend_of(path: Path, rows: Sequence[Row], run: Mapping[str, Any]) -> Trend:
    """What `path` tells, and this run. A file that is not there tells nothing."""
    raise NotImplementedError


def append_run(path: Path, made: Run) -> None:
    """Append this run to `path`."""
    raise NotImplementedError
