"""The recorded exchanges of a session, and which of them answers a request."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from ...cassette.redaction import redacted
from ...compare import IgnoreRules
from ...compare.diff import Difference
from ...compare.model import Source
from ...compare.shapes import is_near
from ...wire.exchange import Answer, Exchange, Request, Response
from ..volatile import Piece
from .closest import closest, differences
from .derived import derived_form, is_told_alike, served, unknowns
from .inventions import Inventions, names_of
from .keys import Form, form_of
from .models import ModelRequest
from .talk import talk_of

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Found:
    """The recording that answers."""

    exchange: Exchange
    index: int
    """Among the exchanges of its file, from 0."""
    source: Source
    """RECORD or ACCEPTED."""
    answer: Answer
    """Of the exchange, with the ids that the agent made up in this replay."""
    renamed: bool = False
    """Matched but for ids or times that the agent makes up on each run."""


@dataclass(frozen=True, slots=True)
class Missed:
    """No recording answers."""

    reason: Literal["never recorded", "differs", "used up", "before the fork"]
    used: int = 0
    """How many equal recordings there are, all of them used."""
    nearest: Exchange | None = None
    """The recording that is most like the request: of the same address for `differs`, of its host otherwise.

    For `before the fork` the equal one, which wrote: that was done then.
    """
    differences: Sequence[Difference] = ()
    """From the nearest one, by the paths that `ignore` has: `http.body.amount`."""


@dataclass(slots=True, eq=False)
class Entry:
    """One exchange that may answer once."""

    exchange: Exchange
    index: int
    source: Source
    used: bool = False
    key: Hashable = None
    """Of its form, which is not kept: thousands of parsed bodies are many objects."""
    pieces: list[Piece] | None = None
    told: ModelRequest | None = None
    """Of one that was made from a trace: model, tools and parameters, known with the key."""

    @property
    def file(self) -> int:
        return 1 if self.source is Source.ACCEPTED else 0


@dataclass(slots=True, eq=False)
class _Equals:
    """Exchanges that answer the same request, in the order in which they are to."""

    own: dict[int | None, deque[Entry]] = field(default_factory=dict)
    """By turn."""
    all: deque[Entry] = field(default_factory=deque)
    known: list[Entry] = field(default_factory=list)
    """Those that have answered, too."""

    def add(self, entry: Entry) -> None:
        self.known.append(entry)
        self.all.append(entry)
        self.own.setdefault(entry.exchange.turn, deque()).append(entry)

    def fresh(self, turn: int) -> Iterator[Entry]:
        """Those that have not answered, the turn's own first."""
        own = self.own.get(turn)
        yield from _unused(own) if own else ()
        yield from (entry for entry in _unused(self.all) if entry.exchange.turn != turn)


def _unused(entries: deque[Entry]) -> Iterator[Entry]:
    """What is used is dropped in passing, so that each is met once."""
    while entries and entries[0].used:
        entries.popleft()
    return (entry for entry in entries if not entry.used)


