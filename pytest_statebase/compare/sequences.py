"""Two sequences set side by side, so that one inserted item is one difference."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, TypeAlias

Rows: TypeAlias = list[tuple[int | None, int | None]]
"""Places in the two sequences, in order; None where the other side has no partner."""

_MAX_TABLE: Final = 10_000
_MAX_ALIGNMENT: Final = 1_000_000
_MAX_SIMILARITY: Final = 900


def align_keys(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of places with equal keys, in order on both sides: as many as there can be, in short sequences.

    In long ones the keys that occur once are paired first, so that the work stays about linear.
    """
    start = _common(left, right)
    end = _common(left[start:][::-1], right[start:][::-1])
    m, n = len(left) - end, len(right) - end
    pairs = [(k, k) for k in range(start)]
    i, j = start, start
    anchors = _unique_anchors(left[start:m], right[start:n]) if (m - start) * (n - start) > _MAX_TABLE else []
    for a, b in [*((start + a, start + b) for a, b in anchors), (m, n)]:
        pairs += [(i + p, j + q) for p, q in _longest_common(left[i:a], right[j:b])]
        if a < m:
            pairs.append((a, b))
        i, j = a + 1, b + 1
    return pairs + [(m + k, n + k) for k in range(end)]


def _common(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    limit = min(len(left), len(right))
    return next((k for k in range(limit) if left[k] != right[k]), limit)


def _unique_anchors(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    ours, theirs = Counter(left), Counter(right)
    places = {key: place for place, key in enumerate(right) if theirs[key] == 1 and ours[key] == 1}
    shared = [(place, places[key]) for place, key in enumerate(left) if key in places]
    return [shared[k] for k in longest_rising([place for _, place in shared])]


def _longest_common(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The longest common subsequence; a good one where a table for it would be too large."""
    if not left or not right or len(left) * len(right) > _MAX_ALIGNMENT:
        return []
    if len(left) * len(right) <= _MAX_TABLE:
        return _best_path([[1.0 if a == b else 0.0 for b in right] for a in left])
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]


def longest_rising(numbers: Sequence[int]) -> list[int]:
    """The positions of the longest subsequence that never falls."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for position, number in enumerate(numbers):
        place = bisect_right(tails, number)
        before.append(ends[place - 1] if place else -1)
        tails[place : place + 1] = [number]
        ends[place : place + 1] = [position]
    kept: list[int] = []
    position = ends[-1] if ends else -1
    while position >= 0:
        kept.append(position)
        position = before[position]
    return kept[::-1]


def most_alike(mine: Sequence[int], other: Sequence[int], score: Callable[[int, int], float]) -> list[tuple[int, int]]:
    """Pair two runs that have nothing equal, in order, so that as much as possible is alike inside the pairs.

    score: above 0, the higher the more alike. Runs of one length are paired one by one, and so are very long ones.
    """
    if len(mine) == len(other) or len(mine) * len(other) > _MAX_SIMILARITY:
        return list(zip(mine, other, strict=False))
    chosen = _best_path([[score(i, j) for j in other] for i in mine])
    return [(mine[a], other[b]) for a, b in chosen]


def _best_path(scores: list[list[float]]) -> list[tuple[int, int]]:
    """The pairs of places, in order on both sides, with the highest sum of scores; a score of 0 makes no pair."""
    best = _best_sums(scores)
    pairs, i, j = [], 0, 0
    while i < len(scores) and j < len(scores[0]):
        if scores[i][j] and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _best_sums(scores: list[list[float]]) -> list[list[float]]:
    """For every pair of places: the highest sum of scores from there on."""
    m, n = len(scores), len(scores[0]) if scores else 0
    best = [[0.0] * (n + 1) for _ in range(m + 1)]
    for i in range(m - 1, -1, -1):
        for j in range(n - 1, -1, -1):
            best[i][j] = max(scores[i][j] + best[i + 1][j + 1], best[i + 1][j], best[i][j + 1])
    return best


def with_gaps(pairs: Sequence[tuple[int, int]], left: int, right: int, score: Callable[[int, int], float]) -> Rows:
    """The pairs, and between them what is left of sequences of these lengths: paired by likeness, the rest alone."""
    rows: Rows = []
    i, j = 0, 0
    for a, b in [*pairs, (left, right)]:
        rows += _alone(most_alike(range(i, a), range(j, b), score), range(i, a), range(j, b))
        if a < left:
            rows.append((a, b))
        i, j = a + 1, b + 1
    return rows


def _alone(pairs: list[tuple[int, int]], mine: range, other: range) -> Rows:
    rows: Rows = []
    i, j = mine.start, other.start
    for a, b in [*pairs, (mine.stop, other.stop)]:
        rows += [(k, None) for k in range(i, a)] + [(None, k) for k in range(j, b)]
        if a < mine.stop:
            rows.append((a, b))
        i, j = a + 1, b + 1
    return rows


def likeness(left: Any, right: Any, equal: Callable[[Any, Any], bool]) -> float:
    """How alike two items are, from 0 to 1, by their own keys or places alone."""
    if type(left) is not type(right):
        return 0.0
    if isinstance(left, dict):
        total = len(left.keys() | right.keys())
        return sum(key in right and equal(item, right[key]) for key, item in left.items()) / max(total, 1)
    if isinstance(left, (list, tuple)):
        return sum(equal(a, b) for a, b in zip(left, right, strict=False)) / max(len(left), len(right), 1)
    return 1.0 if equal(left, right) else 0.5
