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
from .times import parse_time, recorded_at

Unit: TypeAlias = Literal["ms", "share"]
WEEK: Final = timedelta(days=7)
_LONGEST = 1e12
"""Milliseconds; what claims more is no time that anybody waited."""
_NOT = r"(?:\b(?:no|not|never|without|zero|0|cannot)|n't) (?:(?:any|be|been|more|further|other|yet|tool|agent) )?"
_FAILED = re.compile(
    r"(?i)\b(?:error|fail\w*|crash\w*|exception|time ?out|timed ?out|abort\w*|cancel\w*|interrupt\w*|expired?|"
    r"abandon\w*|killed|max ?(?:steps|turns|errors|iterations)|too ?many\w*|incomplete|unresolved)"
)
_DONE = re.compile(
    r"(?i)\b(?:complete[ds]?|success\w*|succeeded|done|finished|(?:re)?solved|fixed|replaced|fulfilled|satisfied|"
    r"handed (?:over|off)|transferred|goal reached)\b"
)
_DENIED_FAILURE = re.compile(_NOT + _FAILED.pattern.removeprefix("(?i)") + r"\w*", re.IGNORECASE)
_DENIED_DONE = re.compile(_NOT + _DONE.pattern.removeprefix("(?i)"), re.IGNORECASE)


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
    return _sample(ledger, at, _times_of(ledger))


def _sample(ledger: Ledger, at: datetime | None, times: Iterable[float | None]) -> Sample:
    calls = [call for turn in ledger.turns for call in turn.calls]
    bad = sum(call.failed for call in calls)
    unknown = sum(not call.failed and call.result is ABSENT for call in calls)
    told = [time for time in times if time is not None]
    rollbacks = sum(isinstance(event, StateRolledBack) for event in ledger.events)
    return Sample(at, told, len(ledger.turns), len(calls) - bad - unknown, bad, rollbacks, _is_done(ledger))


def production_row(ledger: Ledger) -> dict[str, Any]:
    """What a row keeps of a recording's figures, for `sample_of_production`.

    `at`, when it was recorded; `ms`, the response time of each turn or null; `good` and `bad`, its calls; `rollbacks`;
    `done`.
    """
    at, times = recorded_at(ledger), _times_of(ledger)
    sample = _sample(ledger, at, times)
    return {
        "at": None if at is None else at.isoformat(),
        "ms": [None if time is None else round(time, 1) for time in times],
        "good": sample.good,
        "bad": sample.bad,
        "rollbacks": sample.rollbacks,
        "done": sample.done,
    }


def _times_of(ledger: Ledger) -> list[float | None]:
    return [_time_of(turn) for turn in ledger.turns]


def _time_of(turn: Any) -> float | None:
    """How long the user waited: what the metadata says, else from the input to the end of the turn."""
    said = duration((turn.added.metadata or {}).get("latency_ms")) if turn.added else None
    if said is not None:
        return said
    begin, end = as_moment(turn.started.at), as_moment(turn.added.at) if turn.added else None
    if begin is None or end is None:
        return None
    passed = (end - begin).total_seconds() * 1000
    return passed if passed >= 0 else None


def _is_done(ledger: Ledger) -> bool | None:
    """Whether a session came to its end. A reason tells; without one that does, a last turn that failed does.

    An input that nobody answered may be a goodbye: without a reason it tells nothing.
    """
    ended, last = ledger.ended, ledger.turns[-1] if ledger.turns else None
    told = _ends_well(ended.reason) if ended is not None and ended.reason else None
    if told is not None:
        return told
    if last is None:
        return None
    kind = last.output.get("type") if isinstance(last.output, Mapping) else None
    if last.added is None or last.error is not None or last.added.interrupted or kind == "error":
        return False
    if ended is not None and ended.input is not None:
        return None
    return True if last.output is not ABSENT else None


def _ends_well(reason: str) -> bool | None:
    """What a reason of ending says; None where it speaks of a failure and of an end that was reached.

    Reasons are codes (`max_steps`) and sentences: "no errors" is no failure, "not completed" is one, and of "expired
    card replaced, completed" nobody knows what it was that expired.
    """
    text = re.sub(r"[\s_-]+", " ", reason)
    is_undone = _DENIED_DONE.search(text) is not None
    failed = is_undone or _FAILED.search(_DENIED_FAILURE.sub(" ", text)) is not None
    if failed and not is_undone and _DONE.search(text):
        return None
    return not failed


