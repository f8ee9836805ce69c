"""Which recorded and which replayed call of a turn belong together."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from ..cassette.plan import ANY
from ..ledger import ToolCalled, Turn, came_before
from ..values import freeze
from .diff import plain_equal
from .ids import Ids
from .model import Observed, ReplayedCall, Source
from .paths import Call, IgnoreRules, numbered
from .sequences import align_keys, likeness, longest_rising, most_alike
from .usage import Usage

if TYPE_CHECKING:
    from ..cassette.plan import ToolRules

Pairs: TypeAlias = dict[int, int]
"""Positions of recorded calls to positions of replayed ones."""
Bind: TypeAlias = Callable[[str, Any], Any]
"""Brings a tool's recorded arguments into the form that the replayed ones have (bound to the signature)."""
MadeUp: TypeAlias = Callable[[Any, Any], bool]
"""Whether a recorded and a replayed value of an argument are ids or times that the agent makes up anew on each run."""


@dataclass(slots=True)
class Scene:
    """What the comparison of calls has to know beside the calls."""

    usage: Usage
    rules: IgnoreRules = field(default_factory=IgnoreRules)
    tools: Mapping[str, ToolRules] = field(default_factory=dict)
    ids: Ids = field(default_factory=Ids)
    bind: Bind | None = None
    made_up: MadeUp | None = None
    broke_off: bool = False
    """The turn ended early (a miss, an exception): what the recording does later is not missing."""
    agents: bool = False
    """Both sides know which of several agents made a call."""

    def is_write(self, tool: str) -> bool:
        """A tool is a write unless it is marked `reads: true`."""
        rules = self.tools.get(tool)
        return rules is None or not rules.reads

    def added(self, tool: str) -> frozenset[str]:
        """Arguments that do not count against a recording from before they were added."""
        rules = self.tools.get(tool)
        return frozenset(name for name, value in rules.added.items() if value == ANY) if rules else frozenset()

    def hides(self, tool: str) -> bool:
        """Whether the tool is ignored altogether."""
        return bool(self.rules) and self.rules.hides(("tools", Call(tool, 0)))


