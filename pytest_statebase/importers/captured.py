"""Sessions from the journals of a capture, one file or a directory of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FileError, ImportFileError
from ..journal.assemble import CapturedSession, sessions_of
from ..journal.markers import Unstored
from ..journal.read import Damage, Index, is_journal, journals_of
from .grades import Reason, graded
from .model import ImportedSession, SessionFile
from .proposal import first_words, propose_plan

if TYPE_CHECKING:
    from ..cassette import ToolRules


def is_captured(path: Path) -> bool:
    """Whether a path is a journal, or a directory, which can hold nothing else that is imported."""
    return path.is_dir() or is_journal(path)


def captured_sessions(path: Path) -> SessionFile:
    """The sessions that a journal, or a directory of them, holds.

    Lines that cannot be read come as ImportFileErrors; those that were never finished are told in `warnings`.
    Raises ImportFileError for a directory without a journal.
    """
    damaged: list[Damage] = []
    try:
        index = Index(journals_of([path]), damaged.append)
    except FileError as error:
        raise ImportFileError(error.what, where=error.where, remedy=error.remedy) from None
    warnings: list[str] = []
    return SessionFile(path, "journal", len(index.sessions), _sessions(index, damaged, warnings), warnings)


def _sessions(index: Index, damaged: list[Damage], warnings: list[str]) -> Iterator[ImportedSession | ImportFileError]:
    unwanted = 0
    for session in sessions_of(index):
        if session.keep == ():
            unwanted += 1
        else:
            yield imported(session)
    for damage in damaged:
        if damage.is_torn:
            warnings.append(str(damage))
        else:
            yield ImportFileError(damage.what, where=damage.where, remedy=damage.remedy)
    if unwanted:
        warnings.append(f"left out, as no rule of the capture keeps them: {unwanted:,} of {index.files[0].parent}")


def imported(session: CapturedSession) -> ImportedSession:
    """A captured session with its placeholders numbered, the plan that is proposed for it, and its grade."""
    from ..privacy import renumbered

    ledger, exchanges = renumbered(session.ledger, session.exchanges)
    plan = propose_plan(ledger, first_words(ledger))
    rules = dict(_rules(session.unstored))
    return ImportedSession(
        ledger.id + session.id.removeprefix(session.ledger.id),
        ledger,
        replace(plan, tools=rules) if rules else plan,
        session.notes,
        grade=graded(_reasons(session)),
        exchanges=exchanges,
    )


def _reasons(session: CapturedSession) -> Iterator[Reason]:
    if session.cut is not None:
        remedy = "pytest-statebase doctor says what was lost, and why."
        yield Reason("gap", f"The session is not whole: {session.cut}", remedy)
    for one in session.unstored:
        remedy = f"Have {one.tool} return plain data." if one.tool and one.field == "result" else ""
        yield Reason("unstored", f"{one}, as a part of it could not be stored", remedy)


def _rules(unstored: Iterable[Unstored]) -> Iterator[tuple[str, ToolRules]]:
    """What to leave out of account of each tool: arguments that no replay can give again."""
    from ..cassette import ToolRules

    found: dict[str, set[str]] = {}
    for one in unstored:
        if one.tool is not None and one.field == "arguments":
            found.setdefault(one.tool, set()).update(one.keys or ("arguments",))
    for tool, names in found.items():
        yield tool, ToolRules(ignore=tuple(sorted(names)))
