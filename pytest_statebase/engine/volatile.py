"""Values that an agent makes up anew on each run: uuids, random tokens, timestamps.

Two calls that differ only in such values may be the same call. What was *given* to the agent (by the user, the state,
the history, a tool) is never one of them: refunding order B instead of A is no renaming.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?"
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
# A run of 12 or more letters and digits with at least two of each: `9f8a7b6c5d4e`, `fLxcMYQFvKcOdQNYvY2s`, but not
# `gift_card_3166319` or `international`.
_TOKEN = r"(?=[0-9]*[A-Za-z][A-Za-z0-9]*)(?=(?:[A-Za-z]*[0-9]){2})(?=(?:[0-9]*[A-Za-z]){2})[A-Za-z0-9]{12,}"
_SHAPES = re.compile(rf"(?P<time>{_TIME})|(?P<uuid>{_UUID})|(?<![A-Za-z0-9])(?P<token>{_TOKEN})(?![A-Za-z0-9])")
_DAY = timedelta(hours=24)
_EPOCHS = ((1e9, 4e9, 1.0), (1e12, 4e12, 1e3))

Piece = tuple[str, Any]
"""The shape (`time`, `uuid`, `token`) and the value itself."""


def mask(value: Any) -> tuple[Any, list[Piece]]:
    """`value` in hashable form with every volatile piece taken out, and the pieces in order."""
    pieces: list[Piece] = []
    return _mask(value, pieces), pieces


def _mask(value: Any, pieces: list[Piece]) -> Any:
    if isinstance(value, str):
        return _mask_text(value, pieces)
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: str(item[0]))
        return ("d", *((key, _mask(item, pieces)) for key, item in items))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(_mask(item, pieces) for item in value))
    if isinstance(value, datetime) or (isinstance(value, (int, float)) and _epoch(value) is not None):
        pieces.append(("time", value))
        return (type(value).__name__, "time")
    return (type(value).__name__, repr(value))


def _mask_text(text: str, pieces: list[Piece]) -> Any:
    if len(text) < 12:
        return text

    def take(match: re.Match[str]) -> str:
        pieces.append((match.lastgroup or "", match[0]))
        return f"\x00{match.lastgroup}\x00"

    return _SHAPES.sub(take, text)


def ids_in(values: Iterable[Any]) -> Iterator[str]:
    """Every uuid and token inside `values`, however deep."""
    for value in values:
        if isinstance(value, str):
            if len(value) >= 12:
                yield from (match[0] for match in _SHAPES.finditer(value) if match.lastgroup != "time")
        elif isinstance(value, Mapping):
            yield from ids_in(value.keys())
            yield from ids_in(value.values())
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from ids_in(value)


def is_near(value: Any, clocks: Iterable[datetime]) -> bool:
    """Whether a timestamp lies within 24 hours of one of the clocks."""
    moment = as_moment(value)
    return moment is not None and any(abs(moment - clock) <= _DAY for clock in clocks)


def as_moment(value: Any) -> datetime | None:
    """A timestamp as an aware datetime (a naive one is taken as UTC), None for what is none."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace(",", ".").replace(" Z", "Z"))
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return _epoch(value) if isinstance(value, (int, float)) else None


def _epoch(value: float) -> datetime | None:
    if isinstance(value, bool):
        return None
    for low, high, unit in _EPOCHS:
        if low <= value < high:
            return datetime.fromtimestamp(value / unit, UTC)
    return None


def rename(value: Any, names: Mapping[str, str]) -> Any:
    """`value` with every made-up id replaced by its counterpart, also inside longer texts."""
    if isinstance(value, str):
        for old, new in names.items():
            if old in value:
                value = value.replace(old, new)
        return value
    if type(value) is dict:
        return {key: rename(item, names) for key, item in value.items()}
    if type(value) is list:
        return [rename(item, names) for item in value]
    return value
