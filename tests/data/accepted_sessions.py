"""Accepts what another agent did in recorded sessions that others made, and replays it again: all must be as accepted.

STATEBASE_DATA=... python -m tests.data.accepted_sessions
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

from pytest_statebase import Ledger, ReplayResult, replay
from pytest_statebase.cassette import Accepted, AcceptedTurn, Cassette
from pytest_statebase.cassette.accepted import accepted_bytes, accepted_from
from pytest_statebase.cassette.plan import Plan
from pytest_statebase.compare.baseline import baseline_of
from pytest_statebase.testing import Reenact
from tests.data.real_sessions import DOMAINS, Other, pairs, with_reads

_FINE = {"accepted", "unchanged", "off-script"}


def baselines(result: ReplayResult, ledger: Ledger) -> dict[int, AcceptedTurn]:
    """Every turn of a replay that differs, but for those that cannot be accepted."""
    found = {}
    for turn in result.turns:
        made = baseline_of(result, turn, ledger) if turn.verdict not in ("unrecorded", "error") else None
        if made is not None:
            found[turn.turn] = made
    return found


def not_reverted(cassette: Cassette, result: ReplayResult) -> list[str]:
    """What is not told as reverted where everything is as recorded again."""
    assert cassette.accepted is not None
    return [
        f"{result.session} turn {turn.turn}: {turn.verdict} {found.kind} {found.path}"
        for turn in result.turns
        for found in turn.divergences
        if found.kind not in ("reverted", "text") or turn.verdict not in ("changed", "reworded")
    ]


def accept_and_replay(data: Path, domain: str, *, mode: str = "continuous") -> tuple[Counter[str], list[str]]:
    """Verdicts of the replays after accepting, without a simulator, and what is not as accepted."""
    verdicts: Counter[str] = Counter()
    odd: list[str] = []
    for recorded, other in pairs(data, domain):
        cassette = with_reads(Cassette.from_ledger(recorded.ledger, Plan()))
        agent = Other(other.ledger)
        options = {"until": "end", "mode": mode}
        first = replay(cassette, agent, unrecorded="simulate", simulator=agent.simulate, **options)  # type: ignore[arg-type]
        stored = accepted_bytes(Accepted(recorded.ledger.id, turns=baselines(first, recorded.ledger)))
        cassette._accepted = accepted_from(stored, where=recorded.name)
        again = replay(cassette, Other(other.ledger), **options)  # type: ignore[arg-type]
        verdicts += again.verdicts
        odd += not_reverted(cassette, replay(cassette, Reenact(recorded.ledger), **options))  # type: ignore[arg-type]
        known = {turn.turn for turn in first.turns if turn.verdict in ("unrecorded", "not-replayed")}
        odd += [
            f"{recorded.name} turn {turn.turn}: {turn.verdict} {[found.path for found in turn.divergences]}"
            for turn in again.turns
            if turn.verdict not in _FINE and turn.turn not in known
        ]
    return verdicts, odd


def main() -> int:
    """Print both; exit code 1 where a turn is not as it was accepted."""
    data, bad = Path(os.environ["STATEBASE_DATA"]), 0
    for domain in DOMAINS:
        for mode in ("continuous", "isolated"):
            verdicts, odd = accept_and_replay(data, domain, mode=mode)
            print(domain, mode, dict(verdicts), f"not as accepted: {len(odd)}", *odd[:5], sep="\n  ")
            bad += len(odd)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
