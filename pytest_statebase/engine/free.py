"""Tools answered from forks that a test makes itself, without a runner that hands out the turns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..cassette import Cassette
from ..compare import IgnoreRules
from ..errors import UnrecordedCall
from ..ledger import ForkPoint, Ledger, Turn, TurnStarted
from ..statebase import LocalClient
from ..wire.doors import Decision
from ..wire.exchange import Request
from ..wire.guard import Attempt
from .fork import Fork
from .marked import with_marked_rules
from .ongoing import Ongoing
from .options import ReplayOptions
from .reshape import reshaped
from .streams import Watch
from .tools import Tool, with_marked
from .web.requests import refused_late
from .web.stateapi import StateApi


class FreeForks:
    """The `Handler` of stubbed tools that answers from the fork that was made last.

    A call is answered as of the turn that the fork would take next. A call without an answer is kept in `misses`, so
    that who made the forks can tell of it, whatever the agent made of the exception.
    """

    def __init__(self, cassette_of: Callable[[str], Cassette | None], options: ReplayOptions) -> None:
        self._cassette_of = cassette_of
        self.options = replace(options, tools=with_marked(options.tools))
        self._roots: dict[str, tuple[Cassette, ForkPoint]] = {}
        """By the fork's id: the cassette and where it was cut, through forks of forks."""
        self._latest: Fork | None = None
        self.misses: list[str] = []
        self.client: LocalClient | None = None
        """Whose forks they are: it answers requests to StateBase."""
        self._api = StateApi(options.api_hosts)
        self.is_closed = False
        """The test is over: what it left behind is refused."""

    @property
    def answering(self) -> Fork | None:
        """The fork that answers calls made now."""
        return self._latest

    def forked(self, source: Ledger, fork: Ledger, point: ForkPoint) -> None:
        """Answer from this fork from now on, if its session comes from a cassette."""
        root = self._roots.get(source.id)
        if root is None:
            cassette = self._cassette_of(source.id)
            if cassette is None:
                self._latest = None
                return
            root = with_marked_rules(reshaped(cassette), self.options.tools), point
        self._roots[fork.id] = root
        cassette, cut = root
        rules = IgnoreRules.of_plan(cassette.plan)
        self._latest = Fork(cassette, self.options, rules, cut, id=fork.id)
        self._latest.ledger = fork

    def door(self, request: Request) -> Decision:
        """What becomes of an HTTP request that the test or the agent in it makes."""
        if self.is_closed:
            return refused_late(self, request)
        if self.client is not None and self._api.knows(request):
            return self._api.answer(request, self.client)
        with self._watched(f"{request.address} was requested") as fork:
            return fork.door(request)

    def stop(self, attempt: Attempt, why: str) -> bool:
        """Keep what tried to leave the machine. False where the test is over."""
        if not self.is_closed:
            self._keep(why)
        return not self.is_closed

    def call(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        """Answer a call of a stubbed tool."""
        with self._watched(f"{tool.name} was called") as fork:
            return fork.call(tool, arguments, live)

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        """Answer a call of a stubbed async tool."""
        with self._watched(f"{tool.name} was called") as fork:
            return await fork.call_async(tool, arguments, live)

    def stream(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Generator[Any, Any, Any]:
        """Answer a call of a stubbed generator."""
        with self._watched(f"{tool.name} was called") as fork:
            return (yield from fork.stream(tool, arguments, live))

    def stream_async(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> AsyncGenerator[Any, Any]:
        """Answer a call of a stubbed async generator."""
        with self._watched(f"{tool.name} was called") as fork:
            chunks = fork.stream_async(tool, arguments, live)
        return Watch(_unheard, _unheard, _unheard, self._keeping).through_async(chunks)

    @contextmanager
    def _watched(self, what: str) -> Iterator[Fork]:
        """The fork that answers; what: was done, for who did it too early."""
        with self._keeping():
            fork = self._latest
            if fork is None:
                raise UnrecordedCall(f"{what} before a session was forked that could answer it")
            _begin_turn(fork)
            yield fork

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        try:
            yield
        except UnrecordedCall as miss:
            self._keep(str(miss))
            raise

    def _keep(self, why: str) -> None:
        if why not in self.misses:
            self.misses.append(why)


def _unheard(*_: Any) -> None:
    """What goes through a stream is the fork's to keep."""


def _begin_turn(fork: Fork) -> None:
    """Have calls belong to the turn that the fork would take next; a miss before it ends them all."""
    with fork.lock:
        number = fork.ledger.next_number()
        before = fork.run
        if before is None or before.turn.number != number:
            fork.run = Ongoing(fork.recorded, _turn(fork.recorded, number))
            fork.run.latch = before.latch if before is not None else None


def _turn(recorded: Ledger, number: int) -> Turn:
    known: Mapping[int, Turn] = {turn.number: turn for turn in recorded.turns}
    return known.get(number) or Turn(number, TurnStarted(number))
