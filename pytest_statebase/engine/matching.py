"""Which recorded call answers a call of the agent under test.

The pool is the whole session. Among equal recorded calls that one answers before which the recording had made the same
writes as this replay has, in the same order: with the same writes behind them, two equal calls see the same world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

from ..cassette.placeholders import is_placeholder
from ..compare.shapes import as_moment, is_near
from ..ledger import Ledger, ToolCalled, TurnStarted, came_before
from ..values import freeze
from ..wire.exchange import Exchange
from .entries import Entry, Equals, Step, Worlds, by_world, rank
from .given import Known
from .redactions import KINDS, Redactions, concealed, pairs_in
from .volatile import Piece, mask, rename
from .written import Writes

_STEP_LIMIT = 10
"""Writes made at once, beyond which their order is not looked through: the subsets of 10 are a thousand."""
Canonical = Callable[[str, Any, int], Any]
"""(tool, arguments, ordinal) → the arguments that count: defaults, ignored ones, the session's own id taken care of.

ordinal: which of the tool's calls in its turn it is, from 1; 0 where it has no place in one.
"""
Lenient = Callable[[str, Any], Iterable[Any]]
"""(tool, canonical arguments) → the same without arguments that recordings from before they were added lack."""


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
        self.writes = Writes()
        self._by_key: dict[Hashable, Worlds] = {}
        self._masked: dict[Hashable, list[Entry]] | None = None
        self._known = Known(ledger)
        self._redactions = Redactions(ledger)
        self._at_once: dict[Hashable, list[Entry]] = {}
        """By key, the calls that were made at once with others."""
        self._last: Step | None = None
        """The step of the last answer."""
        self._numbers: Counter[tuple[int, str]] = Counter()
        self.entries: list[Entry] = []
        self.renames: dict[str, str] = {}
        """Made-up ids, recorded to replayed."""
        self._renamed_back: dict[str, str] = {}
        self._fill()

    def _fill(self) -> None:
        turn, index = 0, 0
        parents: dict[int, Entry] = {}
        step = Step(None)
        earlier: list[int] = []
        turns = iter(self._ledger.turns)
        for position, event in enumerate(self._ledger.events):
            if isinstance(event, TurnStarted):
                turn, index, parents = event.number, 0, {}
                earlier = came_before(next(turns).calls)
            elif isinstance(event, ToolCalled):
                entry = self._enter(event, turn, index, position)
                parents[index] = entry
                entry.earlier = earlier[index] if earlier else 0
                index += 1
                if event.during in parents:
                    parents[event.during].nested.append(entry)
                    continue
                is_write = self._is_write(event.tool)
                step = step.joined(entry, is_write=is_write) or self._next_step(step, entry, is_write)
                self._place(entry, self._by_key.setdefault(entry.key, {}))
                if is_write:
                    self.writes.record(entry.key, inherited=entry.before_fork)
            elif (cause := getattr(event, "during", None)) in parents:
                parents[cause].effects.append(event)
        self._close(step)

    def _next_step(self, step: Step, entry: Entry, is_write: bool) -> Step:
        self._close(step)
        number = None if entry.call.step is None else (entry.turn, entry.call.step)
        return Step(number, self.writes.recorded_digest, len(self.writes.recorded)).take(entry, is_write=is_write)

    def _close(self, step: Step) -> None:
        self.writes.end_step()
        if len(step.members) > 1:
            for entry in step.members:
                self._at_once.setdefault(entry.key, []).append(entry)

    def _place(self, entry: Entry, worlds: Worlds) -> None:
        world = self.writes.recorded_digest
        entry.equals = worlds.get(world)
        if entry.equals is None:
            entry.equals = worlds[world] = Equals(world, len(self.writes.recorded))
        entry.equals.add(entry)

    def _enter(self, call: ToolCalled, turn: int, index: int, position: int) -> Entry:
        ordinal = self._numbers[(turn, call.tool)] = self._numbers[(turn, call.tool)] + 1
        arguments = self._canonical(call.tool, call.arguments, ordinal)
        key = (call.tool, freeze(arguments))
        before = position < self._cut
        entry = Entry(call, turn, index, len(self.entries), position, key, arguments, before, used=int(before))
        self.entries.append(entry)
        return entry

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
            self.writes.make(key)

    def _use(self, entry: Entry) -> None:
        entry.used += 1
        self._last = entry.step
        if entry.equals is not None:
            entry.equals.spend(entry)
        self.note_write(entry.call.tool, entry.key)
        for nested in entry.nested:
            nested.used += 1

    def _choose(self, worlds: Worlds, tool: str, turn: int, agent: str | None = None) -> Found | None:
        once, writes = self._is_write(tool), self.writes
        same = worlds.get(writes.digest)
        exact = same.best(turn, agent, once=once) if same else None
        # All of these are right. A step that has begun is gone through before another one.
        right = self._within_steps(worlds, once)
        if exact is not None:
            right.append(exact)
        best = min(
            right, key=lambda one: (one.used > 0, one.step is not self._last, *rank(one, turn, agent)), default=None
        )
        if best is not None:
            provisional = writes.in_order and best is not exact
            return Found(best, stale=not writes.in_order, repeated=best.used > 0, provisional=provisional)
        best = self._nearest(worlds, turn, agent, once)
        if best is None:
            return None
        if once and best.step is not None and best.step.is_ordered:
            writes.in_order = False  # too early or too late within its step, whose end would not tell
        return Found(best, stale=True, repeated=best.used > 0)

    def _nearest(self, worlds: Worlds, turn: int, agent: str | None, once: bool) -> Entry | None:
        """The one before which the recording had made most nearly the writes that the replay has made."""
        answering = [equals for equals in worlds.values() if equals.fresh or (equals.spent and not once)]
        by_count = self.writes.distances()
        distances = [by_count[equals.written] for equals in answering]
        nearest = min(distances, default=0)
        found = [
            one.best(turn, agent, once=once) for one, at in zip(answering, distances, strict=True) if at == nearest
        ]
        best = min(filter(None, found), key=lambda one: rank(one, turn, agent), default=None)
        return best if best is None or not best.earlier else _first_of_line(best, worlds)

    def _within_steps(self, worlds: Worlds, once: bool) -> list[Entry]:
        """Those that this replay may have reached within their steps, whatever order those have come in.

        Of several in one place (of a step, by one agent) the first that is left, or else the first, stands for all.
        """
        if not self._at_once:
            return []
        entries = (entry for equals in worlds.values() for entry in (*equals.fresh, *equals.spent))
        first = next(entries, None)
        if first is not None and worlds is self._by_key.get(first.key):
            among: Iterable[Entry] = self._at_once.get(first.key, ())
        else:
            among = [] if first is None else [first, *entries]
        found: dict[Hashable, Entry] = {}
        for entry in among:
            place = (id(entry.step), entry.earlier, entry.call.agent, entry.used > 0)
            if place not in found and not (once and entry.used):
                found[place] = entry
        return [entry for entry in found.values() if self._within_step(entry)]

    def _within_step(self, entry: Entry) -> bool:
        """Whether this replay has made, since the step began, what came before the call, and no more than may have."""
        step, made = entry.step, len(self.writes.made)
        if step is None or len(step.members) < 2 or not 0 <= made - step.written <= len(step.writes):
            return False
        before, beside = step.around(entry)
        size = made - step.written - len(before)
        if not 0 <= size <= len(beside) <= _STEP_LIMIT:
            return False
        rest = self.writes.digest - step.digest - sum(self.writes.weight(write.key) for write in before)
        weights = [self.writes.weight(write.key) for write in beside]
        return any(sum(some) == rest for some in combinations(weights, size))

    @staticmethod
    def siblings_made(entry: Entry) -> bool:
        """Whether the replay has made every other write of the call's step."""
        return entry.step is None or all(write.used for write in entry.step.writes if write is not entry)

    def _volatile(self, tool: str, arguments: Any, turn: int, clocks: list[datetime]) -> Found | None:
        shape, pieces = self._mask(arguments)
        if not pieces:
            return None
        if self._masked is None:
            self._masked = {}
            for entry in self.entries:
                masked, recorded = self._mask(entry.arguments)
                if recorded and entry.call.during is None:
                    self._masked.setdefault((entry.call.tool, masked), []).append(entry)
        candidates = (
            entry
            for entry in self._masked.get((tool, shape), ())
            if self._renaming(entry, self._mask(entry.arguments)[1], pieces, clocks) is not None
        )
        found = self._choose(by_world(candidates), tool, turn)
        if found is not None:
            names = self._renaming(found.entry, self._mask(found.entry.arguments)[1], pieces, clocks) or {}
            self.renames.update(names)
            self._renamed_back.update({new: old for old, new in names.items()})
            found.renamed = True
        return found

    def _mask(self, arguments: Any) -> tuple[Hashable, list[Piece]]:
        """Arguments without what may be named otherwise in a replay, and that."""
        if not self._redactions.are_any:
            return mask(arguments)
        plain, redacted = concealed(arguments, self._redactions.kept, ("arguments",))
        shape, pieces = mask(plain)
        return shape, [*redacted, *pieces]

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
                if self._known.named_by_user(old) or self._known.named_by_user(new):
                    return None
                if not (is_near(old, self._recorded_clocks(entry)) and is_near(new, clocks)):
                    return None
                continue
            known = self.renames.get(old, names.get(old))
            known_back = self._renamed_back.get(new, back.get(new))
            if known != new and (known is not None or known_back is not None):
                return None
            is_redacted = shape in KINDS
            if known != new and not (
                self._redactions.are_same(shape, old, new) if is_redacted else self._made_up(entry, old, new)
            ):
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

    def is_own_value(self, old: str, new: str) -> bool:
        """Whether a placeholder may stand for a value that the replayed agent has by itself."""
        return self._redactions.are_same("", old, new)

    def know(self, exchanges: Sequence[Exchange]) -> None:
        """The recorded HTTP exchanges: what their answers hold was given to the agent."""
        self._redactions.know(exchanges)

    @property
    def has_redactions(self) -> bool:
        """Whether the recording holds placeholders."""
        return self._redactions.are_any

    def recognise(self, recorded: Any, replayed: Any, path: str) -> None:
        """Take placeholders for what the agent has in their places, if nobody gave them to it; path: `state`, say."""
        if not self._redactions.are_any:
            return
        for kind, old, new in pairs_in(recorded, replayed, self._redactions.kept, (path,)):
            is_free = old not in self.renames and new not in self._renamed_back
            if is_free and self._redactions.are_same(kind, old, new):
                self.renames[old], self._renamed_back[new] = new, old

    @property
    def withheld(self) -> list[str]:
        """What a recording of which only some fields were kept can still prove."""
        return self._redactions.proved

    def adopt(self, names: Mapping[str, str], turn: range | None = None) -> bool:
        """Take ids for the same from now on, kept ones to replayed ones, where nobody gave them to the agent.

        turn: the events of the recorded turn in which the agent used them; None where that is not known.
        """
        for old, new in names.items():
            known, back = self.renames.get(old), self._renamed_back.get(new)
            if (known, back) == (new, old):
                continue
            is_own = self.is_own_value(old, new) if is_placeholder(old) else self._invented("", old, new, turn)
            if known or back or not is_own:
                return False
        self.renames.update(names)
        self._renamed_back.update({new: old for old, new in names.items()})
        return True

    def _invented(self, shape: str, old: Any, new: Any, turn: range | None = None) -> bool:
        if shape == "time":
            clocks = [m for m in (as_moment(turn.started.at) for turn in self._ledger.turns) if m]
            return is_near(old, clocks) and is_near(new, [*clocks, now()])
        known = self._known
        given = known.ever(old) if turn is None else known.in_turn(old, turn)
        return old == new or not any((given, known.ever(new), known.replayed(old), known.replayed(new)))

    def _recorded_clocks(self, entry: Entry) -> list[datetime]:
        at = next((turn.started.at for turn in self._ledger.turns if turn.number == entry.turn), None)
        moment = as_moment(at or self._ledger.created.at)
        return [moment] if moment else []

    def _made_up(self, entry: Entry, old: str, new: str) -> bool:
        known = self._known
        return not (known.before(old, entry.position) or known.ever(new) or known.replayed(old) or known.replayed(new))

    def learn(self, values: Iterable[Any]) -> None:
        """Remember what the replayed agent was given: ids in there are not its own."""
        values = list(values)
        self._known.learn(values)
        self._redactions.learn(values)

    def learn_later(self, told: Callable[[], str]) -> None:
        """The same of a text that is made out only when somebody asks for an id."""
        self._known.learn_later(told)
        self._redactions.learn_later(told)

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


def _first_of_line(entry: Entry, worlds: Worlds) -> Entry:
    """The first equal call that came before `entry` in its step and has not answered; else `entry` itself."""
    fresh = (one for equals in worlds.values() for one in equals.fresh)
    line = (one for one in fresh if one.step is entry.step and entry.earlier >> one.index & 1)
    return min(line, key=lambda one: one.order, default=entry)


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
