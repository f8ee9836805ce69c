"""The first cassette of a project, made of what is found there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import ImportFileError, StatebaseError
from .finding import Finds, Sort, find_sessions_in
from .output import counted, say
from .targets import shown

if TYPE_CHECKING:
    from ..importers import ImportedSession
    from ..selection.survey import Survey

_MOST_SESSIONS: Final = 1_000
"""Sessions of one place among which the first is chosen."""
_NAMES: dict[Sort, str] = {
    "journals": "captured sessions",
    "pulled": "a session that was pulled",
    "export": "recorded sessions",
}
_HOW = """\
No recorded session was found in {looked} of the project. To get one, do one of these:

  pytest-statebase capture -- python app.py        # runs your program and captures its sessions; then
  pytest-statebase select captured --out {out}

  pytest-statebase pull --failed --since 24h --out {out}   # from StateBase, with STATEBASE_API_KEY

  pytest-statebase import traces.json --out {out}  # an export of a tracer, a log of chat messages\
"""


@dataclass(frozen=True, slots=True)
class _First:
    sort: Sort
    place: Path
    at: int
    """Which session of the place."""
    reason: str
    sessions: int


def make_first_cassette(root: Path, out: Path) -> None:
    """Look for recorded sessions in a project and make a cassette of one, or say how to get one.

    root: of the project; out: the directory of its cassettes.
    """
    there = sorted(out.glob("*.session.yaml")) + sorted(out.glob("*.record.yaml"))
    if there:
        say(f"{shown(out)} holds cassettes already, {shown(there[0])} is the first")
        return
    finds = find_sessions_in(root)
    first = next(filter(None, (_first_of(sort, place) for sort, place in finds.places)), None)
    if first is None:
        say("\n" + _HOW.format(looked=_looked(finds), out=shown(out)) + "\n")
        return
    _write(first, out)


def _looked(finds: Finds) -> str:
    beyond = "" if finds.is_whole else "the first "
    return f"{beyond}{counted(finds.looked_at, 'file')} and directories"


def _sessions_of(place: Path) -> Iterator[ImportedSession | None]:
    """The sessions of a file or a directory of journals; None for one of no use."""
    from ..importers import import_file

    for session in islice(import_file(place), _MOST_SESSIONS):
        if isinstance(session, ImportFileError) or not any(turn.input for turn in session.ledger.turns):
            yield None
        else:
            is_unusable = session.grade is not None and session.grade.level == "unusable"
            yield None if is_unusable else session


def _first_of(sort: Sort, place: Path) -> _First | None:
    """The session to begin with: one in which something went wrong, of these the shortest; else the shortest."""
    from ..selection.rules import Limits, Rule, reasons_to_keep
    from ..selection.survey import Survey

    survey, positions = Survey(), []
    try:
        for at, session in enumerate(_sessions_of(place)):
            if session is not None:
                survey.add(session.ledger, place)
                positions.append(at)
    except StatebaseError:
        return None
    if not positions:
        return None
    wrong = reasons_to_keep(survey, (Rule.ERRORS, Rule.ROLLBACKS, Rule.FEEDBACK), Limits())
    chosen = min(wrong or range(len(positions)), key=lambda at: survey.sessions[at].preference)
    reason = _reason(survey, chosen, wrong)
    return _First(sort, place, positions[chosen], reason, len(positions))


def _reason(survey: Survey, chosen: int, wrong: dict[int, list[str]]) -> str:
    if chosen in wrong:
        return f"the shortest in which something went wrong ({wrong[chosen][0]})"
    return "the shortest" if len(survey.sessions) > 1 else "the only one"


def _write(first: _First, out: Path) -> None:
    from ..importers.store import Store

    session = next(islice(_sessions_of(first.place), first.at, None))
    assert session is not None
    store = Store(out)
    store.add(session)
    store.finish()
    say(f"{shown(out)} has its first cassette, of session {session.ledger.id}")
    say(f"    {_NAMES[first.sort]} were found in {shown(first.place)}, {counted(first.sessions, 'session')} of use;")
    say(f"    this is {first.reason}.")
    say("    The record is evidence, sealed, and never edited; the plan beside it is yours.")
    if first.sort == "journals" and first.sessions > 1:
        say(f"    More: pytest-statebase select {shown(first.place)} --out {shown(out)}")
    elif first.sessions > 1:
        say(f"    All: pytest-statebase import {shown(first.place)} --out {shown(out)}")
    # An id may have any signs in it; a file's name has none that a shell would read.
    say(f"    Look at it: pytest-statebase show {shown(next(out.glob('*.session.yaml')))}")
