"""`pytest-statebase metrics`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import FileError, OptionError, StatebaseError
from ..report.measures import change_text, range_text, value_text
from ..report.times import parse_time, recorded_at
from . import ages
from .output import BOLD, DIM, GREEN, RED, YELLOW, columns, counted, say, say_lines, warn, wrapped
from .project import find_project
from .targets import cassette_files, shown

if TYPE_CHECKING:
    from ..audit.metrics import Condition
    from ..report.measures import Figure, Figures, Sample
    from ..report.terminal import Line


@click.command("metrics")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--results",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file that --statebase-results wrote: the figures of its replays are told as well.",
)
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    metavar="CONDITION",
    help="Exit code 1 where a measure is outside of its healthy range (a name, or all), or where a condition such as "
    "'rollback-rate>5%' or 'response-p95>3s' holds. May be given several times.",
)
@click.option("--agent", metavar="NAME", help="Only sessions of this agent.")
@click.option("--as-of", "as_of", metavar="DAY", help="The last day of this week; by default today.")
@click.option("--json", "as_json", is_flag=True, help="Everything as one JSON mapping.")
def command(
    paths: tuple[Path, ...],
    results: tuple[Path, ...],
    fail_on: tuple[str, ...],
    agent: str | None,
    as_of: str | None,
    as_json: bool,
) -> None:
    """Measure how agents fare over recorded sessions.

    Told are response times, rollbacks, calls of tools that worked and sessions that were completed: over all sessions,
    over the seven days up to today and over the seven before, by when they were recorded. PATHS are cassettes or
    directories, by default those of the ini key statebase_cassettes.

    Exit code 1 where a cassette cannot be read, and where a --fail-on is met or cannot be measured.
    """
    from ..audit.metrics import ranges_of
    from ..report.measures import MEASURES, REPLAY_MEASURES, figures

    wanted = _conditions(fail_on)
    ranges = ranges_of(wanted)
    until = _until(as_of)
    samples, broken = _samples(paths, agent) if paths or not results else ([], [])
    found = [("Sessions", "session", figures(samples, MEASURES, until, ranges))] if samples else []
    replays = _replays(results, agent)
    if replays:
        found.append(("Replays", "replay", figures(replays, REPLAY_MEASURES, until, ranges)))
    rows = {row.measure.name: row for _, _, part in found for row in part.rows}
    failed = [told for one in wanted if (told := _failure(one, rows.get(one.name)))]
    if as_json:
        say(json.dumps(_as_json(found, failed, broken), indent=2))
    else:
        say_lines(_lines(found, columns()))
    for told in broken if not as_json else ():
        warn(f"broken  {told}")
    for told in failed if not as_json else ():
        warn(f"failed  {told}")
    if broken or failed:
        raise click.exceptions.Exit(1)


def _conditions(texts: tuple[str, ...]) -> list[Condition]:
    from ..audit.metrics import conditions

    try:
        return [one for text in texts for one in conditions(text)]
    except ValueError as error:
        raise OptionError(f"--fail-on: {error}", remedy="Write a name, all, or 'rollback-rate>5%'.") from None


def _until(text: str | None) -> datetime:
    if text is None:
        return ages.now()
    day = parse_time(text)
    if day is None:
        raise OptionError(f"--as-of: {text!r:.40} is no day", remedy="Write year, month and day: 2026-11-01.")
    return day.replace(hour=23, minute=59, second=59) if len(text.strip()) == len("2026-11-01") else day


def _samples(paths: tuple[Path, ...], agent: str | None) -> tuple[list[Sample], list[str]]:
    from ..cassette import load_cassette
    from ..report.measures import sample_of

    samples: list[Sample] = []
    broken: list[str] = []
    places = list(paths) or find_project().cassettes
    records: set[Path] = set()
    for path in cassette_files(places):
        try:
            cassette = load_cassette(shown(path))
            ledger = cassette.ledger
        except StatebaseError as error:
            broken.append(f"{error.where or shown(path)}: {error.what}".replace("\n", " "))
            continue
        record = (cassette.record_path or path).resolve()
        # A session counts once, however many plans replay it.
        if record not in records and agent in (None, cassette.plan.agent, ledger.created.agent_id):
            samples.append(sample_of(ledger, recorded_at(ledger)))
        records.add(record)
    if not samples and not broken:
        of = f" of agent {agent}" if agent else ""
        where = ", ".join(map(shown, places))
        raise FileError(f"there is no session{of} here", where=where, remedy="Cassettes are NAME.session.yaml.")
    return samples, broken


def _replays(paths: tuple[Path, ...], agent: str | None) -> list[Sample]:
    from ..report.measures import sample_of_row
    from ..report.results import read_runs

    samples = []
    for run, rows in (one for path in paths for one in read_runs(path)):
        at = parse_time(run.get("started_at"))
        samples += [sample_of_row(row, at) for row in rows if agent in (None, row.get("agent"))]
    return samples


def _failure(condition: Condition, figure: Figure | None) -> str | None:
    """Why a condition fails the command; None where it does not."""
    if figure is None or figure.value is None:
        return f"{condition.name} cannot be measured: nothing tells of it" if condition.must else None
    value = value_text(figure.value, figure.measure.unit)
    if condition.fails is not None:
        if condition.fails.holds(figure.value):
            return f"{condition.name} is {value}, which is {range_text(condition.fails, figure.measure.unit)}"
        return None
    if figure.measure.healthy is None or figure.measure.healthy.holds(figure.value):
        return None
    return f"{condition.name} is {value}; healthy is {range_text(figure.measure.healthy, figure.measure.unit)}"


_TITLE, _NUMBER = 24, 11


def _lines(found: list[tuple[str, str, Figures]], width: int) -> Iterator[Line]:
    for number, (title, word, part) in enumerate(found):
        if number:
            yield []
        heads = "".join(head.rjust(_NUMBER) for head in ("all", "this week", "last week"))
        yield [(title.ljust(_TITLE), BOLD), (heads + "   healthy", DIM)]
        for row in part.rows:
            yield _row(row)
        for text in wrapped(_told(part, word), width):
            yield [(text, DIM)]


def _row(row: Figure) -> Line:
    unit, well = row.measure.unit, row.is_healthy
    style = {} if well is None else GREEN if well else RED
    line: Line = [
        (row.measure.title.ljust(_TITLE), {}),
        (value_text(row.value, unit).rjust(_NUMBER), {**style, **BOLD}),
    ]
    line.append((value_text(row.this_week, unit).rjust(_NUMBER) + value_text(row.last_week, unit).rjust(_NUMBER), {}))
    mark = "" if well is None else "  yes" if well else "  NO"
    line.append((f"   {range_text(row.healthy, unit)}", DIM))
    line.append((mark, style))
    change = change_text(row)
    return [*line, (f"  ({change})", YELLOW)] if change else line


def _told(part: Figures, word: str) -> str:
    """What the figures are made of."""
    samples = part.samples
    turns, timed = sum(one.turns for one in samples), sum(len(one.times) for one in samples)
    calls = sum(one.good + one.bad for one in samples)
    weeks = f"{len(part.this_week):,} of this week, {len(part.last_week):,} of the last"
    told = f"{timed:,} of {counted(turns, 'turn')} timed, {counted(calls, 'call')}"
    unknown = sum(one.done is None for one in samples)
    return f"{counted(len(samples), word)} ({weeks}), {told}" + (
        f", {unknown:,} with no telling how they ended" if unknown else ""
    )


def _as_json(found: list[tuple[str, str, Figures]], failed: list[str], broken: list[str]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for title, _, part in found:
        document[title.lower()] = {
            "count": len(part.samples),
            "this_week": len(part.this_week),
            "last_week": len(part.last_week),
            "measures": {row.measure.name: _figure_as_json(row) for row in part.rows},
        }
    return {**document, "failed": failed, "broken": broken}


def _figure_as_json(row: Figure) -> dict[str, Any]:
    healthy = None if row.healthy is None else f"{row.healthy.sign} {row.healthy.limit:g}"
    return {
        "unit": row.measure.unit,
        "value": row.value,
        "this_week": row.this_week,
        "last_week": row.last_week,
        "healthy": healthy,
        "is_healthy": row.is_healthy,
    }
