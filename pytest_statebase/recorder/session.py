"""Records one session by talking to an agent while its tools run live."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from ..cassette.canonical import parts_of
from ..engine.agents import AgentReply, BoundAgent, as_agent, is_awaitable, loop_is_running
from ..engine.loops import Lease, event_loop
from ..engine.loose import with_loose_tasks
from ..engine.mcp_log import with_servers
from ..engine.mcp_wire import recorded_servers
from ..engine.offer import Offer
from ..engine.snapshot import error_record
from ..engine.strands import recording_strands
from ..engine.tools import Tool, current, find_tools, stub_kin, stubbed, with_marked
from ..engine.web.doorway import door_here
from ..engine.web.stateapi import StateApi
from ..errors import AgentError, UnstorableError
from ..events import timestamp
from ..ledger import Event, Ledger, SessionCreated, SessionEnded, ToolCalled, TurnAdded, TurnStarted
from ..privacy import redacted_session
from ..statebase import LocalClient, RunningTurn
from ..values import ABSENT, copy_value
from ..wire.doors import Decision
from ..wire.doors import Live as LiveRequest
from ..wire.exchange import Exchange, Request, Response
from ..wire.hosts import Hosts
from ..wire.hosts import api_hosts as hosts_of_api
from ..wire.intercept import intercepted
from .calls import Calls, Live, inside, numbers, woven
from .logged import with_log
from .traffic import Traffic


def record_session(
    agent: Any,
    inputs: Iterable[str | None],
    *,
    session_id: str,
    tools: Iterable[str] = (),
    state: Any = ABSENT,
    agent_id: str | None = None,
    user_id: str | None = None,
    http: list[Exchange] | None = None,
    api_hosts: Iterable[str] = (),
) -> Ledger:
    """Hand `inputs` to an agent one after the other, with its tools running live, and record what happens.

    agent: as for `replay`. inputs: what the user says, None for a turn in which the agent speaks first.
    tools: patterns such as `myapp.tools:*`. state: the initial state, version 0.
    http: filled with the HTTP exchanges of agent and tools; `write_http` stores them. The record says that they belong
    to it, and is not replayed without their file.
    api_hosts: further hosts of StateBase, besides api.statebase.org. Requests there are answered from this session
    without reaching the service: an agent on the `statebase` package is recorded through it.
    Secrets and personal data are replaced by placeholders, in the exchanges as well.
    Returns the ledger; `write_record` stores it. An exception of the agent is recorded as its turn's error.
    """
    recording = _Recording(
        as_agent(agent).fresh(),
        SessionCreated(session_id, agent_id, user_id, timestamp(), copy_value(state)),
        with_marked(find_tools(tools)),
        hosts_of_api(api_hosts),
    )
    with stubbed(recording.tools), intercepted(door_here), ExitStack() as stack:
        for said in inputs:
            stub_kin()
            recording.turn(said, stack)
    exchanges = recording.traffic.exchanges()
    for text in recording.api.warnings:
        warnings.warn(text, stacklevel=2)
    clean = redacted_session(recording.finished(with_http=bool(exchanges) and http is not None), exchanges)
    if http is not None:
        http.extend(clean.exchanges)
    return clean.ledger


class _Recording:
    """A `Handler` that lets every call run and keeps what it was and what came back."""

    def __init__(self, agent: BoundAgent, created: SessionCreated, tools: tuple[Tool, ...], api: Hosts) -> None:
        self.agent = agent
        self.ledger = Ledger([created])
        """The session as it goes: what the agent sees."""
        self.tools = tools
        self._events: list[Event] = []
        """What is recorded: the same events, each call where it began."""
        self._taken = 0
        self._client = LocalClient.of_turn(self.ledger, [])
        self._numbers = numbers()
        self._calls = self._no_calls()
        """Those of the turn."""
        self._lock = threading.Lock()
        self._loop: Lease | None = None
        self.traffic = Traffic()
        self.api = StateApi(api)
        self._offer: Offer | None = None

    def door(self, request: Request) -> Decision:
        """Let an HTTP request go out, and keep it with its answer; one to StateBase is answered from the session."""
        return self._from_session(request) or self.traffic.let_out(request, len(self.ledger.turns), inside(self._calls))

    def door_behind(self, request: Request) -> Decision:
        """The same in a thread that was there before, where a request is nobody's, unless it is one to StateBase."""
        return self._from_session(request) or LiveRequest()

    def _from_session(self, request: Request) -> Response | None:
        if self._offer is None or not self.api.knows(request):
            return None
        with self._lock:
            client = self._offer.client()
        return self.api.answer(request, client)

    def turn(self, said: str | None, stack: ExitStack) -> None:
        """One turn: the input, the agent's work, its reply."""
        content = None if said is None else {"type": "text", "content": said}
        self._calls = self._no_calls()
        self.ledger.append(TurnStarted(self.ledger.next_number(), content, timestamp()))
        offer = self._offer = Offer(self.ledger, content, self._no_call, self._connect)
        began = time.perf_counter()
        reply, error = AgentReply(), None
        try:
            with current(self), recording_strands():
                answer = self.agent.call(offer.parameters())
                if is_awaitable(answer):
                    answer = self._awaited(answer, stack)
            reply = offer.reply(answer, type(self.agent.target).__qualname__)
        except (AgentError, KeyboardInterrupt):
            raise
        except BaseException as raised:
            error = _told(raised)
        calls = self._calls.close()
        told, besides = with_log([call.recorded() for call in calls], offer.logged)
        self._take(list(zip([call.position for call in calls], told, strict=True)))
        if error is None:
            offer.settle(reply)
        latency = {"latency_ms": round((time.perf_counter() - began) * 1000)}
        self.ledger.append(
            TurnAdded(
                reply.output,
                error,
                reply.reasoning,
                {**latency, **(reply.metadata or {})},
                at=timestamp(),
                extra={"logged": besides} if besides else {},
            )
        )

    def _no_calls(self) -> Calls:
        return Calls(self._numbers, lambda: len(self.ledger.events) - self._taken, error_record)

    def _connect(self) -> tuple[LocalClient, RunningTurn]:
        turn = RunningTurn(during=lambda: inside(self._calls))
        self._client.enter(turn)
        return self._client, turn

    def _take(self, calls: list[tuple[int, ToolCalled]]) -> None:
        """Add the turn's calls, each before what was written to the session after it had begun."""
        self._events += woven(calls, self.ledger.events[self._taken :])
        for _, call in calls:
            self.ledger.append(call)
        self._taken = len(self.ledger.events)

    def finished(self, *, with_http: bool) -> Ledger:
        """The recording. with_http: HTTP exchanges belong to it, which stand in a file of their own."""
        created, *events = [*self._events, *self.ledger.events[self._taken :]]
        if isinstance(created, SessionCreated):
            created = replace(created, http=with_http)
        events = [created, *events, SessionEnded("completed", at=timestamp())]
        return Ledger(with_servers(recorded_servers(self), events))

    def _awaited(self, awaitable: Any, stack: ExitStack) -> Any:
        """What an async agent answers, in the event loop of this thread."""
        if self._loop is None:
            if loop_is_running():
                if hasattr(awaitable, "close"):
                    awaitable.close()
                raise AgentError(
                    "the agent is async, and an event loop is running here already",
                    remedy="Record in a thread of its own: `await asyncio.to_thread(…)`.",
                )
            self._loop = stack.enter_context(event_loop())
        return self._loop.run(with_loose_tasks(awaitable))

    @staticmethod
    def _no_call(name: str, arguments: Any) -> Any:
        raise AgentError(f"tool {name!r} was called by name while recording, where only real tools run")

    def call(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any:
        """Run the tool and record it."""
        return self._calls.call(tool, arguments, live)

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any:
        """Await the tool and record it."""
        return await self._calls.call_async(tool, arguments, live)

    def stream(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Generator[Any, Any, Any]:
        """Run the generator and record what it yields, chunk by chunk."""
        return self._calls.stream(tool, arguments, live)

    def stream_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> AsyncGenerator[Any, Any]:
        """Run the async generator and record what it yields, chunk by chunk."""
        return self._calls.stream_async(tool, arguments, live)


def _told(error: BaseException) -> dict[str, Any]:
    """The agent's own exception as data; what cannot be stored of it is left out, as nobody will raise it again."""
    record = error_record(error)
    try:
        parts_of(record)
    except UnstorableError:
        return {"type": record["type"], "message": record["message"]}
    return record
