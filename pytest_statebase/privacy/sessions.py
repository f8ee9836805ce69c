"""A whole session on its way to a cassette."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..events import Event
from ..ledger import Ledger
from ..wire.exchange import Exchange
from .frames import FrameRedactor
from .options import RedactionOptions
from .renumber import renumbered_with


@dataclass(frozen=True, slots=True)
class RedactedSession:
    """A session with placeholders, and how much they stand for."""

    ledger: Ledger
    exchanges: tuple[Exchange, ...]
    data: Any
    """What the session was made of."""
    places: Counter[str]
    """In how many places something was taken out, by kind."""


@dataclass(frozen=True, slots=True)
class _Whole:
    session: str
    events: tuple[Event, ...]
    exchanges: tuple[Exchange, ...]
    data: Any


def redacted_session(
    ledger: Ledger, exchanges: Iterable[Exchange] = (), data: Any = None, options: RedactionOptions | None = None
) -> RedactedSession:
    """A session without secrets and personal data; what holds none is the very same.

    data: anything else that tells of the session, as JSON. options: beside those of the process (see `set_redaction`).
    Raises what a rule raises.
    """
    redactor = FrameRedactor(options)
    whole = redactor.frame(_Whole(ledger.id, tuple(ledger.events), tuple(exchanges), data))
    is_same = all(one is other for one, other in zip(whole.events, ledger.events, strict=True))
    clean = ledger if is_same else Ledger(list(whole.events))
    clean, made, data = renumbered_with(clean, whole.exchanges, whole.data)
    return RedactedSession(clean, made, data, redactor.counts)
