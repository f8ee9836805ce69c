"""The ledger: the ordered events of one session, and what can be seen through them.

Sessions, turns, state versions, memories and traces are views of the events; a fork is a cut. Events are never
edited, only appended: treat every value inside them as read-only. `StateVersion.state` and `Ledger.state` are copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import ForkError
from .events import (
    Content,
    Event,
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    Said,
    SessionCreated,
    SessionEnded,
    SessionForked,
    StateEvent,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
    came_before,
    input_text,
    state_of,
)
from .traces import Trace, traces_of
from .values import ABSENT, copy_value

__all__ = [
    "Content",
    "Event",
    "ForkPoint",
    "Ledger",
    "MemoryAdded",
    "MemoryDeleted",
    "MemorySearched",
    "MemoryUpdated",
    "Said",
    "SessionCreated",
    "SessionEnded",
    "SessionForked",
    "StateEvent",
    "StateRolledBack",
    "StateUpdated",
    "StateVersion",
    "ToolCalled",
    "Trace",
    "Turn",
    "TurnAdded",
    "TurnStarted",
    "came_before",
    "input_text",
    "state_of",
]


@dataclass(frozen=True, slots=True)
class StateVersion:
    """The state after one update, numbered from 0, the initial state."""

    version: int
    event: SessionCreated | StateUpdated | StateRolledBack
    turn: int | None
    """The turn inside which it was made, None between turns."""

    @property
    def state(self) -> Any:
        """A copy of the state."""
        return copy_value(state_of(self.event))


@dataclass(slots=True)
class Turn:
    """The events from one input to the agent's output."""

    number: int
    started: TurnStarted
    events: list[Event] = field(default_factory=list)
    """Everything between the start and the end."""
    added: TurnAdded | None = None
    """None while the turn runs, where a fork cut it (partial) and where the recording broke off."""
    version_before: int | None = None
    """The state version as the turn began; None where no state was recorded."""
    version_after: int | None = None

    @property
    def input(self) -> Content | list[Content] | None:
        return self.started.input

    @property
    def output(self) -> Any:
        """`{type, content}` or ABSENT."""
        return ABSENT if self.added is None else self.added.output

    @property
    def error(self) -> Mapping[str, Any] | None:
        return None if self.added is None else self.added.error

    @property
    def calls(self) -> list[ToolCalled]:
        """The calls of this turn in recorded order, nested ones included."""
        return [event for event in self.events if type(event) is ToolCalled]

    @property
    def text(self) -> str:
        """The input as one text (see `input_text`)."""
        return input_text(self.input)

    @property
    def is_opening(self) -> bool:
        """The agent spoke first: there is no input."""
        return self.input is None

    @property
    def is_greeting(self) -> bool:
        """An opening turn without calls: it is not replayed, for nothing asked for it."""
        return self.is_opening and not self.calls


_POINT = re.compile(r"(version|turn) (\d{1,9})|last-good")


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """A place in a ledger: `version V`, `turn N` or `last-good`."""

    kind: Literal["version", "turn", "last-good"] = "version"
    number: int = 0

    @classmethod
    def parse(cls, text: str) -> ForkPoint:
        """Read `version 3`, `turn 2` or `last-good`.

        Raises ForkError for anything else.
        """
        match = _POINT.fullmatch(text.strip())
        if match is None:
            raise ForkError(
                f"{text!r} is no fork point",
                remedy="Write `version V`, `turn N` or `last-good` (versions from 0, turns from 1).",
            )
        if match[1] is None:
            return cls("last-good")
        return cls("version" if match[1] == "version" else "turn", int(match[2]))

    def __str__(self) -> str:
        return self.kind if self.kind == "last-good" else f"{self.kind} {self.number}"

    @property
    def slug(self) -> str:
        """For names of items and files: `version-0`, `turn-2`, `last-good`."""
        return str(self).replace(" ", "-")


