"""Journals → sessions: what processes saw of one, one after the other, put together by time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..events import Content, Event, SessionCreated, SessionEnded, TurnStarted
from ..frames import Between, Frame, SessionClosed, SessionCut, SessionOpened, TurnClosed, TurnOpened
from ..ledger import Ledger
from ..values import ABSENT
from ..wire.exchange import Exchange
from .markers import Unstored, texted, without_markers
from .numbers import Numbers
from .read import Damage, Entry, Index, journals_of

_LOST = "turns of it were lost"
_BEGAN = "its first turns are not in the journals"


@dataclass(frozen=True, slots=True)
class CapturedSession:
    """A session as the journals hold it; of one with gaps, a part without any."""

    id: str
    """Of a part after a gap: the session's, with `-after-gap-N`; the ledger has that of the session."""
    ledger: Ledger
    """Its turns and versions are numbered from 1 and 0; every value in it has a form in a record."""
    exchanges: tuple[Exchange, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of the recording should know."""
    keep: tuple[str, ...] | None = None
    """The rules by which it is worth keeping, none where it is not; None where no rule was asked."""
    cut: str | None = None
    """Why it is not whole; None where it is."""
    unstored: tuple[Unstored, ...] = ()
    """What of it could not be stored: a result is absent, anything else a text."""
    sources: tuple[str, ...] = ()
    """The lines (`FILE:LINE`) that it was made of."""


def read_sessions(
    paths: Iterable[str | os.PathLike[str]], *, damaged: list[Damage] | None = None
) -> Iterator[CapturedSession]:
    """The sessions in journals, in the order in which they began; in memory is one at a time.

    paths: journals, and directories of them. Those that are still written to can be read as well.
    damaged: gets every line that cannot be read and is passed over.
    Sessions of which no turn was kept are left out. Raises FileError for a path without a journal.
    """
    found: list[Damage] = [] if damaged is None else damaged
    yield from sessions_of(Index(journals_of(paths), found.append))


def sessions_of(index: Index) -> Iterator[CapturedSession]:
    """The sessions of an index."""
    for session in index.sessions:
        entries = index.entries(session)
        try:
            yield from list(_assembled(session, entries, index.damaged_processes))
        except RecursionError:
            where = entries[0].where if entries else session
            index.damaged(Damage(where, f"a value of session {session!r:.80} nests too deep"))


def _assembled(session: str, entries: list[Entry], damaged: Collection[int]) -> Iterator[CapturedSession]:
    facts = _Facts(session, entries)
    parts = list(_parts(entries, facts.unanswered, damaged))
    for number, part in enumerate(parts):
        if part.turns:
            yield _Part(facts, part, number, is_last=number == len(parts) - 1).session()


@dataclass(slots=True)
class _Stretch:
    """What of a session has no gap."""

    entries: list[Entry] = field(default_factory=list)
    turns: int = 0
    begins_late: bool = False
    """Turns that came before are missing."""
    reason: str | None = None
    """Why it ends in a gap."""


def _parts(entries: list[Entry], unanswered: list[Entry], damaged: Collection[int]) -> Iterator[_Stretch]:
    """The stretches between gaps.

    unanswered: inputs whose turns never ended: their numbers are missing, and no turn is lost for that, unless a line
    of the process is damaged.
    """
    part, last = _Stretch(), dict[int, int]()
    ends = {id(entry) for entry in unanswered if entry.process not in damaged}
    open_turns: Counter[int] = Counter()
    for entry in entries:
        frame = entry.frame
        if isinstance(frame, SessionCut):
            part.reason = part.reason or frame.reason
            continue
        open_turns[entry.process] += id(entry) in ends
        if isinstance(frame, TurnClosed):
            number = _number(frame)
            missing = number - 1 - last.get(entry.process, 0) - open_turns[entry.process]
            if missing > 0 and entry.process in last:
                part.reason = part.reason or _LOST
            elif missing > 0 and not last:
                part.begins_late = True
            last[entry.process] = number
            open_turns[entry.process] = 0
        if part.reason is not None and isinstance(frame, (TurnClosed, Between)):
            yield part
            part = _Stretch(begins_late=True)
        part.turns += isinstance(frame, TurnClosed)
        part.entries.append(entry)
    yield part


def _number(frame: TurnClosed) -> int:
    started = frame.events[0]
    return started.number if isinstance(started, TurnStarted) else 0


class _Facts:
    """What all parts of a session have in common."""

    def __init__(self, session: str, entries: list[Entry]) -> None:
        frames = [entry.frame for entry in entries]
        opened = [frame.created for frame in frames if isinstance(frame, SessionOpened)]
        self.created = _merged(opened) if opened else SessionCreated(session)
        self.closed = [frame for frame in frames if isinstance(frame, SessionClosed)]
        self.keep = _keep(entries)
        self.cuts = [(entry.process, entry.time) for entry in entries if isinstance(entry.frame, SessionCut)]
        answered = {(entry.process, entry.frame.at) for entry in entries if isinstance(entry.frame, TurnClosed)}
        self.unanswered = [
            entry
            for entry in entries
            if isinstance(entry.frame, TurnOpened)
            and (entry.process, entry.frame.at) not in answered
            and not any(process == entry.process and time >= entry.time for process, time in self.cuts)
        ]


def _keep(entries: list[Entry]) -> tuple[str, ...] | None:
    """The rules that keep the session. None of them speaks against it only where all its processes were asked."""
    in_order = sorted(entries, key=lambda entry: entry.number)
    last: dict[int, Frame] = {entry.process: entry.frame for entry in in_order}
    rules = [entry.frame.keep for entry in entries if isinstance(entry.frame, SessionClosed)]
    found = tuple(dict.fromkeys(rule for keep in rules for rule in keep or ()))
    asked = all(isinstance(frame, SessionClosed) and frame.keep is not None for frame in last.values())
    return found if found or asked else None


def _merged(opened: list[SessionCreated]) -> SessionCreated:
    """The first one, with what later ones know and it does not."""
    first = opened[0]
    for later in opened[1:]:
        missing = {
            name: getattr(later, name)
            for name in ("agent_id", "user_id", "at", "actor", "reasoning")
            if getattr(first, name) is None
        }
        first = replace(first, metadata=_added(first.metadata, later.metadata), **missing)
    return first


def _added(first: Mapping[str, Any] | None, later: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What is known of a session, with what was told later: a list goes on, anything else is what it was."""
    if first is None or later is None:
        return first if later is None else later
    both = {key: [*first[key], *later[key]] for key in later if type(first.get(key)) is type(later[key]) is list}
    return {**later, **first, **both}


class _Part:
    """Makes the ledger of a stretch."""

    def __init__(self, facts: _Facts, part: _Stretch, number: int, *, is_last: bool) -> None:
        self.facts = facts
        self.part = part
        self.number = number
        self.is_last = is_last
        self.notes: list[str] = []
        self.unstored: list[Unstored] = []
        self.exchanges: list[Exchange] = []
        self.ledger = Ledger([self._created()])
        self.numbers = Numbers(self.ledger)

    def _created(self) -> SessionCreated:
        created = self.facts.created
        first = next((entry.frame for entry in self.part.entries if isinstance(entry.frame, TurnClosed)), None)
        if self.part.begins_late or created.state is ABSENT:
            before = first.state_before if first is not None else ABSENT
            created = replace(created, state=before)
        (clean,) = self._clean([created], "the session")
        assert isinstance(clean, SessionCreated)
        return clean

    def session(self) -> CapturedSession:
        for entry in self.part.entries:
            frame = entry.frame
            if isinstance(frame, TurnClosed):
                self._turn(entry.process, frame)
            elif isinstance(frame, Between):
                self._between(entry.process, frame)
        cut = self.part.reason or (_BEGAN if self.part.begins_late else None)
        self.ledger.append(self._ended())
        ledger = self.ledger
        if self.exchanges:
            first, *rest = ledger.events
            ledger = Ledger([replace(first, http=True), *rest])  # type: ignore[arg-type]
        return CapturedSession(
            f"{ledger.id}-after-gap-{self.number}" if self.number else ledger.id,
            ledger,
            tuple(self.exchanges),
            tuple(self.notes),
            self.facts.keep,
            cut,
            tuple(self.unstored),
            tuple(entry.where for entry in self.part.entries),
        )

    def _turn(self, process: int, frame: TurnClosed) -> None:
        number = self.ledger.next_number()
        place = f"turn {number}"
        self.numbers.begin(process, texted(frame.state_before), frame.at)
        started, *events = self._clean(frame.events, place)
        assert isinstance(started, TurnStarted)
        self.ledger.append(replace(started, number=number))
        self.numbers.add(process, events)
        self.exchanges += [replace(exchange, turn=number) for exchange in frame.exchanges]

    def _between(self, process: int, frame: Between) -> None:
        number = max(1, self.ledger.next_number() - 1)
        self.numbers.begin(process, ABSENT, None)
        self.numbers.add(process, self._clean(frame.events, f"after turn {number}"))
        self.exchanges += [replace(exchange, turn=number) for exchange in frame.exchanges]

    def _clean(self, events: Iterable[Event], place: str) -> list[Event]:
        return list(without_markers(events, self.unstored, place))

    def _ended(self) -> SessionEnded:
        last = max((entry.time for entry in self.part.entries if isinstance(entry.frame, TurnClosed)), default=0.0)
        inputs: list[Content] = []
        here = set(map(id, self.part.entries))
        for entry in self.facts.unanswered:
            if not isinstance(entry.frame, TurnOpened) or id(entry) not in here:
                continue
            if entry.time > last:
                said = entry.frame.input
                inputs += said if isinstance(said, list) else [] if said is None else [said]
            else:
                self.notes.append(f"What the user said at {entry.frame.at} was not answered: it is left out.")
        given = inputs[0] if len(inputs) == 1 else inputs or None
        if not self.is_last or self.part.reason is not None:
            return SessionEnded("cut", texted(given))
        closed = self.facts.closed[-1] if self.facts.closed else None
        return SessionEnded(closed.reason if closed else None, texted(given), closed.at if closed else None)
