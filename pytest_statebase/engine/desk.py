"""The client that an agent is handed in a replay: bound to the fork, and to the turn that is running."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..errors import UnrecordedCall
from ..ledger import MemorySearched
from ..statebase import LocalClient, RunningTurn
from .fork import Fork
from .ongoing import Ongoing


def connect(fork: Fork, run: Ongoing) -> tuple[LocalClient, RunningTurn]:
    """The fork's client, which from now on writes into the turn `run`.

    It knows the fork under its own id and under its source's. Nothing can be written once the turn is over or a call
    in it had no answer.
    """
    if fork.client is None:
        fork.client = LocalClient.of_turn(fork.ledger, [fork.recorded.id], fork.lock)
    turn = RunningTurn(check=lambda: _check(run), recall=_Recall(fork, run.turn.number))
    fork.client.enter(turn)
    return fork.client, turn


def _check(run: Ongoing) -> None:
    if run.latch is not None:
        raise UnrecordedCall(run.latch)
    if run.over:
        raise UnrecordedCall("the session was written to after its turn had ended")


class _Recall:
    """The searches in memory that were recorded, with their results: of this turn one after the other, else of any."""

    def __init__(self, fork: Fork, number: int) -> None:
        self._recorded = fork.recorded
        self._number = number
        self._asked: Counter[str] = Counter()

    def __call__(self, query: str) -> MemorySearched | None:
        here = self._searches(self._recorded.turn(self._number).events, query)
        found = here or self._searches(self._recorded.events, query)
        if not found:
            return None
        position = min(self._asked[query], len(found) - 1)
        self._asked[query] += 1
        return found[position]

    @staticmethod
    def _searches(events: list[Any], query: str) -> list[MemorySearched]:
        return [event for event in events if isinstance(event, MemorySearched) and event.query == query]
