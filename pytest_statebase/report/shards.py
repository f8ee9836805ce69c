"""Results files of one run made one: those of parallel jobs, of workers of a pipeline, of items that were run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from ..errors import FileError, StatebaseError
from .grouping import plural
from .incomplete import missing_of, missing_of_all
from .joining import RunFacts, merged_rows, merged_run, told_again
from .results import read_runs
from .rows import Row
from .times import parse_time

_APART = timedelta(hours=12)
"""Jobs of one run do not begin further apart."""


@dataclass(slots=True)
class Merged:
    """What several results files say together."""

    run: RunFacts
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
    run again; one that did not finish takes no other's place. Several runs in one file count as if each had its own.
    A file that cannot be read is left out, and said, and so is a line of one that is no result.
    Raises FileError or FormatVersionError where no file can be read.
    """
    read: list[tuple[str, RunFacts, list[Row]]] = []
    errors: list[StatebaseError] = []
    told: list[str] = []
    named = list(dict.fromkeys(map(str, paths)))
    files = 0
    for path in named:
        lines: list[FileError] = []
        try:
            read += [(path, *one) for one in read_runs(path, left_out=lines)]
            files += 1
        except StatebaseError as error:
            errors.append(error)
        told += _lines_left_out(lines)
    if not read:
        raise errors[0] if errors else FileError("no results file was given", remedy="Give one or several.")
    left_out = [*(error.line for error in errors), *told]
    if expected is not None and files < expected:
        left_out.append(f"{plural(files, 'results file')} of {expected}: what the other jobs replayed is missing")
    rows, again = merged_rows(rows for _, _, rows in read)
    run = merged_run([run for _, run, _ in read], [*left_out, *_strangers(read), *told_again(again)])
    run |= missing_of_all([one for _, one, _ in read], max(expected or 0, len(named)) - files).in_run()
    run |= {"files": files} if files > 1 else {}
    run |= {"part": True} if left_out or missing_of(run) else {}
    return Merged(run, rows, files, left_out)


def _lines_left_out(lines: Sequence[FileError]) -> Iterator[str]:
    """What is told of the lines of one file: the first one, and how many there are."""
    if lines:
        others = f", and so {'is 1 other' if len(lines) == 2 else f'are {len(lines) - 1:,} others'}"
        yield f"{lines[0].where}: {lines[0].what}; it is left out{others if len(lines) > 1 else ''}"


def _strangers(read: Sequence[tuple[str, RunFacts, list[Row]]]) -> Iterator[str]:
    """Why the files may be of different runs."""
    words = {"commit": "commits", "pytest_statebase": "versions of pytest-statebase"}
    for key, what in words.items():
        found = Counter(str(run[key]) for _, run, _ in read if run.get(key))
        if len(found) > 1:
            yield f"the results files are of different {what}: {', '.join(sorted(found))}"
    times = sorted((time, path) for path, run, _ in read if (time := parse_time(run.get("started_at"))) is not None)
    if times and times[-1][0] - times[0][0] > _APART:
        (first, old), (last, new) = times[0], times[-1]
        yield f"the results files are of different runs: {old} began on {first:%F %H:%M}, {new} on {last:%F %H:%M}"
