"""What the agent was given, on either side: an id in there is not one that it made up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..ledger import (
    Event,
    Ledger,
    MemoryAdded,
    MemorySearched,
    MemoryUpdated,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from .volatile import ids_in


class Known:
    """Which ids were given to the agent, on either side. Scans the recording only when the first id is asked for."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._first: dict[str, int] | None = None
        self._said: dict[str, int] | None = None
        self._words: str | None = None
        self._pending: list[Any] = []
        self._later: list[Callable[[], str]] = []
        self._replayed: set[str] = set()

    def learn(self, values: Iterable[Any]) -> None:
        self._pending.extend(values)

    def learn_later(self, told: Callable[[], str]) -> None:
        """As `learn`, of a text that takes a while to be made out: it is when the first id is asked for."""
        self._later.append(told)

    def replayed(self, text: str) -> bool:
        self._replayed.update(ids_in(self._pending), ids_in(told() for told in self._later))
        self._pending.clear()
        self._later.clear()
        return text in self._replayed

    def before(self, text: str, position: int) -> bool:
        first = self._firsts().get(text)
        return first is not None and first < position

    def ever(self, text: str) -> bool:
        return text in self._firsts()

    def in_turn(self, text: str, turn: range) -> bool:
        """Whether the agent had an id from others by the end of a turn.

        turn: its events. A tool that tells back what the agent had passed to it, in this turn, gives nothing. Of what
        else came during the turn, nothing tells whether it was there before the agent used it.
        """
        first = self._firsts().get(text)
        if first is None or first >= turn.stop:
            return False
        if first < turn.start:
            return True
        if self._said is None:
            self._said = _first_places(self._ledger.events, _said_by)
        return not turn.start <= self._said.get(text, turn.stop) <= first

    def named_by_user(self, text: Any) -> bool:
        """Whether a user wrote it, word for word."""
        if self._words is None:
            self._words = "\n".join(turn.text for turn in self._ledger.turns)
        return type(text) is str and text in self._words

    def _firsts(self) -> dict[str, int]:
        if self._first is None:
            self._first = _first_places(self._ledger.events, given_by)
        return self._first


def _first_places(events: Sequence[Event], values: Callable[[Event], list[Any]]) -> dict[str, int]:
    first: dict[str, int] = {}
    for position, event in enumerate(events):
        for found in ids_in(values(event)):
            first.setdefault(found, position)
    return first


def _said_by(event: Event) -> list[Any]:
    return [event.arguments] if isinstance(event, ToolCalled) else []


def given_by(event: Event) -> list[Any]:
    """What an event tells the agent (a call's arguments are the agent's own words, its result is not)."""
    match event:
        case SessionCreated():
            return [event.id, event.state, event.metadata]
        case TurnStarted():
            return [event.input]
        case ToolCalled():
            return [event.result, event.error]
        case StateUpdated() | StateRolledBack():
            return [event.value]
        case MemoryAdded():
            return [event.content, event.id]
        case MemoryUpdated():
            return [event.content, event.metadata]
        case MemorySearched():
            return [event.results]
        case TurnAdded():
            return [event.output]
        case _:
            return []
