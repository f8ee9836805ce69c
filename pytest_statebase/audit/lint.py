"""What is missing in a cassette, and what should not be in it. No finding holds a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..cassette import Cassette
from ..cassette.files import read_bytes
from ..cassette.leaves import Leaf, leaves
from ..cassette.personal import PLURALS, holds_secret, number_spots, of_somebody, spots
from ..cassette.personal import Kind as Value
from ..cassette.placeholders import Unredacted
from ..cassette.redaction import redacted_exchange
from ..cassette.yamlread import Document, parse
from ..privacy.spots import with_rules
from ..wire.exchange import Exchange, Failure
from .jsontext import tokens_of
from .places import place_of, told_key
from .reasons import reasons_of
from .redact import pulled_path
from .streamtext import joined_texts

_NOT_SAID = frozenset({"kind", "seal", "documents", "of", "fingerprints", "redacted"})
"""Keys of documents that hold nothing of the conversation."""
_PLACES = 3


class Rule(StrEnum):
    """What is checked, as `--skip` names it."""

    REASONING = "reasoning"
    VAGUE = "vague"
    SECRET = "secret"
    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    IBAN = "iban"
    RETENTION = "retention"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at: all of one rule in one file."""

    rule: Rule
    path: Path
    line: int | None
    """Of the first place, from 1."""
    text: str
    """What it is and where, without a value."""
    bare: bool = False
    """The session records no reasoning at all: what every chat log has in common."""


def lint(cassette: Cassette, today: date, recorded: date | None = None) -> list[Finding]:
    """Check a cassette and all its files.

    today: what the retention dates are held against. recorded: the day of the session, where it is known.
    Raises StatebaseError for a file that cannot be read.
    """
    found = [*_reasoning(cassette), *_retention(cassette, today, recorded)]
    for path in _files(cassette):
        found += _values(path, _texts_of_yaml(path))
    pulled = None if cassette.record_path is None else pulled_path(cassette.record_path)
    if pulled is not None and pulled.exists():
        found += _values(pulled, _texts_of_json(pulled))
    for recording in (cassette.http, cassette.accepted_http):
        if recording is not None:
            found += _values(Path(recording.path), _texts_of_http(recording.exchanges))
    return found


def _files(cassette: Cassette) -> Iterator[Path]:
    for path in (cassette.path, cassette.record_path, cassette.accepted_path):
        if path is not None and path.exists():
            yield path


# --- Reasoning


def _reasoning(cassette: Cassette) -> Iterator[Finding]:
    path = cassette.record_path or Path(cassette.name)
    found = list(reasons_of(cassette.ledger))
    missing = [one for one in found if one.is_missing]
    if found and len(missing) == len(found):
        yield Finding(Rule.REASONING, path, None, "the session records no reasoning at all", bare=True)
    elif missing:
        told = _listed([_where(one.what, one.turn) for one in missing])
        yield Finding(Rule.REASONING, path, None, f"no reasoning: {told}")
    vague = [one for one in found if one.is_vague]
    if vague:
        told = _listed([_where(one.what, one.turn) for one in vague])
        yield Finding(Rule.VAGUE, path, None, f"reasoning that says nothing: {told}")


def _where(what: str, turn: int | None) -> str:
    if what == "turn":
        return f"turn {turn}"
    return f"{what} in turn {turn}" if turn is not None else f"{what} between turns"


def _listed(places: list[str]) -> str:
    more = len(places) - 2 * _PLACES
    return "; ".join(places[: 2 * _PLACES]) + (f" and {more:,} more" if more > 0 else "")


# --- Retention


