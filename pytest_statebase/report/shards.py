"""Results files of one run made one: those of parallel jobs, of workers of a pipeline, of items that were run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import FileError, StatebaseError
from .grouping import name_of, plural
from .incomplete import missing_of, missing_of_all
from .results import read_results
from .rows import Row

_APART = timedelta(hours=12)
"""Jobs of one run do not begin further apart."""
_Run: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Merged:
    """What several results files say together."""

    run: _Run
    """As the first line of a results file has it; its `warnings` tell also what is wrong with the files."""
    rows: list[Row]
    files: int
    """How many were read."""
    left_out: list[str] = field(default_factory=list)
    """Files that are missing or are no results, and lines that are none, with the reasons: it is not the whole run."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the run is known to be missing, be it a file or the end of one."""
        return not self.left_out and not missing_of(self.run)


def merge_results(paths: Iterable[str | Path], *, expected: int | None = None) -> Merged:
    """Several results files as one: rows in the order of the files.

    expected: how many files the run has; fewer are told in `left_out`.

    Of two results of the same item and agent the later file's stand, in the earlier ones' place, as where an item was
    run again; one that did not finish takes no other's place. A file that cannot be read is left out, and said, and so
    is a line of one that is no result.
    Raises FileError or FormatVersionError where no file can be read.
    """
    read: list[tuple[str, _Run, list[Row]]] = []
    errors: list[StatebaseError] = []
    told: list[str] = []
    named = list(dict.fromkeys(map(str, paths)))
    for path in named:
        lines: list[FileError] = []
        try:
            read.append((path, *read_results(path, left_out=lines)))
        except StatebaseError as error:
            errors.append(error)
        told += _lines_left_out(lines)
    if not read:
        raise errors[0] if errors else FileError("no results file was given", remedy="Give one or several.")
    left_out = [*(" ".join(str(error).splitlines()) for error in errors), *told]
    if expected is not None and len(read) < expected:
        left_out.append(f"{plural(len(read), 'results file')} of {expected}: what the other jobs replayed is missing")
    rows, again = _merged_rows(rows for _, _, rows in read)
    run = _merged_run([run for _, run, _ in read], [*left_out, *_strangers(read), *_again(again)])
    run |= missing_of_all([one for _, one, _ in read], max(expected or 0, len(named)) - len(read)).in_run()
    run |= {"part": True} if left_out or missing_of(run) else {}
    return Merged(run, rows, len(read), left_out)


def _lines_left_out(lines: Sequence[FileError]) -> Iterator[str]:
    """What is told of the lines of one file: the first one, and how many there are."""
    if lines:
        others = f", and so {'is 1 other' if len(lines) == 2 else f'are {len(lines) - 1:,} others'}"
        yield f"{lines[0].where}: {lines[0].what}; it is left out{others if len(lines) > 1 else ''}"


_Item: TypeAlias = dict[str | None, list[Row]]
"""The rows of an item by agent; None stands for any, where a replay could not begin."""


def _merged_rows(files: Iterable[Sequence[Row]]) -> tuple[list[Row], int]:
    """The rows, and of how many items there was more than one result."""
    merged: dict[str, _Item] = {}
    again = 0
    for rows in files:
        for name, item in _items(rows).items():
            known = merged.setdefault(name, {})
            for agent, found in item.items():
                others = [key for key in known if agent is None or key in (agent, None)]
                again += bool(others)
                if others and all(row.get("unfinished") for row in found):
                    continue
                for key in others:
                    del known[key]
                known[agent] = found
    return [row for item in merged.values() for found in item.values() for row in found], again


def _items(rows: Sequence[Row]) -> dict[str, _Item]:
    found: dict[str, _Item] = {}
    for row in rows:
        found.setdefault(name_of(row), {}).setdefault(row["agent"], []).append(row)
    return found


def _again(number: int) -> Iterator[str]:
    if number:
        told = f"{plural(number, 'replay')} stand{'s' if number == 1 else ''} in several results files"
        yield f"{told}: of each the last one counts"


def _strangers(read: Sequence[tuple[str, _Run, list[Row]]]) -> Iterator[str]:
    """Why the files may be of different runs."""
    words = {"commit": "commits", "pytest_statebase": "versions of pytest-statebase"}
    for key, what in words.items():
        found = Counter(str(run[key]) for _, run, _ in read if run.get(key))
        if len(found) > 1:
            yield f"the results files are of different {what}: {', '.join(sorted(found))}"
    times = sorted((time, path) for path, run, _ in read if (time := _time(run)) is not None)
    if times and times[-1][0] - times[0][0] > _APART:
        (first, old), (last, new) = times[0], times[-1]
        yield f"the results files are of different runs: {old} began on {first:%F %H:%M}, {new} on {last:%F %H:%M}"


def _time(run: Mapping[str, Any]) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(run.get("started_at")))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _merged_run(runs: Sequence[_Run], warnings: Sequence[str]) -> _Run:
    """It begins with the earliest and lasts as long as the longest."""
    run = dict(runs[0])
    starts = sorted((time, str(one["started_at"])) for one in runs if (time := _time(one)) is not None)
    times = [one["duration_s"] for one in runs if isinstance(one.get("duration_s"), (int, float))]
    told = dict.fromkeys([*warnings, *(text for one in runs for text in one.get("warnings", ()))])
    agents = dict.fromkeys(name for one in runs for name in str(one.get("agent") or "").split(", ") if name)
    run |= {"started_at": starts[0][1]} if starts else {}
    run |= {"duration_s": max(times)} if times else {}
    run |= {"agent": ", ".join(agents)} if agents else {}
    run |= {"warnings": list(told)} if told else {}
    if len(runs) > 1:
        run["files"] = len(runs)
        run.pop("part", None)  # each job was given its share; together they may be the whole
    return run
