"""The results of a change beside those of its base branch: what this change did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .grouping import group_of_row
from .results import read_results, replay_key
from .rows import Row


@dataclass(frozen=True, slots=True)
class Against:
    """Replays by what became of them, each as its row (of the base where it is gone)."""

    path: str
    newly_failing: Sequence[Row]
    newly_passing: Sequence[Row]
    still_failing: Sequence[Row]
    new: Sequence[Row]
    """Not among the base's results."""
    removed: Sequence[Row]
    """Among the base's alone."""


def compared_with(path: Path, rows: Sequence[Row]) -> Against:
    """The rows beside those of the results file at `path`. Raises FileError, FormatVersionError."""
    _, base = read_results(path)
    before = {replay_key(row): row for row in base}
    now = {replay_key(row): row for row in rows}
    both = [(before[key], row) for key, row in now.items() if key in before]
    return Against(
        str(path),
        [row for was, row in both if _passes(was) and not _passes(row)],
        [row for was, row in both if not _passes(was) and _passes(row)],
        [row for was, row in both if not _passes(was) and not _passes(row)],
        [row for key, row in now.items() if key not in before],
        [row for key, row in before.items() if key not in now],
    )


def _passes(row: Row) -> bool:
    return group_of_row(row).passes
