"""Everything that is written of a run's results, by the plugin and by `pytest-statebase report` alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .runs import Run

if TYPE_CHECKING:
    from .against import Against
    from .history import Trend
    from .rows import Row

Assets = Literal["inline", "external"]
ASSETS: tuple[Assets, ...] = ("inline", "external")


@dataclass(frozen=True, slots=True)
class Outputs:
    """What to write, and where; None for what is not wanted."""

    report: Path | None = None
    assets: Assets = "inline"
    """`external`: style sheet and scripts as files beside the page, for policies that let no inline script run."""
    results: Path | None = None
    summary: Path | None = None
    """Markdown for a comment on a pull request."""
    sidecar: Path | None = None
    """A directory: `index.md` and one Markdown file for each failing turn."""
    junit: Path | None = None
    """JUnit's XML; pytest writes its own of a run."""
    history: Path | None = None
    """JSON Lines, one line a run; read for the trend, then appended to."""
    histories: tuple[Path, ...] = ()
    """Further ones, whose runs are taken over into `history`."""
    base: Path | None = None
    """The results of the base branch."""
    url: str | None = None
    """Where the page will be published: links lead there."""
    root: Path = field(default_factory=Path)
    """Where the cassettes' paths begin."""


APART = "Give each a file of its own."
"""The remedy where two files are one."""
PUBLISHED = "Write where the page will be published, such as https://ci.example/report.html."
"""The remedy for an address to which no link can lead."""
_IN_PLACE = (("results", "base"), ("results", "shards"), ("history", "histories"))
"""What may be written over what was read."""
_WRITTEN = ("results", "report", "summary", "sidecar", "junit", "history")


def clash(outputs: Outputs, read: Iterable[tuple[str, Path]] = ()) -> tuple[str, str, Path] | None:
    """Two of the files that are one, so that what is written of one would be lost; None where each has its own place.

    They are called as the fields of `Outputs`. read: further files by such names, which nothing may be written over,
    but a history over a history, which holds what was read, and results over results, which come to be those of now.
    """
    places: dict[str, str] = {}
    for name in _WRITTEN:
        path: Path | None = getattr(outputs, name)
        if path is not None:
            other = places.setdefault(_place(path), name)
            if other != name:
                return other, name, path
    for name in places.values():
        path = getattr(outputs, name)
        if outputs.sidecar is not None and _place(path.parent) == _place(outputs.sidecar) and _is_brief(path):
            return "sidecar", name, path
    base = [] if outputs.base is None else [("base", outputs.base)]
    for name, path in [*base, *(("histories", path) for path in outputs.histories), *read]:
        other = places.get(_place(path), "")
        if other and (other, name) not in _IN_PLACE:
            return other, name, path
    return None


def _place(path: Path) -> str:
    """Where a file lies, by whatever name it is called."""
    return os.path.normcase(os.path.realpath(path))


def _is_brief(path: Path) -> bool:
    from .prose.sidecar import is_own_name

    return is_own_name(path.name)


@dataclass(slots=True)
class Written:
    """What became of them."""

    made: Run
    """The results with what the other files say."""
    paths: list[Path] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is to be told, and fails nothing."""


def write_outputs(outputs: Outputs, rows: Sequence[Row], run: Mapping[str, Any]) -> Written:
    """Write all that is wanted. What cannot be written is a failure in words, and keeps no other from being written.

    Only paths that were written stand in the result; each file is put in its place at once, or left as it was.
    """
    against, trend, failures = _beside(outputs, rows, run)
    notes = [] if trend is None else list(trend.notes)
    written = Written(Run(rows, run, against, trend, url=outputs.url), failures=failures, notes=notes)
    for path, write in _writers(outputs):
        try:
            write(path, written.made)
            written.paths.append(path)
        except Exception as error:  # whatever goes wrong here must not cost the run its outcome
            written.failures.append(f"{path} could not be written: {_why(error)}")
    return written


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"{type(error).__name__}: {error}"


def _beside(
    outputs: Outputs, rows: Sequence[Row], run: Mapping[str, Any]
) -> tuple[Against | None, Trend | None, list[str]]:
    """What other files say, and what cannot be read of them."""
    from ..errors import StatebaseError

    failures: list[str] = []
    against: Against | None = None
    trend: Trend | None = None
    try:
        if outputs.base is not None:
            from .against import compared_with

            against = compared_with(outputs.base, rows, whole=not run.get("part"))
    except StatebaseError as error:
        failures.append(str(error))
    try:
        if outputs.history is not None:
            from .history import trend_of

            trend = trend_of(outputs.history, rows, run, outputs.histories)
    except StatebaseError as error:
        failures.append(str(error))
    return against, trend, failures


_Write = Callable[[Path, Run], None]


def _writers(outputs: Outputs) -> Iterator[tuple[Path, _Write]]:
    """What is to be written, the recorded facts first."""
    if outputs.results is not None:
        yield outputs.results, _results
    if outputs.report is not None:
        yield outputs.report, lambda path, made: _report(path, made, outputs.assets)
    if outputs.summary is not None:
        yield outputs.summary, _summary
    if outputs.sidecar is not None:
        yield outputs.sidecar, _sidecar
    if outputs.junit is not None:
        yield outputs.junit, lambda path, made: _junit(path, made, outputs.report)
    if outputs.history is not None:
        yield outputs.history, _history


def _results(path: Path, made: Run) -> None:
    from .results import write_results

    write_results(path, made.rows, made.run)


def _report(path: Path, made: Run, assets: Assets) -> None:
    from .page.html import write_html

    write_html(path, made, assets)


def _summary(path: Path, made: Run) -> None:
    from .prose.summary import write_summary

    write_summary(path, made)


def _sidecar(path: Path, made: Run) -> None:
    from .prose.sidecar import write_sidecar

    write_sidecar(path, made)


def _junit(path: Path, made: Run, page: Path | None) -> None:
    from .ci.junit import write_junit

    write_junit(path, made, page)


def _history(path: Path, made: Run) -> None:
    from .history import append_run

    append_run(path, made)
