"""Sessions of StateBase, as the requests tell them that a program makes to the service."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..events import (
    Event,
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    timestamp,
)
from ..frames import Between
from ..statebase.observed import Fact, MemorySeen, Observed, StateRead, TurnLogged, observed, reads, session_named
from ..wire.exchange import Answer, Exchange, Request, Response
from ..wire.watch import Told, settled_exchange
from .sessions import Session, here
from .turns import Turn, turn_here

GRACE = 2.0
"""Seconds in which what an agent does after it has logged its turn still belongs to that turn."""
_MOST_KNOWN = 10_000
_MOST_OPEN = 1_000
_BEYOND = "calls or requests were seen of a session to which no turn was added: they are not kept"


class LoggedTurn(Turn):
    """A turn of which nobody knows that it is one before the agent logs it in StateBase.

    From the first request of a session in some task or thread on, it gathers what happens there. What is written to the
    session without a turn that is logged stands between turns.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, None)
        self.is_sure = False
        self.logged_at = 0.0
        """When the agent logged it; it goes on for a moment."""

    def begins_again(self) -> None:
        """As long as nothing has happened in it, it has not begun."""
        if not (self.others or self.exchanges or self._calls.is_any):
            self._begin()

    def _begin(self) -> None:
        self._at, self._began = timestamp(), time.perf_counter()
        self.is_open = self.session.is_recorded

    def log(self, given: TurnLogged) -> None:
        """The agent has logged the turn."""
        self.given, self.logged_at = given, time.monotonic()
        self.is_answered()

    def _close(self, error: BaseException | None, interrupted: bool) -> None:
        if self.given is None:
            self._leave()
            return
        self._number, self._overlaps = self.session.turn_begins(self)
        if self._number:
            super()._close(error, interrupted)

    def _leave(self) -> None:
        session = self.session
        events = tuple(event for event in self.others if not isinstance(event, (MemorySearched, ToolCalled)))
        if self.exchanges or self._calls.close():
            session.of.journal.trouble("no turn", _BEYOND)
        if events:
            session.open()
            session.signs.seen.update("rollbacks" for event in events if isinstance(event, StateRolledBack))
            session.put(Between(session.id, events))


@dataclass(frozen=True, slots=True)
class _Known:
    """A memory that was seen."""

    session: str | None
    content: str


