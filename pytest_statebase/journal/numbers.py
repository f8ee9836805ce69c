"""The numbers that each process gave to versions and memories of a session, as numbers of the whole session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..events import (
    Event,
    MemoryAdded,
    MemoryDeleted,
    MemoryUpdated,
    StateRolledBack,
    StateUpdated,
)
from ..ledger import Ledger
from ..values import ABSENT, same


class Numbers:
    """Appends events of processes to the ledger of their session, numbered anew."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._versions: dict[tuple[int, int], int] = {}
        """By process and its own number."""
        self._memories: list[str | None] = []
        """What is remembered, in the order in which it was added; None where it is forgotten."""
        self._own_memories: dict[int, list[int]] = {}
        """By process, which of them it added."""

    def begin(self, process: int, state: Any, at: str | None) -> None:
        """A turn of the process begins, or something between turns, with this state; ABSENT where none is known.

        A state that the session does not have yet came from outside, between the turns.
        """
        if state is not ABSENT and not same(state, self.ledger.state_value()):
            reasoning = "The state as the next turn found it: it was changed outside of what was captured"
            self.ledger.append(StateUpdated(self.ledger.next_version(), state, reasoning, at=at))
        version = self.ledger.version
        if version is not None:
            self._versions.setdefault((process, 0), version)

    def add(self, process: int, events: Iterable[Event]) -> None:
        """Append what the process saw."""
        for event in events:
            self.ledger.append(self._numbered(process, event))

    def _numbered(self, process: int, event: Event) -> Event:
        if isinstance(event, StateUpdated):
            return replace(event, version=self._next(process, event.version))
        if isinstance(event, StateRolledBack):
            return self._rolled_back(process, event)
        if isinstance(event, MemoryAdded):
            self._own_memories.setdefault(process, []).append(len(self._memories))
            self._memories.append(event.content)
        elif isinstance(event, (MemoryUpdated, MemoryDeleted)):
            return self._remembered(process, event)
        return event

    def _next(self, process: int, own: int) -> int:
        number = self.ledger.next_version()
        self._versions[process, own] = number
        return number

    def _rolled_back(self, process: int, event: StateRolledBack) -> Event:
        """The rollback to the version with that state; a plain update where the session has none."""
        target = self._versions.get((process, event.to_version))
        versions = {version.version: version.event for version in self.ledger.versions}
        near = [] if target is None else [target]
        found = next((number for number in [*near, *reversed(versions)] if _is(versions[number], event.value)), None)
        number = self._next(process, event.version)
        if found is None:
            return StateUpdated(number, event.value, event.reason, event.actor, event.at, event.during, event.extra)
        return replace(event, version=number, to_version=found)

    def _remembered(self, process: int, event: MemoryUpdated | MemoryDeleted) -> Event:
        own = self._own_memories.get(process, [])
        near = own[event.number - 1 : event.number] if event.number > 0 else []
        places = [*near, *reversed(range(len(self._memories)))]
        place = next((place for place in places if self._memories[place] == event.was), None)
        if place is None:
            # Of a time from which nothing is left.
            place = len(self._memories)
            self.ledger.append(MemoryAdded(event.was))
            self._memories.append(event.was)
        if isinstance(event, MemoryDeleted):
            self._memories[place] = None
        elif event.content is not None:
            self._memories[place] = event.content
        return replace(event, number=place + 1)


def _is(event: Any, state: Any) -> bool:
    return same(getattr(event, "value", getattr(event, "state", ABSENT)), state)
