"""The placeholders of a cassette from the tokens of journals: numbered by kind in the order in which they appear."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..cassette.placeholders import Placeholders
from ..cassette.redaction import redacted_exchange
from ..cassette.scrub import scrubbed
from ..ledger import Event, Ledger
from ..wire.exchange import Exchange, Failure
from .hiding import Hiding
from .tokens import MARK, TOKEN, like_of
from .walk import Walk, cleaned_fields

_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{20}|\x1f\x8b")


def renumbered(ledger: Ledger, exchanges: Iterable[Exchange] = ()) -> tuple[Ledger, tuple[Exchange, ...]]:
    """A session from journals with placeholders in the place of tokens; the very same where it holds none.

    Placeholders are of valid form and belong to the session: the same value is the same one in all its events and
    exchanges, and none of them stands in it otherwise.
    """
    clean, made, _ = renumbered_with(ledger, exchanges, None)
    return clean, made


def renumbered_with(
    ledger: Ledger, exchanges: Iterable[Exchange], data: Any
) -> tuple[Ledger, tuple[Exchange, ...], Any]:
    """The same with something else that tells of the session."""
    exchanges = tuple(exchanges)
    corpus = _Corpus(ledger, exchanges)
    numbering = _Numbering(Placeholders(_without_tokens(ledger.id), corpus.holds))
    walk = _Renumber(numbering)
    events = [walk.record(event) for event in ledger.events]
    made = tuple([walk.exchange(exchange) for exchange in exchanges])
    if all(one is other for one, other in zip(events, ledger.events, strict=True)):
        return ledger, made, walk.whole(data)
    return Ledger(events), made, walk.whole(data)


def _without_tokens(session: str) -> str:
    return TOKEN.sub(lambda match: match["kind"], session)


class _Numbering(Hiding):
    """Puts placeholders in the place of tokens, and leaves everything else."""

    __slots__ = ("_placeholders",)

    def __init__(self, placeholders: Placeholders) -> None:
        super().__init__(lambda kind, identity, like, *, is_number=False: like)
        self._placeholders = placeholders

    def secret(self, said: str) -> str:
        return self.more(said)

    def number(self, said: str) -> str:
        return said

    def more(self, text: str) -> str:
        return TOKEN.sub(self._one, text) if MARK in text else text

    def whole(self, text: str) -> str | int:
        """The same for all of a value, which may have been a number."""
        match = TOKEN.fullmatch(text)
        if match is None or not match["number"]:
            return self.more(text)
        return self._placeholders.number(match["kind"], match["id"], like_of(match))

    def _one(self, match: re.Match[str]) -> str:
        if match["number"]:
            return str(self._placeholders.number(match["kind"], match["id"], like_of(match)))
        return self._placeholders.of(match["kind"], match["id"], like_of(match))


class _Renumber(Walk):
    def __init__(self, numbering: _Numbering) -> None:
        super().__init__(numbering)
        self._numbering = numbering

    def record(self, event: Event) -> Event:
        clean: Event = cleaned_fields(event, lambda name, value: self.whole(value))
        return clean

    def exchange(self, exchange: Exchange) -> Exchange:
        clean = redacted_exchange(exchange, hider=self.hiding)
        return exchange if clean == exchange else clean

    def text(self, text: str, name: str = "") -> Any:
        if MARK in text and text.startswith(MARK):
            return self._numbering.whole(text)
        if MARK in text or _ENCODED.search(text):
            return self._scrubbed(text)
        return text

    def _scrubbed(self, text: str) -> str:
        clean = scrubbed(text, hider=self.hiding)
        return text if clean == text else clean

    def _number(self, value: float, name: str) -> Any:
        return value


class _Corpus:
    """All texts of a session, for what must not be given out; put together when it is first asked."""

    def __init__(self, ledger: Ledger, exchanges: Sequence[Exchange]) -> None:
        self._sources = (ledger, exchanges)
        self._text: str | None = None

    def holds(self, text: str) -> bool:
        if self._text is None:
            self._text = "\n".join(self._texts()).casefold()
        return text.casefold() in self._text

    def _texts(self) -> Iterable[str]:
        ledger, exchanges = self._sources
        found: list[str] = []
        collect = _Collect(found)
        for event in ledger.events:
            cleaned_fields(event, lambda name, value: collect.whole(value))
        for exchange in exchanges:
            found.append(exchange.request.url)
            found.append(exchange.request.body.decode("utf-8", "replace"))
            if not isinstance(exchange.answer, Failure):
                found.append(exchange.answer.body.decode("utf-8", "replace"))
        return found


class _Collect(Walk):
    """Changes nothing, and notes every text."""

    def __init__(self, found: list[str]) -> None:
        super().__init__(Hiding(lambda kind, identity, like, *, is_number=False: like))
        self._found = found

    def _number(self, value: float, name: str) -> Any:
        return value

    def text(self, text: str, name: str = "") -> Any:
        self._found.append(text)
        return text