def _retention(cassette: Cassette, today: date, recorded: date | None) -> Iterator[Finding]:
    retention = cassette.plan.retention
    if retention is None:
        return
    path, _, rest = retention.where.rpartition(".yaml:")
    where = Path(f"{path}.yaml") if path else cassette.path or Path(cassette.name)
    line = int(rest.split(":")[0]) if path else None
    last = retention.last_day(recorded)
    # A default holds for many cassettes: the finding names the one that is due.
    name = "" if where == cassette.path else f" of {cassette.name}"
    if last is None:
        yield Finding(Rule.RETENTION, where, line, f"when the session{name} was recorded is not known: say `until`")
    elif last < today:
        yield Finding(
            Rule.RETENTION, where, line, f"the retention{name} ended on {last}: remove its files, or redact them"
        )


# --- Secrets and personal data


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    name: str
    place: str
    line: int | None
    is_number: bool = False
    is_http: bool = False
    """Its secrets are those of the whole exchange."""


def _texts_of_yaml(path: Path) -> Iterator[_Text]:
    for document in parse(read_bytes(str(path)), where=str(path), marks=True):
        for leaf in leaves(document.parts):
            if leaf.tag != "!bytes" and (leaf.keys[0] if leaf.keys else None) not in _NOT_SAID:
                name = "" if leaf.is_key else leaf.name
                yield _Text(leaf.text, name, _place(document, leaf), _line(document, leaf), leaf.is_number)


def _texts_of_json(path: Path) -> Iterator[_Text]:
    text = read_bytes(str(path)).decode()
    line, seen = 1, 0
    for token in tokens_of(text, str(path)):
        line, seen = line + text.count("\n", seen, token.start), token.start
        place = f"under {told_key(token.name)}" if token.name else "a key"
        yield _Text(token.text, token.name, place, line, token.is_number)


def _place(document: Document, leaf: Leaf) -> str:
    return place_of(document.value, leaf.keys)


def _line(document: Document, leaf: Leaf) -> int:
    return document.marks.get(leaf.at, (document.line - 1, 0))[0] + 1


_UNREDACTED = Unredacted()


def _texts_of_http(exchanges: Iterable[Exchange]) -> Iterator[_Text]:
    for number, exchange in enumerate(exchanges, 1):
        request, answer = exchange.request, exchange.answer
        here = f"interaction {number}"
        yield _Text(unquote(request.url), "", f"{here}, the address", None, is_http=True)
        sides: list[tuple[str, Any]] = [("request", request)]
        sides += [] if isinstance(answer, Failure) else [("answer", answer)]
        for side, message in sides:
            for name, value in message.headers:
                yield _Text(value, "", f"{here}, {side} header {name}", None, is_http=True)
            body = message.body.decode("utf-8", "replace")
            for text in (body, *joined_texts(body)):
                yield _Text(text, "", f"{here}, {side} body", None, is_http=True)
        if redacted_exchange(exchange, hider=_UNREDACTED) != exchange:
            yield _Text(repr(exchange), "secret", here, None)


def _values(path: Path, texts: Iterable[_Text]) -> Iterator[Finding]:
    """One finding for each sort of value in a file."""
    places: dict[Value, list[_Text]] = {}
    values: dict[Value, set[str]] = {}
    for text in texts:
        for kind, identity in _in_text(text):
            values.setdefault(kind, set()).add(identity)
            known = places.setdefault(kind, [])
            if not known or known[-1] is not text:
                known.append(text)
    for kind, found in places.items():
        one, many = PLURALS[kind]
        count = len(values[kind])
        told = _listed(list(dict.fromkeys(text.place for text in found)))
        yield Finding(Rule(kind.value), path, found[0].line, f"{count:,} {one if count == 1 else many}: {told}")


def _in_text(text: _Text) -> Iterator[tuple[Value, str]]:
    found = number_spots(text.text, text.name) if text.is_number else with_rules(text.text, spots(text.text, text.name))
    found = of_somebody(found)
    found = [spot for spot in found if not (text.is_http and spot.kind is Value.SECRET)]
    yield from ((spot.kind, spot.identity) for spot in found)
    has_more = not text.is_number and not text.is_http and not any(spot.kind is Value.SECRET for spot in found)
    if has_more and holds_secret(text.text):
        yield Value.SECRET, text.text
