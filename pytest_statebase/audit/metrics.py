"""What `metrics --fail-on` takes for a fault."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ..report.measures import MEASURES, REPLAY_MEASURES, Range

NAMES: Final = tuple(measure.name for measure in (*MEASURES, *REPLAY_MEASURES))


_CONDITION = re.compile(r"\s*([a-z0-9-]+)\s*(?:(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*(%|ms|s)?)?\s*")


@dataclass(frozen=True, slots=True)
class Condition:
    """One `--fail-on`: what is not to be."""

    name: str
    fails: Range | None = None
    """None for what is outside of the healthy range."""
    must: bool = True
    """It also fails where there is nothing to measure."""


def conditions(text: str) -> list[Condition]:
    """What `--fail-on` says: `all`, a measure, or a measure with what fails (`rollback-rate>5%`, `response-p95>3s`).

    A limit of a share is in per cent where it says so, one of a time in milliseconds where it does not say seconds.

    Raises ValueError for what means nothing.
    """
    if text.strip() == "all":
        return [Condition(measure.name, must=False) for measure in MEASURES if measure.healthy]
    match = _CONDITION.fullmatch(text)
    if match is None or match[1] not in NAMES:
        raise ValueError(f"{text!r:.60} is no measure; there are {', '.join(NAMES)}, and all")
    measure = next(one for one in (*MEASURES, *REPLAY_MEASURES) if one.name == match[1])
    if match[2] is None:
        if measure.healthy is None:
            raise ValueError(f"{measure.name} has no healthy range of its own: write {measure.name}>LIMIT")
        return [Condition(measure.name)]
    if (match[4] == "%") > (measure.unit == "share") or (match[4] in ("ms", "s")) > (measure.unit == "ms"):
        raise ValueError(f"{measure.name} is {'a share' if measure.unit == 'share' else 'a time'}, not {match[4]}")
    scale = {"%": 0.01, "s": 1000.0}.get(match[4] or "", 1.0)
    return [Condition(measure.name, Range(match[2], float(match[3]) * scale))]  # type: ignore[arg-type]


def ranges_of(wanted: Iterable[Condition]) -> dict[str, Range]:
    """What is well by these conditions, for those that name a limit."""
    return {one.name: one.fails.opposite for one in wanted if one.fails is not None}
