"""The sessions in a client's hands: ledgers, read until they are written to and copied before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..ledger import Ledger, MemoryAdded, MemoryDeleted, MemorySearched, MemoryUpdated, ToolCalled, TurnAdded
from ..values import copy_value
from .faults import invalid, not_found
from .items import Item

Loader: TypeAlias = Callable[[], Ledger]
ACTOR = "api_key_local"
"""Who does what is done through a local client, as traces tell it."""


def _nothing() -> None:
    return None


@dataclass(slots=True, eq=False)
class RunningTurn:
    """A turn that an agent is taking in a session just now: what the client writes there belongs to it."""

    check: Callable[[], None] = _nothing
    """Raises where the turn may write no more."""
    recall: Callable[[str], MemorySearched | None] = field(default=lambda query: None)
    """The recorded search in memory, None where none was recorded."""
    during: Callable[[], int | None] = _nothing
    """The position of the tool call inside which something is written."""
    given: TurnAdded | None = None
    """The turn's end as the agent reported it with `add_turn`."""
    logged: list[ToolCalled] = field(default_factory=list)
    """The tool calls that the agent has logged with `add_tool_call`."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Something that happened to a session and that its ledger has no event for: a trace that somebody left."""

    position: int
    """How many events there were before it."""
    action: str
    details: Mapping[str, Any]
    actor: str
    at: str
    metadata: Mapping[str, Any] | None = None
    """Keys that the session's metadata has from then on."""


@dataclass(slots=True, eq=False)
class Held:
    """One session. Its ledger is appended to only where it is the client's own."""

    ledger: Ledger
    owned: bool = False
    lock: Any = field(default_factory=threading.RLock)
    running: RunningTurn | None = None
    calls: list[ToolCalled] = field(default_factory=list)
    """Logged with `add_tool_call`, until the turn that they belong to is added."""
    beside: list[Beside] = field(default_factory=list)
    """Changes of metadata, and traces that people left."""
    recorded: int = 0
    """How many of the events come from a recording."""

    @contextmanager
    def writing(self) -> Iterator[Ledger]:
        """The ledger to append to: a copy of the recording the first time.

        Raises what the running turn raises where it may write no more.
        """
        with self.lock:
            if self.running is not None:
                self.running.check()
            if not self.owned:
                self.ledger, self.owned = Ledger(self.ledger.events), True
            yield self.ledger

    def during(self) -> int | None:
        """The tool call inside which something happens now."""
        return None if self.running is None else self.running.during()

    def recall(self, query: str) -> MemorySearched | None:
        """The search in memory that was recorded, with its results; None where there was none, or where what it
        searched has changed since.
        """
        if self.running is not None:
            return self.running.recall(query)
        events = self.ledger.events
        if any(isinstance(event, (MemoryAdded, MemoryUpdated, MemoryDeleted)) for event in events[self.recorded :]):
            return None
        searches = (event for event in events[: self.recorded] if isinstance(event, MemorySearched))
        return next((search for search in reversed(list(searches)) if search.query == query), None)

    def memory_items(self) -> list[Item]:
        """The memories as they stand, oldest first."""
        return list(self.memories().values())

    def memories(self) -> dict[int, Item]:
        """The memories as they stand, each by its number: from 1, in the order in which they were added."""
        found: dict[int, Item] = {}
        number = 0
        for event in self.ledger.events:
            if isinstance(event, MemoryAdded):
                number += 1
                found[number] = memory_item(self.ledger, number, event)
            elif isinstance(event, MemoryDeleted):
                found.pop(event.number, None)
            elif isinstance(event, MemoryUpdated) and event.number in found:
                found[event.number].update(copy_value(event.changes))
        return found

    def forked(self, ledger: Ledger, cut: int) -> Held:
        """A fork of this session whose first `cut` events are this one's."""
        beside = [one for one in self.beside if one.position <= cut]
        return Held(ledger, owned=True, beside=beside, recorded=min(cut, self.recorded))


def memory_id(session: str, number: int, event: MemoryAdded | None = None) -> str:
    """The id that the recording has for a memory, else one made of session and number."""
    return (None if event is None else event.id) or f"mem_{session}_{number}"


def memory_item(ledger: Ledger, number: int, event: MemoryAdded) -> Item:
    """A memory as the API has it; `number` is its number in the session."""
    return Item(
        object="memory",
        id=memory_id(ledger.id, number, event),
        session_id=ledger.id,
        content=event.content,
        type=event.type,
        tags=list(event.tags or []),
        metadata=dict(event.extra.get("metadata") or {}),
        embedding_id=None,
        vector_available=False,
        created_at=event.at,
    )


class Store:
    """Every session that a client knows, by id, in the order in which it came to know them."""

    def __init__(self, sessions: Mapping[str, Ledger | Loader]) -> None:
        self._sources: dict[str, Ledger | Loader] = dict(sessions)
        self._held: dict[str, Held] = {}
        self._lock = threading.RLock()
        self.only: str | None = None
        """The session that is meant where none is named."""
        self.deleted: dict[str, Held] = {}

    def get(self, session_id: str | None) -> Held:
        """The session of that id, read on first use.

        Raises ApiError where there is none; StatebaseError where its recording cannot be read.
        """
        name = self.only if session_id is None else session_id
        if name is None:
            raise invalid("session_id is missing", "session_id")
        with self._lock:
            held = self._held.get(name)
            if held is None:
                source = self._sources.get(name)
                if source is None:
                    raise not_found("session", name, known=self._known())
                ledger = source if isinstance(source, Ledger) else source()
                held = self._held[name] = Held(ledger, recorded=len(ledger.events))
            return held

    def _known(self) -> str:
        ids = list(self._sources)
        return "known: " + ", ".join(ids[:10]) + (", …" if len(ids) > 10 else "") if ids else "no session is known"

    def add(self, id: str, held: Held) -> Held:
        """Take a new session in; `id` may be another name of a known one."""
        with self._lock:
            self._sources[id] = held.ledger
            self._held[id] = held
        return held

    def remove(self, id: str) -> None:
        """Forget a session, but for its traces."""
        held = self.get(id)
        with self._lock:
            del self._sources[id], self._held[id]
            self.deleted[id] = held

    def names_of(self, held: Held) -> list[str]:
        """Every id by which a session that was read is known."""
        with self._lock:
            return [name for name, known in self._held.items() if known is held]

    def all(self) -> list[Held]:
        """Every session once, whatever names it has."""
        with self._lock:
            found = [self.get(name) for name in self._sources]
        return list({id(held): held for held in found}.values())

    def search(self) -> Iterator[Held]:
        """Every session once, those that were read already first: for who looks for something in any of them."""
        with self._lock:
            known = list({id(held): held for held in self._held.values()}.values())
            names = [name for name in self._sources if name not in self._held]
        yield from known
        yield from map(self.get, names)

    def free_id(self, wanted: str) -> str:
        """`wanted`, with a number where it is taken already."""
        number, free = 1, wanted
        while free in self._sources or free in self.deleted:
            number += 1
            free = f"{wanted}-{number}"
        return free
