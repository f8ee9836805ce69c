"""What the recording and a replay of it have written, compared in constant time at every call."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable


class Writes:
    """The writes of a recording, in its order, and those that its replay has made so far.

    Multisets of writes are one number each: equal multisets have equal digests, whatever their order. The order is
    looked at where a recorded step ends: the replay must have made the same writes up to there as the recording had.
    So writes of one step, which were made at once, have no order among them.
    """

    def __init__(self) -> None:
        self._weights: dict[Hashable, int] = {}
        self._random = random.Random(0)
        self._ends: dict[int, int] = {}
        self._distances: list[int] = []
        self._distances_at = -1
        self.recorded: list[Hashable] = []
        self.recorded_digest = 0
        self.made: list[Hashable] = []
        """The keys of the writes that the fork's history and the replay have made."""
        self.digest = 0
        """Of the same."""
        self.in_order = True
        """False for good once the replay has made a write too early, too late, or that the recording does not hold."""

    def weight(self, key: Hashable) -> int:
        """What one write with this key adds to a digest (128 random bits a key)."""
        found = self._weights.get(key)
        if found is None:
            found = self._weights[key] = self._random.getrandbits(128)
        return found

    def record(self, key: Hashable, *, inherited: bool) -> None:
        """The recording's next write. inherited: it is part of the fork's history, so the replay has it as well."""
        self.recorded.append(key)
        self.recorded_digest += self.weight(key)
        if inherited:
            self.made.append(key)
            self.digest = self.recorded_digest

    def end_step(self) -> None:
        """What the recording writes from here on comes after what it has written up to here."""
        self._ends[len(self.recorded)] = self.recorded_digest

    def make(self, key: Hashable) -> None:
        """The replay's next write."""
        self.made.append(key)
        self.digest += self.weight(key)
        if self._ends.get(len(self.made), self.digest) != self.digest:
            self.in_order = False

    def distances(self) -> list[int]:
        """By n: how many writes the first n recorded ones hold that the replay has not made, and the other way round.

        Worked out again only after another write.
        """
        if self._distances_at != len(self.made):
            self._distances, self._distances_at = self._all_distances(), len(self.made)
        return self._distances

    def _all_distances(self) -> list[int]:
        left, distance = Counter(self.made), len(self.made)
        distances = [distance]
        for key in self.recorded:
            shared = left[key] > 0
            distance += -1 if shared else 1
            if shared:
                left[key] -= 1
            distances.append(distance)
        return distances
