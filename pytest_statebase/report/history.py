"""Earlier runs: a small file that runs append to, and what it tells of the trend.

JSON Lines, one line a run, never rewritten. A line is made of counts and figures alone, and of the agent's name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..compare.model import Verdict
from ..errors import FileError
from .grouping import Totals, totals
from .jsonsafe import short_text
from .measures import REPLAY_MEASURES, duration, sample_of_row
from .page.viewmodel import SLUGS
from .results import dump_row, replay_key
from .times import parse_time

if TYPE_CHECKING:
    from .rows import Row
    from .runs import Run

try:
    import fcntl
except ImportError:  # no such thing on Windows
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
"""The version of the lines that are written, and the only one that is read."""
KEPT = 2_000
"""Runs of a file that are told, the latest ones by their times: lines stand in the order in which they were merged."""
_LONGEST = 16_384
"""Bytes of a line; ours have about 500."""
_AGENT = 200
_TOLD = 5
_MEASURES = frozenset(measure.name for measure in REPLAY_MEASURES)
_VERDICTS = frozenset(verdict.value for verdict in Verdict)


@dataclass(frozen=True, slots=True)
class Point:
    """One run."""

    id: str
    """The same for the same results, so that a run is told once wherever its line came from."""
    at: datetime
    agent: str = ""
    replays: Mapping[str, int] = field(default_factory=dict)
    """Replays by the group that they are in, as `SLUGS` names it."""
    turns: Mapping[str, int] = field(default_factory=dict)
    """Turns by verdict."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """By the names of `REPLAY_MEASURES`."""
    seconds: float | None = None
    part: bool = False
    """Only some sessions were chosen, or some did not finish: not to be set beside whole runs."""

    @property
    def count(self) -> int:
        """How many sessions were replayed."""
        return sum(self.replays.values())


@dataclass(frozen=True, slots=True)
class Trend:
    """Runs in the order of their times, this one last."""

    points: Sequence[Point]
    notes: Sequence[str] = ()
    """Lines of the file that tell no run."""


def point_of(rows: Sequence[Row], run: Mapping[str, Any]) -> Point:
    """This run as a line of the history tells it. A run that does not say when it began is one of now."""
    counted: Totals = totals(rows)
    at = parse_time(run.get("started_at")) or datetime.now(UTC)
    samples = [sample_of_row(row, at) for row in rows]
    values = {measure.name: measure.of(samples) for measure in REPLAY_MEASURES}
    turns = {name: number for name, number in counted.turns.items() if name in _VERDICTS}
    return Point(
        id=_id_of(rows, run),
        at=at,
        agent=short_text(run.get("agent") or "", _AGENT),
        replays={slug: counted.replays[group] for group, slug in SLUGS.items()},
        turns=turns,
        measures={name: round(value, 6) for name, value in values.items() if value is not None},
        seconds=duration(run.get("duration_s")),
        part=run.get("part") is True or any(row.get("unfinished") for row in rows),
    )


def _id_of(rows: Iterable[Row], run: Mapping[str, Any]) -> str:
    told = [run.get("started_at"), sorted([*replay_key(row), row["outcome"], row.get("duration_ms")] for row in rows)]
    return hashlib.sha256(json.dumps(told, default=str).encode("ascii")).hexdigest()[:16]


# --- Reading


def trend_of(path: Path, rows: Sequence[Row], run: Mapping[str, Any], others: Iterable[Path] = ()) -> Trend:
    """What `path` tells, and this run. A file that is not there tells nothing.

    others: further histories, those that CI kept of other runs for example; one that is not there is told.

    Runs that began after this one are no part of its past; of the others the latest `KEPT` are. Lines that tell no run
    are passed over, and told. Raises FileError where a file cannot be read.
    """
    now = point_of(rows, run)
    found, notes = read_history(path, until=now.at)
    known = {point.id: point for point in found}
    for other in others:
        there = other.exists()
        points, told = (
            read_history(other, until=now.at) if there else ([], [f"{other}: no such file, so no earlier runs"])
        )
        known |= {point.id: point for point in points}
        notes += told
    known.pop(now.id, None)
    return Trend([*_latest(known), now], notes)


def read_history(path: Path, *, until: datetime | None = None) -> tuple[list[Point], list[str]]:
    """The latest `KEPT` runs that a file tells, by their times, and what is to be said of its other lines.

    until: runs that began later are left out.
    """
    found: dict[str, Point] = {}
    bad: list[str] = []
    left = 0
    for number, told in _told(path):
        if isinstance(told, ValueError):
            left += 1
            if len(bad) < _TOLD:
                bad.append(f"{path}:{number}: passed over, and left as it is: {told}")
        elif until is None or told.at <= until:
            found[told.id] = told
            if len(found) == 2 * KEPT:
                found = {point.id: point for point in _latest(found)}
    if left > len(bad):
        bad.append(f"{path}: {left - len(bad):,} more lines tell no run")
    return _latest(found), bad


def _latest(points: Mapping[str, Point]) -> list[Point]:
    return sorted(points.values(), key=lambda point: point.at)[-KEPT:]


def _told(path: Path) -> Iterator[tuple[int, Point | ValueError]]:
    """The number of each line, and the run that it tells, or why it tells none."""
    for number, line in _numbered(path):
        try:
            yield number, _point(line)
        except ValueError as error:
            yield number, error


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            yield from ((number, line) for number, line in enumerate(_lines(file), 1) if line.strip())
    except FileNotFoundError:
        return
    except OSError as error:
        remedy = "Give a file that --statebase-history may write."
        raise FileError(f"cannot be read: {error.strerror or error}", where=str(path), remedy=remedy) from None


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines; of one that is much longer than ours, its beginning, which is no JSON."""
    while line := file.readline(_LONGEST):
        yield line
        while line and not line.endswith(b"\n"):
            line = file.readline(_LONGEST)


