"""`pytest-statebase import`."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

import click

from ..errors import ImportFileError, StatebaseError, UnstorableError
from ..importers import ImportedSession, import_file
from ..importers.store import Store, Tally
from .output import counted, say, warn
from .progress import Progress


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out",
    default="fixtures",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory for the cassettes. It is made where it does not exist.",
)
@click.option(
    "--session",
    "wanted",
    multiple=True,
    metavar="NAME",
    help="Only sessions with this name or id; may have * in it, may be given several times.",
)
def command(files: tuple[Path, ...], out: Path, wanted: tuple[str, ...]) -> None:
    """Make cassettes of recorded sessions.

    FILES are JSON or JSON Lines, plain or gzipped: chat messages as OpenAI has them (a list of messages, or mappings
    with `messages`), result files of tau-bench and tau2-bench, or what `pull` kept (NAME.pulled.json).

    Each session becomes a record (NAME.record.yaml, the evidence) and a proposed plan (NAME.session.yaml, yours to
    edit). A statebase.yaml with the tools that were seen is proposed where there is none. What exists is never
    written over: a record with the same content counts as unchanged, one with other content is refused.

    Exit code 1 where a session could not be read or was refused; the others are imported all the same.
    """
    store = Store(out)
    passed_over: list[str] = []
    failures = _import_all(files, store, wanted, passed_over)
    store.finish()
    for failure in failures:
        warn(f"Not imported: {failure}")
    say(_summary(store.tally, len(failures), out))
    if wanted and not store.tally.sessions:
        near = [name for one in wanted for name in get_close_matches(one, passed_over, 3, 0.3)] or passed_over[:3]
        warn(f"No session is called {' or '.join(wanted)}. Some of the {len(passed_over):,}: {', '.join(near)}.")
        raise click.exceptions.Exit(1)
    if failures:
        raise click.exceptions.Exit(1)


def _import_all(
    files: tuple[Path, ...], store: Store, wanted: tuple[str, ...], passed_over: list[str]
) -> list[StatebaseError]:
    failures: list[StatebaseError] = []
    for session in _with_progress(files):
        if isinstance(session, ImportFileError):
            failures.append(session)
            continue
        names = (session.name, session.ledger.id)
        if wanted and not any(fnmatchcase(name, pattern) for name in names for pattern in wanted):
            passed_over.append(session.name)
            continue
        try:
            store.add(session)
        except (ImportFileError, UnstorableError) as error:
            failures.append(error)
    return failures


def _with_progress(files: tuple[Path, ...]) -> Iterator[ImportedSession | ImportFileError]:
    """The sessions of all files; a progress bar on stderr where that is a terminal."""
    with Progress("sessions") as bar:
        for path in files:
            bar.about(path.name)
            try:
                sessions = import_file(path)
            except ImportFileError as error:
                yield error
                continue
            bar.expect(sessions.total)
            yield from bar.count(sessions)


def _summary(tally: Tally, failures: int, out: Path) -> str:
    sessions = ", ".join(
        (counted(tally.sessions, "session"), counted(tally.turns, "turn"), counted(tally.calls, "call"))
    )
    files = f"files: {tally.written:,} written, {tally.unchanged:,} unchanged, {tally.refused:,} refused"
    failed = f" ({failures:,} not imported)" if failures else ""
    return f"{sessions}{failed}; {files}; in {out}"
