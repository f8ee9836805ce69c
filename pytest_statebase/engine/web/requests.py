"""What a fork does with HTTP requests before anything is looked up: hosts, late ones, those of nobody."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, Any

from ...compare import IgnoreRules
from ...compare.requests import is_hidden
from ...errors import UnrecordedCall
from ...wire.doors import Decision, Live
from ...wire.exchange import Answer, Exchange, Failure, Request
from ...wire.sites import site_here
from .fence import blocked, tell_behind, tell_late
from .stateapi import StateApi

if TYPE_CHECKING:
    from ..fork import Fork
    from ..ongoing import Ongoing
    from .network import Network
    from .pending import Pending


class Requests:
    """The requests of one fork."""

    def __init__(self, fork: Fork, rules: IgnoreRules, pending: Pending | None) -> None:
        self._fork = fork
        self._rules = rules
        self._pending = pending
        self._network: Network | None = None
        self._api = StateApi(fork.options.api_hosts)

    def warnings(self) -> list[str]:
        """What is worth a line once the replay is over."""
        return list(self._api.warnings)

    @property
    def told_session(self) -> bool:
        """The agent asked StateBase for what happened in the session, and was told."""
        return self._api.was_read

    @property
    def network(self) -> Network:
        """What answers the requests; its recordings are read on first use."""
        if self._network is None:
            from .network import Network
            from .ownid import OwnId

            fork = self._fork
            own_id = OwnId(fork.ledger.id, fork.recorded.id)
            self._network = Network(
                fork.cassette, fork.options.web, self._rules, fork.first, self._pending, fork.pool, own_id
            )
        return self._network

    def recorded(self) -> tuple[Exchange, ...]:
        """The recorded exchanges."""
        http = self._fork.cassette.http
        return http.exchanges if http else ()

    def consumed(self, turn: int, index: int) -> None:
        """A stub answered the recorded call at that place: what it had sent then is not sent now."""
        if self._network is not None or self._fork.cassette.http is not None:
            self.network.pool.consumed(turn, index)

    @property
    def turns(self) -> Set[int]:
        """The turns that were replayed."""
        return self._fork.turns

    def unused(self, turns: Set[int | None]) -> list[Exchange]:
        """The recorded exchanges of these turns that answered nothing; None: of those that know no turn."""
        if self._network is None:  # nothing was asked for
            return [one for one in self.recorded() if one.turn in turns]
        return self._network.pool.unused(turns)

    def is_model(self, request: Request) -> bool:
        """Whether a request asks a model."""
        return self._fork.options.web.hosts.is_model(request)

    def is_ignored(self, request: Request) -> bool:
        """Whether the plan's `ignore` has the request as a whole."""
        return is_hidden(request, self._rules)

    def decide(self, request: Request) -> Decision:
        """What becomes of a request of the replay.

        Raises UnrecordedCall, at once and ever after in this turn, where nothing answers.
        """
        decision = self._by_host(request)
        if decision is not None:
            return decision
        with self._fork.lock:
            run = self._whose(request)
            if run is None:
                return refused_late(self._fork, request)
            if run.latch is not None:
                raise UnrecordedCall(run.latch)
            if self._api.knows(request) and (client := run.client()) is not None:
                return self._api.answer(request, client)
            return self.network.decide(request, run)

    def _whose(self, request: Request) -> Ongoing | None:
        """The turn that a request belongs to: the one that began it, with everything that it left behind.

        None where it is judged no more.
        """
        own, ongoing = self._fork.turn_here(), self._fork.run
        if own is None or not own.over or ongoing is None or ongoing.over:
            return own
        # A thread that works for all turns was started by the first that needed it.
        return ongoing if self.network.serves(request, ongoing) else own

    def decide_behind(self, request: Request) -> Decision:
        """What becomes of a request of a thread that was there before the replay: it fails no turn."""
        if self._api.knows(request):
            # It can be a request of the agent's only: such a thread works for whoever hands it something.
            return self.decide(request)
        decision = self._by_host(request)
        if decision is not None:
            return decision
        with self._fork.lock:
            found = self.network.peek(request)
        return found or Failure("connect", tell_behind(_what(request), "requested", site_here()))

    def _by_host(self, request: Request) -> Decision | None:
        options, host, port = self._fork.options, request.host, request.port
        if options.blocked_hosts.matches(host, port):
            return Failure("connect", blocked(f"{request.address} was not reached"))
        may_leave = options.allowed_hosts.matches(host, port) and not self._api.knows(request)
        return Live() if may_leave else None


def refused_late(handler: Any, request: Request) -> Answer:
    """What a request gets that was left behind by what is over; it is told in a warning."""
    return Failure("connect", tell_late(handler, _what(request), "requested", site_here()))


def _what(request: Request) -> str:
    return f"{request.method} {request.address} was refused"
