"""Puts placeholders in the place of values in texts: the same one for the same value, all over a session."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

from ..cassette.personal import Kind, Spot, apart, holds_secret, is_name_of_person, number_spots, of_somebody, spots
from ..cassette.placeholders import Placeholders
from ..cassette.scrub import scrubbed
from ..privacy.hiding import Hiding
from ..privacy.spots import with_rules
from .subject import Subject

_ODD = 8
"""Characters from which on what was a secret in one place is looked for in others; shorter ones are words, too."""
_LEAST = 3


@dataclass(slots=True)
class Redactor:
    """The values of one session that have to go.

    First everything is shown to `learn`, then everything goes through `clean`: a value that is known by the name of
    its key in one place is found in the others, too.
    """

    placeholders: Placeholders
    subjects: tuple[Subject, ...] = ()
    """The values of one person; without any, all secrets and personal data go."""
    owns: bool = True
    """Whether the session is that person's own: then all personal data in it is theirs."""
    places: Counter[Kind] = field(default_factory=Counter)
    values: dict[Kind, set[str]] = field(default_factory=dict)
    _known: dict[str, Spot] = field(default_factory=dict)
    """Texts that are looked for wherever they stand, with what they are."""
    _secrets: set[str] = field(default_factory=set)
    _pattern: re.Pattern[str] | None = None

    def learn(self, text: str, name: str = "", *, is_number: bool = False) -> None:
        """Take note of what is to go from a text under a key."""
        for spot in self._spots(text, name, is_number=is_number):
            if spot.kind is Kind.SECRET:
                self._secrets.add(spot.identity)
            said = text[spot.start : spot.end]
            if self._wants(spot) and self._is_worth(spot.kind, said):
                self._known.setdefault(said, spot)
                self._pattern = None

    def clean(self, text: str, name: str = "", *, is_number: bool = False, from_http: bool = False) -> str:
        """The text with placeholders.

        from_http: secrets that only requests hold are left to the redaction of HTTP, which live ones go through too.
        """
        out, done = [], 0
        for spot in self.found(text, name, is_number=is_number, from_http=from_http):
            said = text[spot.start : spot.end]
            out += [text[done : spot.start], self.instead(spot, said, is_number=is_number)]
            done = spot.end
        clean = "".join([*out, text[done:]])
        if not self.subjects and not from_http and not is_number and holds_secret(clean):
            return scrubbed(clean, hider=Hiding(self._hidden))
        return clean

    def _hidden(self, kind: str, identity: str, like: str, *, is_number: bool = False) -> str:
        """The placeholder for what stands in JSON, in a form or in base64."""
        self.count(Kind(kind), identity)
        if is_number:
            return str(self.placeholders.number(kind, identity, like))
        return self.placeholders.of(kind, identity, like)

    def found(self, text: str, name: str = "", *, is_number: bool = False, from_http: bool = False) -> list[Spot]:
        """Where in a text what has to go stands, in order, none over another."""
        found = [*self._spots(text, name, is_number=is_number), *self._literals(text)]
        return apart([spot for spot in found if self._wants(spot) and not (from_http and self._is_of_http(spot))])

    def spelled(self) -> Redactor:
        """The same, which also knows how values are written in addresses and in JSON."""
        known = {
            form: spot for said, spot in self._known.items() for form in _spellings(said) if form not in self._known
        }
        self._known |= {form: Spot(spot.kind, 0, 0, spot.identity) for form, spot in known.items()}
        self._pattern = None
        return self

    def left_of_names(self, texts: Iterable[str]) -> int:
        """How often a single word of a name stands in texts that are clean."""
        parts = [part for subject in self.subjects for part in subject.parts()]
        return sum(len(part.findall(text)) for text in texts for part in parts)

    def _spots(self, text: str, name: str, *, is_number: bool) -> Iterator[Spot]:
        if is_number:
            yield from of_somebody(number_spots(text, name))
            return
        for subject in self.subjects:
            yield from subject.spots(text)
        yield from of_somebody(with_rules(text, spots(text, name)))
        if self.subjects and self.owns and is_name_of_person(name) and _LEAST <= len(text) < 100:
            yield Spot(Kind.NAME, 0, len(text), text)

    def _wants(self, spot: Spot) -> bool:
        if not self.subjects or any(one.identity == spot.identity and one.kind is spot.kind for one in self.subjects):
            return True
        return self.owns and spot.kind is not Kind.SECRET

    def _is_of_http(self, spot: Spot) -> bool:
        return spot.kind is Kind.SECRET and spot.identity not in self._secrets

    def _is_worth(self, kind: Kind, said: str) -> bool:
        if kind is Kind.SECRET:
            return len(said) >= _ODD and not (said.isalpha() and (said.islower() or said.istitle()))
        return len(said) >= _LEAST

    def _literals(self, text: str) -> Iterator[Spot]:
        if self._pattern is None:
            words = sorted(self._known, key=len, reverse=True)
            self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)") if words else _NEVER
        for match in self._pattern.finditer(text):
            spot = self._known[match[0]]
            yield Spot(spot.kind, match.start(), match.end(), spot.identity)

    def instead(self, spot: Spot, said: str, *, is_number: bool = False) -> str:
        """The placeholder for a value that was found, which counts it."""
        self.count(spot.kind, spot.identity)
        made = self.placeholders.of(spot.kind, spot.identity, said)
        if is_number:
            return "".join(filter(str.isdigit, made)) or "0"
        known = self._known.get(said)
        if known is not None and known.end == 0:
            # It is spelled as in an address or in JSON, and so must be what comes instead.
            return quote(made, safe="") if "%" in said else json.dumps(made)[1:-1]
        return made

    def count(self, kind: Kind, identity: str) -> None:
        """One place more in which a value was."""
        self.places[kind] += 1
        self.values.setdefault(kind, set()).add(identity)


_NEVER = re.compile(r"(?!)")


def _spellings(said: str) -> set[str]:
    forms = {quote(said, safe=""), quote_plus(said), quote(said), json.dumps(said)[1:-1]}
    return forms - {said}
