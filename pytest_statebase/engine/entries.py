"""The recorded calls of a pool: each by itself, among its equals, and with those that were made at once."""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..ledger import Event, ToolCalled
from ..values import ABSENT


@dataclass(slots=True, eq=False)
class Entry:
    """One recorded call in the pool."""

    call: ToolCalled
    turn: int
    index: int
    """Position among the calls of its turn, from 0."""
    order: int
    position: int
    """Position of the event in the ledger."""
    key: Hashable
    arguments: Any
    """Canonical."""
    before_fork: bool
    used: int = 0
    equals: Equals | None = None
    """Where it stands among its equals."""
    step: Step | None = None
    earlier: int = 0
    """The calls of its step that came before it: one bit each, by `index`."""
    nested: list[Entry] = field(default_factory=list)
    """The calls made inside this one: answered and consumed with it."""
    effects: list[Event] = field(default_factory=list)
    """The state and memory events that this call caused: they happen again when it is answered."""

    @property
    def has_answer(self) -> bool:
        """Whether the recording knows what came back; a call that was cut off has no result."""
        return self.call.error is not None or self.call.result is not ABSENT


@dataclass(slots=True, eq=False)
class Equals:
    """The equal recorded calls that saw one world, in recorded order."""

    digest: int
    written: int
    """Digest and number of the writes before them."""
    fresh: list[Entry] = field(default_factory=list)
    spent: list[Entry] = field(default_factory=list)
    """Those that have answered, or belong to the fork's history."""

    def add(self, entry: Entry) -> None:
        """Take in the next recorded one."""
        (self.spent if entry.used else self.fresh).append(entry)

    def spend(self, entry: Entry) -> None:
        """Note that an entry has answered."""
        if entry in self.fresh:
            self.fresh.remove(entry)
            insort(self.spent, entry, key=lambda one: one.order)

    def best(self, turn: int, agent: str | None, *, once: bool) -> Entry | None:
        """The one that answers; None where all have, and each may do so only `once`."""
        found = self.fresh or ([] if once else self.spent)
        perfect = (one for one in found if one.turn == turn and (agent is None or one.call.agent == agent))
        return next(perfect, None) or min(found, key=lambda one: rank(one, turn, agent), default=None)


Worlds = dict[int, Equals]
"""Equal calls by the digest of the writes before them."""


def by_world(entries: Iterable[Entry]) -> Worlds:
    """Some of the entries, as the pool holds all of them."""
    worlds: Worlds = {}
    for entry in entries:
        if (own := entry.equals) is not None:
            worlds.setdefault(own.digest, Equals(own.digest, own.written)).add(entry)
    return worlds


@dataclass(slots=True, eq=False)
class Step:
    """The calls that were made at once: in any order, if all come, but for what `ToolCalled.after` says."""

    number: tuple[int, int] | None
    digest: int = 0
    written: int = 0
    """Digest and number of the writes that the recording had made before it."""
    members: list[Entry] = field(default_factory=list)
    writes: list[Entry] = field(default_factory=list)
    is_ordered: bool = False
    """Whether some of the calls came after others."""

    def joined(self, entry: Entry, *, is_write: bool) -> Step | None:
        """This step with `entry` in it, None where the entry belongs to the next one."""
        if self.number is None or self.number != (entry.turn, entry.call.step):
            return None
        return self.take(entry, is_write=is_write)

    def take(self, entry: Entry, *, is_write: bool) -> Step:
        """This step with `entry` in it."""
        entry.step = self
        self.is_ordered = self.is_ordered or entry.earlier > 0
        self.members.append(entry)
        if is_write:
            self.writes.append(entry)
        return self

    def around(self, entry: Entry) -> tuple[list[Entry], list[Entry]]:
        """The other writes: those that came before a member, and those of which nobody knows."""
        before = [write for write in self.writes if entry.earlier >> write.index & 1]
        beside = [
            write
            for write in self.writes
            if write is not entry and not (entry.earlier >> write.index | write.earlier >> entry.index) & 1
        ]
        return before, beside


def rank(entry: Entry, turn: int, agent: str | None) -> tuple[bool, bool, bool, int]:
    """The smallest is the best of several that answer equally well."""
    return entry.used > 0, entry.turn != turn, agent is not None and entry.call.agent != agent, entry.order
