"""Where something stands in a text that has to go, by the forms that are known and the project's own rules."""

from __future__ import annotations

from ..cassette.personal import Kind, Spot, apart
from .options import effective


def with_rules(text: str, found: list[Spot]) -> list[Spot]:
    """What was found in a text, and what the rules of the process find besides."""
    rules = effective(None).rules
    if not rules:
        return found
    places = [place for rule in rules for place in rule.places(text)]
    return apart([*found, *(Spot(Kind.SECRET, start, end, text[start:end]) for start, end in places)])
