"""`pytest-statebase export`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import FileError, StatebaseError
from .output import counted, warn
from .project import find_project
from .targets import cassette_files, shown

if TYPE_CHECKING:
    from ..cassette import Cassette

_WHAT = ("traces", "turns", "sessions")


@click.command("export")
@click.argument("what", type=click.Choice(_WHAT))
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file; by default stdout.")
@click.option(
    "--good",
    is_flag=True,
    help="Of turns and sessions only what comes before the first turn that the plan has as failing.",
)
def command(what: str, paths: tuple[Path, ...], output: Path | None, good: bool) -> None:
    """Write sessions for other programs.

    WHAT is traces (CSV, one line a trace), turns (JSON Lines, one line a turn: chat messages from the session's start
    to the turn's answer, and the tools), or sessions (the same, one line a session). PATHS are cassettes or
    directories, by default those of the ini key statebase_cassettes. Recorded values are written as they are: `lint`
    tells what should not leave the house, `redact` takes it out.

    Exit code 1 where a cassette cannot be read; the others are written all the same.
    """
    files = cassette_files(paths or find_project().cassettes)
    lines = sessions = failed = 0
    with _opened(output) as write:
        for number, path in enumerate(files):
            try:
                found = list(_lines(what, path, good=good, head=number == failed))
            except StatebaseError as error:
                warn(f"not exported  {error}")
                failed += 1
                continue
            for line in found:
                write(line)
            lines, sessions = lines + len(found), sessions + 1
    if output is not None:
        lines -= what == "traces" and sessions > 0
        click.echo(f"{counted(lines, 'line')} of {counted(sessions, 'session')} in {shown(output)}", err=True)
    if failed:
        raise click.exceptions.Exit(1)


def _lines(what: str, path: Path, *, good: bool, head: bool) -> Iterable[str]:
    from ..audit.export import session_line, trace_rows, turn_lines
    from ..cassette import load_cassette

    cassette: Cassette = load_cassette(shown(path))
    if what == "traces":
        return trace_rows(cassette.ledger.traces, session=cassette.ledger.id, head=head)
    if what == "turns":
        return (line + "\n" for line in turn_lines(cassette, with_failing=not good))
    line = session_line(cassette, with_failing=not good)
    return [] if line is None else [line + "\n"]


@contextmanager
def _opened(output: Path | None) -> Iterator[Callable[[str], object]]:
    """What writes a line to the file, or to stdout."""
    if output is None:
        yield _write
        return
    try:
        with output.open("w", encoding="utf-8", newline="\n") as file:
            yield file.write
    except OSError as error:
        remedy = "Check that the directory exists and can be written."
        raise FileError(f"the file cannot be written: {error.strerror}", where=str(output), remedy=remedy) from None


def _write(line: str) -> object:
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), nl=False)
    return None
