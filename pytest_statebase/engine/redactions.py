"""What was redacted in a recording and the agent has by itself: an address in its code, a key from its environment.

The recording holds a placeholder there, the replayed agent its real value. The two are the same where nobody gave the
placeholder to the agent: what a user, a tool or a state gave it, it gets in the replay as the placeholder, and must use
as such. One placeholder stands for one value, and one value for one placeholder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from urllib.parse import unquote

from ..cassette.personal import Spot, is_no_value, spots
from ..cassette.placeholders import PLACEHOLDER, SIGNS, is_placeholder
from ..cassette.secrets import SCHEME, is_secret_name
from ..ledger import Event, Ledger, Said, StateRolledBack, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from ..privacy.frames import PRIVACY
from ..privacy.options import effective
from ..privacy.strict import WITHHELD, Kept, Path
from ..values import TypedData
from ..wire.exchange import Exchange, Response
from .given import given_by
from .volatile import Piece

_SHORTEST = 6
"""Characters of a value from which on it is told apart from other words of a text."""
KINDS = frozenset({"email", "secret", "rule", "card", "phone", "iban", WITHHELD})
_NUMBER = "\0"
"""How a number is told among the pieces, so that it is no part of any text."""


class Redactions:
    """The placeholders of a recording, and which of them the agent had from nobody."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._own: dict[str, bool] = {}
        self._texts: list[tuple[bool, list[str]]] | None = None
        """Of every event what was given to the agent, and what it told; those without a placeholder left out."""
        self._replayed: list[Any] = []
        self._later: list[Callable[[], str]] = []
        self._exchanges: Sequence[Exchange] = ()
        self._in_http: list[tuple[bool, list[str]]] | None = None
        self.kept = kept_by(ledger)
        """Of a recording with `privacy: strict` the fields that were kept; None for any other."""

    @property
    def are_any(self) -> bool:
        """Whether the recording holds placeholders at all."""
        return self.kept is not None or bool(self._told()) or bool(self._of_http())

    @property
    def proved(self) -> list[str]:
        """What a recording of which only some fields were kept can still prove; nothing of any other."""
        if self.kept is None:
            return []
        fields = ", ".join(self.kept.names) or "none"
        return [
            "recorded with privacy: strict. Compared are which tools are called, in which order, and the fields that "
            f"were kept ({fields}); of all others only that equal values are equal. No model call was kept."
        ]

    def know(self, exchanges: Sequence[Exchange]) -> None:
        """The HTTP exchanges of the recording, in their order."""
        self._exchanges = exchanges

    def learn(self, values: Iterable[Any]) -> None:
        """Remember what the replayed agent was given."""
        self._replayed.extend(values)

    def learn_later(self, told: Callable[[], str]) -> None:
        """The same of a text that is made out only when it is asked for."""
        self._later.append(told)

    def are_same(self, kind: str, old: str, new: str) -> bool:
        """Whether a placeholder may stand for a value of the replayed agent."""
        if kind == WITHHELD and old.startswith(_NUMBER):
            return new.startswith(_NUMBER)
        if kind == WITHHELD:
            return is_placeholder(old) and not is_placeholder(new) and self._is_own(old)
        if len(new) < _SHORTEST or not is_placeholder(old) or is_placeholder(new) or not self._is_own(old):
            return False
        return not any(new in text for text in self._given_in_replay())

    def _is_own(self, placeholder: str) -> bool:
        """Whether the agent told it before, or as, somebody gave it to the agent."""
        if placeholder not in self._own:
            self._own[placeholder] = not (
                _is_given_first(placeholder, self._told()) or _is_given_first(placeholder, self._of_http())
            )
        return self._own[placeholder]

    def _told(self) -> list[tuple[bool, list[str]]]:
        if self._texts is None:
            self._texts = [
                (given, texts)
                for given, values in _in_order(self._ledger.events)
                if (texts := [text for text in texts_in(values) if _has_any(text)])
            ]
        return self._texts

    def _of_http(self) -> list[tuple[bool, list[str]]]:
        """The same of every request (told) and its answer (given)."""
        if self._in_http is None:
            self._in_http = []
            for exchange in self._exchanges:
                asked, answer = exchange.request, exchange.answer
                texts = [unquote(asked.url), _shown(asked.body)]
                self._in_http += [(False, texts), (True, [_shown(answer.body)] if isinstance(answer, Response) else [])]
            self._in_http = [(given, kept) for given, texts in self._in_http if (kept := [*filter(_has_any, texts)])]
        return self._in_http

    def _given_in_replay(self) -> Iterator[str]:
        yield from texts_in(self._replayed)
        yield from (told() for told in self._later)


