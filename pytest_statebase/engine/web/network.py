"""The HTTP side of a fork: what becomes of each request that the agent makes."""

from __future__ import annotations

import threading
import time
from contextvars import Context
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...cassette import Cassette
from ...cassette.redaction import Echoes, all_known, redacted, redacted_exchange
from ...compare import IgnoreRules
from ...compare.model import ReplayedRequest, Source
from ...errors import StatebaseError, UnrecordedCall
from ...events import timestamp
from ...wire.doors import Decision, Live
from ...wire.exchange import GAVE_UP, Answer, Exchange, Failure, Request
from . import budget
from .budget import WaitPolicy, told
from .derived import told_parts
from .explain import explain
from .hints import hint_for
from .inventions import Inventions, told_by
from .modeldiff import ModelDifference, difference, nearest, parts_difference
from .models import model_request
from .options import WebOptions
from .ownid import OwnId
from .pending import Pending, ended_early
from .pool import Exchanges, Found, Missed
from .talk import talk_of

if TYPE_CHECKING:
    from ..matching import Pool
    from ..ongoing import Ongoing

_FAILS = frozenset({401, 403, 408, 409, 429})
"""Besides 5xx: what a provider answers that says nothing of the agent."""


class Network:
    """Answers the requests of one fork from its recordings, or lets them go live where the options say so.

    first: the first turn that is replayed. ids: knows which ids the agent was given. pending: answers of live runs that
    nobody has accepted yet. own_id: reads the id of the fork as the session's.
    """

    def __init__(
        self,
        cassette: Cassette,
        web: WebOptions,
        rules: IgnoreRules,
        first: int,
        pending: Pending | None,
        ids: Pool,
        own_id: OwnId,
    ) -> None:
        self.web = web
        self.own_id = own_id
        self.ids = ids
        self.rules = rules
        self.lock = threading.RLock()
        self.secrets: Echoes = ()
        """Keys that requests of this replay had in their headers."""
        self.recorded = cassette.http.exchanges if cassette.http else ()
        accepted = cassette.accepted_http.exchanges if cassette.accepted_http else ()
        self.accepted = accepted
        self.pool = self._pool(cassette, rules, first, self.recorded, accepted)
        self.pending = pending
        self.waiting = self._pool(cassette, rules, first, (), self._waiting(pending))

    def _pool(
        self,
        cassette: Cassette,
        rules: IgnoreRules,
        first: int,
        recorded: tuple[Exchange, ...],
        accepted: tuple[Exchange, ...],
    ) -> Exchanges:
        return Exchanges(
            recorded,
            accepted,
            rules=rules,
            headers=cassette.plan.http.headers,
            first=first,
            is_model=self.web.hosts.is_model,
            inventions=Inventions(self.ids, cassette.ledger, recorded, accepted),
        )

    def _waiting(self, pending: Pending | None) -> tuple[Exchange, ...]:
        """Answers that came live and wait to be accepted, where this run may take them."""
        if pending is None or not (self.web.reuse or self.web.is_live):
            return ()
        anew = self.web.model == "live" or self.web.http == "all"
        if anew and not self.web.reuse and pending.is_complete:
            pending.discard()
        return tuple(pending.exchanges())

    def made_up(self, recorded: str, replayed: str) -> bool:
        """Whether two texts differ only in ids and times that nobody gave the agent."""
        return self.ids.made_up(self.ids.translate(recorded), replayed)

    def _learn(self, answer: Answer) -> None:
        """What an answer says is given to the agent: ids in there are not its own."""
        self.ids.learn_later(partial(told_by, answer))

    def decide(self, request: Request, run: Ongoing) -> Decision:
        """What becomes of a request of the turn that is ongoing.

        Raises UnrecordedCall, at once and ever after in this turn, where nothing answers.
        """
        self.secrets = all_known(self.secrets, request)
        asked = self.own_id(request)
        clean = redacted(asked, self.secrets)
        is_model = self.web.hosts.is_model(clean)
        entry = ReplayedRequest(clean.method, clean.address, run.turn.number, model=is_model, asked=clean)
        run.observed.requests.append(entry)
        anew = self._is_asked_anew(entry.model) and not run.over
        if (self.web.reuse or anew) and (kept := self._kept(clean, entry, run)) is not None:
            return kept
        if anew:
            return self._live(request, entry, run)
        found = self.pool.find(clean, run.turn.number, run.clocks())
        if found is None and self.secrets:  # a recording in which a key of another request still stands
            found = self.pool.find(redacted(asked), run.turn.number, run.clocks())
        if found is not None:
            return self._take(found, entry, run)
        if self._may_go_live(entry.model) and not run.over:
            return self._kept(clean, entry, run) or self._live(request, entry, run)
        raise self._missed(clean, self.pool.why_not(clean, run.turn.number), entry, run)

    def _is_asked_anew(self, model: bool) -> bool:
        return self.web.model == "live" if model else self.web.http == "all"

    def _may_go_live(self, model: bool) -> bool:
        return self.web.model == "auto" if model else self.web.http == "new_episodes"

    def serves(self, request: Request, run: Ongoing) -> bool:
        """Whether there is something for this request in that very turn."""
        clean = redacted(self.own_id(request))
        model = self.web.hosts.is_model(clean)
        if self._is_asked_anew(model) or self._may_go_live(model):
            return True
        return self.pool.is_left(clean, run.turn.number)

    def peek(self, request: Request) -> Answer | None:
        """The recorded answer to a request that no turn is known to have made; None where there is none."""
        found = self.pool.find(redacted(self.own_id(request), self.secrets), 0)
        return None if found is None else found.answer

    def _take(self, found: Found, entry: ReplayedRequest, run: Ongoing) -> Answer:
        entry.source, entry.recorded_turn, entry.recorded_index = found.source, found.exchange.turn, found.index
        if found.source is Source.ACCEPTED:
            run.observed.exchanges.append(replace(found.exchange, turn=run.turn.number))
        return self._given(found, entry, run)

    def _kept(self, clean: Request, entry: ReplayedRequest, run: Ongoing) -> Answer | None:
        """An answer of an earlier live run, which counts as one of this run."""
        found = self.waiting.find(clean, run.turn.number, run.clocks())
        if found is None:
            return None
        entry.source, entry.kept = Source.LIVE, True
        run.observed.exchanges.append(replace(found.exchange, turn=run.turn.number))
        return self._given(found, entry, run)

    def _given(self, found: Found, entry: ReplayedRequest, run: Ongoing) -> Answer:
        entry.renamed = found.renamed
        _beside(entry, found.exchange)
        if self.ids.renames:
            run.observed.renames = self.ids.renames
        self._learn(found.exchange.answer)  # what the agent made up itself is none of it
        return found.answer

    def _live(self, request: Request, entry: ReplayedRequest, run: Ongoing) -> Live:
        entry.source = Source.LIVE
        if not entry.model:
            return Live(_Keeper(self, request, entry, run, None))
        if not self.web.budget.take():
            entry.source = Source.NONE
            raise _stopped(run, self.web.budget.text())
        policy = WaitPolicy()
        keeper = _Keeper(self, request, entry, run, policy)

        def again(answer: Answer, tries: int) -> float | None:
            seconds = policy.again(answer, tries)
            if seconds is not None:
                run.wait_for(keeper, seconds + budget.LONGEST_TRY)
            return seconds

        run.wait_for(keeper, budget.LONGEST_TRY)
        return Live(keeper, again)

    def keep(self, exchange: Exchange, run: Ongoing) -> Exchange:
        """Keep a live exchange, without its secrets, for whoever accepts what this run did. Returns what was kept."""
        exchange = redacted_exchange(replace(exchange, request=self.own_id(exchange.request)), self.secrets)
        with self.lock:
            run.observed.exchanges.append(exchange)
            self._learn(exchange.answer)
            if not ended_early(exchange.answer):
                self._keep(exchange, run)
            elif self.pending is not None:
                # Whether that was the agent's own doing, only the end of its turn shows.
                run.when_done(partial(self._keep, exchange, run, let_go=True))
        return exchange

    def _keep(self, exchange: Exchange, run: Ongoing, *, let_go: bool = False) -> None:
        try:
            if self.pending is not None:
                self.pending.append(exchange, let_go=let_go)
        except StatebaseError as error:  # raised in the agent, who may catch it
            run.fatal = run.fatal or error

    def _missed(self, clean: Request, missed: Missed, entry: ReplayedRequest, run: Ongoing) -> UnrecordedCall:
        entry.unrecorded, entry.differences, entry.exchange = True, missed.differences, missed.nearest
        entry.explanation = explain(missed, clean, run.turn.number)
        if entry.model:
            entry.explanation = self._explain_model(clean, missed, entry, run)
        entry.hint = None if run.observed.stale else hint_for(clean, missed, model=entry.model)
        run.latch, run.observed.missed = entry.explanation, True
        return UnrecordedCall(entry.explanation)

    def _explain_model(self, clean: Request, missed: Missed, entry: ReplayedRequest, run: Ongoing) -> str:
        """What differs from the nearest model recording. Where that is the prompt alone, the turn is stale."""
        known = [one for one in (*self.accepted, *self.recorded) if self.web.hosts.is_model(one.request)]
        if not known:
            run.observed.stale = "no model call of the session is recorded"
            return run.observed.stale
        found = None if missed.reason == "used up" else self._difference(known, clean, entry)
        if not found:
            return entry.explanation or ""
        if found.only_prompt:
            run.observed.stale = f"the prompt moved, and no model recording answers: {found.text()}"
            return run.observed.stale
        return f"no model recording answers: {found.text()}"

    def _difference(self, known: list[Exchange], clean: Request, entry: ReplayedRequest) -> ModelDifference | None:
        """How a request differs from the nearest of the model calls that are known; None where none is near."""
        requests = [redacted(one.request) for one in known]
        derived = any(one.derived is not None for one in known)
        closest = nearest(requests, clean, talk_of if derived else model_request)
        if closest is None:
            return None
        one = next(one for one, request in zip(known, requests, strict=True) if request is closest)
        entry.exchange = replace(one, request=closest)
        if one.derived is None:
            return difference(closest, clean, rules=self.rules, alike=self.made_up)
        parts = told_parts(replace(one, request=closest), clean, self.rules)
        return parts_difference(*parts, alike=self.made_up)


