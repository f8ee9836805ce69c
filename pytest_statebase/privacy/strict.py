"""`privacy: strict`: of a session only what is listed stays; of the rest its type, and about how long it was."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..cassette.fields import put
from ..cassette.personal import Kind
from ..values import ABSENT, TypedData, fields_of
from .hiding import Hiding
from .options import Finder
from .tokens import TOKEN
from .walk import Walk

WITHHELD: Final = "withheld"
"""The kind of what was not listed."""
_SIZES = (20, 100, 500, 2000)
_ALWAYS: Final = frozenset({"type", "role", "latency_ms", "model"})
"""Keys that tell the form of what was said, and nothing of it."""
_STRUCTURE: Final = frozenset({"tool", "agent", "agent_id", "id", "session", "source", "point", "actor", "created"})
"""Of events and frames what connects them."""
_OWN_REASONS: Final = frozenset({"completed", "stopped", "idle", "too many open"})
"""Why sessions end, in the words of a capture itself."""
_CALLED: Final = {"value": "state", "state_before": "state", "content": "memory", "text": "said"}
"""Fields of events as a list of what is kept calls them."""
Path = tuple[str, ...]


class Kept:
    """Which fields stay.

    names: `order_id` for a field of that name anywhere, `state.order.status` for one below others.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(sorted(names))
        self._paths = [tuple(name.split(".")) for name in self.names]

    def holds(self, path: Path) -> bool:
        """Whether what stands at a path stays, with all that is in it."""
        return bool(path) and (path[-1] in _ALWAYS or any(path[-len(own) :] == own for own in self._paths))


class StrictWalk(Walk):
    """Takes out of values everything that is not listed, and from what is listed what a `Hiding` finds.

    names: finds the names of people: free texts go through it and stay; without one, they are withheld.
    """

    def __init__(self, hiding: Hiding, kept: Kept, names: Finder | None) -> None:
        super().__init__(hiding)
        self.kept = kept
        self._names = names

    def field(self, name: str, value: Any) -> Any:
        """A field of an event or a frame."""
        if name in _STRUCTURE:
            return super().whole(value)
        if name == "reason" and isinstance(value, str) and value in _OWN_REASONS:
            return value
        if name == "user_id":
            return self.hiding.hide(Kind.USER, str(value), str(value))
        return self._at((_CALLED.get(name, name),), value)

    def _at(self, path: Path, value: Any) -> Any:
        if self.kept.holds(path):
            return super().value(value, path[-1])
        if value is None or value is ABSENT or value == "":
            return value
        if isinstance(value, str):
            return self._text(path, value)
        if isinstance(value, bool):
            return False
        if isinstance(value, (int, float)):
            return self.hiding.hide(WITHHELD, repr(value), "number", is_number=True)
        return self._inside(path, value)

    def _inside(self, path: Path, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self._key(key): self._at((*path, str(key)), item) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self._at(path, item) for item in value]
        if isinstance(value, TypedData):
            return TypedData(value.type, self._inside(path, value.fields), value.kind)
        inside = fields_of(value)
        if inside is not None:
            kind = type(value)
            return TypedData(f"{kind.__module__}:{kind.__qualname__}", self._inside(path, inside))
        return self._withheld(str(value))

    def _key(self, key: Any) -> Any:
        return self.text(key) if type(key) is str else key

    def _text(self, path: Path, text: str) -> str:
        clean = super().text(text, path[-1])
        if TOKEN.fullmatch(clean):
            return clean
        if text.startswith(("{", "[")):
            try:
                told = json.loads(text)
            except (ValueError, RecursionError):
                told = None
            if isinstance(told, (dict, list)):
                return json.dumps(self._at(path, told))
        if self._names is None or " " not in text.strip():
            return self._withheld(text)
        places = sorted((start, end) for start, end in self._names(clean) if 0 <= start < end <= len(clean))
        return put(clean, ((start, end, self.hiding.hide(Kind.NAME, clean[start:end], "")) for start, end in places))

    def _withheld(self, text: str) -> str:
        return self.hiding.hide(WITHHELD, text, size_class(text))


def size_class(text: str) -> str:
    """Of what sort a text is, and at most how long: `word-20`, `text-500`."""
    size = next((most for most in _SIZES if len(text) <= most), 0)
    return f"{'text' if ' ' in text.strip() else 'word'}-{size or 'long'}"