def _is_given_first(placeholder: str, told: list[tuple[bool, list[str]]]) -> bool:
    return next((given for given, texts in told if any(placeholder in text for text in texts)), False)


def _shown(body: bytes) -> str:
    return body.decode("utf-8", "replace")


def _has_any(text: str) -> bool:
    return any(sign in text for sign in SIGNS) and PLACEHOLDER.search(text) is not None


def _in_order(events: Sequence[Event]) -> Iterator[tuple[bool, list[Any]]]:
    """What was given to the agent (True) and what it told itself, as they came."""
    in_turn = False
    for event in events:
        if isinstance(event, ToolCalled):
            yield False, [event.arguments]
        if isinstance(event, (Said, TurnAdded)):
            yield False, [event.text] if isinstance(event, Said) else [event.output]
        is_told = in_turn and isinstance(event, (StateUpdated, StateRolledBack))
        yield not is_told, given_by(event)
        in_turn = isinstance(event, TurnStarted) or (in_turn and not isinstance(event, TurnAdded))


def texts_in(values: Iterable[Any]) -> Iterator[str]:
    """Every text inside values, keys included; what holds itself is looked through once, and depth is no limit."""
    seen: set[int] = set()
    open_: list[Iterator[Any]] = [iter(values)]
    while open_:
        value = next(open_[-1], _END)
        if value is _END:
            open_.pop()
        elif isinstance(value, str):
            yield value
        elif isinstance(value, (Mapping, list, tuple, set, frozenset, TypedData)) and id(value) not in seen:
            seen.add(id(value))
            fields = value.fields if isinstance(value, TypedData) else value
            open_.append(chain(fields.keys(), fields.values()) if isinstance(fields, Mapping) else iter(fields))


_END = object()


def kept_by(ledger: Ledger) -> Kept | None:
    """What the record of a session says to have been kept of it; None where everything was."""
    note = ledger.created.extra.get(PRIVACY)
    return Kept(map(str, note.get("keep") or ())) if isinstance(note, Mapping) and note.get("strict") else None


def concealed(value: Any, kept: Kept | None = None, path: Path = ()) -> tuple[Any, list[Piece]]:
    """A value with a mark in the place of all that is, or would be, redacted, and that in order.

    kept: the fields that stay, where others do not. path: to the value. What is nested too deeply stays as it is.
    """
    pieces: list[Piece] = []
    try:
        return _concealed(value, path, pieces, kept), pieces
    except RecursionError:
        return value, []


def _concealed(value: Any, path: Path, pieces: list[Piece], kept: Kept | None) -> Any:
    if kept is not None and kept.holds(path):
        kept = None
    if isinstance(value, str):
        return _text(value, path[-1] if path else "", pieces, is_withheld=kept is not None and value != "")
    if isinstance(value, Mapping):
        return _mapping(value, path, pieces, kept)
    if isinstance(value, (list, tuple)):
        inside = [_concealed(item, path, pieces, kept) for item in value]
        return inside if kept is not None or type(value) is list else tuple(inside)
    if type(value) is TypedData:
        return TypedData(value.type, _concealed(dict(value.fields), path, pieces, kept), value.kind)
    if kept is not None and isinstance(value, bool):
        return "\0flag\0"
    if kept is not None and isinstance(value, (int, float)):
        pieces.append((WITHHELD, f"{_NUMBER}{value!r}"))
        return "\0number\0"
    return value


