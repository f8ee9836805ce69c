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
from .grades import Grades
from .hooks import project_hooks
from .output import counted, say, warn
from .progress import Progress
from .redaction import redaction_told, use_redaction

_MOST_PLACES = 3


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
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
@click.option("--all", "every", is_flag=True, help="Also write sessions that are graded as unusable.")
def command(files: tuple[Path, ...], out: Path, wanted: tuple[str, ...], every: bool) -> None:
    """Make cassettes of recorded sessions.

    FILES are JSON or JSON Lines, plain or gzipped: chat messages as OpenAI has them (a list of messages, or mappings
    with `messages`), what OpenAI keeps (responses, conversations, threads), traces (OpenTelemetry, exports of
    Langfuse, runs of LangSmith), tapes and tool caches of TapeAgents, logs of inspect_ai, result files of tau-bench and
    tau2-bench, what `pull` kept (NAME.pulled.json), journals of a capture (NAME.journal) or a directory of them, or
    whatever a hook pytest_statebase_import of the project reads.

    Each session becomes a record (NAME.record.yaml, the evidence) and a proposed plan (NAME.session.yaml, yours to
    edit), its model calls an HTTP recording (NAME.http.yaml). Sessions are graded replayable, partial or unusable,
    with what is missing and what would mend it; unusable ones are not written. A statebase.yaml with the tools that
    were seen is proposed where there is none. What exists is never written over: a record with the same content counts
    as unchanged, one with other content is refused.

    Exit code 1 where a session could not be read or was refused, or all are unusable; the others are imported all the
    same.
    """
    use_redaction()
    run = _Run(Store(out), wanted, every)
    run.all(files)
    store, failures, passed_over = run.store, run.failures, run.passed_over
    store.finish()
    for told in _told(failures):
        warn(f"Not imported: {told}")
    for line in run.grades.lines(all_written=every):
        say(line)
    say(_summary(store.tally, len(failures), out))
    if told := redaction_told(store.tally.redacted):
        say(told)
    if wanted and not store.tally.sessions and passed_over:
        near = [name for one in wanted for name in get_close_matches(one, passed_over, 3, 0.3)] or passed_over[:3]
        warn(f"No session is called {' or '.join(wanted)}. Some of the {len(passed_over):,}: {', '.join(near)}.")
        raise click.exceptions.Exit(1)
    if failures or not store.tally.sessions:
        raise click.exceptions.Exit(1)


class _Run:
    """What is imported in one run, and what is not."""

    def __init__(self, store: Store, wanted: tuple[str, ...], every: bool) -> None:
        self.store = store
        self.grades = Grades()
        self.failures: list[StatebaseError] = []
        self.passed_over: list[str] = []
        self._wanted = wanted
        self._every = every

    def all(self, files: tuple[Path, ...]) -> None:
        for session in _with_progress(files):
            if isinstance(session, ImportFileError):
                self.failures.append(session)
            elif self._is_wanted(session):
                self._add(session)
            else:
                self.passed_over.append(session.name)

    def _is_wanted(self, session: ImportedSession) -> bool:
        names = (session.name, session.ledger.id)
        return not self._wanted or any(fnmatchcase(name, pattern) for name in names for pattern in self._wanted)

    def _add(self, session: ImportedSession) -> None:
        self.grades.add(session)
        if session.grade is not None and session.grade.level == "unusable" and not self._every:
            return
        try:
            self.store.add(session)
        except (ImportFileError, UnstorableError) as error:
            self.failures.append(error)


def _with_progress(files: tuple[Path, ...]) -> Iterator[ImportedSession | ImportFileError]:
    """The sessions of all files; a progress bar on stderr where that is a terminal."""
    hook = project_hooks("pytest_statebase_import")
    with Progress("sessions") as bar:
        for path in files:
            bar.about(path.name)
            try:
                sessions = import_file(path, hook=hook)
            except ImportFileError as error:
                yield error
                continue
            bar.expect(sessions.total)
            yield from bar.count(sessions)
            for line in sessions.warnings:
                warn(line)


def _told(failures: list[StatebaseError]) -> Iterator[str]:
    """Each error; those that say the same of several places together."""
    alike: dict[tuple[str, str | None], list[StatebaseError]] = {}
    for failure in failures:
        alike.setdefault((failure.what, failure.remedy), []).append(failure)
    for (what, remedy), (first, *others) in alike.items():
        more = ""
        if others:
            places = [one.where or "" for one in others[:_MOST_PLACES]] + ["…"] * (len(others) > _MOST_PLACES)
            more = f"\n  The same at {counted(len(others), 'other place')}: {', '.join(places)}"
        head = f"{first.where}: {what}" if first.where else what
        yield f"{head}{more}" + (f"\n  {remedy}" if remedy else "")


def _summary(tally: Tally, failures: int, out: Path) -> str:
    sessions = ", ".join(
        (counted(tally.sessions, "session"), counted(tally.turns, "turn"), counted(tally.calls, "call"))
    )
    files = f"files: {tally.written:,} written, {tally.unchanged:,} unchanged, {tally.refused:,} refused"
    failed = f" ({failures:,} not imported)" if failures else ""
    return f"{sessions}{failed}; {files}; in {out}"
