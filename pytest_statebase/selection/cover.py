"""The smallest number of sets that hold together what all of them hold.

Finding it takes exponential time at worst. So what can be decided is decided first (an element that one set alone
holds; an element that comes with another; a set inside another), the rest falls into parts that have nothing to do
with each other, and each is searched by branch and bound up to an amount of work. What is not finished then stays as
the greedy choice, without those sets that it does not need. All of it is the same on every machine.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Mask: TypeAlias = int
"""One bit for each set, or for each element."""

BUDGET: Final = 40_000_000
"""Steps of work, a few seconds. One with many sets counts as several."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Some sets that hold everything."""

    chosen: tuple[int, ...]
    """Their positions; the one that holds most first, then always the one that adds most."""
    least: int
    """No fewer sets hold everything."""
    work: int
    """Steps that it took."""

    @property
    def is_smallest(self) -> bool:
        """Whether it is known that no fewer do."""
        return len(self.chosen) == self.least


def smallest_cover(sets: Sequence[Collection[int]], *, budget: int = BUDGET) -> Cover:
    """The fewest sets, or a few, that hold every element that any of them holds.

    sets: the elements of each, numbered from 0; of equal ones the first is chosen, of similar ones mostly.
    budget: the work after which the search gives up.
    """
    problem = _Problem([sum(1 << element for element in set(members)) for members in sets], budget)
    chosen, least = problem.solve()
    return Cover(tuple(by_gain(sets, chosen)), least, problem.work)


def by_gain(sets: Sequence[Collection[int]], chosen: Collection[int], most: int | None = None) -> Iterator[int]:
    """The positions in the order in which each adds most to those before it; of equal gain the first position.

    most: how many; those that add nothing come last, in order.
    """
    members = {at: set(sets[at]) for at in chosen}
    covered: set[int] = set()
    heap = [(-len(own), at) for at, own in members.items()]
    heapq.heapify(heap)
    given = 0
    while heap and (most is None or given < most):
        gain, at = heapq.heappop(heap)
        now = len(members[at] - covered)
        # What it adds can only have become less since it was put there.
        if -gain != now:
            heapq.heappush(heap, (-now, at))
            continue
        covered |= members[at]
        given += 1
        yield at


