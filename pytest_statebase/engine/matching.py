"""Which recorded call answers a call of the agent under test.

The pool is the whole session. Among equal recorded calls that one answers before which the recording had made the same
writes as this replay has: with the same writes behind them, two equal calls see the same world.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

from ..compare.shapes import as_moment, is_near
from ..ledger import (
    Event,
    Ledger,
    ToolCalled,
    TurnStarted,
)
from ..values import ABSENT, freeze
from .given import Known
from .volatile import Piece, mask, rename

_STEP_LIMIT = 10
"""Writes made at once, beyond which their order is not looked through: the subsets of 10 are a thousand."""
Canonical = Callable[[str, Any, int], Any]
"""(tool, arguments, ordinal) → the arguments that count: defaults, ignored ones, the session's own id taken care of.

ordinal: which of the tool's calls in its turn it is, from 1; 0 where it has no place in one.
"""
Lenient = Callable[[str, Any], Iterable[Any]]
"""(tool, canonical arguments) → the same without arguments that recordings from before they were added lack."""


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
    writes_before: int = 0
    """Digest of the multiset of writes that the recording had made before this call."""
    step_base: int = 0
    """The same before the call's step."""
    siblings: tuple[Entry, ...] = ()
    """The other writes of the same step. Made at once, they may come in any order, if they all come."""
    nested: list[Entry] = field(default_factory=list)
    """The calls made inside this one: answered and consumed with it."""
    effects: list[Event] = field(default_factory=list)
    """The state and memory events that this call caused: they happen again when it is answered."""

    @property
    def has_answer(self) -> bool:
        """Whether the recording knows what came back; a call that was cut off has no result."""
        return self.call.error is not None or self.call.result is not ABSENT


@dataclass(slots=True)
class _Step:
    """The calls that were made at once."""

    number: tuple[int, int] | None
    base: int = 0
    members: list[Entry] = field(default_factory=list)

    def joined(self, entry: Entry) -> _Step | None:
        """This step with `entry` in it, None where the entry belongs to the next one."""
        if self.number is None or self.number != (entry.turn, entry.call.step):
            return None
        entry.step_base = self.base
        self.members.append(entry)
        return self


@dataclass(slots=True)
class Found:
    """An answer from the record."""

    entry: Entry
    stale: bool = False
    repeated: bool = False
    renamed: bool = False
    provisional: bool = False
    """Right if the other writes of its step are made as well: ask `siblings_made` when the turn is over."""


@dataclass(slots=True)
class Miss:
    """No answer, and why."""

    reason: str
    """`never recorded`, `drifted`, `used up` or `no result`."""
    nearest: Entry | None = None
    forgiven: frozenset[str] = frozenset()
    """Arguments that the nearest recording lacks because they were added since: no difference."""


def no_leniency(tool: str, arguments: Any) -> Iterable[Any]:
    """Every argument counts."""
    return ()


class Writes:
    """Multisets of writes as one number each: equal multisets have equal digests, whatever their order."""

    def __init__(self) -> None:
        self._weights: dict[Hashable, int] = {}
        self._random = random.Random(0)

    def weight(self, key: Hashable) -> int:
        """What one write with this key adds to a digest (128 random bits a key)."""
        found = self._weights.get(key)
        if found is None:
            found = self._weights[key] = self._random.getrandbits(128)
        return found


