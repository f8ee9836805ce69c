"""Which recorded call each replayed call stands for, seen over a whole replay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ..ledger import Ledger, ToolCalled
from ..values import freeze
from .model import Observed, ReplayedCall, Source

Place: TypeAlias = tuple[int, int]
"""A turn's number and a position among its calls."""


@dataclass(slots=True)
class Usage:
    """Who claimed which recorded call."""

    first: int
    """The first turn that is replayed; what lies before it is history."""
    turns: frozenset[int]
    """The turns that were replayed."""
    isolated: bool = False
    """Every turn is a replay of its own: what one of them calls, another one still misses."""
    home: dict[int, dict[int, int]] = field(default_factory=dict)
    """By turn: recorded calls that were made in it, with the position of the replayed one."""
    away: dict[Place, ReplayedCall] = field(default_factory=dict)
    """Recorded calls that answered in another turn instead, with the first call that they answered there."""

    @classmethod
    def of(cls, observed: Iterable[Observed], ledger: Ledger, first: int, *, isolated: bool = False) -> Usage:
        """Look through all turns of a replay.

        A call belongs to the recording in its own turn where that has an equal one left, whichever answered it:
        among equal recordings the writes before it decide, not the turn.
        """
        seen = list(observed)
        usage = cls(first, frozenset(turn.number for turn in seen), isolated)
        recorded = {turn.number: turn.calls for turn in ledger.turns}
        strays = [stray for turn in seen for stray in usage._claim(turn, recorded.get(turn.number, []))]
        left = usage._unclaimed(recorded) if strays else {}
        for turn, position, call, place in strays:
            equal = left.get((turn, *_key_at(recorded, place)))
            if equal:
                usage.home[turn][equal.pop()] = position
            elif place[0] != turn:
                usage.away.setdefault(place, call)
        return usage

    def _claim(self, turn: Observed, recorded: list[ToolCalled]) -> Iterator[tuple[int, int, ReplayedCall, Place]]:
        """Give the turn's calls their own recordings; what remains was answered by another turn's, or by a used one."""
        home = self.home.setdefault(turn.number, {})
        for position, call in enumerate(turn.calls):
            place = place_of(call)
            if place is None:
                continue
            if place[0] == turn.number and place[1] not in home and place[1] < len(recorded):
                home[place[1]] = position
            else:
                yield turn.number, position, call, place

    def _unclaimed(self, recorded: dict[int, list[ToolCalled]]) -> dict[Hashable, list[int]]:
        left: dict[Hashable, list[int]] = defaultdict(list)
        for turn in self.turns & recorded.keys():
            for position in range(len(recorded[turn]) - 1, -1, -1):
                if position not in self.home[turn]:
                    left[(turn, *_key_at(recorded, (turn, position)))].append(position)
        return left

    def _is_home(self, place: Place) -> bool:
        return place[1] in self.home.get(place[0], ())

    def is_moved(self, call: ReplayedCall) -> bool:
        """Whether the call was recorded in another turn, and was not made there."""
        place = place_of(call)
        if place is None or place[0] == call.turn or place[0] < self.first or self._is_home(place):
            return False
        return self.away.get(place) is call

    def is_away(self, turn: int, position: int) -> bool:
        """Whether a recorded call was made, but in another turn."""
        return not self.isolated and (turn, position) in self.away and not self._is_home((turn, position))


def place_of(call: ReplayedCall) -> Place | None:
    """The recorded call that answered, None where another source did."""
    if call.source is not Source.RECORD or call.recorded_turn is None or call.recorded_index is None:
        return None
    return call.recorded_turn, call.recorded_index


def _key_at(recorded: dict[int, list[ToolCalled]], place: Place) -> tuple[Hashable, Hashable]:
    """Tool and arguments of a recorded call, in a form that equal calls share."""
    calls = recorded.get(place[0], [])
    if place[1] >= len(calls):
        return None, place
    call = calls[place[1]]
    try:
        return call.tool, freeze(call.arguments)
    except Exception:  # what cannot be frozen is equal to nothing
        return call.tool, place
