"""Every call of 400 recorded sessions changed in each way in turn: each change is told once, as what it is."""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from compare_data import judged, replay_of, told

from pytest_statebase.compare.model import Kind, Observed, ReplayedCall, Source
from pytest_statebase.importers import import_file
from pytest_statebase.ledger import Ledger, Turn

DATA = os.environ.get("STATEBASE_DATA")
FILES = sorted(Path(DATA).glob("tau*/*.json.gz")) if DATA else []

pytestmark = pytest.mark.skipif(not FILES, reason="STATEBASE_DATA names no folder with recorded sessions of tau-bench")


def changes(turn: Turn, calls: list[ReplayedCall], i: int) -> Iterator[tuple[Kind, list[ReplayedCall]]]:
    """The calls of a turn with one change at position i."""
    before, made, after = calls[:i], calls[i], calls[i + 1 :]
    other = ReplayedCall("another_tool", {"a": 1}, turn.number, Source.SIMULATED)
    again = copy.copy(made)
    again.repeated = True
    yield Kind.MISSING, before + after
    yield Kind.REPLACED, [*before, other, *after]
    yield Kind.EXTRA, [*before, other, made, *after]
    yield Kind.EXTRA, [*before, made, again, *after]
    if isinstance(made.arguments, dict) and made.arguments:
        arguments = {**made.arguments, min(made.arguments): "wrong"}
        yield Kind.ARGUMENTS, [*before, ReplayedCall(made.tool, arguments, turn.number, Source.SIMULATED), *after]
    if after and not _alike(turn, i):
        yield Kind.REORDERED, [*before, after[0], made, *after[1:]]


def _alike(turn: Turn, i: int) -> bool:
    """Whether it makes no difference to swap a call and the next one."""
    first, second = turn.calls[i : i + 2]
    at_once = first.step is not None and first.step == second.step
    return at_once or (first.tool, first.arguments) == (second.tool, second.arguments)


def ledgers(path: Path) -> list[Ledger]:
    return [session.ledger for session in import_file(path).sessions]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_one_change_is_one_divergence(path: Path) -> None:
    counted: Counter[Kind] = Counter()
    for ledger in ledgers(path):
        observed = replay_of(ledger)
        assert told(judged(ledger, observed)) == []
        for place, seen in enumerate(observed):
            turn = ledger.turn(seen.number)
            for i in range(len(seen.calls)):
                for kind, calls in changes(turn, seen.calls, i):
                    changed = Observed(seen.number, calls, seen.output, seen.error, seen.state)
                    results = judged(ledger, [*observed[:place], changed, *observed[place + 1 :]])
                    assert [found[:3] for found in told(results)] == [(turn.number, "tools", kind)], (
                        ledger.id,
                        turn.number,
                        i,
                    )
                    counted[kind] += 1
    assert len(counted) == 5