class Pool:
    """The recorded calls of a session, ready to answer those of a replay that was forked at event `cut`.

    canonical: see `Canonical`. is_write: whether a tool has effects. Not thread-safe: the replay holds a lock.
    """

    def __init__(
        self,
        ledger: Ledger,
        cut: int,
        canonical: Canonical,
        is_write: Callable[[str], bool],
        lenient: Lenient = no_leniency,
    ) -> None:
        self._ledger = ledger
        self._cut = cut
        self._canonical = canonical
        self._is_write = is_write
        self._lenient = lenient
        self._writes = Writes()
        self._by_key: dict[Hashable, list[Entry]] = {}
        self._masked: dict[Hashable, list[Entry]] | None = None
        self._known = Known(ledger)
        self._numbers: Counter[tuple[int, str]] = Counter()
        self.entries: list[Entry] = []
        self.digest = 0
        """Of the writes that the fork's history and this replay have made."""
        self.made: list[Hashable] = []
        self.renames: dict[str, str] = {}
        """Made-up ids, recorded to replayed."""
        self._renamed_back: dict[str, str] = {}
        self._fill()

    def _fill(self) -> None:
        turn, index = 0, 0
        parents: dict[int, Entry] = {}
        step = _Step(None)
        digest = 0
        for position, event in enumerate(self._ledger.events):
            if isinstance(event, TurnStarted):
                turn, index, parents = event.number, 0, {}
            elif isinstance(event, ToolCalled):
                entry = self._enter(event, turn, index, position)
                parents[index] = entry
                index += 1
                if event.during in parents:
                    parents[event.during].nested.append(entry)
                    continue
                self._by_key.setdefault(entry.key, []).append(entry)
                step = step.joined(entry) or self._next_step(step, entry, digest)
                entry.writes_before = digest
                digest = self._written(entry, digest)
            elif (cause := getattr(event, "during", None)) in parents:
                parents[cause].effects.append(event)
        self._close_step(step.members)

    def _next_step(self, step: _Step, entry: Entry, digest: int) -> _Step:
        self._close_step(step.members)
        entry.step_base = digest
        number = entry.call.step
        return _Step(None if number is None else (entry.turn, number), digest, [entry])

    def _written(self, entry: Entry, digest: int) -> int:
        if not self._is_write(entry.call.tool):
            return digest
        digest += self._writes.weight(entry.key)
        if entry.before_fork:
            self.made.append(entry.key)
            self.digest = digest
        return digest

    def _enter(self, call: ToolCalled, turn: int, index: int, position: int) -> Entry:
        ordinal = self._numbers[(turn, call.tool)] = self._numbers[(turn, call.tool)] + 1
        arguments = self._canonical(call.tool, call.arguments, ordinal)
        key = (call.tool, freeze(arguments))
        before = position < self._cut
        entry = Entry(call, turn, index, len(self.entries), position, key, arguments, before, used=int(before))
        self.entries.append(entry)
        return entry

    def _close_step(self, members: list[Entry]) -> None:
        writes = [member for member in members if self._is_write(member.call.tool)]
        for entry in members if len(members) > 1 else ():
            entry.siblings = tuple(other for other in writes if other is not entry)

    def answer(
        self, tool: str, arguments: Any, turn: int, clocks: Iterable[datetime] = (), *, agent: str | None = None
    ) -> Found | Miss:
        """The recorded call that answers, marked as used, or why there is none.

        arguments: canonical. clocks: the replayed turn's, for timestamps that the agent makes up. agent: which of
        several made the call; among equals, its own recording answers.
        """
        key = (tool, freeze(arguments))
        candidates = self._by_key.get(key)
        found = self._choose(candidates, tool, turn, agent) if candidates else None
        if found is None:
            found = self._volatile(tool, arguments, turn, list(clocks))
        if found is None:
            found = self._without_added(tool, arguments, turn, list(clocks), agent)
        if found is None:
            self.note_write(tool, key)
            return self._miss(tool, arguments, bool(candidates))
        self._use(found.entry)
        return found if found.entry.has_answer else Miss("no result", found.entry)

    def _without_added(
        self, tool: str, arguments: Any, turn: int, clocks: list[datetime], agent: str | None
    ) -> Found | None:
        for older in self._lenient(tool, arguments):
            candidates = self._by_key.get((tool, freeze(older)))
            found = self._choose(candidates, tool, turn, agent) if candidates else None
            found = found or self._volatile(tool, older, turn, clocks)
            if found is not None:
                return found
        return None

    def note_write(self, tool: str, key: Hashable) -> None:
        """A write of this replay that the record did not answer changes the world as well."""
        if self._is_write(tool):
            self.digest += self._writes.weight(key)
            self.made.append(key)

    def _use(self, entry: Entry) -> None:
        entry.used += 1
        self.note_write(entry.call.tool, entry.key)
        for nested in entry.nested:
            nested.used += 1

    def _choose(self, candidates: list[Entry], tool: str, turn: int, agent: str | None = None) -> Found | None:
        if self._is_write(tool):
            candidates = [entry for entry in candidates if not entry.used]
            if not candidates:
                return None
        same = [entry for entry in candidates if entry.writes_before == self.digest]
        provisional = not same
        if provisional:
            same = [entry for entry in candidates if entry.siblings and self._within_step(entry)]
        if same:
            best = same[0] if len(same) == 1 else min(same, key=lambda e: _rank(e, turn, agent))
            return Found(best, repeated=best.used > 0, provisional=provisional)
        best = min(candidates, key=lambda e: (self._distance(e), *_rank(e, turn, agent)))
        return Found(best, stale=True, repeated=best.used > 0)

    def _within_step(self, entry: Entry) -> bool:
        """Whether this replay has made, since the call's step began, nothing but other writes of that step."""
        weights = [self._writes.weight(sibling.key) for sibling in entry.siblings]
        rest = self.digest - entry.step_base
        if len(weights) > _STEP_LIMIT:
            return False
        return any(sum(some) == rest for size in range(len(weights) + 1) for some in combinations(weights, size))

    @staticmethod
    def siblings_made(entry: Entry) -> bool:
        """Whether the replay has made every other write of the call's step."""
        return all(sibling.used for sibling in entry.siblings)

    def _distance(self, entry: Entry) -> int:
        """How many writes the recording had made before this call that the replay has not, and the other way round."""
        before = Counter(
            e.key for e in self.entries[: entry.order] if e.call.during is None and self._is_write(e.call.tool)
        )
        made = Counter(self.made)
        return (before - made).total() + (made - before).total()

    def _volatile(self, tool: str, arguments: Any, turn: int, clocks: list[datetime]) -> Found | None:
        shape, pieces = mask(arguments)
        if not pieces:
            return None
        if self._masked is None:
            self._masked = {}
            for entry in self.entries:
                masked, recorded = mask(entry.arguments)
                if recorded and entry.call.during is None:
                    self._masked.setdefault((entry.call.tool, masked), []).append(entry)
        candidates = [
            entry
            for entry in self._masked.get((tool, shape), ())
            if self._renaming(entry, mask(entry.arguments)[1], pieces, clocks) is not None
        ]
        found = self._choose(candidates, tool, turn) if candidates else None
        if found is not None:
            names = self._renaming(found.entry, mask(found.entry.arguments)[1], pieces, clocks) or {}
            self.renames.update(names)
            self._renamed_back.update({new: old for old, new in names.items()})
            found.renamed = True
        return found

    def _renaming(
        self, entry: Entry, recorded: list[Piece], replayed: list[Piece], clocks: list[datetime]
    ) -> dict[str, str] | None:
        """The new names that make the two calls one, None where they are two different calls."""
        names: dict[str, str] = {}
        back: dict[str, str] = {}
        for (shape, old), (other, new) in zip(recorded, replayed, strict=True):
            if shape != other:
                return None
            if old == new:
                continue
            if shape == "time":
                if not (is_near(old, self._recorded_clocks(entry)) and is_near(new, clocks)):
                    return None
                continue
            known = self.renames.get(old, names.get(old))
            known_back = self._renamed_back.get(new, back.get(new))
            if known != new and (known is not None or known_back is not None or not self._made_up(entry, old, new)):
                return None
            names[old], back[new] = new, old
        return names

    def made_up(self, recorded: Any, replayed: Any) -> bool:
        """Whether two values differ only in ids or times that neither side was given."""
        shape, old = mask(recorded)
        other, new = mask(replayed)
        if not old or shape != other:
            return False
        return all(self._invented(*left, right[1]) for left, right in zip(old, new, strict=True))

    def adopt(self, names: Mapping[str, str]) -> bool:
        """Take ids for the same from now on, kept ones to replayed ones, where nobody gave them to the agent."""
        for old, new in names.items():
            known, back = self.renames.get(old), self._renamed_back.get(new)
            if (known, back) != (new, old) and (known or back or not self._invented("", old, new)):
                return False
        self.renames.update(names)
        self._renamed_back.update({new: old for old, new in names.items()})
        return True

    def _invented(self, shape: str, old: Any, new: Any) -> bool:
        if shape == "time":
            clocks = [m for m in (as_moment(turn.started.at) for turn in self._ledger.turns) if m]
            return is_near(old, clocks) and is_near(new, [*clocks, now()])
        known = self._known
        return old == new or not any((known.ever(old), known.ever(new), known.replayed(old), known.replayed(new)))

    def _recorded_clocks(self, entry: Entry) -> list[datetime]:
        at = next((turn.started.at for turn in self._ledger.turns if turn.number == entry.turn), None)
        moment = as_moment(at or self._ledger.created.at)
        return [moment] if moment else []

    def _made_up(self, entry: Entry, old: str, new: str) -> bool:
        known = self._known
        return not (known.before(old, entry.position) or known.ever(new) or known.replayed(old) or known.replayed(new))

    def learn(self, values: Iterable[Any]) -> None:
        """Remember what the replayed agent was given: ids in there are not its own."""
        self._known.learn(values)

    def translate(self, value: Any) -> Any:
        """A recorded answer with the ids that the agent made up in this replay instead of those it made up then."""
        return rename(value, self.renames) if self.renames else value

    def _miss(self, tool: str, arguments: Any, used_up: bool) -> Miss:
        same_tool = [entry for entry in self.entries if entry.call.tool == tool]
        if not same_tool:
            return Miss("never recorded")
        forms = [arguments, *self._lenient(tool, arguments)]
        nearest = min(same_tool, key=lambda e: (min(_difference(e.arguments, f) for f in forms), e.used, e.order))
        added = {name for form in forms[1:] for name in arguments.keys() - form.keys()}
        forgiven = frozenset(added.difference(nearest.arguments))
        return Miss("used up" if used_up else "drifted", nearest, forgiven)

    def unused(self, turns: range | set[int]) -> int:
        """How many recorded calls of these turns answered nothing."""
        return sum(not entry.used and entry.turn in turns for entry in self.entries)


def _rank(entry: Entry, turn: int, agent: str | None) -> tuple[bool, bool, bool, int]:
    """The smallest is the best of several that answer equally well."""
    return entry.used > 0, entry.turn != turn, agent is not None and entry.call.agent != agent, entry.order


def _difference(recorded: Any, replayed: Any) -> int:
    if not (isinstance(recorded, Mapping) and isinstance(replayed, Mapping)):
        return 1 if freeze(recorded) != freeze(replayed) else 0
    keys = recorded.keys() | replayed.keys()
    return sum(
        key not in recorded or key not in replayed or freeze(recorded[key]) != freeze(replayed[key]) for key in keys
    )


def now() -> datetime:
    """The time by the clock of the turn that is being replayed, aware; by the real clock outside of any."""
    return datetime.now(UTC)