class _Keeper:
    """Told what came back of one live request."""

    def __init__(
        self, network: Network, request: Request, entry: ReplayedRequest, run: Ongoing, policy: WaitPolicy | None
    ) -> None:
        self.network = network
        self.request = request
        self.entry = entry
        self.run = run
        self.policy = policy
        self.at = Context().run(timestamp)  # not the clock of the turn
        self.began = time.perf_counter()

    def __call__(self, answer: Answer) -> None:
        run = self.run
        run.waited_for(self)
        if ended_early(answer) and run.ended:
            return
        if self.policy is not None and _is_failure(answer):
            why = self.policy.reason or told(answer)
            _stopped(run, f"{self.entry.method} {self.entry.address}: {why}")
            return
        latency = round((time.perf_counter() - self.began) * 1000)
        exchange = Exchange(self.request, answer, run.turn.number, at=self.at, latency_ms=latency)
        _beside(self.entry, self.network.keep(exchange, run))


def _beside(entry: ReplayedRequest, exchange: Exchange) -> None:
    """Tell what answered. A request that says just what the recorded one says is not kept twice."""
    entry.exchange = exchange
    if entry.asked is not None and (entry.asked.url, entry.asked.body) == (exchange.request.url, exchange.request.body):
        entry.asked = None


def _stopped(run: Ongoing, why: str) -> UnrecordedCall:
    """The turn cannot be judged: what the agent does from here on does not count."""
    run.observed.inconclusive = run.latch = why
    run.observed.missed = True
    return UnrecordedCall(why)


def _is_failure(answer: Answer) -> bool:
    if isinstance(answer, Failure):
        return answer != GAVE_UP  # the agent's own time-out is its own affair
    return answer.status in _FAILS or answer.status >= 500
