"""How a cassette stands: its size and age, what its plan lacks, and what the last results say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..cassette import load_cassette
from ..report.grouping import group_of_row
from ..report.results import read_runs
from ..report.rows import Row
from ..report.times import parse_time, recorded_at
from .ages import days_left, days_since
from .targets import shown

SOON = 14
"""Days before its expiry from which on a known entry is told of."""
_MISSES = ("sibling", "simulated", "live", "unrecorded")
_ANSWERS = ("answered", "authored", "accepted", "sibling", "simulated", "live", "unrecorded")
_FLAGS = ("stale", "repeated", "moved")


@dataclass(slots=True)
class Runs:
    """What result files say of one cassette."""

    red: bool = False
    """Whether a replay did not pass in the last run that it was in."""
    at: datetime | None = None
    last_red: datetime | None = None
    ever_red: bool = False
    calls: Counter[str] = field(default_factory=Counter)
    """Of the last run: how its calls were answered."""

    @property
    def total(self) -> int:
        """Calls of the last run."""
        return sum(self.calls[name] for name in _ANSWERS)

    def share(self, *names: str) -> float | None:
        """The share of these calls among all of the last run, from 0 to 1; None where there was none."""
        return min(sum(self.calls[name] for name in names) / self.total, 1.0) if self.total else None

    @property
    def from_siblings(self) -> tuple[int, int]:
        """How many calls that the record did not answer siblings did, of how many."""
        return self.calls["sibling"], sum(self.calls[name] for name in _MISSES)

    @property
    def flagged(self) -> float | None:
        return self.share(*_FLAGS)


class Ending(NamedTuple):
    """A known divergence, by ticket or else fingerprint."""

    name: str
    left: int | None
    """Days that it is still excused."""
    where: str


@dataclass(slots=True)
class Health:
    """One cassette as `status` tells it."""

    path: Path
    name: str
    session: str
    title: str | None
    turns: int
    calls: int
    recorded: datetime | None
    sealed: bool
    failing: list[int]
    unproven: list[int]
    """Failing turns without an `expect`."""
    owner: str | None
    gate: str
    known: list[Ending]
    accepted: list[int]
    """Turns with an accepted baseline."""
    runs: Runs | None = None

    @property
    def days(self) -> int | None:
        return days_since(self.recorded)

    @property
    def expiring(self) -> list[Ending]:
        """Known entries that are over or soon will be, those of a `statebase.yaml` too."""
        return [one for one in self.known if one.left is not None and one.left <= SOON]

    @property
    def is_red(self) -> bool:
        return self.runs is not None and self.runs.red

    @property
    def urgency(self) -> tuple[Any, ...]:
        """Red ones first, then those whose plan or seal lacks something, then the oldest: to the moment, not the day,
        so that cassettes of one day have one order at any hour."""
        own = [one for one in self.expiring if one.where.startswith(f"{shown(self.path)}:")]
        lacks = bool(self.unproven or own or not self.sealed)
        recorded = (True, 0.0) if self.recorded is None else (False, self.recorded.timestamp())
        return (not self.is_red, not lacks, recorded, self.name)


def health_of(path: Path) -> Health:
    """Read a cassette and its record.

    Raises StatebaseError where one cannot be read.
    """
    cassette = load_cassette(shown(path))
    ledger, plan = cassette.ledger, cassette.plan
    return Health(
        path=path,
        name=cassette.name,
        session=ledger.id,
        title=plan.title,
        turns=len(ledger.turns),
        calls=sum(len(turn.calls) for turn in ledger.turns),
        recorded=recorded_at(ledger),
        sealed=not cassette.warnings,
        failing=sorted(plan.failing),
        unproven=sorted(plan.failing - plan.expect.keys()),
        owner=plan.owner,
        gate=plan.gate,
        known=[Ending(one.ticket or one.fingerprint, days_left(one.until), one.where) for one in plan.known],
        accepted=sorted(cassette.accepted.turns) if cassette.accepted else [],
    )


class Results:
    """Results files, by the cassettes whose replays they hold."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Read the files, oldest run first.

        Raises FileError or FormatVersionError for what is no results file.
        """
        read = [one for path in paths for one in read_runs(path)]
        self._runs = sorted(read, key=lambda one: str(one[0].get("started_at") or ""))
        self._rows: dict[str, list[tuple[int, Row]]] = {}
        for number, (_, rows) in enumerate(self._runs):
            for row in rows:
                self._rows.setdefault(Path(str(row["cassette"])).name, []).append((number, row))

    def of(self, path: Path) -> Runs | None:
        """What they say of a cassette; None where they do not hold it."""
        resolved = path.resolve().as_posix()
        rows = [
            (number, row) for number, row in self._rows.get(path.name, []) if _is_at(resolved, str(row["cassette"]))
        ]
        if not rows:
            return None
        found = Runs()
        last = rows[-1][0]
        for number, row in rows:
            is_red = not group_of_row(row).passes
            at = parse_time(self._runs[number][0].get("started_at"))
            if is_red:
                found.ever_red, found.last_red = True, at
            if number == last:
                found.red, found.at = found.red or is_red, at
                found.calls.update(row.get("calls") or {})
        return found


def _is_at(resolved: str, named: str) -> bool:
    """Whether the path in a row, from pytest's root directory, is that of the file."""
    return resolved == named or resolved.endswith("/" + named.removeprefix("./"))
