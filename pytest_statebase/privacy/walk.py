"""Values as they travel through a session, without what has to go. What does not change is the very same object."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from ..cassette.gzipped import MAGIC
from ..cassette.personal import is_personal_name, name_spots, number_spots
from ..cassette.scrub import bytes_scrubbed, gzip_scrubbed, scrubbed
from ..cassette.secrets import (
    holds_secret_numbers,
    is_doubtful_name,
    is_secret_name,
    is_secret_value,
    remembers_names,
)
from ..values import ABSENT, TypedData, fields_of
from .hiding import Hiding
from .tokens import MARK, TOKEN

_SIGNS: Final = re.compile(r"""[@=~%"'\\<:]|(?<![\d-])(?!\d{4}-\d\d-\d\d(?![\d-]))\d[\d .()/+-]{5}|[A-Z]{2}\d\d""")
"""A date by itself is none."""
_WORDS: Final = re.compile(
    r"[Pp](?:ass|in|wd)|PIN|PASS|[Ss]ecret|SECRET|[Tt]oken|TOKEN|[Kk]ey|KEY|[Bb]earer|BEARER|[Bb]asic|[Cc]ode|[Cc](?:ontrase|v[cv])|OTP|TAN|CV[CV]|otp|[Kk]ennw|login"
)
_DIGIT: Final = re.compile(r"\d")
_ID: Final = re.compile(
    r"(?:[a-z]{0,12}[_-])?[0-9]{1,12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|"
    r"(?:(?:call|req|msg|run|resp|trace|span|thread|evt|event|order|id)[_-])?(?=[0-9]*[a-f])[0-9a-f]{12,64}|"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.+Z-]{5,24}"
)
"""Short ids, UUIDs, check sums and times, which most suspects are."""
_RUN = 15
"""No key is shorter."""
_SHORTEST = 6


def is_suspect(text: str) -> bool:
    """Whether anything may be found in a text; quick, and more often true than not where it is in doubt."""
    size = len(text)
    if size < _SHORTEST or (size < _RUN - 2 and text.isalnum()):
        return False
    if size < 80 and _ID.fullmatch(text) is not None:
        return False
    if _SIGNS.search(text) is not None:
        return True
    if size >= _RUN and max(map(len, text.split()), default=0) >= _RUN:
        return True
    return _DIGIT.search(text) is not None and _WORDS.search(text) is not None


_ENCODED = re.compile(r"(?<![A-Za-z0-9~])[A-Za-z0-9+/_-]{20}")
"""May be base64, and is not of a token."""
_KEPT = 512
_MOST = 8192
_SECRET, _DOUBTFUL, _PERSONAL, _NUMBER = 1, 2, 4, 8
_OF_MODELS = frozenset({"logprob", "top_logprobs", "token_str", "prob"})
_VALUES = frozenset({"value", "values", "secret_value", "plaintext"})
_NAMING = ("name", "key", "header")


@lru_cache(8192)
def _flags(name: str) -> int:
    flags = _SECRET if is_secret_name(name) else _DOUBTFUL if is_doubtful_name(name) else 0
    if is_personal_name(name):
        flags |= _PERSONAL
    return flags | (_NUMBER if holds_secret_numbers(name) or is_doubtful_name(name) else 0)


remembers_names(_flags.cache_clear)


