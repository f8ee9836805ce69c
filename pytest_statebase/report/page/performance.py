"""How the agent fared in production and in replays, for the page: figures with healthy ranges, alerts, weeks, runs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from ..grouping import plural
from ..measures import (
    MEASURES,
    REPLAY_MEASURES,
    WEEK,
    Figure,
    Measure,
    Sample,
    change_text,
    duration,
    figures,
    range_text,
    recorded_times,
    sample_of_production,
    sample_of_row,
    value_text,
)
from ..times import parse_time
from .recordings import recordings
from .viewmodel import SLUGS

if TYPE_CHECKING:
    from ..history import Point, Trend
    from ..rows import Row
    from ..runs import Run

DRAWN = 60
"""Runs that the page draws, the last ones."""
_SLOWEST = 5
_ENOUGH = 5
"""Earlier runs of two weeks that it takes to call a run worse than all of them."""
_MUCH_SLOWER = 1.5
_NOTICED = 50.0
"""Times vary with the machine: by this factor, and by these milliseconds, one has to be slower than the slowest."""


def performance(made: Run, anchors: Mapping[int, str]) -> dict[str, Any]:
    """`metrics` and, where a history was read, `trend`, for the page's index.

    anchors: those of the rows, by `id(row)`.
    """
    now = _with_weeks_before(parse_time(made.run.get("started_at")) or datetime.now(UTC))
    numbers = recordings(made.rows)
    production = figures(list(_recorded(made.rows, numbers)), MEASURES, now)
    replays = list(_replay_figures(made.rows, made.trend, now))
    tables = [_table("Production", _about(production.samples), production.rows)] if production.samples else []
    tables += [_table("Replays", plural(len(made.rows), "replay"), replays)] if made.rows else []
    metrics = {
        "tables": tables,
        "alerts": [*_unhealthy(production.rows), *_worse(made.trend)],
        "both": _both(made.rows, numbers, anchors),
    }
    return {"metrics": metrics, **({"trend": _trend(made.trend)} if made.trend else {})}


def _with_weeks_before(moment: datetime) -> datetime:
    """The moment, or where a file tells one at the beginning of all time, the first that has two weeks before it."""
    return max(moment, datetime.min.replace(tzinfo=UTC) + 2 * WEEK)


def _recorded(rows: Iterable[Row], numbers: Iterable[int]) -> Iterator[Sample]:
    """The recordings, each once, however many replays it has. numbers: those of the rows' recordings."""
    known: set[int] = set()
    for row, number in zip(rows, numbers, strict=True):
        sample = sample_of_production(row)
        if sample is not None and number not in known:
            known.add(number)
            yield sample


def _about(samples: Sequence[Sample]) -> str:
    turns, timed = sum(one.turns for one in samples), sum(len(one.times) for one in samples)
    return f"{plural(len(samples), 'recorded session')}, {timed:,} of {plural(turns, 'turn')} timed"


def _replay_figures(rows: Sequence[Row], trend: Trend | None, now: datetime) -> Iterator[Figure]:
    """This run's figures; a week's is the median of its runs."""
    samples = [sample_of_row(row, now) for row in rows]
    points = [] if trend is None else [point for point in trend.points if not point.part]
    for measure in REPLAY_MEASURES:
        this_week = _median(points, measure, now - WEEK, now)
        last_week = _median(points, measure, now - 2 * WEEK, now - WEEK)
        yield Figure(measure, measure.healthy, measure.of(samples), this_week, last_week)


def _median(points: Iterable[Point], measure: Measure, begin: datetime, end: datetime) -> float | None:
    of_week = [point.measures.get(measure.name) for point in points if begin < point.at <= end]
    values = [value for value in of_week if value is not None]
    return statistics.median(values) if values else None


def _table(title: str, about: str, rows: Iterable[Figure]) -> dict[str, Any]:
    return {"title": title, "about": about, "rows": [_row(row) for row in rows if row.value is not None]}


def _row(row: Figure) -> dict[str, Any]:
    unit = row.measure.unit
    texts = [value_text(value, unit) for value in (row.value, row.this_week, row.last_week)]
    return {
        "title": row.measure.title,
        "values": texts,
        "change": change_text(row),
        "way": _way(row),
        "healthy": range_text(row.healthy, unit),
        "well": row.is_healthy,
    }