def _point(line: bytes) -> Point:
    """What a line tells. Raises ValueError with the reason where it tells no run."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("no JSON") from None
    if not isinstance(told, dict) or "history" not in told:
        raise ValueError("no run")
    if told["history"] != FORMAT or isinstance(told["history"], bool):
        raise ValueError(f"format {told['history']!r:.20}, and this version of pytest-statebase reads {FORMAT}")
    at, name = parse_time(told.get("at")), told.get("id")
    if at is None or not isinstance(name, str):
        raise ValueError("no run: it has no `at` or no `id`")
    measures = {key: float(value) for key, value in _numbers(told, "measures", _MEASURES)}
    replays = {key: int(value) for key, value in _numbers(told, "replays", frozenset(SLUGS.values()))}
    turns = {key: int(value) for key, value in _numbers(told, "turns", _VERDICTS)}
    agent = short_text(told.get("agent") or "", _AGENT)
    seconds, is_part = duration(told.get("seconds")), told.get("part") is True
    return Point(name[:64], at, agent, replays, turns, measures, seconds, is_part)


def _numbers(told: Mapping[str, Any], key: str, names: frozenset[str]) -> Iterator[tuple[str, Any]]:
    found = told.get(key)
    if not isinstance(found, dict) or not all(map(_is_number, found.values())):
        raise ValueError(f"no run: its `{key}` are no numbers")
    return ((name, value) for name, value in found.items() if name in names)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15


# --- Appending


def append_run(path: Path, made: Run) -> None:
    """Append this run to `path`, which is made where it is missing, and earlier ones that other files told.

    One that it has already is not appended again.
    """
    append_points(path, made.trend.points if made.trend else [point_of(made.rows, made.run)])


def append_points(path: Path, points: Iterable[Point]) -> None:
    """Append the runs that `path` does not have.

    Safe beside other runs: each writer waits for its turn where the system lets it lock a file, and writes whole lines
    at the file's end in any case. A last line that a killed run left unfinished stays one line of its own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        _lock(file)
        known = {told.id for _, told in _told(path) if isinstance(told, Point)}
        lines = [dump_row(_as_line(point)) + "\n" for point in points if point.id not in known]
        if lines and not _is_at_line_start(file):
            lines.insert(0, "\n")
        file.write("".join(lines).encode("ascii"))


def _lock(file: IO[bytes]) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
    except OSError:  # a file system without locks: what is appended is still one write
        return


def _is_at_line_start(file: IO[bytes]) -> bool:
    size = file.seek(0, os.SEEK_END)
    if not size:
        return True
    file.seek(size - 1)
    return file.read(1) == b"\n"


def _as_line(point: Point) -> dict[str, Any]:
    line: dict[str, Any] = {
        "history": FORMAT,
        "id": point.id,
        "at": point.at.isoformat(),
        "agent": point.agent,
        "replays": dict(point.replays),
        "turns": dict(point.turns),
        "measures": dict(point.measures),
    }
    if point.seconds is not None:
        line["seconds"] = point.seconds
    return line | ({"part": True} if point.part else {})
