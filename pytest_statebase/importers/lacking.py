"""What a replay misses in a session, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator

from ..ledger import Ledger
from ..values import ABSENT
from .grades import Reason


def lacking(ledger: Ledger, remedy: str) -> Iterator[Reason]:
    """Why a session is not wholly replayable.

    remedy: what would mend that at the source.
    """
    turns = ledger.turns
    calls = [call for turn in turns for call in turn.calls]
    lost = [call for call in calls if call.result is ABSENT and call.error is None]
    if lost:
        yield Reason("no-results", f"{len(lost)} of {len(calls)} calls have no result", remedy)
    silent = [turn.number for turn in turns if turn.output is ABSENT and turn.error is None]
    if silent:
        yield Reason("no-output", f"{len(silent)} of {len(turns)} turns have no output", remedy)
    if not turns:
        yield Reason("no-turns", "the agent did nothing in it", remedy)
    elif all(turn.is_opening for turn in turns):
        yield Reason("no-input", "nothing that a user said is there", remedy)
