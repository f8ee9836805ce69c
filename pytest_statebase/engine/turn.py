"""One turn of a replay, from the input to the agent's reply or to what kept it from replying."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..errors import AgentError, StatebaseError
from ..events import memories_of
from ..ledger import StateRolledBack, StateUpdated, Turn, TurnAdded, TurnStarted
from ..statebase import LocalClient
from .agents import AgentReply, BoundAgent, is_awaitable
from .clock import shift_to, shifted
from .desk import connect
from .fork import Fork
from .limit import Limit, Runaway
from .loops import Lease
from .loose import with_loose_tasks
from .offer import Offer
from .ongoing import Ongoing
from .pins import pinned
from .revive import error_record
from .tools import current

_NOTHING = nullcontext()


class TurnRun(Ongoing):
    """One turn being replayed: the agent is called, its reply becomes the turn's end."""

    def __init__(self, fork: Fork, agent: BoundAgent, name: str, turn: Turn) -> None:
        super().__init__(fork.recorded, turn)
        self.fork = fork
        self.agent = agent
        self.name = name
        self.stopped: str | None = None
        """Why a continuous replay cannot go on after this turn."""
        self._began = 0.0
        inputs = fork.cassette.plan.inputs
        self.observed.authored_input = turn.number in inputs
        self.input: Any = (
            {"type": "text", "content": inputs[turn.number]} if self.observed.authored_input else turn.input
        )
        self._offer = Offer(fork.ledger, self.input, fork.call_by_name, lambda: connect(fork, self))
        self.limit = Limit(fork.options.turn_timeout, f"{fork.recorded.id}, turn {turn.number},")
        self._shift: int | None = None
        self._when_done: list[Callable[[], None]] = []
        self._is_done = False
        self._seed = f"{fork.recorded.id}:{turn.number}"

    def begin(self) -> Any:
        """Call the agent. A sync agent's turn is over when this returns; an async one's awaitable is returned."""
        fork = self.fork
        fork.run = self
        fork.ledger.append(
            TurnStarted(self.turn.number, self.input, self.turn.started.at, self.observed.authored_input)
        )
        self._began = time.perf_counter()
        if fork.clock_follows:
            self._shift = shift_to(self.turn.started.at)
        try:
            with current(fork, self), shifted(self._shift), self._pins(), self.limit:
                reply = self.agent.call(self._offer.parameters())
        except BaseException as error:
            self._raised(error)
            return None
        if is_awaitable(reply):
            return reply
        self._replied(reply)
        return None

    def _pins(self) -> AbstractContextManager[None]:
        pin = self.fork.options.pin
        return pinned(pin, self._seed) if pin else _NOTHING

    async def finish(self, awaitable: Any) -> None:
        """Await an async agent's reply."""
        error: BaseException | None = None
        reply: Any = None
        try:
            with current(self.fork, self), shifted(self._shift), self._pins(), self.limit.of_task():
                reply = await _within(self.limit, with_loose_tasks(awaitable))
        except BaseException as raised:
            error = raised
        self.limit.disarm()
        await self.limit.settle()
        if error is None:
            self._replied(reply)
        else:
            self._raised(error)

    def finish_async(self, awaitable: Any, loop: Lease) -> None:
        """Await an async agent's reply in the loop that the replay has."""
        loop.run(self.finish(awaitable))

    def run_away(self, reason: str) -> None:
        """End the turn from within a call that is one too many."""
        self.limit.expire(reason)
        raise Runaway

    @property
    def ended(self) -> bool:
        """Whether its limit ended it, or its replay is at its end."""
        return self.limit.reason is not None or self.fork.is_ending

    def when_done(self, action: Callable[[], None]) -> None:
        """Do it once the turn has come to its own end, and not by its limit."""
        with self.fork.lock:
            if not self._is_done:
                self._when_done.append(action)
            elif not self.ended:
                action()

    def _done(self) -> None:
        with self.fork.lock:
            actions, self._when_done = self._when_done, []
            self._is_done = True
            for action in () if self.ended else actions:
                action()
        if self.fatal is not None:
            raise self.fatal

    def wait_for(self, call: object, seconds: float) -> None:
        """Have the time limit of the turn stand still for so long at most."""
        self.limit.wait_for(call, seconds)

    def waited_for(self, call: object) -> None:
        """Have it go on."""
        self.limit.waited_for(call)

    def client(self) -> LocalClient:
        """The client of this turn, the one that the agent may have been handed."""
        return self._offer.client()

    def _close(self) -> None:
        """The agent is done: nothing that it left behind takes part in the turn any more."""
        self.limit.disarm()
        with self.fork.lock:
            self.over = True
        if self.limit.foreign is not None:
            raise self.limit.foreign

    def _replied(self, value: Any) -> None:
        self._close()
        if self.fatal is not None:
            raise self.fatal
        if self.limit.reason is not None:
            self._ran_away(self.limit.reason)
            return
        if self.latch is not None:
            self._end(AgentReply())
            return
        try:
            reply = self._offer.reply(value, self.name)
        except AgentError as error:
            self._failed(error)
            return
        self._offer.settle(reply)
        self._end(reply)

    def _raised(self, error: BaseException) -> None:
        self._close()
        if self.fatal is not None:
            raise self.fatal from error
        if _is_not_the_agents(error):
            raise error
        if self.limit.reason is not None:
            self._ran_away(self.limit.reason)
        elif self.latch is None:
            if isinstance(error, StatebaseError):
                raise error
            self._failed(error)
        else:
            self._end(AgentReply())

    def _ran_away(self, reason: str) -> None:
        """The turn was ended from outside; after a call without an answer it is that call's turn all the same."""
        loop = self.bounds.loop(self.observed.calls)
        text = f"the turn was ended: {reason}" + (f"; {loop}" if loop else "")
        if self.latch is None and self.limit.is_hung:
            self.latch = self.observed.inconclusive = text
            self.observed.missed = True
        elif self.latch is None:
            self.observed.error = {"type": Runaway.__name__, "message": text}
            self.stopped = f"turn {self.turn.number} ran away"
        else:
            made: list[Any] = [*self.observed.calls, *self.observed.requests]
            missed = next((one for one in made if one.unrecorded), None)
            if missed is not None:
                missed.explanation = f"{missed.explanation}\n{text}"
        self._end(AgentReply())

    def _failed(self, error: BaseException) -> None:
        """The agent raised, or returned what is no reply."""
        ours = isinstance(error, StatebaseError)
        record = {"type": type(error).__name__, "message": str(error)} if ours else error_record(error)
        self.observed.error = record if ours else {**record, "trace": _trace(error)}
        if self.turn.error is None:
            self.stopped = f"turn {self.turn.number} raised {type(error).__name__}"
        self._end(AgentReply())

    def _end(self, reply: AgentReply) -> None:
        self._done()
        observed = self.observed
        for call, entry in self.provisional:
            call.stale = not self.fork.pool.siblings_made(entry)
        observed.duration_ms = (time.perf_counter() - self._began) * 1000
        observed.output = reply.output
        observed.reasoning = reply.reasoning
        ledger = self.fork.ledger
        observed.state = ledger.state_value()
        observed.memory = memories_of(ledger.turns[-1].events)
        self._recognise()
        if self.latch is not None:
            self.stopped = f"turn {self.turn.number} {self._why_stopped()}"
        ledger.append(TurnAdded(reply.output, observed.error, reply.reasoning, reply.metadata))

    def _recognise(self) -> None:
        """What was redacted in the recording and the agent has by itself, in what it leaves behind."""
        pool, turn = self.fork.pool, self.turn
        states = [event.value for event in turn.events if isinstance(event, (StateUpdated, StateRolledBack))]
        pool.recognise([*states[-1:]], [self.observed.state] if states else [], "state")
        pool.recognise(memories_of(turn.events), self.observed.memory, "memory")
        pool.recognise(turn.output, self.observed.output, "output")
        if pool.renames:
            self.observed.renames = pool.renames

    def _why_stopped(self) -> str:
        if self.observed.inconclusive is not None:
            return "is inconclusive: its model gave no answer"
        if self.observed.stale is not None:
            return "is stale: no recording has its model's answer"
        return "made a call that has no answer"


def _is_not_the_agents(error: BaseException) -> bool:
    """Whether an exception ends the whole run: an interrupt, or the cancellation of whoever awaits the replay."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, (KeyboardInterrupt, GeneratorExit)) or type(error).__module__.startswith("trio.")


async def _within(limit: Limit, awaitable: Any) -> Any:
    """What an async agent replies. trio lets nobody in from outside, so its turns are ended by a scope of its own."""
    trio = sys.modules.get("trio")
    if trio is None or not trio.lowlevel.in_trio_task():
        return await awaitable
    token = trio.lowlevel.current_trio_token()
    with trio.CancelScope() as scope:

        def cancel() -> None:
            limit.is_blocked = False
            scope.cancel()

        limit.cancels = lambda: token.run_sync_soon(cancel)
        try:
            return await awaitable
        finally:
            limit.cancels = None
    raise Runaway


def _trace(error: BaseException) -> str:
    """The last frames of the agent's own traceback, for a person."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "pytest_statebase" not in frame.filename.replace("\\", "/").split("/")]
    return "".join(traceback.format_list(own[-3:])).rstrip()
