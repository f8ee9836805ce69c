"""What the comparison reported of every pair, against what was to be reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_statebase.compare.model import Kind, ReplayResult

from . import hard_pairs, other_pairs, output_pairs, state_pairs, tool_pairs
from .pair import MEANING, WORDING, Pair
from .replayed import result_of

PAIRS: list[Pair] = [
    *output_pairs.PAIRS,
    *tool_pairs.PAIRS,
    *state_pairs.PAIRS,
    *other_pairs.PAIRS,
    *hard_pairs.PAIRS,
]


class Finding(NamedTuple):
    """One thing to report, or reported."""

    facet: str
    kind: str
    path: str

    @property
    def is_text(self) -> bool:
        return self.kind in (WORDING, MEANING)


@dataclass
class Score:
    """One pair, scored."""

    pair: Pair
    hits: list[Finding] = field(default_factory=list)
    misses: list[Finding] = field(default_factory=list)
    false_alarms: list[Finding] = field(default_factory=list)

    @property
    def wrong(self) -> list[Finding]:
        return self.misses + self.false_alarms


def score(pair: Pair) -> Score:
    """Replay a pair and match what was reported with what was to be."""
    scored = Score(pair, false_alarms=list(reported(result_of(pair), exact=pair.exact)))
    for text in pair.report:
        facet, kind, places = text.split(" ", 2)
        paths = places.split(" | ")
        found = next((f for f in scored.false_alarms if f[:2] == (facet, kind) and f.path in paths), None)
        if found is None:
            scored.misses.append(Finding(facet, kind, paths[0]))
        else:
            scored.false_alarms.remove(found)
            scored.hits.append(found)
    return scored


def reported(result: ReplayResult, *, exact: bool) -> Iterator[Finding]:
    """What a replay reports. A text that differs passes as worded otherwise, unless outputs are compared exactly."""
    for turn in result.turns:
        for found in turn.divergences:
            if found.note:
                continue
            kind = str(found.kind)
            if found.kind is Kind.TEXT:
                kind = MEANING if exact else WORDING
            yield Finding(str(found.facet), kind, found.path)


def table(scores: Sequence[Score]) -> list[tuple[str, str, int, int, int]]:
    """By facet and kind: hits, misses, false alarms."""
    hits, misses, alarms = (
        _count(findings)
        for findings in (
            (f for each in scores for f in each.hits),
            (f for each in scores for f in each.misses),
            (f for each in scores for f in each.false_alarms),
        )
    )
    return [(*key, hits[key], misses[key], alarms[key]) for key in sorted({*hits, *misses, *alarms})]


def _count(findings: Iterable[Finding]) -> Counter[tuple[str, str]]:
    return Counter((found.facet, found.kind) for found in findings)


def lines(scores: Sequence[Score]) -> Iterator[str]:
    """The report of the whole corpus, for a person."""
    yield f"{'facet':8} {'kind':10} {'precision':>9} {'recall':>7}   found of"
    rows = table(scores)
    for facet, kind, hits, misses, alarms in rows:
        yield f"{facet:8} {kind:10} {_share(hits, alarms):>9} {_share(hits, misses):>7}   {hits} of {hits + misses}"
    for name, texts in (("structure", False), ("texts", True)):
        some = [row for row in rows if (row[1] in (WORDING, MEANING)) is texts]
        hits, misses, alarms = sum(row[2] for row in some), sum(row[3] for row in some), sum(row[4] for row in some)
        yield f"{name:19} {_share(hits, alarms):>9} {_share(hits, misses):>7}   {hits} of {hits + misses}"
    nothing = sum(not each.pair.report for each in scores)
    yield f"{len(scores)} pairs, {nothing} of them with nothing to report"
    for each in scores:
        for what, findings in (("missed", each.misses), ("false alarm", each.false_alarms)):
            yield from (f"{what}: {' '.join(found)} ({each.pair.name})" for found in findings)


def _share(hits: int, wrong: int) -> str:
    return f"{100 * hits / (hits + wrong):.0f} %" if hits + wrong else "-"
