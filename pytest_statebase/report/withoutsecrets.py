"""Secrets out of what a run tells: a replayed agent may have them from its own code or environment."""

from __future__ import annotations

import re
from typing import Any, Final

from ..cassette.personal import Kind
from ..cassette.redaction import REDACTED
from ..cassette.secrets import holds_secret_numbers, is_secret_name
from ..privacy.hiding import Hiding
from ..privacy.walk import Walk

_NUMBERS: Final = frozenset({
    "!decimal", "!int", "!float", "!complex", "!datetime", "!date", "!time", "!timedelta",
})  # fmt: skip
"""Tags of what is no secret under the name `token`, where numbers are counts."""
_FRAMES: Final = ({"type", "fields"}, {"head", "size"})
"""What stands in a tag around the value."""
_ABOUT: Final = frozenset({"type", "size"})
_SIDES: Final = frozenset({"recorded", "replayed"})
_LAST_KEY: Final = re.compile(r'([^."\[\]]+|"(?:[^"\\]|\\.)*")(?:\[\d+\])*\Z')
"""Of a path as `compare.paths` writes it; places in lists have no name."""


def without_secrets(value: Any) -> Any:
    """A JSON-safe value without secrets, known by their form or by the names that they stand under.

    A value with a tag of `jsonsafe` stands under the name that the tag stands under, one in `!map` under its key, the
    two sides of a divergence under the end of its path.
    What is known to be one in one place goes in all others. Placeholders of recordings stay, and so does personal data:
    recordings hold none, and the agent's own texts are the project's. What holds no secret is the very same object.
    """
    hiding = Hiding(_instead)
    clean = _TaggedWalk(hiding).whole(value)
    if not hiding.learned:
        return clean
    again = _TaggedWalk(hiding)
    again.echoes = tuple(sorted(hiding.learned, key=len, reverse=True))
    return again.whole(clean)


class _TaggedWalk(Walk):
    """Goes through tags with the name under which they stand, and through divergences with their path's."""

    def _dict(self, value: dict[Any, Any], name: str) -> dict[Any, Any]:
        if "facet" in value and type(path := value.get("path")) is str:
            last = _LAST_KEY.search(path)
            said = last[1] if last else ""
            return _same_or(
                {key: self.value(item, said if key in _SIDES else "") for key, item in value.items()}, value
            )
        tag = next(iter(value)) if len(value) == 1 else None
        if type(tag) is not str or tag[:1] != "!":
            return super()._dict(value, name)
        inner, new_tag = value[tag], self.text(tag)
        new = self._tagged(tag, inner, tag if is_secret_name(tag) else name)
        return value if new is inner and new_tag is tag else {new_tag: new}

    def _tagged(self, tag: str, inner: Any, name: str) -> Any:
        if tag in _NUMBERS:
            return self.value(inner, name if holds_secret_numbers(name) else "")
        if tag == "!map" and type(inner) is list and all(type(pair) is list and len(pair) == 2 for pair in inner):
            return self._pairs(inner, name)
        if type(inner) is dict and inner.keys() in _FRAMES:
            return _same_or(
                {key: self.value(item, "" if key in _ABOUT else name) for key, item in inner.items()}, inner
            )
        return self.value(inner, name)

    def _pairs(self, pairs: list[list[Any]], name: str) -> list[list[Any]]:
        holder = name if is_secret_name(name) else ""
        told = {_name_of(key): item for key, item in pairs}
        new = []
        for pair in pairs:
            key, item = pair
            clean = [self.value(key), self.value(item, self._under(_name_of(key), item, told, holder, name))]
            new.append(pair if clean[0] is key and clean[1] is item else clean)
        return new if any(one is not other for one, other in zip(new, pairs, strict=True)) else pairs


def _same_or(new: dict[Any, Any], old: dict[Any, Any]) -> dict[Any, Any]:
    return old if all(new[key] is old[key] for key in new) else new


def _name_of(key: Any) -> str | None:
    """The name that a key of a `!map` is: a text, bytes, what an enum or the end of a tuple says."""
    if type(key) is dict:
        key = next(iter(key.values()), None)
        if type(key) is dict and type(fields := key.get("fields")) is dict:
            said = fields.get("value")
            key = said if type(said) is str else fields.get("name")
        elif type(key) is list and key:
            key = key[-1]
    return key if type(key) is str else None


def _instead(kind: str, identity: str, like: str, *, is_number: bool = False) -> str:
    if kind != Kind.SECRET:
        return like
    return "0" if is_number else REDACTED