def _bits(mask: Mask) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class _Problem:
    """Sets and elements that are left, each known by its bit."""

    def __init__(self, sets: list[Mask], budget: int) -> None:
        self.work = 0
        self._step = 1 + len(sets) // 500
        self._budget = budget
        self._sets = sets
        holders: dict[int, Mask] = {}
        for at, members in enumerate(sets):
            for element in _bits(members):
                holders[element] = holders.get(element, 0) | 1 << at
        self._holders = holders
        self._elements: Mask = sum(1 << element for element in holders)
        first = {members: at for at, members in reversed(list(enumerate(sets))) if members}
        self._open: Mask = sum(1 << at for at in first.values())

    def solve(self) -> tuple[list[int], int]:
        """The chosen sets, and how many are needed at least."""
        chosen = self._reduce()
        least = len(chosen)
        for elements, sets in self._parts():
            found, bound = self._search(elements, sets)
            chosen += found
            least += bound
        return chosen, least

    # --- What can be decided

    def _reduce(self) -> list[int]:
        chosen: list[int] = []
        before = (-1, -1)
        while before != (self._elements, self._open) and self.work < self._budget:
            before = (self._elements, self._open)
            for element in _bits(self._elements):
                if self._elements >> element & 1:
                    chosen += self._decide_element(element)
            for at in _bits(self._open):
                self._drop_if_inside(at)
        return chosen

    def _decide_element(self, element: int) -> list[int]:
        """Choose its only set; else drop the elements that all its sets hold."""
        holders = self._holders[element] & self._open
        self.work += self._step
        if holders.bit_count() == 1:
            at = holders.bit_length() - 1
            self._elements &= ~self._sets[at]
            self._open &= ~holders
            return [at]
        common = self._elements
        for at in _bits(holders):
            self.work += self._step
            common &= self._sets[at]
            if common == 1 << element:
                break
        self._elements &= ~common | 1 << element
        return []

    def _drop_if_inside(self, at: int) -> None:
        """Drop a set all of whose elements another one holds."""
        own, others = self._sets[at] & self._elements, self._open & ~(1 << at)
        for element in _bits(own):
            self.work += self._step
            others &= self._holders[element]
            if not others:
                return
        self._open &= ~(1 << at)

    def _parts(self) -> list[tuple[Mask, Mask]]:
        """The elements and the sets of each part that shares nothing with the others."""
        parts = []
        left = self._elements
        while left:
            elements, sets, new = 0, 0, left & -left
            while new:
                elements |= new
                sets |= self._holding(new) & self._open
                inside = 0
                for at in _bits(sets):
                    inside |= self._sets[at]
                new = inside & left & ~elements
            parts.append((elements, sets))
            left &= ~elements
        return parts

    def _holding(self, elements: Mask) -> Mask:
        found = 0
        for element in _bits(elements):
            self.work += self._step
            found |= self._holders[element]
        return found

    def _counted(self, sets: Mask) -> Iterator[int]:
        self.work += self._step * sets.bit_count()
        return _bits(sets)

    # --- What is searched

    def _search(self, elements: Mask, sets: Mask) -> tuple[list[int], int]:
        """The fewest of the sets that hold these elements, and how many are needed at least."""
        best = self._greedy(elements, sets)
        least = self._apart(elements, sets)[0]
        nodes: list[tuple[Mask, Mask, _Chain]] = [(elements, sets, None)]
        while nodes and len(best) > least and self.work < self._budget:
            left, allowed, chain = nodes.pop()
            taken = _length(chain)
            if not left:
                best = list(_members(chain)) if taken < len(best) else best
                continue
            bound, narrowest = self._apart(left, allowed)
            if narrowest < 0 or taken + bound >= len(best):
                continue
            nodes += self._branches(left, allowed, chain, narrowest)
        is_done = not nodes or len(best) == least
        return best, len(best) if is_done else least

    def _branches(self, left: Mask, allowed: Mask, chain: _Chain, element: int) -> list[tuple[Mask, Mask, _Chain]]:
        """One node for each set that may hold an element; without the sets whose nodes come before it."""
        options = list(_bits(self._holders[element] & allowed))
        self.work += self._step * len(options)
        options.sort(key=lambda at: (-(self._sets[at] & left).bit_count(), at))
        nodes: list[tuple[Mask, Mask, _Chain]] = []
        for at in options:
            allowed &= ~(1 << at)
            nodes.append((left & ~self._sets[at], allowed, (chain, at, _length(chain) + 1)))
        return nodes[::-1]

    def _apart(self, elements: Mask, allowed: Mask) -> tuple[int, int]:
        """How many elements there are no two of which any set holds: each needs a set of its own.

        Also the element that the fewest sets hold; -1 where none holds one.
        """
        options = [((self._holders[element] & allowed), element) for element in _bits(elements)]
        self.work += self._step * len(options)
        counted = sorted((holders.bit_count(), element, holders) for holders, element in options)
        if not counted or not counted[0][0]:
            return 0, -1
        used = found = 0
        for _, _, holders in counted:
            if not holders & used:
                used |= holders
                found += 1
        widest = max((self._sets[at] & elements).bit_count() for at in self._counted(self._holding(elements) & allowed))
        return max(found, -(-elements.bit_count() // widest)), counted[0][1]

    def _greedy(self, elements: Mask, sets: Mask) -> list[int]:
        """Always the set that adds most, and in the end without those that others make superfluous."""
        open_sets = list(_bits(sets))
        members = [list(_bits(self._sets[at] & elements)) for at in open_sets]
        self.work += sum(map(len, members))
        chosen: list[int] = []
        left = elements.bit_count()
        covered: Counter[int] = Counter()
        for position in by_gain(members, range(len(members))):
            if len(covered) == left:
                break
            covered.update(members[position])
            chosen.append(position)
        for position in reversed(chosen[:]):
            if all(covered[element] > 1 for element in members[position]):
                covered.subtract(members[position])
                chosen.remove(position)
        return [open_sets[position] for position in chosen]


_Chain: TypeAlias = "tuple[_Chain, int, int] | None"
"""The sets on the way to a node: those before, the last, and how many."""


def _length(chain: _Chain) -> int:
    return 0 if chain is None else chain[2]


def _members(chain: _Chain) -> Iterator[int]:
    while chain is not None:
        chain, at, _ = chain
        yield at
