"""The sessions that a capture has open: known by their id, each until it is ended, idle, or one too many."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from ..engine.asked import as_content
from ..engine.snapshot import snapshot
from ..errors import OptionError
from ..events import Content, SessionCreated, input_text, timestamp
from ..frames import Frame, SessionClosed, SessionOpened
from ..values import ABSENT
from .calls import numbers
from .rules import Rules, Signs
from .turns import Turn

here: ContextVar[Session | None] = ContextVar("statebase_captured_session", default=None)
"""The session that was entered last in this context."""


_around: ContextVar[tuple[Session | None, ...]] = ContextVar("statebase_sessions_around", default=())
"""Those that were entered in this context before the last one, each in front of the next."""


class Journal(Protocol):
    """Where frames go."""

    def put(self, frame: Frame, kept: Callable[[bool], None] | None = None) -> bool: ...

    def lose(self, frame: Frame, reason: str, what: str) -> None: ...

    def trouble(self, kind: str, what: str) -> None: ...

    def flush(self, timeout: float | None = None) -> bool: ...

    def stop(self, timeout: float | None = None) -> bool: ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """When sessions end by themselves."""

    idle: float
    """Seconds without a turn after which a session is over."""
    most: int
    """How many are open at once."""

    @classmethod
    def checked(cls, idle: float, most: int) -> Bounds:
        """Raises OptionError for what is no bound."""
        if isinstance(idle, bool) or not isinstance(idle, (int, float)) or not idle > 0:
            raise OptionError(f"idle={idle!r} means nothing to a capture", remedy="It is a number of seconds.")
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise OptionError(f"max_sessions={most!r} means nothing to a capture", remedy="It is a number from 1.")
        return cls(idle, most)


class Session:
    """One session of a capture: `with recording.session("sess_1") as session: …`.

    It ends when whoever entered it leaves it; one that is not entered goes on until it is ended or idle. Nothing that
    goes wrong in here is raised.
    """

    def __init__(self, sessions: Sessions, created: SessionCreated, *, is_recorded: bool) -> None:
        self.id = created.id
        self.numbers = numbers()
        self.signs = Signs()
        self.slow = sessions.rules.slow
        self.is_recorded = is_recorded
        self.last = time.monotonic()
        self.open_turns: dict[Turn, None] = {}
        self.statebase: str | None = None
        """The session of StateBase that its turns use."""
        self._answered: Content | list[Content] | None = None
        """What the turn answered that was over last, until that is logged."""
        self.of = sessions
        self._created: SessionCreated | None = created
        self._lock = threading.RLock()
        self._turns = 0
        self._version = 0
        self._entered = 0

    def turn(self, said: Any = None, *, state: Any = ABSENT) -> Turn:
        """A turn that begins where it is entered, and ends where it is left.

        said: what the user says, text or `{type, content}`; None where the agent speaks first. state: the state that
        the agent is handed; what it has made of it at the end is its new version.
        """
        try:
            content = as_content(snapshot(said))
        except Exception as error:
            self.failed("turn", error)
            content = None
        return Turn(self, content, state)

    def feedback(self, value: Any, *, comment: str | None = None, **more: Any) -> None:
        """What the user thought of the session, such as `thumbs_down`; it may come when the session is long over."""
        told = {"value": value, **({} if comment is None else {"comment": comment}), **more, "at": timestamp()}
        self.of.tell(self, {"feedback": [told]}, "feedback")

    def end(self, reason: str = "completed") -> None:
        """The session is over, as far as this process knows. It may be opened again by its id."""
        self.of.end(self.id, reason)

    def __enter__(self) -> Session:
        with self._lock:
            self._entered += 1
        _around.set((*_around.get(), here.get()))
        here.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._entered -= 1
            is_last = not self._entered
        # It may be left in another context than it was entered in, where nothing was set.
        *outer, before = _around.get() or (None,)
        _around.set(tuple(outer))
        here.set(before)
        if is_last:
            self.end()

    async def __aenter__(self) -> Session:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    # --- for its turns

    def turn_begins(self, turn: Turn) -> tuple[int, bool]:
        """The number of a turn that begins, 0 where it is not recorded; and whether others go on at the same time."""
        if not self.is_recorded or self.of.is_over:
            return 0, False
        self.open()
        with self._lock:
            self._turns += 1
            overlaps = bool(self.open_turns)
            for other in self.open_turns:
                other.overlapped()
            self.open_turns[turn] = None
            self.last = time.monotonic()
            return self._turns, overlaps

    def turn_ended(self, turn: Turn) -> None:
        """It is over."""
        with self._lock:
            self.open_turns.pop(turn, None)
            self.last = time.monotonic()
            self._answered = turn.content if turn.is_sure else None
        if turn.is_alone:
            self.end()

    def answered(self, said: Content) -> bool:
        """Whether the turn that was over last has answered this; asked once."""
        with self._lock:
            known, self._answered = self._answered, None
        return known is not None and input_text(known) == input_text(said)

    def drop(self, turn: Turn) -> None:
        """It is a turn of another session."""
        with self._lock:
            self.open_turns.pop(turn, None)
        self.end()

    def open(self) -> None:
        """Tell the journal of the session, once."""
        with self._lock:
            created, self._created = self._created, None
        if created is not None:
            self.put(SessionOpened(created))

    @property
    def is_told(self) -> bool:
        """Whether the journal knows of it."""
        return self._created is None

    def next_version(self) -> int:
        """The number of a state version that is made now, as this process counts them."""
        with self._lock:
            self._version += 1
            return self._version

    def put(self, frame: Frame, kept: Callable[[bool], None] | None = None) -> bool:
        return self.of.journal.put(frame, kept)

    def lose(self, frame: Frame) -> None:
        """A turn was too much to be kept."""
        self.of.journal.lose(frame, "too large", "more happens in a turn than may be kept")

    def failed(self, what: str, error: Exception) -> None:
        """Told of everything that goes wrong."""
        self.of.failed(what, error)


class Sessions:
    """All that are open, the one that was not used for the longest time first."""

    def __init__(
        self, journal: Journal, rules: Rules, bounds: Bounds, failed: Callable[[str, Exception], None]
    ) -> None:
        self.journal = journal
        self.rules = rules
        self.failed = failed
        self.is_over = False
        self._bounds = bounds
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._open: OrderedDict[str, Session] = OrderedDict()

    def forked(self) -> None:
        """In a child: the parent's sessions are the parent's."""
        self.rules.forked()
        for session in self._open.values():
            for turn in list(session.open_turns):
                turn.abandon()
        self._begin()

    def get(self, created: SessionCreated) -> Session:
        """The session of that id, opened where it is not."""
        with self._lock:
            session = self._open.get(created.id)
            if session is None:
                recorded = not self.is_over and self.rules.records(created.id)
                session = Session(self, created, is_recorded=recorded)
                if not self.is_over:
                    self._open[created.id] = session
            elif not self.is_over:
                self._open.move_to_end(created.id)
            session.last = time.monotonic()
        try:
            self.sweep()
        except Exception as error:
            self.failed("session", error)
        return session

    def end(self, id: str, reason: str) -> None:
        """A session is over; nothing happens where it is not open."""
        with self._lock:
            session = self._open.pop(id, None)
        if session is not None:
            self._close(session, reason)

    def end_all(self, reason: str) -> None:
        """All are over, and none begins any more."""
        with self._lock:
            self.is_over = True
            sessions = list(self._open.values())
            self._open.clear()
        for session in sessions:
            self._close(session, reason)

    def sweep(self) -> None:
        """End what is idle, and the oldest where there are too many."""
        due: list[tuple[Session, str]] = []
        with self._lock:
            oldest = time.monotonic() - self._bounds.idle
            for session in list(self._open.values()):
                if len(self._open) > self._bounds.most:
                    due.append((session, "too many open"))
                elif session.last < oldest and not session.open_turns:
                    due.append((session, "idle"))
                elif session.last >= oldest:
                    break
                else:
                    continue
                del self._open[session.id]
        for session, reason in due:
            self._close(session, reason)

    def tell(self, session: Session, metadata: Mapping[str, Any], sign: str) -> None:
        """Something about a session, maybe when it is over."""
        try:
            created = SessionCreated(session.id, at=timestamp(), metadata=snapshot(dict(metadata)))
            session.signs.seen.add(sign)
            if self.rules.records(session.id):
                session.open()
                self.journal.put(SessionOpened(created))
        except Exception as error:
            self.failed(sign, error)

    def _close(self, session: Session, reason: str) -> None:
        try:
            for turn in list(session.open_turns):
                turn.abandon()
            if session.is_told:
                keep = session.signs.reasons(self.rules, session.id)
                self.journal.put(SessionClosed(session.id, reason, keep, timestamp()))
        except Exception as error:
            self.failed("session", error)
