"""One turn of a replay, from the input to the agent's reply or to what kept it from replying."""

from __future__ import annotations

import asyncio
import contextvars
import time
import traceback
from typing import Any

from ..errors import StatebaseError
from ..ledger import Turn, TurnAdded, TurnStarted
from .agents import AgentReply, BoundAgent, as_reply, is_awaitable
from .fork import Fork, Ongoing
from .offer import Offer
from .revive import error_record
from .tools import current


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
        self._offer = Offer(fork.ledger, self.input, fork.call_by_name)

    def begin(self) -> Any:
        """Call the agent. A sync agent's turn is over when this returns; an async one's awaitable is returned."""
        fork = self.fork
        fork.run = self
        fork.ledger.append(
            TurnStarted(self.turn.number, self.input, self.turn.started.at, self.observed.authored_input)
        )
        self._began = time.perf_counter()
        try:
            with current(fork):
                reply = self.agent.call(self._offer.parameters())
        except BaseException as error:
            self._raised(error)
            return None
        if is_awaitable(reply):
            return reply
        self._replied(reply)
        return None

    async def finish(self, awaitable: Any) -> None:
        """Await an async agent's reply."""
        try:
            with current(self.fork):
                reply = await awaitable
        except BaseException as error:
            self._raised(error)
        else:
            self._replied(reply)

    def finish_async(self, awaitable: Any, runner: asyncio.Runner) -> None:
        """Await an async agent's reply in the replay's own loop."""
        runner.run(self.finish(awaitable), context=contextvars.copy_context())

    def _replied(self, value: Any) -> None:
        with self.fork.lock:
            self.over = True
        if self.fatal is not None:
            raise self.fatal
        if self.latch is not None:
            self._end(AgentReply())
            return
        reply = as_reply(value, self.name)
        self._offer.settle(reply)
        self._end(reply)

    def _raised(self, error: BaseException) -> None:
        with self.fork.lock:
            self.over = True
        if self.fatal is not None:
            raise self.fatal from error
        if _is_not_the_agents(error):
            raise error
        if self.latch is None:
            if isinstance(error, StatebaseError):
                raise error
            self.observed.error = {**error_record(error), "trace": _trace(error)}
            if self.turn.error is None:
                self.stopped = f"turn {self.turn.number} raised {type(error).__name__}"
        self._end(AgentReply())

    def _end(self, reply: AgentReply) -> None:
        observed = self.observed
        for call, entry in self.provisional:
            call.stale = not self.fork.pool.siblings_made(entry)
        observed.duration_ms = (time.perf_counter() - self._began) * 1000
        observed.output = reply.output
        observed.reasoning = reply.reasoning
        ledger = self.fork.ledger
        observed.state = ledger.state_value()
        if self.latch is not None:
            self.stopped = f"turn {self.turn.number} made a call that has no answer"
        ledger.append(TurnAdded(reply.output, observed.error, reply.reasoning, reply.metadata))


def _is_not_the_agents(error: BaseException) -> bool:
    """Whether an exception ends the whole run: an interrupt, or the cancellation of whoever awaits the replay."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, (KeyboardInterrupt, GeneratorExit)) or type(error).__module__.startswith("trio.")


def _trace(error: BaseException) -> str:
    """The last frames of the agent's own traceback, for a person."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "pytest_statebase" not in frame.filename.replace("\\", "/").split("/")]
    return "".join(traceback.format_list(own[-3:])).rstrip()
