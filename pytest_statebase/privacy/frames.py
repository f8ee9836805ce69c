"""Frames of a journal on their way to the disk, without secrets and personal data."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, TypeVar, get_args

from ..cassette.redaction import all_known, redacted_exchange, spellings_of
from ..events import Event, SessionCreated
from ..wire.exchange import Exchange
from .hiding import Hiding
from .options import RedactionOptions, effective
from .strict import Kept, StrictWalk
from .tokens import Tokens
from .walk import Walk, cleaned_fields

Frame = TypeVar("Frame")
_SESSIONS = 4096
PRIVACY = "privacy"
"""Under which key a record says that only some fields were kept."""
_SPELLINGS = 512
"""Of secrets of one session that are looked for elsewhere in it."""


@dataclass(frozen=True, slots=True)
class _Single:
    session: str
    events: tuple[Event, ...]


class FrameRedactor:
    """Puts tokens in the place of everything that must not be written; of one thread at a time.

    What a frame shows to be a secret by the name that it stands under is taken out of the rest of that frame and of
    later ones of the same session, too. Ids of calls, numbers and times stay.
    """

    def __init__(self, options: RedactionOptions | None = None) -> None:
        self.options = effective(options)
        self._hiding = Hiding(Tokens(self.options.key).of, self.options.rules)
        own = self.options
        self._strict = StrictWalk(self._hiding, Kept(own.keep), own.names) if own.strict else None
        self._walk: Walk = self._strict or Walk(self._hiding)
        self._known: OrderedDict[str, dict[str, str]] = OrderedDict()
        """By session, what is looked for elsewhere: its secrets by all their spellings, the longest first."""

    @property
    def counts(self) -> Counter[str]:
        """In how many places something was taken out, by kind: `secret`, `email`, the names of rules."""
        return self._hiding.places

    def frame(self, frame: Frame) -> Frame:
        """The frame to be written. What does not change is the very same object.

        frame: a dataclass with `session` or `created`, and events, exchanges and values. Raises what a rule raises:
        such a frame must not be written.
        """
        session = _session_of(frame)
        self._look_for(self._known.get(session, {}))
        self._hiding.learned.clear()
        self._learn_exchanges(session, frame)
        clean: Frame = self._record(frame)
        if self._strict is not None:
            return clean
        if self._hiding.learned and self._learn(session, self._hiding.learned):
            # Once more, for what stands before the place that told it.
            self._walk.knows_tokens = True
            try:
                clean = self._record(clean)
            finally:
                self._walk.knows_tokens = False
        return clean

    def event(self, session: str, event: Event) -> Event:
        """The same for one event of a session."""
        clean: Event = self.frame(_Single(session, (event,))).events[0]
        return clean

    def _record(self, record: Any) -> Any:
        return cleaned_fields(record, self._field)

    def _field(self, name: str, value: Any) -> Any:
        if self._strict is not None:
            return self._strict_field(self._strict, name, value)
        if name in _MANY:
            new = [self._item(item) for item in value]
            return value if all(map(is_, new, value)) else type(value)(new)
        return self._item(value)

    def _strict_field(self, strict: StrictWalk, name: str, value: Any) -> Any:
        """No exchange stays: what a model or a service was told, and said, is not in fields that could be listed."""
        if name == "exchanges":
            return ()
        if name == "events":
            return tuple([self._strict_event(strict, event) for event in value])
        return self._strict_event(strict, value) if name == "created" else strict.field(name, value)

    def _strict_event(self, strict: StrictWalk, event: Event) -> Event:
        clean: Event = self._record(event)
        if not isinstance(clean, SessionCreated):
            return clean
        note = {"strict": True, "keep": list(strict.kept.names)}
        return replace(clean, http=False, extra={**clean.extra, PRIVACY: note})

    def _item(self, value: Any) -> Any:
        kind = type(value)
        if kind is dict or kind is str:
            return self._walk.whole(value)
        if kind is Exchange:
            return self.exchange(value)
        return self._record(value) if kind in _EVENTS else self._walk.whole(value)

    def exchange(self, exchange: Exchange) -> Exchange:
        """An exchange to be written. Keys in headers and cookies become `REDACTED`, as a replay's do."""
        clean = redacted_exchange(exchange, self._walk.echoes, self._hiding)
        return exchange if clean == exchange else clean

    def _learn_exchanges(self, session: str, frame: Any) -> None:
        known: tuple[str, ...] = ()
        for exchange in getattr(frame, "exchanges", ()):
            known = all_known(known, exchange.request)
        if known:
            self._learn(session, known)

    def _learn(self, session: str, secrets: Iterable[str]) -> bool:
        """Whether there is something new to be looked for."""
        before = self._known.pop(session, {})
        new = {spelled: secret for secret in secrets for spelled in spellings_of([secret]) if spelled not in before}
        found = sorted({**before, **new}.items(), key=lambda item: -len(item[0]))
        known = dict(found[:_SPELLINGS])
        if known:
            self._known[session] = known
            if len(self._known) > _SESSIONS:
                self._known.popitem(last=False)
        self._look_for(known)
        return bool(new)

    def _look_for(self, known: dict[str, str]) -> None:
        self._walk.echoes = tuple(known)
        self._hiding.spelled = known


_MANY = frozenset({"events", "exchanges"})
_EVENTS = frozenset(get_args(Event))


def _session_of(frame: Any) -> str:
    created = getattr(frame, "created", None)
    return str(getattr(frame, "session", None) or getattr(created, "id", ""))