def _mapping(value: Mapping[Any, Any], path: Path, pieces: list[Piece], kept: Kept | None) -> dict[Any, Any]:
    """In the order of the concealed keys, which is the same on both sides."""
    keys: list[tuple[str, Any, list[Piece]]] = []
    for key in value:
        found: list[Piece] = []
        keys.append((_known(key, "", found) if isinstance(key, str) else repr(key), key, found))
    made = {}
    for clean, key, found in sorted(keys, key=lambda one: one[0]):
        pieces += found
        inside = _concealed(value[key], (*path, key) if isinstance(key, str) else path, pieces, kept)
        made[clean if isinstance(key, str) else key] = inside
    return made


def _text(text: str, name: str, pieces: list[Piece], *, is_withheld: bool) -> str:
    found: list[Piece] = []
    clean = _known(text, name, found)
    if is_withheld and (len(found) != 1 or len(clean) != len(found[0][0]) + 2):
        found = [(WITHHELD, text)]
        clean = f"\0{WITHHELD}\0"
    pieces += found
    return clean


def _known(text: str, name: str, pieces: list[Piece]) -> str:
    if name and is_secret_name(name) and not (is_no_value(text) and not is_placeholder(text)):
        scheme = SCHEME.match(text)
        begin = "" if scheme is None else scheme[0]
        pieces.append(("secret", text[len(begin) :]))
        return f"{begin}\0secret\0"
    out, done = [], 0
    for kind, start, end in _places(text):
        if start >= done:
            pieces.append((kind, text[start:end]))
            out += [text[done:start], f"\0{kind}\0"]
            done = end
    return "".join([*out, text[done:]])


def _places(text: str) -> list[tuple[str, int, int]]:
    found = [(match.lastgroup or "", *match.span()) for match in PLACEHOLDER.finditer(text)]
    values: list[Spot] = spots(text) if len(text) >= _SHORTEST else []
    found += [("rule", start, end) for rule in effective(None).rules for start, end in rule.places(text)]
    return sorted([*found, *((str(spot.kind), spot.start, spot.end) for spot in values)], key=lambda one: one[1])


Pair = tuple[str, str, str]
"""A kind, a placeholder, and what stands in its place."""


def pairs_in(recorded: Any, replayed: Any, kept: Kept | None = None, path: Path = ()) -> list[Pair]:
    """Placeholders of a recorded value with what stands in their places in a replayed one that is built alike.

    None of what is nested too deeply, which is compared as it is.
    """
    try:
        return list(_pairs(recorded, replayed, kept, path))
    except RecursionError:
        return []


def _pairs(recorded: Any, replayed: Any, kept: Kept | None, path: Path) -> Iterator[Pair]:
    if isinstance(recorded, Mapping) and isinstance(replayed, Mapping):
        for key, item in recorded.items():
            if key in replayed:
                yield from _pairs(item, replayed[key], kept, (*path, key) if isinstance(key, str) else path)
    elif isinstance(recorded, (list, tuple)) and isinstance(replayed, (list, tuple)) and len(recorded) == len(replayed):
        for one, other in zip(recorded, replayed, strict=True):
            yield from _pairs(one, other, kept, path)
    elif recorded != replayed:
        kept = None if kept is None or any(kept.holds(path[:end]) for end in range(1, len(path) + 1)) else kept
        ours, theirs = concealed(recorded, kept, path), concealed(replayed, kept, path)
        if ours[0] == theirs[0]:
            pairs = zip(ours[1], theirs[1], strict=True)
            yield from ((kind, old, new) for (kind, old), (_, new) in pairs if old != new)
