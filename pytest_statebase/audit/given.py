"""Which values of a session came from somewhere: the user, a tool, a memory, an earlier state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from ..compare.paths import children

_WHOLE = re.compile(r"[^\s\"'<>(){}\[\],;=|]+")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?")
_DIGITS = re.compile(r"\d\d")
_NAMED = re.compile(r"\d|\w@\w")
_EDGES = ".:!?#*`"
_LEAST = 100
"""Smaller numbers are counts as a rule, and stand everywhere."""
_LONGEST = 80
"""Longer texts are prose, which is the agent's own."""
_DEPTH = 200


def leaves(value: Any, *, keys: bool = False, depth: int = 0) -> Iterator[Any]:
    """The texts, numbers and other single values inside a value; with `keys` the keys as well."""
    inner = children(value) if depth < _DEPTH and not isinstance(value, str) else []
    if not inner:
        yield value
    for key, item in inner:
        if keys and isinstance(key, str):
            yield key
        yield from leaves(item, keys=keys, depth=depth + 1)


def leaves_with_names(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The same, each after the nearest key that is a text."""
    inner = children(value) if depth < _DEPTH and not isinstance(value, str) else []
    if not inner:
        yield name, value
    for key, item in inner:
        yield from leaves_with_names(item, key if isinstance(key, str) else name, depth + 1)


def is_telling(value: Any) -> bool:
    """Whether a value is of the kind that somebody gave: it has digits in a row, and is no date or time."""
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float, Decimal)):
        return not -_LEAST < value < _LEAST
    if not isinstance(value, str) or len(value) > _LONGEST:
        return False
    return _DIGITS.search(value) is not None and not _TIME.fullmatch(value)


def is_named(value: Any) -> bool:
    """Whether a value is one word that stands for a thing or a person: it has a digit in it, or is an e-mail."""
    if not isinstance(value, str) or not 3 <= len(value) <= _LONGEST or _TIME.fullmatch(value):
        return False
    return _WHOLE.fullmatch(value) is not None and _NAMED.search(value) is not None


class Given:
    """What has been said up to now, and where: each word with the last place where it stood."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._numbers: dict[Decimal, str] = {}

    def add(self, value: Any, place: str) -> None:
        """Take note of everything inside a value."""
        for leaf in leaves(value, keys=True):
            text = str(leaf)
            for whole in _WHOLE.findall(text.casefold()):
                self._words[whole.strip(_EDGES)] = place
            for word in _WORD.findall(text.casefold()):
                self._words[word] = place
            for number in _NUMBER.findall(text):
                if (found := _decimal(number)) is not None:
                    self._numbers[found] = place

    def place(self, value: Any) -> str | None:
        """Where a value was last given; None where it was not."""
        if isinstance(value, (int, float, Decimal)):
            return self._place_of_number(value)
        text = str(value).casefold().strip()
        found = self._words.get(text.strip(_EDGES))
        if found is not None:
            return found
        telling = [word for word in _WORD.findall(text) if any(map(str.isdigit, word))]
        if len(telling) == 1 and telling[0] == text:
            return self._place_of_number(text)
        # An address may be told in other words; its numbers stay.
        places = [self._words.get(word) for word in telling]
        return places[-1] if places and all(places) and (len(telling) > 1 or " " in text) else None

    def _place_of_number(self, value: Any) -> str | None:
        number = _decimal(str(value))
        if number is None:
            return None
        forms = (number, number * 100, number / 100, -number)
        return next((self._numbers[form] for form in forms if form in self._numbers), None)


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
