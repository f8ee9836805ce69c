"""The steps of a turn's calls, and which of them came before which inside of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ..engine.strands import Strand


class Placed(Protocol):
    """A call of a turn, in the order in which they began."""

    number: int
    span: int
    """How often, up to this call, one began while no other one went on."""
    strand: Strand | None
    """What made it; None for one that was made inside another one."""
    before: frozenset[int]
    """Numbers of the last calls that its strand knew of."""
    step: int | None
    after: list[int] | None


def place(calls: Sequence[Placed]) -> None:
    """Set `step` and `after` of each call of a turn.

    One step follows another where none of its calls was made at once with one before. Calls that did not overlap came
    one after the other, unless they are of lines of work that were handed out at once: these may overlap, and change
    places, the next time.
    """
    places: dict[int, int] = {}
    """Position by number."""
    below: dict[Strand, int] = {}
    """Bits of the calls that a strand, and those that came of it, have made."""
    known: dict[int, int] = {}
    """By position: bits of the calls that came before."""
    starts: list[int] = []
    made, past, span = 0, 0, -1
    for index, call in enumerate(calls):
        if call.strand is None:
            continue
        if call.span != span:
            span, past = call.span, made
            starts.append(index)
        before = 0
        for number in call.before:
            one = places.get(number)
            if one is not None:  # others are of an earlier turn
                before |= known[one] | 1 << one
        if past & ~before:
            by_chance = below.get(call.strand.anchor(), 0)
            for one in _bits(past & ~before & ~by_chance):
                before |= known[one] | 1 << one
            at_once = past & ~before
            if at_once:
                lowest = next(_bits(at_once))
                while starts[-1] > lowest:
                    starts.pop()
        places[call.number], known[index] = index, before
        made |= 1 << index
        for strand in call.strand.line():
            below[strand] = below.get(strand, 0) | 1 << index
    _number(calls, starts, known)


def _number(calls: Sequence[Placed], starts: list[int], known: dict[int, int]) -> None:
    step = start = 0
    for index, call in enumerate(calls):
        if step < len(starts) and index == starts[step]:
            step, start = step + 1, index
        call.step, call.after = step, None
        left = known.get(index, 0) >> start << start
        last: list[int] = []
        while left:
            one = left.bit_length() - 1
            last.append(one)
            left &= ~(known[one] | 1 << one)
        if last:
            call.after = last[::-1]


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
