"""Sessions to make tests of: those that a rule keeps, and the fewest that cover the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from .cover import BUDGET, Cover, by_gain, smallest_cover
from .features import Feature, Kind
from .rules import Limits, Rule, notes_on_rules, reasons_to_keep
from .survey import Seen, Survey


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is chosen."""

    keep: frozenset[Rule] = frozenset()
    limits: Limits = field(default_factory=Limits)
    everything: bool = False
    """Every session, also those that add nothing."""
    most: int | None = None
    """Sessions at most; those that a rule keeps come first."""
    budget: int = BUDGET


@dataclass(frozen=True, slots=True)
class Pick:
    """A session that is chosen."""

    session: Seen
    adds: list[Feature]
    """What neither the fixtures nor the picks before it show."""
    reasons: list[str]
    """The rules that keep it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What came of a choice."""

    picks: list[Pick]
    sessions: int
    """Among how many was chosen."""
    cover: Cover | None
    """How the rest was covered; None where every session was wanted."""
    totals: Counter[Kind]
    """Features of all sessions, by kind."""
    covered: int
    """Of these, covered before."""
    missing: list[Feature]
    """What no pick shows, because there may be no more of them."""
    notes: list[str] = field(default_factory=list)


def choose(survey: Survey, wanted: Wanted, covered: Iterable[Feature] = ()) -> Selection:
    """Choose among the sessions of a survey.

    covered: features that need no more tests.
    """
    given = survey.numbers_of(covered)
    # Sessions that capture kept for none of its rules are there to count with, not to be chosen.
    open_ones = [at for at, session in enumerate(survey.sessions) if session.marks != () or wanted.everything]
    kept = reasons_to_keep(survey, wanted.keep, wanted.limits)
    kept = {at: kept[at] for at in open_ones if at in kept}
    # In order of preference: of sessions that show the same, the first is chosen.
    order = sorted(open_ones, key=lambda at: survey.sessions[at].preference)
    shown = {at: set(survey.sessions[at].features) - given for at in order}
    seen: set[int] = set().union(*shown.values())
    positions, cover = _positions(order, shown, kept, wanted)
    if wanted.most is not None:
        positions = positions[: wanted.most]
    picks, left = _picks(survey, positions, shown, kept, seen)
    every = {number for at in open_ones for number in survey.sessions[at].features}
    return Selection(
        picks,
        len(open_ones),
        cover,
        Counter(survey.features[number].kind for number in every),
        len(every & given),
        sorted(survey.features[number] for number in left),
        [*_unwanted(len(survey.sessions) - len(open_ones)), *notes_on_rules(survey, wanted.keep, wanted.limits)],
    )


def _unwanted(sessions: int) -> list[str]:
    told = f"{sessions:,} more were captured that no rule of the capture keeps; --all takes them, too"
    return [told] if sessions else []


def _positions(
    order: list[int], shown: dict[int, set[int]], kept: Collection[int], wanted: Wanted
) -> tuple[list[int], Cover | None]:
    """The chosen sessions, those first that add most; and how those were found that no rule keeps."""
    first = _by_gain([at for at in order if at in kept], shown)
    done: set[int] = set().union(*(shown[at] for at in first))
    rest = {at: shown[at] - done for at in order if at not in kept}
    if wanted.everything:
        return first + _by_gain(list(rest), rest), None
    cover = smallest_cover(list(rest.values()), budget=wanted.budget)
    names = list(rest)
    chosen = [names[at] for at in cover.chosen]
    most = len(chosen) if wanted.most is None else max(wanted.most - len(first), 0)
    if most < len(chosen):
        # Of too many, other sessions may show more together than the first of those that cover everything.
        other = _by_gain(names, rest, most)
        chosen = max(chosen[:most], other, key=lambda some: len(set().union(*(rest[at] for at in some))))
    return first + chosen, cover


def _by_gain(positions: list[int], shown: dict[int, set[int]], most: int | None = None) -> list[int]:
    return [positions[at] for at in by_gain([shown[at] for at in positions], range(len(positions)), most)]


def _picks(
    survey: Survey, positions: list[int], shown: dict[int, set[int]], kept: dict[int, list[str]], seen: set[int]
) -> tuple[list[Pick], set[int]]:
    """The picks, each with what it adds, and the features that none of them has."""
    left = set(seen)
    picks = []
    for at in positions:
        adds = shown[at] & left
        left -= adds
        features = sorted(survey.features[number] for number in adds)
        picks.append(Pick(survey.sessions[at], features, kept.get(at, [])))
    return picks, left
