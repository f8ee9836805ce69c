"""A run as everything that is written of it sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .against import Against
    from .history import Trend
    from .rows import Row


@dataclass(frozen=True, slots=True)
class Run:
    """The results of a run with what is known beside them."""

    rows: Sequence[Row]
    run: Mapping[str, Any]
    """As the first line of a results file has it."""
    against: Against | None = None
    """What differs from the base branch's results."""
    trend: Trend | None = None
    """Earlier runs."""
    url: str | None = None