def sample_of_row(row: Mapping[str, Any], at: datetime | None) -> Sample:
    """The figures of one replay, a row of a results file."""
    turns = [turn for turn in row.get("turns") or () if isinstance(turn, Mapping)]
    times = [time for turn in turns if (time := duration(turn.get("duration_ms"))) is not None]
    calls = row.get("calls") or {}
    answers = ("answered", "authored", "accepted", "sibling", "simulated", "live")
    good = sum(_count(calls.get(name)) for name in answers)
    return Sample(at, times, len(turns), good, _count(calls.get("unrecorded")), done=row.get("outcome") == "passed")


def sample_of_production(row: Mapping[str, Any]) -> Sample | None:
    """The figures of the recording that a row replays; None where the row does not tell them."""
    told, times = row.get("production"), recorded_times(row)
    if not isinstance(told, Mapping) or not times:
        return None
    good, bad, rollbacks = (_count(told.get(name)) for name in ("good", "bad", "rollbacks"))
    done = told.get("done")
    is_done = done if isinstance(done, bool) else None
    timed = [time for time in times if time is not None]
    return Sample(parse_time(told.get("at")), timed, len(times), good, bad, rollbacks, is_done)


def recorded_times(row: Mapping[str, Any]) -> list[float | None]:
    """The response times of all turns in production, in their order; of some None, and none where the row has none."""
    told = row.get("production")
    times = told.get("ms") if isinstance(told, Mapping) else None
    return list(map(duration, times)) if isinstance(times, list) else []


def duration(value: object) -> float | None:
    """Milliseconds that a file tells; None for what are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _LONGEST:
        return None
    return float(value)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


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
    more_is_better: bool = False


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
    Measure("tool-success", "tool calls that worked", "share", _good, Range(">", 0.95), more_is_better=True),
    Measure("completion", "sessions completed", "share", _done, Range(">", 0.80), more_is_better=True),
)
"""Of recorded sessions."""
REPLAY_MEASURES: Final = (
    Measure("replays-passed", "replays passed", "share", _done, more_is_better=True),
    Measure("calls-answered", "calls answered", "share", _good, more_is_better=True),
    Measure("replay-time", "time of a turn, mean", "ms", _mean),
    Measure("replay-p95", "time of a turn, p95", "ms", _percentile(0.95)),
)
"""Of replays: how long a turn takes with its tools stubbed."""


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
    samples: Sequence[Sample], measures: Iterable[Measure], now: datetime, ranges: Mapping[str, Range] | None = None
) -> Figures:
    """Measure the samples: all of them, those of the seven days up to now, and those of the seven before.

    ranges: by the name of a measure, what counts instead of its own healthy range.
    """
    weeks = [_between(samples, now - WEEK, now), _between(samples, now - 2 * WEEK, now - WEEK)]
    found = Figures(samples, weeks[0], weeks[1])
    for measure in measures:
        values = [measure.of(part) for part in (samples, *weeks)]
        found.rows.append(Figure(measure, (ranges or {}).get(measure.name, measure.healthy), *values))
    return found


def _between(samples: Iterable[Sample], begin: datetime, end: datetime) -> list[Sample]:
    return [sample for sample in samples if sample.at is not None and begin < sample.at <= end]


# --- Words


def value_text(value: float | None, unit: Unit) -> str:
    """`1,234 ms`, `1.2 ms`, `97.5%`, `-` where there is none."""
    if value is None:
        return "-"
    return f"{value:,.{int(value < 10)}f} ms" if unit == "ms" else f"{value * 100:,.1f}%"


def range_text(healthy: Range | None, unit: Unit) -> str:
    """`< 2,000 ms`, `> 95%`, nothing where there is none."""
    if healthy is None:
        return ""
    limit = f"{healthy.limit:,.0f} ms" if unit == "ms" else f"{healthy.limit * 100:g}%"
    return f"{healthy.sign} {limit}"


def change_text(row: Figure) -> str:
    """How this week differs from the last one: `+12%`, `-1.5 points`, nothing where it does not."""
    if row.this_week is None or row.last_week is None or row.this_week == row.last_week:
        return ""
    if row.measure.unit == "share":
        return f"{(row.this_week - row.last_week) * 100:+,.1f} points"
    return f"{(row.this_week / row.last_week - 1) * 100:+,.0f}%" if row.last_week else ""
