"""The lines that sum up the HTTP requests and model calls of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..compare.model import Verdict
from .grouping import judged, name_of, plural
from .rows import Row

ONCE_LIVE = "pytest --statebase-replay --statebase-model=auto"
"""Runs the model live once, where no recording answers."""


def traffic_texts(counted: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """A label and a text for requests and for model calls, where there were any. counted: as `Totals.requests`."""
    for label, counts in traffic_counts(counted):
        yield label, ", ".join(f"{number:,} {how}" for how, number in counts)


def traffic_counts(counted: Mapping[str, int]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """`requests` and `model calls`, where there were any, with how many were answered in which way."""
    for label, prefix in (("requests", ""), ("model calls", "model_")):
        counts = [(how, counted[prefix + how]) for how in _HOWS if counted.get(prefix + how)]
        if counts:
            yield label, counts


_HOWS = ("answered", "accepted", "kept", "live", "unrecorded")


def stale_text(rows: Sequence[Row]) -> str | None:
    """The one line of a run whose prompts moved: how many calls and cassettes, and the command that mends it."""
    stale = [(row, turn) for row in rows for turn in judged(row) if turn["verdict"] == Verdict.STALE]
    if not stale:
        return None
    cassettes = len({row["cassette"] for row, _ in stale})
    none = len({row["cassette"] for row, turn in stale if str(turn.get("reason")).startswith("no model call")})
    told = f"{plural(len(stale), 'model call')} in {plural(cassettes, 'cassette')} no recording answers"
    why = f" ({plural(none, 'session')} without a model recording)" if none else ""
    return f"{told}{why}: {ONCE_LIVE}, review, then --statebase-accept"


def stale_lines(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """For each turn whose prompt moved, its replay and turn, and what moved, on one line."""
    for row in rows:
        for turn in judged(row):
            if turn["verdict"] == Verdict.STALE:
                told = str(turn.get("reason") or "").removeprefix(_MOVED)
                yield f"{name_of(row)} turn {turn['turn']}", "; ".join(told.split("\n"))


_MOVED = "the prompt moved, and no model recording answers: "


def is_stale_alone(row: Row) -> bool:
    """Whether nothing but moved prompts keeps a replay from passing."""
    bad = _BAD & {turn["verdict"] for turn in judged(row)}
    return Verdict.STALE in bad and bad <= {Verdict.STALE, Verdict.NOT_REPLAYED}


_BAD = frozenset(verdict for verdict in Verdict if not verdict.group.passes)
