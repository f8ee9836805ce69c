"""Records one session by talking to an agent while its tools run live."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from ..engine.agents import AgentReply, BoundAgent, as_agent, as_reply, is_awaitable, loop_is_running
from ..engine.offer import Offer
from ..engine.revive import error_record
from ..engine.tools import Tool, current, find_tools, stubbed
from ..errors import AgentError
from ..ledger import Ledger, SessionCreated, SessionEnded, ToolCalled, TurnAdded, TurnStarted
from ..values import ABSENT, copy_value

_inside: ContextVar[int | None] = ContextVar("statebase_recorded_call", default=None)


def record_session(
    agent: Any,
    inputs: Iterable[str | None],
    *,
    session_id: str,
    tools: Iterable[str] = (),
    state: Any = ABSENT,
    agent_id: str | None = None,
    user_id: str | None = None,
) -> Ledger:
    """Hand `inputs` to an agent one after the other, with its tools running live, and record what happens.

    agent: as for `replay`. inputs: what the user says, None for a turn in which the agent speaks first.
    tools: patterns such as `myapp.tools:*`. state: the initial state, version 0.
    Returns the ledger; `write_record` stores it. An exception of the agent is recorded as its turn's error.
    """
    recording = _Recording(
        as_agent(agent).fresh(),
        SessionCreated(session_id, agent_id, user_id, _now(), copy_value(state)),
        find_tools(tools),
    )
    with stubbed(recording.tools), ExitStack() as stack:
        for said in inputs:
            recording.turn(said, stack)
    recording.ledger.append(SessionEnded("completed", at=_now()))
    return recording.ledger


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Recording:
    """A `Handler` that lets every call run and keeps what it was and what came back."""

    def __init__(self, agent: BoundAgent, created: SessionCreated, tools: list[Tool]) -> None:
        self.agent = agent
        self.ledger = Ledger([created])
        self.tools = tools
        self._lock = threading.Lock()
        self._calls: list[ToolCalled | None] = []
        self._in_flight = 0
        self._step = 0
        self._runner: asyncio.Runner | None = None

    def turn(self, said: str | None, stack: ExitStack) -> None:
        """One turn: the input, the agent's work, its reply."""
        content = None if said is None else {"type": "text", "content": said}
        self._calls, self._step = [], 0
        self.ledger.append(TurnStarted(self.ledger.next_number(), content, _now()))
        offer = Offer(self.ledger, content, self._no_call)
        began = time.perf_counter()
        reply, error = AgentReply(), None
        try:
            with current(self):
                answer = self.agent.call(offer.parameters())
                if is_awaitable(answer):
                    answer = self._awaited(answer, stack)
            reply = as_reply(answer, type(self.agent.target).__qualname__)
        except (AgentError, KeyboardInterrupt):
            raise
        except BaseException as raised:
            error = error_record(raised)
        for call in self._calls:
            if call is not None:
                self.ledger.append(call)
        offer.settle(reply)
        latency = {"latency_ms": round((time.perf_counter() - began) * 1000)}
        self.ledger.append(
            TurnAdded(reply.output, error, reply.reasoning, {**latency, **(reply.metadata or {})}, at=_now())
        )

    def _awaited(self, awaitable: Any, stack: ExitStack) -> Any:
        """What an async agent answers, in the one event loop of this recording."""
        if self._runner is None:
            if loop_is_running():
                if hasattr(awaitable, "close"):
                    awaitable.close()
                raise AgentError(
                    "the agent is async, and an event loop is running here already",
                    remedy="Record in a thread of its own: `await asyncio.to_thread(…)`.",
                )
            self._runner = stack.enter_context(asyncio.Runner())
        return self._runner.run(_await(awaitable))

    @staticmethod
    def _no_call(name: str, arguments: Any) -> Any:
        raise AgentError(f"tool {name!r} was called by name while recording, where only real tools run")

    def call(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        """Run the tool and record it."""
        index, step, asked = self._begin(arguments)
        token = _inside.set(index)
        began = time.perf_counter()
        try:
            result = live()
        except BaseException as error:
            self._end(index, tool, asked, step, began, error=error)
            raise
        finally:
            _inside.reset(token)
        self._end(index, tool, asked, step, began, result=result)
        return result

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        """Await the tool and record it."""
        index, step, asked = self._begin(arguments)
        token = _inside.set(index)
        began = time.perf_counter()
        try:
            result = await live()
        except BaseException as error:
            self._end(index, tool, asked, step, began, error=error)
            raise
        finally:
            _inside.reset(token)
        self._end(index, tool, asked, step, began, result=result)
        return result

    def _begin(self, arguments: dict[str, Any]) -> tuple[int, int, dict[str, Any]]:
        with self._lock:
            if not self._in_flight and _inside.get() is None:
                self._step += 1
            self._in_flight += 1
            self._calls.append(None)
            return len(self._calls) - 1, self._step, copy_value(arguments)

    def _end(
        self,
        index: int,
        tool: Tool,
        arguments: dict[str, Any],
        step: int,
        began: float,
        *,
        result: Any = ABSENT,
        error: BaseException | None = None,
    ) -> None:
        during = _inside.get()
        with self._lock:
            self._in_flight -= 1
            self._calls[index] = ToolCalled(
                tool.name,
                arguments,
                result=copy_value(result),
                error=None if error is None else error_record(error),
                step=step,
                latency_ms=round((time.perf_counter() - began) * 1000),
                during=None if during == index else during,
            )


async def _await(awaitable: Any) -> Any:
    return await awaitable