def _way(row: Figure) -> Literal["better", "worse"] | None:
    if row.this_week is None or row.last_week is None or row.this_week == row.last_week:
        return None
    return "better" if (row.this_week > row.last_week) == row.measure.more_is_better else "worse"


# --- Alerts


def _unhealthy(rows: Iterable[Figure]) -> Iterator[str]:
    """What is outside of its healthy range: over all recordings, else over those of this week."""
    for row in rows:
        if row.healthy is None:
            continue
        for value, when in ((row.value, ""), (row.this_week, " this week")):
            if value is not None and not row.healthy.holds(value):
                told = value_text(value, row.measure.unit)
                title = row.measure.title.capitalize()
                yield f"{title}{when}: {told} in production, healthy is {range_text(row.healthy, row.measure.unit)}"
                break


def _worse(trend: Trend | None) -> Iterator[str]:
    """In what this run is worse than every one of two weeks."""
    if trend is None or trend.points[-1].part:
        return
    *earlier, now = trend.points
    since = _with_weeks_before(now.at) - 2 * WEEK
    runs = [point for point in earlier if point.at > since and not point.part]
    for measure in REPLAY_MEASURES:
        values = [point.measures[measure.name] for point in runs if measure.name in point.measures]
        value = now.measures.get(measure.name)
        if value is None or len(values) < _ENOUGH or not _is_worse(value, values, measure):
            continue
        least = value_text(min(values) if measure.more_is_better else max(values), measure.unit)
        told = f"{measure.title.capitalize()}: {value_text(value, measure.unit)}"
        yield f"{told}, worse than in all {len(values)} earlier runs of two weeks ({least} at worst)"


def _is_worse(value: float, earlier: Sequence[float], measure: Measure) -> bool:
    if measure.more_is_better:
        return value < min(earlier)
    slowest = max(earlier)
    return value > slowest * _MUCH_SLOWER and value > slowest + _NOTICED


# --- Production beside replay


def _both(rows: Iterable[Row], numbers: Iterable[int], anchors: Mapping[int, str]) -> dict[str, Any] | None:
    """Response times of the turns of which both sides tell one, each turn of a recording once; None without any."""
    found: dict[tuple[int, int], tuple[float, float, str]] = {}
    for row, recording in zip(rows, numbers, strict=True):
        for number, recorded, replayed in _timed(row):
            found.setdefault((recording, number), (recorded, replayed, anchors[id(row)]))
    if not found:
        return None
    slowest = sorted(found.items(), key=lambda one: -one[1][0])[:_SLOWEST]
    return {
        "turns": len(found),
        "recorded": value_text(statistics.fmean(times[0] for times in found.values()), "ms"),
        "replayed": value_text(statistics.fmean(times[1] for times in found.values()), "ms"),
        "slowest": [[anchor, number, *(round(time, 1) for time in times)] for (_, number), (*times, anchor) in slowest],
    }


def _timed(row: Row) -> Iterator[tuple[int, float, float]]:
    """`(turn, production, replay)`, in milliseconds."""
    times = recorded_times(row)
    for turn in row["turns"]:
        number, replayed = turn["turn"], duration(turn.get("duration_ms"))
        waited = times[number - 1] if 0 < number <= len(times) else None
        if waited is not None and replayed is not None:
            yield number, waited, replayed


# --- Runs


def _trend(trend: Trend) -> dict[str, Any]:
    """The last runs for the page to draw."""
    return {
        "runs": [_run(point) for point in trend.points[-DRAWN:]],
        "left": max(len(trend.points) - DRAWN, 0),
        "notes": list(trend.notes),
    }


def _run(point: Point) -> dict[str, Any]:
    made: dict[str, Any] = {
        "at": point.at.isoformat(timespec="seconds"),
        "agent": point.agent,
        "counts": [point.replays.get(slug, 0) for slug in SLUGS.values()],
        "passed": point.measures.get("replays-passed"),
        "ms": point.measures.get("replay-time"),
    }
    return made | ({"part": True} if point.part else {})
