"""How agents fare over many sessions: response times, rollbacks, calls of tools, sessions that came to their end."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

from ..compare.shapes import as_moment
from ..ledger import Ledger, StateRolledBack
from ..values import ABSENT

Unit: TypeAlias = Literal["ms", "share"]
WEEK: Final = timedelta(days=7)
_FAILED = re.compile(
    r"(?i)\b(?:error|fail\w*|crash\w*|exception|time[ _-]?out|timed[ _-]?out|abort\w*|cancel\w*|interrupt\w*|expired?|"
    r"abandon\w*|killed|max[ _-]?(?:steps|turns|errors|iterations)|too[ _-]?many\w*|incomplete)"
)


@dataclass(frozen=True, slots=True)
class Sample:
    """What one recorded session, or one replay, adds to the figures."""

    at: datetime | None
    """When it was recorded, or run."""
    times: Sequence[float] = ()
    """Response times in milliseconds, of the turns that tell one."""
    turns: int = 0
    good: int = 0
    """Calls that worked; of a replay, those that had an answer."""
    bad: int = 0
    rollbacks: int = 0
    done: bool | None = None
    """The session came to its end, the replay passed; None where nothing tells."""


def sample_of(ledger: Ledger, at: datetime | None) -> Sample:
    """The figures of a recorded session. Calls whose result was not recorded count neither way."""
    calls = [call for turn in ledger.turns for call in turn.calls]
    bad = sum(call.failed for call in calls)
    unknown = sum(not call.failed and call.result is ABSENT for call in calls)
    times = [time for turn in ledger.turns if (time := _time_of(turn)) is not None]
    rollbacks = sum(isinstance(event, StateRolledBack) for event in ledger.events)
    return Sample(at, times, len(ledger.turns), len(calls) - bad - unknown, bad, rollbacks, _is_done(ledger))


def _time_of(turn: Any) -> float | None:
    """How long the user waited: what the metadata says, else from the input to the end of the turn."""
    said = (turn.added.metadata or {}).get("latency_ms") if turn.added else None
    if isinstance(said, (int, float)) and not isinstance(said, bool):
        return float(said) if math.isfinite(said) and said >= 0 else None
    begin, end = as_moment(turn.started.at), as_moment(turn.added.at) if turn.added else None
    if begin is None or end is None:
        return None
    passed = (end - begin).total_seconds() * 1000
    return passed if passed >= 0 else None


def _is_done(ledger: Ledger) -> bool | None:
    """Whether a session came to its end. A reason tells; without one a last turn that failed does.

    An input that nobody answered may be a goodbye: without a reason it tells nothing.
    """
    ended, last = ledger.ended, ledger.turns[-1] if ledger.turns else None
    if ended is not None and ended.reason:
        return _FAILED.search(ended.reason) is None
    if last is None:
        return None
    kind = last.output.get("type") if isinstance(last.output, Mapping) else None
    if last.added is None or last.error is not None or last.added.interrupted or kind == "error":
        return False
    if ended is not None and ended.input is not None:
        return None
    return True if last.output is not ABSENT else None


def sample_of_row(row: Mapping[str, Any], at: datetime | None) -> Sample:
    """The figures of one replay, a row of a results file."""
    turns = [turn for turn in row.get("turns") or () if isinstance(turn, Mapping)]
    times = [float(turn["duration_ms"]) for turn in turns if isinstance(turn.get("duration_ms"), (int, float))]
    calls = row.get("calls") or {}
    bad = int(calls.get("unrecorded", 0))
    answers = ("answered", "authored", "accepted", "sibling", "simulated", "live")
    good = sum(int(calls.get(name, 0)) for name in answers)
    return Sample(at, times, len(turns), good, bad, done=row.get("outcome") == "passed")


# --- Measures


@dataclass(frozen=True, slots=True)
class Range:
    """What is healthy: `< 2000`, `> 0.95`."""

    sign: Literal["<", "<=", ">", ">="]
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value is in the range."""
        match self.sign:
            case "<":
                return value < self.limit
            case "<=":
                return value <= self.limit
            case ">":
                return value > self.limit
        return value >= self.limit

    @property
    def opposite(self) -> Range:
        """What is outside of it."""
        return Range(_OPPOSITES[self.sign], self.limit)


