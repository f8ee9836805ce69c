"""How much of recorded values a page holds: all of few sessions, the beginning of each value of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..cutting import LEAST, SIDES, cut_value, with_values
from ..jsonsafe import VALUE_LIMIT
from ..rows import Row
from ..show import shorten

_PAGE = 24_000_000
"""Characters of JSON of all sessions together, before they are packed."""
_WORDS = 2_000
"""Characters of a name, a path or a reason: browsers take minutes to lay out many words of a hundred thousand."""
_SIZE = 40
"""What a text that was cut before says of its size, at most."""


def value_limit(rows: Sequence[Row]) -> int:
    """Characters of one value that the page of these rows holds."""
    values = sum(_values(row) for row in rows)
    return min(VALUE_LIMIT, max(LEAST, _PAGE // max(1, values)))


def _values(row: Row) -> int:
    """About how many values of any length a row has."""
    turns = [turn for turn in row["turns"] if not (turn["replayed"] or {}).get("same")]
    told = sum(8 + 4 * len(turn["calls"]) + 2 * len(turn["divergences"]) + _messages(turn) for turn in turns)
    reasons = sum("reasoning" in turn["recorded"] for turn in row["turns"])
    return told + reasons + len(row.get("versions", ()))


def _messages(turn: Row) -> int:
    return sum(4 + len(request.get("asked", {}).get("messages", ())) for request in turn.get("requests", ()))


def cut_values(row: Row, limit: int) -> Row:
    """The row with every value of more than `limit` characters cut, with its size; the cassette has it in full."""
    return row if limit >= VALUE_LIMIT else with_values(row, lambda value: cut_value(value, limit))


_VALUES = frozenset(("input", "output", "state", "memory", "arguments", "result", "error", "reasoning", "patch"))
_VALUES |= {"about", "requests"}


def short_words(part: Any) -> Any:
    """A row, or a part of it, with texts that are no recorded values (names, paths, reasons) in 2,000 characters."""
    if isinstance(part, str):
        return part if len(part) <= _WORDS + _SIZE else shorten(part, _WORDS)
    if isinstance(part, list):
        return [short_words(one) for one in part]
    if isinstance(part, dict):
        kept = SIDES if "facet" in part else _VALUES
        return {key: value if key in kept else short_words(value) for key, value in part.items()}
    return part
