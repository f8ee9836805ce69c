"""Many sessions, of each only what choosing among them needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ..compare.shapes import as_moment
from ..ledger import Ledger, SessionCreated, StateRolledBack, TurnAdded
from ..report.measures import sample_of
from ..report.show import visible
from .features import Feature, Kind, features_of


@dataclass(frozen=True, slots=True)
class Seen:
    """One session, without its events."""

    id: str
    source: Path
    """The cassette, or the journal's directory or file."""
    agent: str | None
    at: datetime | None
    """When it was last active."""
    turns: int
    calls: int
    features: tuple[int, ...]
    """By their numbers in the survey, in order."""
    slowest: float | None
    """Milliseconds of the slowest turn; None where no turn tells."""
    rollbacks: int
    feedback: tuple[str, ...]
    """What users thought of it."""
    marks: tuple[str, ...] | None
    """Why capture kept it: the names of its rules; none of them where it is only there because its end had to be seen.
    None where no rule was asked."""
    cut: bool
    """Capture lost the rest of it."""

    @property
    def preference(self) -> tuple[object, ...]:
        """Of two sessions that show the same, the lesser is the better test: whole and short."""
        return self.cut, self.turns, self.calls, self.id


class Survey:
    """Takes sessions one by one and keeps no ledger."""

    def __init__(self) -> None:
        self.sessions: list[Seen] = []
        self.features: list[Feature] = []
        """By number."""
        self._numbers: dict[Feature, int] = {}

    def add(self, ledger: Ledger, source: Path, *, marks: Iterable[str] | None = None, cut: bool = False) -> None:
        """Count a session in."""
        created = ledger.created
        sample = sample_of(ledger, None)
        self.sessions.append(
            Seen(
                id=ledger.id,
                source=source,
                agent=created.agent_id,
                at=last_active(ledger),
                turns=len(ledger.turns),
                calls=sum(len(turn.calls) for turn in ledger.turns),
                features=tuple(sorted(self.numbers_of(features_of(ledger)))),
                slowest=max(sample.times, default=None),
                rollbacks=sum(isinstance(event, StateRolledBack) for event in ledger.events),
                feedback=tuple(feedback_of(ledger)),
                marks=None if marks is None else tuple(marks),
                cut=cut,
            )
        )

    def numbers_of(self, features: Iterable[Feature]) -> set[int]:
        """The numbers of features; new ones get the next."""
        return {self._number_of(feature) for feature in sorted(features)}

    def _number_of(self, feature: Feature) -> int:
        number = self._numbers.setdefault(feature, len(self.features))
        if number == len(self.features):
            self.features.append(feature)
        return number

    def held_by(self, kind: Kind) -> dict[int, int]:
        """In how many sessions each feature of a kind is."""
        counts: dict[int, int] = {}
        for session in self.sessions:
            for number in session.features:
                if self.features[number].kind is kind:
                    counts[number] = counts.get(number, 0) + 1
        return counts


def last_active(ledger: Ledger) -> datetime | None:
    """The time of the last event that has one, in UTC."""
    times = (as_moment(getattr(event, "at", None)) for event in reversed(ledger.events))
    return next((moment for moment in times if moment is not None), None)


def feedback_of(ledger: Ledger) -> Iterable[str]:
    """What is noted as `feedback` in the metadata of the session and its turns."""
    for event in ledger.events:
        if isinstance(event, SessionCreated | TurnAdded) and isinstance(event.metadata, Mapping):
            given = event.metadata.get("feedback")
            for one in given if isinstance(given, list | tuple) else [given]:
                told = one.get("value", one.get("kind")) if isinstance(one, Mapping) else one
                if told is not None:
                    yield visible(str(told))[:60]