_OPPOSITES: Final[dict[str, Any]] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure over many samples."""

    name: str
    """As `--fail-on` names it."""
    title: str
    unit: Unit
    of: Callable[[Sequence[Sample]], float | None]
    """The figure; None where there is nothing to measure."""
    healthy: Range | None = None
    """The range of StateBase's documentation."""


def _mean(samples: Sequence[Sample]) -> float | None:
    times = _times(samples)
    return math.fsum(times) / len(times) if times else None


def _times(samples: Iterable[Sample]) -> list[float]:
    return [time for sample in samples for time in sample.times]


def _percentile(share: float) -> Callable[[Sequence[Sample]], float | None]:
    """The least time that this share of all turns did not exceed."""

    def measure(samples: Sequence[Sample]) -> float | None:
        times = sorted(_times(samples))
        return times[max(math.ceil(share * len(times)) - 1, 0)] if times else None

    return measure


def _rollbacks(samples: Sequence[Sample]) -> float | None:
    return sum(sample.rollbacks for sample in samples) / len(samples) if samples else None


def _good(samples: Sequence[Sample]) -> float | None:
    good, bad = sum(sample.good for sample in samples), sum(sample.bad for sample in samples)
    return good / (good + bad) if good + bad else None


def _done(samples: Sequence[Sample]) -> float | None:
    known = [sample.done for sample in samples if sample.done is not None]
    return sum(known) / len(known) if known else None


MEASURES: Final = (
    Measure("response-time", "response time, mean", "ms", _mean, Range("<", 2000)),
    Measure("response-p50", "response time, p50", "ms", _percentile(0.50)),
    Measure("response-p95", "response time, p95", "ms", _percentile(0.95)),
    Measure("rollback-rate", "rollbacks per session", "share", _rollbacks, Range("<", 0.02)),
    Measure("tool-success", "tool calls that worked", "share", _good, Range(">", 0.95)),
    Measure("completion", "sessions completed", "share", _done, Range(">", 0.80)),
)
"""Of recorded sessions."""
REPLAY_MEASURES: Final = (
    Measure("replays-passed", "replays passed", "share", _done),
    Measure("calls-answered", "calls answered", "share", _good),
    Measure("replay-time", "time of a turn, mean", "ms", _mean),
    Measure("replay-p95", "time of a turn, p95", "ms", _percentile(0.95)),
)
"""Of replays: how long a turn takes with its tools stubbed."""
NAMES: Final = tuple(measure.name for measure in (*MEASURES, *REPLAY_MEASURES))


# --- Thresholds

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


# --- Weeks


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure over all samples and over the last two weeks."""

    measure: Measure
    healthy: Range | None
    """The range that counts: that of a `--fail-on`, else the measure's own."""
    value: float | None
    this_week: float | None
    last_week: float | None

    @property
    def is_healthy(self) -> bool | None:
        """None where there is nothing to measure, or no range."""
        if self.value is None or self.healthy is None:
            return None
        return self.healthy.holds(self.value)


@dataclass(frozen=True, slots=True)
class Figures:
    """All measures of one kind of samples."""

    samples: Sequence[Sample]
    this_week: Sequence[Sample]
    last_week: Sequence[Sample]
    rows: list[Figure] = field(default_factory=list)


def figures(
    samples: Sequence[Sample], measures: Iterable[Measure], now: datetime, wanted: Iterable[Condition] = ()
) -> Figures:
    """Measure the samples: all of them, those of the seven days up to now, and those of the seven before."""
    weeks = [_between(samples, now - WEEK, now), _between(samples, now - 2 * WEEK, now - WEEK)]
    ranges = {one.name: one.fails.opposite for one in wanted if one.fails is not None}
    found = Figures(samples, weeks[0], weeks[1])
    for measure in measures:
        values = [measure.of(part) for part in (samples, *weeks)]
        found.rows.append(Figure(measure, ranges.get(measure.name, measure.healthy), *values))
    return found


def _between(samples: Iterable[Sample], begin: datetime, end: datetime) -> list[Sample]:
    return [sample for sample in samples if sample.at is not None and begin < sample.at <= end]