class Pairing:
    """The calls of one turn in pairs, in falling certainty, and what is left on either side.

    Made as recorded, then of the same tool (equal arguments, else neighbours), then in each other's place.
    """

    def __init__(self, turn: Turn, observed: Observed, scene: Scene) -> None:
        self.turn, self.scene = turn, scene
        self.recorded: list[ToolCalled] = turn.calls
        self.replayed: list[ReplayedCall] = observed.calls
        self._group = step_groups([call.step for call in self.recorded])
        self._earlier = came_before(self.recorded)
        self._together = step_groups([call.step for call in self.replayed])
        self._numbers = [call.ordinal for call in numbered(call.tool for call in self.recorded)]
        self._their_numbers = [call.ordinal for call in numbered(call.tool for call in self.replayed)]
        tools = {call.tool for call in self.recorded} | {call.tool for call in self.replayed}
        hidden = {tool for tool in tools if scene.hides(tool)}
        self._ours = {i for i, call in enumerate(self.recorded) if call.tool not in hidden}
        refused = observed.missed
        self._theirs = {
            j for j, call in enumerate(self.replayed) if call.tool not in hidden and not (refused and is_refused(call))
        }
        self._claimed = {j: i for i, j in scene.usage.home.get(turn.number, {}).items() if i in self._ours}
        self.pairs: Pairs = {}
        """Calls of the same tool."""
        self.equal: set[int] = set()
        """Replayed calls that were made as recorded."""
        self.replaced: Pairs = {}
        """Calls of different tools that stand in each other's place."""
        self.again: set[int] = set()
        """Replayed calls that repeat one which may answer only once: they stand in no other call's place."""
        self.moved = {j for j in self._theirs if self._belongs_elsewhere(self.replayed[j])}
        """Replayed calls that belong to another turn of this replay: they pair with nothing here."""
        self._pair_equal()
        self._pair_neighbours()
        self._pair_same_tool()
        self._pair_replaced()

    def _belongs_elsewhere(self, call: ReplayedCall) -> bool:
        return self.scene.usage.is_moved(call) and call.recorded_turn in self.scene.usage.turns

    def missing(self) -> list[int]:
        """Recorded calls without a partner, but for those that the replay did not get to."""
        return self._left()[0]

    def not_reached(self) -> list[int]:
        """Recorded calls that come after the last one that a turn got to before it broke off."""
        return self._left()[1]

    def _left(self) -> tuple[list[int], list[int]]:
        free = self._free()
        if not self.scene.broke_off:
            return free, []
        last = max((*self.pairs, *self.replaced), default=-1)
        return [i for i in free if i < last], [i for i in free if i > last]

    def extra(self) -> list[int]:
        """Replayed calls without a partner, moved ones left out."""
        return sorted(self._theirs - {*self.pairs.values(), *self.replaced.values(), *self.moved})

    def _free(self) -> list[int]:
        return [i for i in sorted(self._ours - (self.pairs.keys() | self.replaced.keys())) if self._is_due(i)]

    def _is_due(self, i: int) -> bool:
        """A nested call comes with the one inside which it was made; one made in another turn is told there."""
        return self.recorded[i].during is None and not self.scene.usage.is_away(self.turn.number, i)

    def recorded_arguments(self, i: int) -> Any:
        """The arguments of a recorded call in the form that the replayed ones have."""
        call, bind = self.recorded[i], self.scene.bind
        return bind(call.tool, call.arguments) if bind else call.arguments

    def replayed_arguments(self, j: int, *beside: int) -> Any:
        """The arguments of a replayed call without those that were added since the recorded ones beside it."""
        call = self.replayed[j]
        added = self.scene.added(call.tool) if type(call.arguments) is dict else ()
        if not added:
            return call.arguments
        known = {name for i in beside for name in _names(self.recorded[i].arguments)}
        return {name: value for name, value in call.arguments.items() if name in known or name not in added}

    def in_order(self, pairs: Pairs) -> Pairs:
        """The most pairs that keep the recorded order; calls made at once have none but what `after` says."""
        group, together = self._group, self._together
        ordered = sorted(pairs.items(), key=lambda pair: (together[pair[1]], group[pair[0]], pair[1]))
        kept = dict(ordered[k] for k in longest_rising([group[i] for i, _ in ordered]))
        return kept if not any(self._earlier) else self._in_lines(kept)

    def _in_lines(self, pairs: Pairs) -> Pairs:
        """Most of them, none of which came before another one in the recording and comes after it now."""
        in_turn = sorted(pairs.items(), key=lambda pair: pair[1])
        kept, late = [], _Delayed(self._together)
        for i, j in in_turn:
            if not late.until(j) >> i & 1:
                kept.append((i, j))
                late.add(self._earlier[i])
        backwards, made = [], _Delayed(self._together)
        for i, j in reversed(in_turn):
            if not made.until(j) & self._earlier[i]:
                backwards.append((i, j))
                made.add(1 << i)
        return dict(kept if len(kept) >= len(backwards) else reversed(backwards))

    def comes_before(self, i: int, other: int) -> bool:
        """Whether one recorded call was made before the other, not at once with it."""
        return self._group[i] < self._group[other] or bool(self._earlier[other] >> i & 1)

    def _pair_equal(self) -> None:
        """Equal calls, in order first, then out of it; which of several equal recordings answered is no matter."""
        ours = sorted({*self._free(), *(i for j, i in self._claimed.items() if j in self._theirs)})
        theirs = self._step_by_step(self.extra())
        keys = {i: self._key(self.recorded[i].tool, self.recorded_arguments(i), self._numbers[i]) for i in ours}
        made = {j: self._replayed_key(j, keys, ours) for j in theirs}
        for a, b in align_keys([keys[i] for i in ours], [made[j] for j in theirs]):
            self.pairs[ours[a]] = theirs[b]
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        for i in reversed([i for i in ours if i not in self.pairs]):
            waiting[keys[i]].append(i)
        for j in self.extra():
            if waiting[made[j]]:
                self.pairs[waiting[made[j]].pop()] = j
        if self.scene.agents:
            self._exchange(keys)
        self.equal = set(self.pairs.values())
        done = {keys[i] for i in self.pairs}
        self.again = {j for j in self.extra() if made[j] in done and self.replayed[j].unrecorded}

    def _unpaired(self) -> list[int]:
        return [j for j in self.extra() if j not in self.again]

    def _step_by_step(self, theirs: list[int]) -> list[int]:
        """Replayed calls in order; those in a row that one recorded step answered, in the order of that step."""
        runs = groupby(theirs, key=lambda j: self._group[self._claimed[j]] if j in self._claimed else -1 - j)
        return [j for step, run in runs for j in (sorted(run, key=lambda j: self._claimed[j]) if step >= 0 else run)]

    def _exchange(self, keys: dict[int, Hashable]) -> None:
        """Of equal calls by several agents, those of one agent are pairs, whichever came first."""
        alike: dict[Hashable, list[int]] = defaultdict(list)
        for i in sorted(self.pairs):
            alike[keys[i]].append(i)
        for i in self.pairs:
            for other in alike[keys[i]] if not self._is_by_one(i, i) else ():
                if self._is_by_one(i, other) and not self._is_by_one(other, other):
                    self.pairs[i], self.pairs[other] = self.pairs[other], self.pairs[i]
                    break

    def _is_by_one(self, i: int, other: int) -> bool:
        """Whether one agent made a recorded call and the replayed one that is paired with `other`."""
        return self.recorded[i].agent == self.replayed[self.pairs[other]].agent

    def _replayed_key(self, j: int, recorded: dict[int, Hashable], ours: list[int]) -> Hashable:
        if j in self._claimed:
            return recorded[self._claimed[j]]
        call = self.replayed[j]
        arguments = self.replayed_arguments(j, *(i for i in ours if self.recorded[i].tool == call.tool))
        return self._key(call.tool, self.scene.ids.session(arguments), self._their_numbers[j])

    def _key(self, tool: str, arguments: Any, ordinal: int) -> Hashable:
        try:
            return tool, freeze(self.scene.rules.arguments(tool, arguments, ordinal))
        except Exception:  # what cannot be frozen is equal to nothing, and pairs with its neighbour
            return tool, id(arguments)

    def _pair_neighbours(self) -> None:
        """Calls of the same tool between the same paired calls, the most alike first."""
        for ours, theirs in self._gaps():
            for tool in dict.fromkeys(self.recorded[i].tool for i in ours):
                mine = [i for i in ours if self.recorded[i].tool == tool]
                other = [j for j in theirs if self.replayed[j].tool == tool]
                self.pairs.update(most_alike(mine, other, self._alike))

    def _alike(self, i: int, j: int) -> float:
        theirs = self.scene.ids.renamed(self.replayed[j].arguments)
        return 1 + 8 * likeness(self.recorded_arguments(i), theirs, plain_equal)

    def _gaps(self) -> list[tuple[list[int], list[int]]]:
        """What is unpaired on both sides between two neighbouring pairs that keep their order."""
        anchors = self.in_order({**self.pairs, **self.replaced})
        firsts, seconds = sorted(anchors), sorted(anchors.values())
        ours: dict[int, list[int]] = defaultdict(list)
        theirs: dict[int, list[int]] = defaultdict(list)
        for i in self._free():
            ours[bisect_left(firsts, i)].append(i)
        for j in self._unpaired():
            theirs[bisect_left(seconds, j)].append(j)
        return [(ours[gap], theirs[gap]) for gap in sorted(ours) if gap in theirs]

    def _pair_same_tool(self) -> None:
        waiting: dict[str, list[int]] = defaultdict(list)
        for j in reversed(self._unpaired()):
            waiting[self.replayed[j].tool].append(j)
        for i in self._free():
            if waiting[self.recorded[i].tool]:
                self.pairs[i] = waiting[self.recorded[i].tool].pop()

    def _pair_replaced(self) -> None:
        for ours, theirs in self._gaps():
            self.replaced.update(zip(ours, theirs, strict=False))


class _Delayed:
    """Bits that count from the next replayed step on: calls of one step have no order."""

    def __init__(self, together: list[int]) -> None:
        self._together = together
        self._bits = self._coming = 0
        self._step = -1

    def until(self, j: int) -> int:
        """What counts at a replayed call."""
        if self._together[j] != self._step:
            self._step, self._bits = self._together[j], self._coming
        return self._bits

    def add(self, bits: int) -> None:
        """Have more count from the next step on."""
        self._coming |= bits


def _names(arguments: Any) -> Iterable[Any]:
    return arguments if type(arguments) is dict else ()


def is_refused(call: ReplayedCall) -> bool:
    """Whether the call was refused because of an earlier miss, whatever it was."""
    return call.source is Source.NONE and not call.unrecorded


def step_groups(steps: Iterable[int | None]) -> list[int]:
    """The place of each call in the order of steps; a call without a step is one of its own."""
    keys = [(step, position if step is None else -1) for position, step in enumerate(steps)]
    return [number for number, (_, run) in enumerate(groupby(keys)) for _ in run]