class Exchanges:
    """The exchanges that may answer requests; each does so once. Nothing is looked at before it is asked for.

    recorded, accepted: those of the two files. rules: what of a request does not count.
    headers: names of those that do. first: the first turn that is replayed: from before it only reads answer.
    is_model: tells calls of models, which read. inventions: tells ids and times that the agent makes up; without it,
    requests answer only those that are equal. Not thread-safe: the replay holds a lock.
    """

    def __init__(
        self,
        recorded: Iterable[Exchange],
        accepted: Iterable[Exchange] = (),
        *,
        rules: IgnoreRules,
        headers: Sequence[str] = (),
        first: int = 1,
        is_model: Callable[[Request], bool] = lambda request: False,
        inventions: Inventions | None = None,
    ) -> None:
        self._entries = [Entry(one, at, Source.ACCEPTED) for at, one in enumerate(accepted)]
        self._entries += [Entry(one, at, Source.RECORD) for at, one in enumerate(recorded)]
        self._rules = rules
        self._headers = tuple(headers)
        self._first = first
        self._is_model = is_model
        self._inventions = inventions
        self._entries.sort(key=self._preference)
        self._unknown = tuple(unknowns(entry.exchange for entry in self._entries))
        """What the traces did not tell of which recordings were made."""
        self._turns: dict[int | None, list[Entry]] = {}
        for entry in self._entries:
            self._turns.setdefault(entry.exchange.turn, []).append(entry)
        self._own: dict[int, dict[Hashable, _Equals]] = {}
        self._index: dict[Hashable, _Equals] | None = None
        self._masked: dict[Hashable, _Equals] | None = None
        self._sent: bool | None = None
        self._heard: tuple[Request, ModelRequest] | None = None
        self._inside: dict[tuple[int | None, int], list[Entry]] | None = None

    def answer(self, request: Request, turn: int, clocks: Sequence[datetime] = ()) -> Found | Missed:
        """What answers a request of that turn, or why nothing does: see `find`."""
        return self.find(request, turn, clocks) or self.why_not(request, turn)

    def find(self, request: Request, turn: int, clocks: Sequence[datetime] = ()) -> Found | None:
        """What answers a request of that turn.

        Among equal recordings the first that is left answers, of the turn's own before others, and accepted ones
        before recorded ones; one that was made from a trace, in the form that the request wants. clocks: the turn's own
        time; by default, now.
        """
        forms = list(self._forms(request))
        for form in forms:
            entry = next(self._equal(form, turn, request), None)
            if entry is not None:
                return self._taken(entry, request)
        anew = (self._made_anew(form, turn, clocks, request) for form in forms)
        return next((found for found in anew if found is not None), None)

    def is_left(self, request: Request, turn: int) -> bool:
        """Whether an exchange of that very turn is left that may answer; it stays there."""
        return any(self._is_left(form, turn, request) for form in self._forms(request))

    def _is_left(self, form: Form, turn: int, request: Request) -> bool:
        equal = self._of_turn(turn).get(form.key)
        if equal is None:
            shape, pieces = self._mask(form)
            equal = self._by_shape().get(shape) if pieces else None
        entry = next(self._fresh(equal, turn, request), None)
        return entry is not None and entry.exchange.turn == turn

    def _equal(self, form: Form, turn: int, request: Request) -> Iterator[Entry]:
        key = form.key
        yield from self._fresh(self._of_turn(turn).get(key), turn, request)
        yield from self._fresh(self._all().get(key), turn, request)

    def _fresh(self, equal: _Equals | None, turn: int, request: Request) -> Iterator[Entry]:
        return (entry for entry in (equal.fresh(turn) if equal else ()) if self._is_alike(entry, request))

    def _is_alike(self, entry: Entry, request: Request) -> bool:
        """Whether what the key leaves out is the same, too."""
        unknown = entry.exchange.derived
        return unknown is None or (entry.told is not None and is_told_alike(entry.told, self._talk(request), unknown))

    def consumed(self, turn: int, call: int) -> None:
        """What was sent inside of that tool call is not sent: a stub answers the call."""
        if self._inside is None:
            self._inside = {}
            for entry in self._entries:
                if (during := entry.exchange.during) is not None:
                    self._inside.setdefault((entry.exchange.turn, during), []).append(entry)
        for entry in self._inside.get((turn, call), ()):
            entry.used = True

    def unused(self, turns: Iterable[int | None]) -> list[Exchange]:
        """The recorded exchanges of these turns that answered nothing, in recorded order; None: without a turn."""
        wanted = set(turns)
        left = [one for one in self._entries if not one.used and one.source is Source.RECORD]
        return [one.exchange for one in sorted(left, key=lambda one: one.index) if one.exchange.turn in wanted]

    # --- Looking up

    def _of_turn(self, turn: int) -> dict[Hashable, _Equals]:
        """The turn's own exchanges, which mostly answer: others need not be read then."""
        found = self._own.get(turn)
        if found is None:
            found = self._own[turn] = self._indexed(self._turns.get(turn, ()))
        return found

    def _all(self) -> dict[Hashable, _Equals]:
        if self._index is None:
            self._index = self._indexed(self._entries)
        return self._index

    def _indexed(self, entries: Iterable[Entry]) -> dict[Hashable, _Equals]:
        index: dict[Hashable, _Equals] = {}
        for entry in entries:
            if self._may_answer(entry):
                index.setdefault(self._key(entry), _Equals()).add(entry)
        return index

    def _preference(self, entry: Entry) -> tuple[bool, bool, int]:
        """Of what was read before the fork, the last is the nearest to how the world is now."""
        history = self._is_history(entry)
        return entry.source is Source.RECORD, not history, -entry.index if history else entry.index

    def _is_history(self, entry: Entry) -> bool:
        turn = entry.exchange.turn
        return turn is not None and turn < self._first

    def _may_answer(self, entry: Entry) -> bool:
        request = entry.exchange.request
        return not self._is_history(entry) or request.method.upper() in _READS or self._is_model(request)

    def _form(self, request: Request) -> Form:
        return form_of(request, self._rules, self._headers)

    def _forms(self, request: Request) -> Iterator[Form]:
        """As it is, then as recordings have it that were made from traces."""
        made = self._unknown if self._unknown and self._is_model(request) else ()
        if not made or self._are_sent():
            yield self._form(request)
        for unknown in made:
            yield derived_form(self._talk(request), unknown)

    def _are_sent(self) -> bool:
        """Whether there are calls of models that were sent as they stand."""
        if self._sent is None:
            sent = (entry.exchange.request for entry in self._entries if entry.exchange.derived is None)
            self._sent = any(map(self._is_model, sent))
        return self._sent

    def _talk(self, request: Request) -> ModelRequest:
        """What a request says; that of the one that is being looked for is kept."""
        if self._heard is None or self._heard[0] is not request:
            self._heard = request, talk_of(request, self._rules)
        return self._heard[1]

    def _recorded_form(self, entry: Entry) -> Form:
        """Recordings of other libraries, and of earlier versions, may hold what is taken out of today's request."""
        request, unknown = redacted(entry.exchange.request), entry.exchange.derived
        if unknown is None:
            return self._form(request)
        talk = talk_of(request, self._rules)
        entry.told = replace(talk, system=(), messages=())
        return derived_form(talk, unknown)

    def _key(self, entry: Entry) -> Hashable:
        if entry.key is None:
            entry.key = self._recorded_form(entry).key
        return entry.key

    def _taken(self, entry: Entry, request: Request, *, renamed: bool = False) -> Found:
        entry.used = True
        answer = entry.exchange.answer
        if self._inventions is not None:
            answer = self._inventions.renamed(answer, entry.file)
        if entry.exchange.derived is not None and isinstance(answer, Response):
            answer = served(answer, entry.exchange.request, request)
        return Found(entry.exchange, entry.index, entry.source, answer, renamed)

    # --- What the agent makes up

    def _made_anew(self, form: Form, turn: int, clocks: Sequence[datetime], request: Request) -> Found | None:
        """A recording that is the same but for ids and times that the agent makes up on each run."""
        known = self._inventions
        if known is None:
            return None
        shape, pieces = self._mask(form)
        alike = self._by_shape().get(shape) if pieces else None
        times = list(clocks) or [datetime.now(UTC)]
        for entry in self._fresh(alike, turn, request):
            exchange = entry.exchange

            def is_now(old: object, new: object, exchange: Exchange = exchange) -> bool:
                return is_near(new, times) and is_near(old, known.clocks(exchange))

            names = names_of(entry.pieces or (), pieces, is_now)
            if names is not None and known.adopt(names, exchange, entry.file, entry.index):
                return self._taken(entry, request, renamed=True)
        return None

    def _mask(self, form: Form) -> tuple[Hashable, list[Piece]]:
        known = self._inventions
        return form.concealed if known is not None and known.has_redactions else form.masked

    def _by_shape(self) -> dict[Hashable, _Equals]:
        if self._masked is None:
            self._masked = {}
            for entry in self._entries:
                if not self._may_answer(entry):
                    continue
                shape, entry.pieces = self._mask(self._recorded_form(entry))
                if entry.pieces:
                    self._masked.setdefault(shape, _Equals()).add(entry)
        return self._masked

    # --- Misses

    def why_not(self, request: Request, turn: int) -> Missed:
        """Why nothing answers a request, which `find` has just looked for."""
        form = self._form(request)
        used = sum(self._count_used(one, request) for one in self._forms(request))
        if used:
            return Missed("used up", used)
        done = next((one for one in self._entries if not self._may_answer(one) and self._is_same(one, form)), None)
        if done is not None:
            return Missed("before the fork", nearest=done.exchange)
        sent = [one for one in self._entries if self._may_answer(one) and one.exchange.derived is None]
        forms = [(self._recorded_form(one), one) for one in sent]
        if self._is_model(request):  # how it differs from others is told as messages, tools and parameters
            known = bool(self._unknown) or any(other.address == form.address for other, _ in forms)
            return Missed("differs" if known else "never recorded")
        found = closest(form, forms, turn)
        if found is None:
            return Missed("never recorded")
        other, entry = found
        if (other.method, other.address) != (form.method, form.address):
            return Missed("never recorded", nearest=entry.exchange)
        return Missed("differs", 0, entry.exchange, differences(other, form))

    def _count_used(self, form: Form, request: Request) -> int:
        """How many recordings are the same, all of which have answered."""
        equal = self._all().get(form.key)
        return sum(self._is_alike(one, request) for one in equal.known) if equal else self._used_under_other_ids(form)

    def _is_same(self, entry: Entry, form: Form) -> bool:
        request = entry.exchange.request
        return (request.method.upper(), request.address) == (form.method, form.address) and self._key(entry) == form.key

    def _used_under_other_ids(self, form: Form) -> int:
        """How many recordings are the same but for ids that the agent makes up: all of them have answered."""
        known = self._inventions
        shape, pieces = self._mask(form)
        alike = self._by_shape().get(shape) if known is not None and pieces else None
        if known is None or alike is None:
            return 0
        return sum(
            known.is_alike(names, entry.file)
            for entry in alike.known
            if entry.used and (names := names_of(entry.pieces or (), pieces, _is_any_time)) is not None
        )


def _is_any_time(old: object, new: object) -> bool:
    return True
