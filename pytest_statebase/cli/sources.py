"""Sessions of journals and cassettes, read one by one, and the chosen ones written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..cassette import PLAN_SUFFIX, RECORD_SUFFIX, load_cassette
from ..errors import FileError, StatebaseError
from ..importers.captured import imported
from ..importers.store import Store, Tally
from ..journal import CapturedSession, Damage, is_journal, read_sessions
from ..selection.copying import copy_cassette
from ..selection.survey import Seen, Survey, last_active
from .output import counted
from .progress import Progress
from .targets import cassette_files, shown

if TYPE_CHECKING:
    from ..cassette import Cassette
    from ..ledger import Ledger
    from ..selection.choose import Pick
    from ..selection.features import Feature


@dataclass(slots=True)
class Sources:
    """The sessions among and below some paths."""

    paths: tuple[Path, ...]
    agent: str | None = None
    """Only its sessions."""
    since: datetime | None = None
    """Only those active since then; one without a time counts."""
    broken: list[str] = field(default_factory=list)
    """What could not be read or written, one line each."""
    notes: list[str] = field(default_factory=list)
    """What else there is to say, one line each."""
    passed_over: int = 0
    """Sessions of another agent, or too old."""

    def survey(self) -> Survey:
        """Read all sessions once.

        Raises FileError where there is none.
        """
        survey = Survey()
        journals, cassettes = _split(self.paths)
        with Progress("sessions") as bar:
            for session in bar.count(self._captured(journals)):
                if self._is_wanted(session.ledger):
                    survey.add(session.ledger, _place_of(session), marks=session.keep, cut=session.cut is not None)
            for cassette in bar.count(self._cassettes(cassettes)):
                if self._is_wanted(cassette.ledger):
                    survey.add(cassette.ledger, _file_of(cassette))
        if not survey.sessions and not self.broken:
            what = f"none of {counted(self.passed_over, 'session')} is wanted"
            raise FileError(what, where=", ".join(map(shown, self.paths)), remedy="Look at --agent and --since.")
        return survey

    def features_of(self, paths: Iterable[Path]) -> set[Feature]:
        """What the cassettes among and below other paths show."""
        from ..selection.features import features_of

        places = list(paths)
        return (
            {one for cassette in self._cassettes(places) for one in features_of(cassette.ledger)} if places else set()
        )

    def write(self, picks: list[Pick], out: Path) -> Tally:
        """Write captured sessions as cassettes, and copy cassettes, into a directory."""
        store = Store(out)
        chosen = {pick.session.id: pick for pick in picks if is_captured(pick.session)}
        journals, _ = _split(self.paths) if chosen else ([], [])
        for captured in read_sessions(journals, damaged=[]) if chosen else ():
            if captured.id in chosen:
                with self._told("Not written", out):
                    session = imported(captured)
                    store.add(replace(session, notes=(*session.notes, *_notes(chosen[captured.id]))))
        store.finish()
        for pick in picks:
            if not is_captured(pick.session):
                with self._told("Not copied", pick.session.source):
                    written, unchanged = copy_cassette(load_cassette(pick.session.source), out)
                    store.tally.written += written
                    store.tally.unchanged += unchanged
        return store.tally

    @contextmanager
    def _told(self, what: str, path: Path) -> Iterator[None]:
        """An error is told; the next session has its turn."""
        try:
            yield
        except StatebaseError as error:
            self.broken.append(f"{what}: {error.where or shown(path)}: {error.what}".replace("\n", " "))

    def _is_wanted(self, ledger: Ledger) -> bool:
        is_of_agent = self.agent is None or ledger.created.agent_id == self.agent
        at = None if self.since is None else last_active(ledger)
        is_wanted = is_of_agent and (self.since is None or at is None or at >= self.since)
        self.passed_over += not is_wanted
        return is_wanted

    def _captured(self, journals: list[Path]) -> Iterator[CapturedSession]:
        """The sessions of journals."""
        if not journals:
            return
        damaged: list[Damage] = []
        yield from read_sessions(journals, damaged=damaged)
        for damage in damaged:
            (self.notes if damage.is_torn else self.broken).append(f"Not read: {damage}")

    def _cassettes(self, paths: Iterable[Path]) -> Iterator[Cassette]:
        """The cassettes that can be read; a record counts once, however many plans replay it."""
        records: set[Path] = set()
        places = list(paths)
        for path in cassette_files(places) if places else ():
            with self._told("Not read", path):
                cassette = load_cassette(shown(path))
                cassette.ledger  # noqa: B018
                record = (cassette.record_path or path).resolve()
                if record not in records:
                    records.add(record)
                    yield cassette


def _notes(pick: Pick) -> Iterator[str]:
    """Why a session became a test, for the top of its plan."""
    yield from (f"Chosen for {reason}" for reason in pick.reasons)
    if pick.session.marks:
        yield f"Kept by capture: {', '.join(pick.session.marks)}"


def is_captured(session: Seen) -> bool:
    """Whether a session is in journals, and not a cassette."""
    return session.source.is_dir() or is_journal(session.source)


def _split(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The journals among and below some paths, and those of the paths that hold cassettes.

    Raises FileError for a path with neither.
    """
    journals: list[Path] = []
    cassettes: list[Path] = []
    for path in paths:
        if not path.is_dir():
            (journals if is_journal(path) else cassettes).append(path)
            continue
        inside = sorted(file for file in path.rglob("*") if is_journal(file))
        has_cassettes = any(any(path.rglob(f"*{suffix}")) for suffix in (PLAN_SUFFIX, RECORD_SUFFIX))
        if not inside and not has_cassettes:
            remedy = (
                "Journals are called NAME.journal, cassettes NAME.session.yaml. Other recordings: `import` them first."
            )
            raise FileError("there is no journal and no cassette here", where=shown(path), remedy=remedy)
        journals += inside
        cassettes += [path] if has_cassettes else []
    return journals, cassettes


def _place_of(session: CapturedSession) -> Path:
    """The directory of the journals in which a session begins."""
    first = session.sources[0].rpartition(":")[0] if session.sources else ""
    return Path(first).parent


def _file_of(cassette: Cassette) -> Path:
    path = cassette.path or cassette.record_path
    assert path is not None
    return path
