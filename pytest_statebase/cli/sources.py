"""Sessions of cassettes, read one by one, and the chosen ones written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FileError, StatebaseError
from ..selection.survey import Seen, Survey, last_active
from .progress import Progress
from .targets import cassette_files, shown

if TYPE_CHECKING:
    from ..cassette import Cassette
    from ..ledger import Ledger
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
    passed_over: int = 0
    """Sessions of another agent, or too old."""

    def survey(self) -> Survey:
        """Read all sessions once.

        Raises FileError where there is none.
        """
        survey = Survey()
        with Progress("sessions") as bar:
            for cassette in bar.count(self._cassettes(self.paths)):
                if self._is_wanted(cassette.ledger):
                    survey.add(cassette.ledger, _file_of(cassette))
        if not survey.sessions and not self.broken:
            what = f"none of {self.passed_over:,} sessions is wanted"
            raise FileError(what, where=", ".join(map(shown, self.paths)), remedy="Look at --agent and --since.")
        return survey

    def features_of(self, paths: Iterable[Path]) -> set[Feature]:
        """What the cassettes among and below other paths show."""
        from ..selection.features import features_of

        places = list(paths)
        return (
            {one for cassette in self._cassettes(places) for one in features_of(cassette.ledger)} if places else set()
        )

    def copy(self, sessions: Iterable[Seen], out: Path) -> tuple[int, int]:
        """Copy cassettes into a directory; how many files were written, and how many were there already."""
        from ..cassette import load_cassette
        from ..selection.copying import copy_cassette

        written = unchanged = 0
        for session in sessions:
            try:
                new, old = copy_cassette(load_cassette(session.source), out)
            except StatebaseError as error:
                self._tell("Not copied", error, session.source)
                continue
            written, unchanged = written + new, unchanged + old
        return written, unchanged

    def _is_wanted(self, ledger: Ledger) -> bool:
        is_of_agent = self.agent is None or ledger.created.agent_id == self.agent
        at = None if self.since is None else last_active(ledger)
        is_wanted = is_of_agent and (self.since is None or at is None or at >= self.since)
        self.passed_over += not is_wanted
        return is_wanted

    def _cassettes(self, paths: Iterable[Path]) -> Iterator[Cassette]:
        """The cassettes that can be read; a record counts once, however many plans replay it."""
        from ..cassette import load_cassette

        records: set[Path] = set()
        for path in cassette_files(paths):
            try:
                cassette = load_cassette(shown(path))
                cassette.ledger  # noqa: B018
            except StatebaseError as error:
                self._tell("Not read", error, path)
                continue
            record = (cassette.record_path or path).resolve()
            if record not in records:
                records.add(record)
                yield cassette

    def _tell(self, what: str, error: StatebaseError, path: Path) -> None:
        self.broken.append(f"{what}: {error.where or shown(path)}: {error.what}".replace("\n", " "))


def _file_of(cassette: Cassette) -> Path:
    path = cassette.path or cassette.record_path
    assert path is not None
    return path
