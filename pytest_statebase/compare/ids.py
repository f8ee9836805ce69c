"""Ids that differ between a recording and its replay without meaning anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..values import TypedData
from .diff import Translate, identity


@dataclass(frozen=True, slots=True)
class Ids:
    """How replayed values read in the recording's ids; for tests of equality, never for display."""

    session: Translate = identity
    """Puts the source's id in the place of the fork's."""
    renamed: Translate = identity
    """Puts, beside that, recorded ids in the place of made-up ones. The same function where there are none."""

    @classmethod
    def of(cls, session: Mapping[str, str], made_up: Mapping[str, str]) -> Ids:
        """session: replayed to recorded; made_up: recorded to replayed, as the matching of calls found them."""
        first = translator(session)
        if not made_up:
            return cls(first, first)
        return cls(first, translator({**session, **{replayed: recorded for recorded, replayed in made_up.items()}}))


def translator(ids: Mapping[str, str]) -> Translate:
    """A function that puts recorded ids in the place of replayed ones, inside longer texts and in keys as well.

    ids: replayed to recorded; numbers as texts behind `\\0`. What the function returns shares what did not change.
    """
    known = {replayed: recorded for replayed, recorded in ids.items() if replayed and replayed != recorded}
    if not known:
        return identity
    numbers = {replayed[1:]: recorded[1:] for replayed, recorded in known.items() if replayed[0] == "\0"}
    in_text = _replacer({replayed: recorded for replayed, recorded in known.items() if replayed[0] != "\0"})

    def translate(value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return in_text(value)
        if kind is dict:
            return {translate(key): translate(item) for key, item in value.items()}
        if kind in (list, tuple, set, frozenset):
            return kind(map(translate, value))
        if numbers and kind in (int, float):
            return kind(numbers.get(repr(value), value))
        if kind is TypedData:
            return TypedData(value.type, translate(dict(value.fields)), value.kind)
        return value

    return translate


_SHORTEST = 6
"""Characters from which on an id is found inside of words, too: a shorter one may be a part of any word."""


_WITHHELD = "withheld-"


def _replacer(known: Mapping[str, str]) -> Callable[[str], str]:
    """All at once, so that no id is replaced inside what replaced another one; the longest wins."""
    pattern: re.Pattern[str] | None = None
    # What stands for a withheld value stands for the whole of it.
    whole = {replayed: recorded for replayed, recorded in known.items() if recorded.startswith(_WITHHELD)}
    known = {replayed: recorded for replayed, recorded in known.items() if replayed not in whole}

    def in_text(text: str) -> str:
        nonlocal pattern
        if text in whole:
            return whole[text]
        if not any(replayed in text for replayed in known):
            return text
        if pattern is None:
            pattern = re.compile("|".join(map(_alone, sorted(known, key=len, reverse=True))))
        return pattern.sub(lambda match: known[match[0]], text)

    return in_text


def _alone(replayed: str) -> str:
    found = re.escape(replayed)
    return found if len(replayed) >= _SHORTEST else rf"(?<![^\W_]){found}(?![^\W_])"
