"""How values look that programs make up anew on each run: timestamps, uuids, random tokens."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?"
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
# A run of 12 or more letters and digits with at least two of each: `9f8a7b6c5d4e`, `fLxcMYQFvKcOdQNYvY2s`, but not
# `gift_card_3166319` or `international`.
_TOKEN = r"(?=[0-9]*[A-Za-z][A-Za-z0-9]*)(?=(?:[A-Za-z]*[0-9]){2})(?=(?:[0-9]*[A-Za-z]){2})[A-Za-z0-9]{12,}"
SHAPES: Final = re.compile(rf"(?P<time>{_TIME})|(?P<uuid>{_UUID})|(?<![A-Za-z0-9])(?P<token>{_TOKEN})(?![A-Za-z0-9])")
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_WORD_SIGNS = _BASE64[:62] + "-"
_AROUND = 256
_SHORTEST = 8
_DIGIT = re.compile("[0-9]")
_WORD = re.compile(r"[A-Za-z0-9-]*")
_LETTERS = re.compile(r"[a-fA-F]{8}-[a-fA-F]{4}-[a-fA-F]{4}-")
_LONGEST_TIME = 40
_SPARSE = 128
"""Characters to a word with digits, from which on it is quicker to look at these words alone."""
_DAY = timedelta(hours=24)
_EPOCHS = ((1e9, 4e9, 1.0), (1e12, 4e12, 1e3))


def shapes_in(text: str) -> Iterator[re.Match[str]]:
    """What `SHAPES` finds in a text, in order; much quicker in prose.

    All shapes hold digits, but for uuids of letters alone, and begin in the word of the first of them.
    """
    end = len(text)
    if text.count("-") >= 4 and _LETTERS.search(text):
        yield from SHAPES.finditer(text)
        return
    done = 0
    for _ in range(end // _SPARSE + 1):
        digit = _DIGIT.search(text, done)
        if digit is None:
            return
        at, until = _word_around(text, digit.start(), done)
        while (found := SHAPES.search(text, at, min(end, until + _LONGEST_TIME))) and found.start() < until:
            yield found
            at = found.end()
        done = max(at, until)
    yield from SHAPES.finditer(text, done)


def _word_around(text: str, at: int, first: int) -> tuple[int, int]:
    """From where to where the word of a digit reaches; it begins at `first` or later."""
    width = 32
    while True:
        left = max(first, at - width)
        before = text[left:at].rstrip(_WORD_SIGNS)
        if before or left == first:
            return left + len(before), _WORD.match(text, at).end()  # type: ignore[union-attr]
        width *= 2


def is_text_in_base64(found: re.Match[str]) -> bool:
    """Whether a token is (a part of) a readable text in base64, which is no id: the text says something."""
    text, (start, end) = found.string, found.span()
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    start -= len(before) - len(before.rstrip(_BASE64))
    end += len(after) - len(after.lstrip(_BASE64))
    padding = "=" * (-(end - start) % 4)
    if not text.startswith(padding, end):
        return False
    try:
        said = b64decode(text[start:end] + padding).decode("ascii")
    except ValueError:
        return False
    # The shorter a random token, the more often it decodes to signs that can be read: fewer of them may be odd ones.
    odd = sum(not (one.isalnum() or one.isspace()) for one in said)
    is_plain = odd <= len(said) - _SHORTEST and odd * 5 <= len(said) * 2
    return is_plain and all(one.isprintable() or one.isspace() for one in said)


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