class Ledger:
    """The events of one session in order, with its turns and state versions.

    events, turns, versions: read-only to everybody but `append`. forked: where this ledger was forked from, None for a
    recording.
    """

    __slots__ = ("_last", "_open", "_state", "_version", "events", "forked", "turns", "versions")

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = []
        self.turns: list[Turn] = []
        self.versions: list[StateVersion] = []
        self.forked: SessionForked | None = None
        self._state: Any = ABSENT
        self._version: int | None = None
        self._last = -1
        self._open: Turn | None = None
        for event in events:
            self.append(event)

    def append(self, event: Event) -> None:
        """Add what happened next."""
        self.events.append(event)
        kind = type(event)
        turn = self._open
        if kind is TurnStarted:
            self._start(event)  # type: ignore[arg-type]
        elif kind is TurnAdded:
            if turn is not None:
                turn.added = event  # type: ignore[assignment]
                self._open = None
        elif kind is StateUpdated or kind is StateRolledBack:
            self._enter_version(event.version, event, turn)  # type: ignore[union-attr, arg-type]
        elif kind is SessionCreated:
            if event.state is not ABSENT:  # type: ignore[union-attr]
                self._enter_version(0, event, None)  # type: ignore[arg-type]
        elif kind is SessionForked:
            self.forked = event  # type: ignore[assignment]
            # A turn that the fork cut is over: what comes next is none of it.
            turn = self._open = None
        if turn is not None and kind is not TurnAdded and kind is not TurnStarted:
            turn.events.append(event)

    def _start(self, event: TurnStarted) -> None:
        self._open = Turn(event.number, event, version_before=self._version, version_after=self._version)
        self.turns.append(self._open)

    def _enter_version(
        self, number: int, event: SessionCreated | StateUpdated | StateRolledBack, turn: Turn | None
    ) -> None:
        self.versions.append(StateVersion(number, event, turn.number if turn else None))
        self._state = state_of(event)
        self._version = number
        self._last = max(self._last, number)
        if turn is not None:
            turn.version_after = number

    @property
    def created(self) -> SessionCreated:
        """The session's first event."""
        first = self.events[0] if self.events else None
        if not isinstance(first, SessionCreated):
            raise ForkError("the ledger does not begin with a session")
        return first

    @property
    def ended(self) -> SessionEnded | None:
        """How the session ended, where the recording says so."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, SessionEnded) else None

    @property
    def id(self) -> str:
        """The session's id; a fork has one of its own."""
        return self.forked.id if self.forked else self.created.id

    @property
    def state(self) -> Any:
        """A copy of the current state; ABSENT where no state is known."""
        return copy_value(self._state)

    @property
    def version(self) -> int | None:
        """The number of the current state version; None where no state is known."""
        return self._version

    def state_value(self) -> Any:
        """The current state itself, not to be changed by the caller."""
        return self._state

    def turn(self, number: int) -> Turn:
        """The turn with that number.

        Raises ForkError where there is none.
        """
        index = number - (self.turns[0].number if self.turns else 1)
        if 0 <= index < len(self.turns) and self.turns[index].number == number:
            return self.turns[index]
        for turn in self.turns:
            if turn.number == number:
                return turn
        raise ForkError(
            f"session {self.id} has no turn {number}", remedy=f"It has {_span('turn', [t.number for t in self.turns])}."
        )

    def version_of(self, number: int) -> StateVersion:
        """The state version with that number.

        Raises ForkError where there is none.
        """
        for version in reversed(self.versions):
            if version.version == number:
                return version
        raise ForkError(
            f"session {self.id} has no state version {number}",
            remedy=f"It has {_span('version', [v.version for v in self.versions])}.",
        )

    def version_before(self, event: StateUpdated | StateRolledBack) -> Any:
        """The state that `event` found, not to be changed by the caller; ABSENT where no state was known."""
        first = self.versions[0].version if self.versions else 0
        index = event.version - first
        if not (0 <= index < len(self.versions) and self.versions[index].event is event):
            index = next((i for i, version in enumerate(self.versions) if version.event is event), 0)
        return state_of(self.versions[index - 1].event) if index else ABSENT

    def state_before(self, number: int) -> Any:
        """A copy of the state as turn `number` began; ABSENT where no state is known."""
        version = self.turn(number).version_before
        return ABSENT if version is None else self.version_of(version).state

    @property
    def memories(self) -> list[MemoryAdded]:
        return [event for event in self.events if isinstance(event, MemoryAdded)]

    @property
    def traces(self) -> list[Trace]:
        """The events as an auditor reads them, oldest first."""
        return list(traces_of(self.id, self.events))

    def resolve(self, point: ForkPoint, failing: Iterable[int] = ()) -> ForkPoint:
        """`point` with `last-good` turned into the turn that it means here.

        failing: numbers of the turns that are recorded as wrong.
        Raises ForkError for a point that the session does not have.
        """
        if point.kind == "last-good":
            numbers = sorted(failing)
            if not numbers:
                raise ForkError(
                    f"session {self.id} has no last good turn: no turn is marked as failing",
                    remedy="Add `failing: [N]` to the plan, or fork at `version V` or `turn N`.",
                )
            point = ForkPoint("turn", numbers[0])
        if point.kind == "turn":
            self.turn(point.number)
        elif not self._is_start(point):
            self.version_of(point.number)
        return point

    def cut(self, point: ForkPoint) -> int:
        """How many events lie before the (resolved) fork point."""
        if point.kind == "turn":
            started = self.turn(point.number).started
            return _index(self.events, started)
        if self._is_start(point):
            return 1
        return _index(self.events, self.version_of(point.number).event) + 1

    def _is_start(self, point: ForkPoint) -> bool:
        """Version 0 is the start of a session, also where nobody knows its first state."""
        return point.kind == "version" and point.number == 0 and self.created.state is ABSENT

    def fork(self, point: ForkPoint, failing: Iterable[int] = (), *, id: str | None = None) -> Ledger:
        """A new ledger that begins as this session stood at `point`; this one is untouched.

        id: the fork's own id; by default it is derived from the source's and the point.
        Raises ForkError for a point that the session does not have.
        """
        point = self.resolve(point, failing)
        cut = self.cut(point)
        fork = Ledger(self.events[:cut])
        fork.append(SessionForked(id or self.fork_id(point), self.id, str(point), fork.version))
        return fork

    def fork_id(self, point: ForkPoint) -> str:
        """The id of a fork of this session at the (resolved) point."""
        return f"{self.id}-fork-{point.slug}"

    def next_number(self) -> int:
        """The number that the next turn to begin will have."""
        return self.turns[-1].number + 1 if self.turns else 1

    def next_version(self) -> int:
        """The number that the next state version will have; 0 is the initial state, whether it is known or not."""
        return max(self._last, 0) + 1


def _index(events: list[Event], wanted: Event) -> int:
    return next(index for index, event in enumerate(events) if event is wanted)


def _span(word: str, numbers: list[int]) -> str:
    if not numbers:
        return f"no {word}s"
    if len(numbers) == 1:
        return f"only {word} {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{word}s {numbers[0]} to {numbers[-1]}"
    return f"{word}s {', '.join(map(str, numbers))}"
