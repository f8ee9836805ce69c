"""Failures of many sessions that are one and the same difference, told once."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...compare.model import Kind, Verdict
from ..grouping import group_of_row, group_of_turn, judged, plural, root_causes
from ..raised import raised_text
from ..rows import Row

OTHER_VALUES = "other values in each"
"""What stands behind the values of one session where those of others are told with them."""


@dataclass(slots=True)
class Failure:
    """One reason for which replays do not pass."""

    found: Row | None
    """The divergence, of several the first; None for none: the plan could not be read, the turn is as recorded."""
    why: str
    """What there is to say where there is no divergence."""
    places: list[tuple[Row, Row | None]] = field(default_factory=list)
    """Replay and turn, in order; no turn where the replay did not begin."""
    parts: Sequence[Failure] = ()
    """What it is put together from: the same kind of difference at the same path, with other values in each."""

    @property
    def sessions(self) -> int:
        """In how many replays it is."""
        return len({id(row) for row, _ in self.places})

    def led_by(self, first: Container[int]) -> Failure:
        """The same with those replays in front, each by its `id`, and with the values that they have."""
        if self.parts:
            return _together(sorted(self.parts, key=lambda one: id(one.places[0][0]) not in first))
        return replace(self, places=sorted(self.places, key=lambda place: id(place[0]) not in first))

    @property
    def is_unfinished(self) -> bool:
        """Whether these are replays that the end of the run came before."""
        return all(row.get("unfinished") and turn is None for row, turn in self.places)

    @property
    def owners(self) -> list[str]:
        """Who is responsible for them."""
        return list(dict.fromkeys(str(row["owner"]) for row, _ in self.places if row.get("owner")))


def raised_in(failure: Failure) -> tuple[str, str] | None:
    """What the agent raised beside the difference, and in words where else it raised or did not; None for nothing."""
    difference = [failure.found] if failure.found else []
    told = [raised_text(turn, difference) for _, turn in failure.places if turn is not None]
    found = [text for text in told if text]
    if not found:
        return None
    others = len(set(found)) - 1
    words = f" and {plural(others, 'other exception')}" if others else ""
    return found[0], words + (f" in {len(found):,} of {len(told):,} turns" if len(found) < len(told) else "")


def failures(rows: Iterable[Row]) -> list[Failure]:
    """Why the replays that do not pass do not, the most frequent first.

    The same values in several replays, by their fingerprint, are one reason; those that only one replay has are one
    with all others of their kind and path.
    That a run was stopped comes last: it was stopped for another reason.
    """
    found: dict[tuple[str, ...], Failure] = {}
    for row in rows:
        if not group_of_row(row).passes:
            for turn, divergence, why in _reasons(row):
                key = _key(divergence) if divergence else ("", why)
                found.setdefault(key, Failure(divergence, why)).places.append((row, turn))
    told = _folded(list(found.values()))
    return sorted(told, key=lambda failure: (failure.is_unfinished, -failure.sessions))


def _key(divergence: Row) -> tuple[str, ...]:
    """A fingerprint knows path, kind and values; a results file of strangers may lack it."""
    return tuple(str(divergence.get(name)) for name in ("fingerprint", "kind", "path"))


def _reasons(row: Row) -> Iterator[tuple[Row | None, Row | None, str]]:
    """Turn, divergence, words: one of a replay, or one of each turn where turns are isolated."""
    causes = list(root_causes(row))
    bad = [(turn, found) for turn, found in causes if not group_of_turn(turn).passes] or causes[:1]
    yield from ((turn, found, "") for turn, found in bad)
    if not bad:
        turn = next((turn for turn in judged(row) if not group_of_turn(turn).passes), None)
        yield turn, None, _words(row, turn)


def _words(row: Row, turn: Row | None) -> str:
    if turn is None or turn["verdict"] == Verdict.NOT_REPLAYED:
        return str(row.get("failure") or "the replay did not begin")
    if turn["verdict"] == Verdict.STALE:
        return "the prompt moved, and no model recording answers"
    if turn["verdict"] == Verdict.STILL_FAILING:
        return "as it was recorded"
    return str(turn.get("reason") or turn["verdict"]).split("\n", 1)[0]


def _folded(found: Sequence[Failure]) -> Iterator[Failure]:
    """With the single pairs of values at one path as one entry, in the place of the first."""
    single: dict[tuple[str, ...], list[Failure]] = {}
    for failure in found:
        if failure.found is not None and failure.sessions == 1:
            single.setdefault(_sort(failure.found), []).append(failure)
    for failure in found:
        same = single[_sort(failure.found)] if failure.found is not None and failure.sessions == 1 else [failure]
        if same[0] is failure:
            yield _together(same) if len(same) > 1 else failure


def _sort(divergence: Row) -> tuple[str, ...]:
    """What differences have in common whose values differ. Exceptions of two types have nothing."""
    error = divergence.get("replayed") if divergence["kind"] == Kind.RAISED else None
    return (*_key({**divergence, "fingerprint": None}), str(error.get("type")) if isinstance(error, dict) else "")


def _together(parts: Sequence[Failure]) -> Failure:
    """What is said of one of them in words is left away, where it is not said of all."""
    found = parts[0].found or {}
    if len({str((one.found or {}).get("detail")) for one in parts}) > 1:
        found = {key: value for key, value in found.items() if key != "detail"}
    return Failure(found, "", [place for one in parts for place in one.places], parts)