class Service:
    """Keeps what requests to StateBase tell: in the turn that goes on where they are made, else in one of their own.

    session: gives the session of an id, opened with what is known of it. end: ends one. failed: told of what goes
    wrong.
    """

    def __init__(
        self,
        session: Callable[[SessionCreated], Session],
        end: Callable[[str, str], None],
        failed: Callable[[str, Exception], None],
    ) -> None:
        self._session = session
        self._end = end
        self._failed = failed
        self.begin()

    def begin(self) -> None:
        """From now on; nothing goes on yet."""
        self._lock = threading.RLock()
        self._open: OrderedDict[LoggedTurn, None] = OrderedDict()
        self._memories: OrderedDict[str, _Known] = OrderedDict()
        self._repeated: OrderedDict[tuple[str, ...], None] = OrderedDict()
        self._sweeper: threading.Thread | None = None
        self._wake = threading.Event()
        self._is_over = False

    def begun(self, request: Request) -> Told | None:
        """A request to the service begins here and now."""
        name = session_named(request)
        turn: Turn | None = turn_here()
        if name is not None:
            turn = self._turn(name, turn, begins=reads(request))
        during = None if turn is None else turn.inside()

        def told(request: Request, answer: Answer) -> None:
            if isinstance(answer, Response):
                self._tell(request, answer, turn, during)

        return told

    def end(self) -> None:
        """What goes on is over."""
        with self._lock:
            self._is_over = True
            turns = list(self._open)
            self._open.clear()
        self._wake.set()
        for turn in turns:
            turn.close()

    def forked(self) -> None:
        """In a child of fork: what goes on is the parent's."""
        for turn in list(self._open):
            turn.abandon()
        self.begin()

    # --- which turn

    def _turn(self, name: str, turn: Turn | None, *, begins: bool = False) -> Turn | None:
        """The turn in which something of a session happens here.

        begins: it is what a turn begins with: one that was logged is over.
        """
        if turn is not None and turn.is_sure:
            return self._sure(name, turn)
        if isinstance(turn, LoggedTurn) and turn.session.id == name and not (begins and turn.given is not None):
            return turn
        if begins:
            self._close_logged(name)
        found = self._found(name)
        if found is None:
            return self._begin_turn(name)
        if begins:
            found.begins_again()
        found.from_here()
        return found

    def _sure(self, name: str, turn: Turn) -> Turn | None:
        """The turn that goes on around it, for one session of StateBase: what happens in others is not of it."""
        if turn.is_alone:
            turn.move(self._session(SessionCreated(name, at=timestamp())))
        session = turn.session
        if session.statebase is None or session.id == name:
            session.statebase = name
        return turn if session.statebase == name else self._found(name) or self._begin_turn(name, is_aside=True)

    def _found(self, name: str) -> LoggedTurn | None:
        with self._lock:
            return next((one for one in reversed(self._open) if one.session.id == name and one.given is None), None)

    def _begin_turn(self, name: str, *, is_aside: bool = False) -> LoggedTurn:
        session = self._session(SessionCreated(name, at=timestamp()))
        turn = LoggedTurn(session)
        if turn.begin():
            with self._lock:
                self._open[turn] = None
                beyond = list(self._open)[: -_MOST_OPEN or None] if len(self._open) > _MOST_OPEN else []
            for one in beyond:
                self._close(one)
            if not is_aside:
                here.set(session)
                turn.from_here()
        return turn

    def _close(self, turn: LoggedTurn) -> None:
        with self._lock:
            self._open.pop(turn, None)
        turn.close()

    def _close_logged(self, name: str | None = None, before: float | None = None) -> None:
        with self._lock:
            turns = [
                turn
                for turn in self._open
                if turn.given is not None
                and (name is None or turn.session.id == name)
                and (before is None or turn.logged_at <= before)
            ]
        for turn in turns:
            self._close(turn)

    def _sweep(self) -> None:
        """Close turns that were logged a moment ago."""
        wake = self._wake
        while not wake.wait(GRACE / 2):
            try:
                self._close_logged(before=time.monotonic() - GRACE)
                with self._lock:
                    if not any(turn.given is not None for turn in self._open):
                        self._sweeper = None
                        return
            except Exception as error:
                self._failed("statebase", error)

    def _logged(self, turn: Turn, given: TurnLogged) -> None:
        if not isinstance(turn, LoggedTurn):
            turn.given = given
            return
        if turn.given is not None:
            # A second one in the same place, without a look at the session in between.
            self._close(turn)
            turn = self._begin_turn(turn.session.id)
        if turn.session.answered(given.input):
            return  # an entry point that is captured was called, and what it answered is logged now
        turn.log(given)
        with self._lock:
            if self._sweeper is None and not self._is_over:
                self._sweeper = threading.Thread(target=self._sweep, name="statebase-turns", daemon=True)
                self._sweeper.start()

    # --- what happens in it

    def _tell(self, request: Request, answer: Response, turn: Turn | None, during: int | None) -> None:
        if not self._is_new(request):
            return
        whole = settled_exchange(Exchange(request, answer))
        if isinstance(whole.answer, Response):
            for one in observed(whole.request, whole.answer):
                self._take(one, turn, during)

    def _is_new(self, request: Request) -> bool:
        """Whether it is no repetition, which the service answers once more as it did and does nothing."""
        key = request.header("idempotency-key")
        if key is None:
            return True
        name = (request.method, request.address, key)
        with self._lock:
            is_new = name not in self._repeated
            _remember(self._repeated, name, None)
        return is_new

    def _take(self, one: Observed, turn: Turn | None, during: int | None) -> None:
        fact, name = one.fact, one.session
        if isinstance(fact, SessionCreated):
            self._created(fact, turn)
        elif isinstance(fact, SessionEnded) and name is not None:
            self._close_all(name)
            self._end(name, fact.reason or "deleted")
        elif isinstance(fact, MemorySeen):
            _remember(self._memories, fact.id, _Known(name, fact.content))
        else:
            self._happened(fact, name, turn, during)

    def _created(self, created: SessionCreated, turn: Turn | None) -> None:
        if turn is None or not turn.is_sure:
            here.set(self._session(created))
        elif turn.is_alone:
            turn.move(self._session(created))
        elif turn.session.statebase is None:
            turn.session.statebase = created.id
            turn.starts_with(created.state)
        else:
            self._session(created)

    def _close_all(self, name: str) -> None:
        with self._lock:
            turns = [turn for turn in self._open if turn.session.id == name]
        for turn in turns:
            self._close(turn)

    def _happened(self, fact: Fact, name: str | None, turn: Turn | None, during: int | None) -> None:
        if isinstance(fact, (MemoryUpdated, MemoryDeleted)):
            known = self._memories.get(fact.extra["id"])
            if known is None:
                return
            fact, name = replace(fact, was=known.content), name or known.session
        if turn is None or not turn.is_open:
            turn = None if name is None else self._turn(name, turn_here())
        if turn is None:
            return
        if isinstance(fact, StateRead):
            turn.starts_with(fact.value)
        elif isinstance(fact, TurnLogged):
            self._logged(turn, fact)
            self._state_of_turn(fact, turn)
        elif isinstance(fact, ToolCalled):
            turn.event(fact)
        else:
            self._event(fact, name, turn, during)

    def _state_of_turn(self, fact: TurnLogged, turn: Turn) -> None:
        if isinstance(fact.state_after, dict):
            turn.event(StateUpdated(turn.session.next_version(), fact.state_after, fact.reasoning, at=fact.at))

    def _event(self, fact: Any, name: str | None, turn: Turn, during: int | None) -> None:
        event: Event = replace(fact, during=during)
        if isinstance(event, MemorySearched):
            event = replace(event, at=timestamp())
        turn.event(event)
        if isinstance(event, MemoryAdded) and event.id is not None:
            _remember(self._memories, event.id, _Known(name, event.content))
        elif isinstance(event, MemoryUpdated) and event.content is not None:
            _remember(self._memories, event.extra["id"], _Known(name, event.content))


def _remember(known: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    known.pop(key, None)
    known[key] = value
    while len(known) > _MOST_KNOWN:
        known.popitem(last=False)
