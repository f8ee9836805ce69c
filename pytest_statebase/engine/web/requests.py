"""What a fork does with HTTP requests before anything is looked up: hosts, late ones, those of nobody."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from ...compare import IgnoreRules
from ...compare.requests import is_hidden
from ...errors import UnrecordedCall
from ...wire.doors import Decision, Live
from ...wire.exchange import Answer, Exchange, Failure, Request
from .stateapi import StateApi

if TYPE_CHECKING:
    from ..fork import Fork
    from .network import Network
    from .pending import Pending


class Requests:
    """The requests of one fork."""

    def __init__(self, fork: Fork, rules: IgnoreRules, pending: Pending | None) -> None:
        self.refused: dict[str, None] = {}
        """What was refused without a verdict, for the warnings."""
        self._fork = fork
        self._rules = rules
        self._pending = pending
        self._network: Network | None = None
        self._api = StateApi(fork.options.api_hosts)

    def warnings(self) -> list[str]:
        """What is worth a line once the replay is over."""
        return [*self.refused, *self._api.warnings]

    @property
    def network(self) -> Network:
        """What answers the requests; its recordings are read on first use."""
        if self._network is None:
            from .network import Network

            fork = self._fork
            self._network = Network(fork.cassette, fork.options.web, self._rules, fork.first, self._pending, fork.pool)
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
            run = self._fork.run
            if run is None or run.over:
                return self._refused(request, "after its turn had ended")
            if run.latch is not None:
                raise UnrecordedCall(run.latch)
            if self._api.knows(request) and (client := run.client()) is not None:
                return self._api.answer(request, client)
            return self.network.decide(request, run)

    def decide_behind(self, request: Request) -> Decision:
        """What becomes of a request of a thread that was there before the replay: it fails no turn."""
        if self._api.knows(request):
            # It can be a request of the agent's only: such a thread works for whoever hands it something.
            return self.decide(request)
        decision = self._by_host(request)
        if decision is not None:
            return decision
        with self._fork.lock:
            return self.network.peek(request) or self._refused(request, "in a thread that the agent did not start")

    def _by_host(self, request: Request) -> Decision | None:
        options, host, port = self._fork.options, request.host, request.port
        if options.blocked_hosts.matches(host, port):
            return Failure("connect", f"{request.address} is one of statebase_blocked_hosts")
        may_leave = options.allowed_hosts.matches(host, port) and not self._api.knows(request)
        return Live() if may_leave else None

    def _refused(self, request: Request, when: str) -> Answer:
        told = f"{request.method} {request.address} was refused: it was requested {when}"
        self.refused[told] = None
        return Failure("connect", told)
