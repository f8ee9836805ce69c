"""Everything that has to go out of a text, also where it stands in JSON, forms, base64 or gzip."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Protocol

from ..cassette.fields import Hider, put
from ..cassette.personal import TOLD_SIGN, Kind, field_spots, is_no_value, name_spots, personal_spots
from ..cassette.secrets import FORMATS, SCHEME
from .options import Rule
from .tokens import TOKEN

_SHORTEST = 6
_SURE = 8
_UNESCAPES = 4
_PERSONAL = re.compile(r"@|%40|\d[\d .()/+-]{5}")
_ODD = re.compile(r"[\d!@#$%^&*]")


class Make(Protocol):
    """Makes what comes instead of a value."""

    def __call__(self, kind: str, identity: str, like: str, *, is_number: bool = False) -> str: ...


class Hiding(Hider):
    """Puts what `make` makes in the place of secrets, personal data and what the rules find, and counts it."""

    __slots__ = ("_make", "learned", "places", "rules", "spelled")

    def __init__(self, make: Make, rules: tuple[Rule, ...] = ()) -> None:
        self._make = make
        self.rules = rules
        self.places: Counter[str] = Counter()
        """By kind, in how many places something was."""
        self.learned: set[str] = set()
        """Secrets that may stand elsewhere, where nothing tells what they are."""
        self.spelled: Mapping[str, str] = {}
        """Secrets by how they are written elsewhere."""

    def hide(self, kind: str, identity: str, said: str, *, is_number: bool = False) -> str:
        """What comes instead of a value that was found."""
        self.places[kind] += 1
        return self._make(kind, identity, said, is_number=is_number)

    def secret(self, said: str) -> str:
        if is_no_value(said) or TOKEN.fullmatch(said):
            return said
        scheme = SCHEME.match(said)
        if scheme is not None:
            return scheme[0] + self.secret(said[scheme.end() :])
        plain = self.spelled.get(said) or unescaped(said)
        if is_worth(plain):
            self.learned.add(plain)
        return self.hide(Kind.SECRET, plain, plain)

    def number(self, said: str) -> str:
        return self.hide(Kind.SECRET, said, said, is_number=True)

    def named(self, said: str, name: str) -> str:
        for spot in name_spots(said, name) or ():
            return self.hide(spot.kind, spot.identity, said)
        return said

    def more(self, text: str) -> str:
        for rule in self.rules:
            text = put(text, self._by_rule(rule, text))
        if _PERSONAL.search(text) is None and (_ODD.search(text) is None or TOLD_SIGN.search(text) is None):
            return text
        text = put(text, self._fields(text))
        return put(text, self._personal(text))

    def _by_rule(self, rule: Rule, text: str) -> Iterator[tuple[int, int, str]]:
        for start, end in rule.places(text):
            yield start, end, self.hide(rule.name, text[start:end], text[start:end])

    def _fields(self, text: str) -> Iterator[tuple[int, int, str]]:
        for spot, is_number in field_spots(text):
            said = text[spot.start : spot.end]
            yield spot.start, spot.end, self.hide(spot.kind, spot.identity, said, is_number=is_number)

    def _personal(self, text: str) -> Iterator[tuple[int, int, str]]:
        for spot in personal_spots(text):
            yield spot.start, spot.end, self.hide(spot.kind, spot.identity, text[spot.start : spot.end])


def unescaped(said: str) -> str:
    """A text as JSON inside of JSON writes it, as it is."""
    for _ in range(_UNESCAPES):
        if "\\" not in said:
            break
        try:
            plain = json.loads(f'"{said}"')
        except ValueError:
            break
        said = plain
    return said


def is_worth(value: str) -> bool:
    """Whether a secret is odd enough to be looked for wherever it may stand: it is no word of a text."""
    if len(value) < _SHORTEST or FORMATS.fullmatch(value):
        return False
    if len(value) < _SURE:
        return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return len(value) >= 16 or not ((value.isalpha() and (value.islower() or value.istitle())) or value.isdigit())
