"""Ids and times that the agent makes up anew on each run, as they stand in its requests."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from ...compare.shapes import as_moment, shapes_in
from ...ledger import Ledger, TurnAdded, TurnStarted
from ...wire.exchange import Answer, Exchange, Response
from ..matching import Pool
from ..volatile import Piece
from .deltas import is_stream, joined, with_new_names

IsNow: TypeAlias = Callable[[Any, Any], bool]
_FEW = 8
"""Names up to which each is looked for on its own, which is quicker."""
_ESCAPE = re.compile(r"\\(?:[bfnrt]|u[0-9a-fA-F]{4})")
# Escapes first, so that the `n` of `\n` does not belong to the id that follows.
_IDS = re.compile(
    rb"\\(?:[bfnrt]|u[0-9a-fA-F]{4})"
    rb"|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    rb"|[A-Za-z0-9]{12,}"
)
_IDS_IN_TEXT = re.compile(_IDS.pattern.decode())


class _Span(NamedTuple):
    """A recorded turn: when it began, and its events."""

    at: str | None
    events: range


class Inventions:
    """Tells the ids that the agent makes up from those that it was given, by the session or by an answer.

    ids: knows the names that the replay has found so far. files: the recorded exchanges, and the accepted ones, which
    another run made, with ids of its own.
    """

    def __init__(self, ids: Pool, ledger: Ledger, *files: Sequence[Exchange]) -> None:
        self._ids = ids
        self._ledger = ledger
        self._files = files
        self._accepted: dict[str, str] = {}
        """Names of the accepted exchanges, to replayed ones."""
        self._accepted_back: dict[str, str] = {}
        self._spans: dict[int, _Span] | None = None
        self._given: list[dict[str, int]] | None = None

    def adopt(self, names: Mapping[str, str], exchange: Exchange, file: int, place: int) -> bool:
        """Take recorded ids and those of a request for the same from now on, unless somebody gave them to the agent.

        exchange: the recorded one, with its file (0 or 1) and its place in there.
        """
        if any(old not in self._known(file) and self._is_given(old, exchange, file, place) for old in names):
            return False
        if file:
            return self._adopt_accepted(names)
        span = self._turns().get(exchange.turn or 0)
        return self._ids.adopt(names, span and span.events)

    @property
    def has_redactions(self) -> bool:
        """Whether the recording holds placeholders, for which the agent may have values by itself."""
        return self._ids.has_redactions

    def is_alike(self, names: Mapping[str, str], file: int) -> bool:
        """Whether recorded ids and those of a request are the same ones, or may both be made up."""
        known = self._known(file)
        return all(known.get(old) == new or self._ids.made_up(old, new) for old, new in names.items())

    def _known(self, file: int) -> Mapping[str, str]:
        return ChainMap(self._ids.renames, self._accepted) if file and self._accepted else self._ids.renames

    def _adopt_accepted(self, names: Mapping[str, str]) -> bool:
        known = self._known(1)
        for old, new in names.items():
            if known.get(old) == new:
                continue
            if old in known or new in self._accepted_back:
                return False
            if not (self._ids.made_up(old, new) or new in self._ids.renames.values()):
                return False
        self._accepted.update(names)
        self._accepted_back.update((new, old) for old, new in names.items())
        return True

    def clocks(self, exchange: Exchange) -> list[datetime]:
        """When a recorded request was made, as far as it is known."""
        answer = exchange.answer
        told = answer.header("date") if isinstance(answer, Response) else None
        span = self._turns().get(exchange.turn or 0)
        times = [exchange.at, span and span.at, None if told is None else _http_date(told)]
        return [moment for moment in map(as_moment, times) if moment]

    def _is_given(self, name: str, exchange: Exchange, file: int, place: int) -> bool:
        """Whether an answer from before that exchange has it."""
        if self._given is None:
            self._given = [_first_given(exchanges) for exchanges in self._files]
        for number, (exchanges, given) in enumerate(zip(self._files, self._given, strict=True)):
            at = given.get(name)
            if at is None:
                continue
            if number == file and at < place:
                return True
            if number != file and (exchange.turn is None or (exchanges[at].turn or 0) < exchange.turn):
                return True
        return False

    def _turns(self) -> dict[int, _Span]:
        if self._spans is None:
            self._spans, began, start = {}, None, 0
            for at, event in enumerate(self._ledger.events):
                if isinstance(event, TurnStarted):
                    began, start = event, at
                elif isinstance(event, TurnAdded) and began is not None:
                    self._spans[began.number] = _Span(began.at or self._ledger.created.at, range(start, at))
        return self._spans

    def renamed(self, answer: Answer, file: int) -> Answer:
        """An answer of that file with the ids that the agent made up in this replay."""
        names = self._known(file)
        if not names or not isinstance(answer, Response):
            return answer
        headers = tuple((key, _in_text(value, names)) for key, value in answer.headers)
        whole = with_new_names(answer.body, _IDS_IN_TEXT, names.get) if is_stream(answer) else answer.body
        body = _in_bytes(whole, names)
        if len(body) != len(answer.body):
            length = str(len(body))
            headers = tuple((key, length if key.lower() == "content-length" else value) for key, value in headers)
        return replace(answer, headers=headers, body=body)


def names_of(recorded: Iterable[Piece], asked: Iterable[Piece], is_now: IsNow) -> dict[str, str] | None:
    """The new names of the ids that make two requests one; None where they are two.

    is_now: whether a recorded and a new time are both of the time at which their request was made.
    """
    names: dict[str, str] = {}
    back: dict[str, str] = {}
    for (shape, old), (other, new) in zip(recorded, asked, strict=True):
        if shape != other:
            return None
        if shape == "time":
            if old != new and not is_now(old, new):
                return None
        elif names.setdefault(old, new) != new or back.setdefault(new, old) != old:
            return None
    return {old: new for old, new in names.items() if old != new}


def told_by(answer: Answer) -> str:
    """The text of an answer in which ids can be looked for."""
    if not isinstance(answer, Response):
        return ""
    texts = [value for _, value in answer.headers]
    texts.append(answer.body.decode("utf-8", "replace"))
    texts += joined(answer.body) if is_stream(answer) else ()
    text = " ".join(texts)
    return _ESCAPE.sub(" ", text) if "\\" in text else text


def _first_given(exchanges: Sequence[Exchange]) -> dict[str, int]:
    first: dict[str, int] = {}
    for at, exchange in enumerate(exchanges):
        for found in shapes_in(told_by(exchange.answer)):
            if found.lastgroup != "time":
                first.setdefault(found[0], at)
    return first


def _http_date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None


def _in_bytes(body: bytes, names: Mapping[str, str]) -> bytes:
    if len(names) <= _FEW and not any(old.encode() in body for old in names):
        return body
    return _IDS.sub(partial(_new_name, names), body)


def _in_text(text: str, names: Mapping[str, str]) -> str:
    return _in_bytes(text.encode("utf-8", "surrogatepass"), names).decode("utf-8", "surrogatepass")


def _new_name(names: Mapping[str, str], found: re.Match[bytes]) -> bytes:
    new = names.get(found[0].decode())
    return found[0] if new is None else new.encode()