class Walk:
    """Takes out of values what a `Hiding` finds.

    Texts in which nothing was found are remembered: most of a session's texts come again and again.
    """

    def __init__(self, hiding: Hiding) -> None:
        self.hiding = hiding
        self.echoes: tuple[str, ...] = ()
        """Secrets that are known from elsewhere, the longest first."""
        self.knows_tokens = False
        """Whether tokens in what comes are own ones: others are taken out."""
        self._plain: set[str] = set()
        """Keys that hold nothing and tell nothing."""
        self._young: set[str] = set()
        self._old: set[str] = set()

    def whole(self, value: Any) -> Any:
        """The value without what has to go; depth is no limit."""
        try:
            return self.value(value)
        except RecursionError:
            return self._deep(value)

    def _deep(self, value: Any) -> Any:
        """Step by step: for what is deeper than Python recurses, or holds itself."""
        root: list[Any] = [None]
        made: dict[int, Any] = {}
        pending: list[tuple[Any, Any, Any, str]] = [(root, 0, value, "")]
        while pending:
            into, place, item, name = pending.pop()
            kind = type(item)
            if id(item) in made:
                into[place] = made[id(item)]
            elif kind is dict:
                inside: dict[Any, Any] = {}
                into[place] = made[id(item)] = inside
                for key, inner in item.items():
                    clean = self.text(key) if type(key) is str else key
                    inside[clean] = None
                    pending.append((inside, clean, inner, key if type(key) is str else name))
            elif kind is list:
                into[place] = made[id(item)] = [None] * len(item)
                pending += [(into[place], at, inner, name) for at, inner in enumerate(item)]
            else:
                into[place] = self.value(item, name)
        return root[0]

    def value(self, value: Any, name: str = "") -> Any:
        """The same for what is not too deep. name: the key under which it stands."""
        kind = type(value)
        if kind is str:
            return self.text(value, name)
        if kind is dict:
            return self._dict(value, name)
        if kind is list:
            return self._list(value, name)
        if value is None or kind is bool:
            return value
        if kind is int or kind is float:
            return self._number(value, name) if name and _flags(name) else value
        return self._other(value, name)

    def text(self, text: str, name: str = "") -> str:
        """The same for a text."""
        if name and (flags := _flags(name)):
            named = self._named(text, name, flags)
            if named is not None:
                return named
        if self.knows_tokens:
            return self._scrubbed(text) if self._has_echo(text) or _ENCODED.search(text) else text
        if self.echoes:
            return self._scrubbed(text) if self._is_suspect(text) or self._has_echo(text) else text
        if text in self._young:
            return text
        if text in self._old:
            self._keep(text)
            return text
        if not self._is_suspect(text):
            self._keep(text)
            return text
        clean = self._scrubbed(text)
        if clean == text:
            self._keep(text)
            return text
        return clean

    def _is_suspect(self, text: str) -> bool:
        if self.hiding.rules:
            return True
        return is_suspect(text)

    def _has_echo(self, text: str) -> bool:
        for echo in self.echoes:  # noqa: SIM110  # any() of a generator takes twice as long
            if echo in text:
                return True
        return False

    def _keep(self, text: str) -> None:
        if len(text) <= _KEPT:
            if len(self._young) >= _MOST:
                self._old, self._young = self._young, set()
            self._young.add(text)

    def _scrubbed(self, text: str) -> str:
        if MARK in text and not self.knows_tokens:
            # Nobody but this redactor makes tokens.
            text = TOKEN.sub(lambda match: self.hiding.secret(match[0].strip("~")), text)
        return scrubbed(text, self.echoes, hider=self.hiding)

    def _named(self, text: str, name: str, flags: int) -> str | None:
        if flags & _SECRET or (flags & _DOUBTFUL and is_secret_value(name, text)):
            return self.hiding.secret(text)
        spot = name_spots(text, name) if flags & _PERSONAL else None
        return self.hiding.hide(spot[0].kind, spot[0].identity, text) if spot else None

    def _number(self, value: float, name: str) -> Any:
        """A token in its place tells that it was a number."""
        said = repr(value)
        is_whole = type(value) is int
        if holds_secret_numbers(name) or (is_whole and is_doubtful_name(name) and is_secret_value(name, said)):
            return self.hiding.number(said)
        for spot in number_spots(said, name) if is_whole else ():
            return self.hiding.hide(spot.kind, spot.identity, said, is_number=True)
        return value

    def _dict(self, value: dict[Any, Any], name: str) -> dict[Any, Any]:
        holder = name if name and _flags(name) & _SECRET else ""
        plain, young = (() if holder or self.echoes else self._plain), self._young
        changed: dict[int, tuple[Any, Any]] = {}
        for at, (key, item) in enumerate(value.items()):
            if key in plain:
                kind = type(item)
                if item is None or kind is int or kind is float or (kind is str and item in young):
                    continue
                new, new_key = self.value(item), key
            else:
                new_key = self.text(key) if type(key) is str else key
                new = self.value(item, self._under(key, item, value, holder, name))
            if new is not item or new_key is not key:
                changed[at] = new_key, new
        if not changed:
            return value
        return dict([changed.get(at, pair) for at, pair in enumerate(value.items())])

    def _under(self, key: Any, item: Any, value: dict[Any, Any], holder: str, name: str) -> str:
        """The name that tells what a value of a mapping is, mostly its key."""
        if type(key) is not str:
            return name
        if key == "value":
            pair = self._pair(value)
            if pair:
                return pair
        elif key == "token" and not _OF_MODELS.isdisjoint(value):
            return ""
        elif not _flags(key) and key in self._young and len(self._plain) < _MOST:
            self._plain.add(key)
        return self._held(key, item, holder) if holder and not _flags(key) else key

    def _held(self, said: str, item: Any, holder: str) -> str:
        """In an object under a secret name what `value` says is one, and what looks as if thrown with dice."""
        if said.lower() in _VALUES:
            return holder
        is_odd = type(item) is str and not said.lower().endswith(("id", "name", "text", "hash", "fingerprint"))
        return holder if is_odd and is_secret_value(holder, item) else said

    def _pair(self, value: dict[Any, Any]) -> str:
        """The secret name that a field beside `value` says: `{"name": "X-Api-Key", "value": "…"}`."""
        for naming in _NAMING:
            said = value.get(naming)
            if type(said) is str and len(said) <= 80 and _flags(said) & _SECRET:
                return said
        return ""

    def _list(self, value: list[Any], name: str) -> list[Any]:
        new = [self.value(item, name) for item in value]
        return new if any(one is not other for one, other in zip(new, value, strict=True)) else value

    def _other(self, value: Any, name: str) -> Any:
        if isinstance(value, str):
            return value if (said := self.text(str.__str__(value), name)) == value else said
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._bytes(value)
        if isinstance(value, (set, frozenset)) or type(value) is tuple:
            new = [self.value(item, name) for item in value]
            return value if all(one is other for one, other in zip(new, value, strict=True)) else type(value)(new)
        if type(value) is TypedData:
            clean = self._dict(dict(value.fields), name)
            return value if _is_same(clean, value.fields) else TypedData(value.type, clean, value.kind)
        if isinstance(value, Mapping):
            clean = self._dict(dict(value), name)
            return value if _is_same(clean, value) else clean
        inside = fields_of(value)
        if inside is not None:
            clean = self._dict(inside, name)
            kind = type(value)
            return value if clean is inside else TypedData(f"{kind.__module__}:{kind.__qualname__}", clean)
        if isinstance(value, BaseException):
            new = self.value(list(value.args))
            return value if _same_args(new, value.args) else {"type": type(value).__qualname__, "args": new}
        if hasattr(value, "__fspath__"):
            path = str(value)
            return value if (said := self.text(path, name)) == path else said
        return value

    def _bytes(self, value: Any) -> Any:
        data = bytes(value)

        def clean(said: bytes, is_zipped: bool) -> bytes:
            return bytes_scrubbed(
                said,
                self.echoes,
                lambda text, echoes: scrubbed(text, echoes, is_zipped=is_zipped, hider=self.hiding),
            )

        new = gzip_scrubbed(data, lambda inside: clean(inside, True)) if data.startswith(MAGIC) else clean(data, False)
        return value if new == data else type(value)(new) if type(value) is not memoryview else new


def _is_same(clean: Mapping[Any, Any], before: Mapping[Any, Any]) -> bool:
    return clean.keys() == before.keys() and all(clean[key] is before[key] for key in before)


def _same_args(new: list[Any], args: tuple[Any, ...]) -> bool:
    return all(one is other for one, other in zip(new, args, strict=True))


_PLAIN_FIELDS: Final = frozenset({
    "number", "version", "to_version", "step", "after", "during", "latency_ms", "is_error", "interrupted", "authored",
    "http", "turn", "keep", "kept", "at",
})  # fmt: skip
"""Of events and frames what holds nothing of the conversation; so does the id of a call."""


@lru_cache(256)
def _told_fields(kind: type[Any]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    skipped = _PLAIN_FIELDS | ({"id"} if kind.__name__ == "ToolCalled" else set())
    names = tuple(field.name for field in fields(kind) if field.name not in skipped)
    return names, attrgetter(*names, names[0])


def cleaned_fields(record: Any, clean: Callable[[str, Any], Any]) -> Any:
    """An event or a frame with what its fields hold cleaned; the very same where nothing changes.

    clean: (name of the field, value) → the clean value.
    """
    changed: dict[str, Any] = {}
    names, values = _told_fields(type(record))  # type: ignore[arg-type]
    for name, value in zip(names, values(record), strict=False):
        if value is None or value is ABSENT or value == {}:
            continue
        new = clean(name, value)
        if new is not value:
            changed[name] = new
    return replace(record, **changed) if changed else record
