"""Records one session by talking to an agent while its tools run live."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from ..cassette.canonical import parts_of
from ..engine.acting import acting_agent
from ..engine.agents import AgentReply, BoundAgent, as_agent, is_awaitable, loop_is_running
from ..engine.loops import Lease, event_loop
from ..engine.loose import with_loose_tasks
from ..engine.mcp_log import with_servers
from ..engine.mcp_wire import recorded_servers
from ..engine.offer import Offer
from ..engine.snapshot import error_record, snapshot
from ..engine.strands import Strand, current_strand, recording_strands
from ..engine.streams import AWAITED, Stream, Watch
from ..engine.tools import Tool, current, find_tools, stub_kin, stubbed, with_marked
from ..engine.web.doorway import door_here
from ..engine.web.stateapi import StateApi
from ..engine.web.stateapi import api_hosts as hosts_of_api
from ..errors import AgentError, UnstorableError
from ..ledger import Event, Ledger, SessionCreated, SessionEnded, ToolCalled, TurnAdded, TurnStarted
from ..statebase import LocalClient, RunningTurn
from ..statebase.held import timestamp
from ..values import ABSENT, TypedData, copy_value
from ..wire.doors import Decision, Live
from ..wire.exchange import Exchange, Request, Response
from ..wire.hosts import Hosts
from ..wire.intercept import intercepted
from .logged import with_log
from .masking import without_secrets
from .traffic import Traffic

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
    http: list[Exchange] | None = None,
    api_hosts: Iterable[str] = (),
) -> Ledger:
    """Hand `inputs` to an agent one after the other, with its tools running live, and record what happens.

    agent: as for `replay`. inputs: what the user says, None for a turn in which the agent speaks first.
    tools: patterns such as `myapp.tools:*`. state: the initial state, version 0.
    http: filled with the HTTP exchanges of agent and tools, secrets taken out; `write_http` stores them. The record
    says that they belong to it, and is not replayed without their file.
    api_hosts: further hosts of StateBase, besides api.statebase.org. Requests there are answered from this session
    without reaching the service: an agent on the `statebase` package is recorded through it.
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
    exchanges = recording.traffic.exchanges() if http is not None else []
    if http is not None:
        http.extend(exchanges)
    for text in recording.api.warnings:
        warnings.warn(text, stacklevel=2)
    return recording.finished(with_http=bool(exchanges))


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
        self._lock = threading.Lock()
        self._calls: list[ToolCalled] = []
        """Those of the turn; one that has not ended has no result."""
        self._began: list[int] = []
        """For every call, how many events the session had when it began."""
        self._open: dict[int, _Call] = {}
        """Calls of the turn that have not ended yet."""
        self._in_flight = 0
        self._step = 0
        self._numbers = itertools.count()
        """Over the calls of the session: strands may outlast a turn."""
        self._first = 0
        """The number of the step's first call."""
        self._loop: Lease | None = None
        self.traffic = Traffic()
        self.api = StateApi(api)
        self._offer: Offer | None = None

    def door(self, request: Request) -> Decision:
        """Let an HTTP request go out, and keep it with its answer; one to StateBase is answered from the session."""
        return self._from_session(request) or self.traffic.let_out(request, len(self.ledger.turns), _inside.get())

    def door_behind(self, request: Request) -> Decision:
        """The same in a thread that was there before, where a request is nobody's, unless it is one to StateBase."""
        return self._from_session(request) or Live()

    def _from_session(self, request: Request) -> Response | None:
        if self._offer is None or not self.api.knows(request):
            return None
        with self._lock:
            client = self._offer.client()
        return self.api.answer(request, client)

    def turn(self, said: str | None, stack: ExitStack) -> None:
        """One turn: the input, the agent's work, its reply."""
        content = None if said is None else {"type": "text", "content": said}
        self._calls, self._began, self._open, self._step, self._in_flight = [], [], {}, 0, 0
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
        self._close_open()
        self._calls, besides = with_log(self._calls, offer.logged)
        self._take_calls()
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

    def _connect(self) -> tuple[LocalClient, RunningTurn]:
        turn = RunningTurn(during=_inside.get)
        self._client.enter(turn)
        return self._client, turn

    def _take_calls(self) -> None:
        """Add the turn's calls, each before what was written to the session after it had begun."""
        written = list(enumerate(self.ledger.events))[self._taken :]
        for began, call in zip(self._began, self._calls, strict=True):
            while written and written[0][0] < began:
                self._events.append(written.pop(0)[1])
            self._events.append(call)
            self.ledger.append(call)
        self._events += [event for _, event in written]
        self._taken = len(self.ledger.events)

    def finished(self, *, with_http: bool) -> Ledger:
        """The recording. with_http: HTTP exchanges belong to it, which stand in a file of their own."""
        created, *events = [*self._events, *self.ledger.events[self._taken :]]
        if isinstance(created, SessionCreated):
            created = replace(created, http=with_http)
        events = [created, *events, SessionEnded("completed", at=timestamp())]
        events = list(without_secrets(events, self.traffic.secrets))
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

    def call(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        """Run the tool and record it."""
        call = self._begin(tool, arguments)
        with self._ended_by_error(call), _within(call):
            result = live()
        if isinstance(result, GeneratorType):
            return self._watch(call, is_async=False).through(result)
        if isinstance(result, AsyncGeneratorType):
            return self._watch(call, is_async=True).through_async(result)
        if isinstance(result, CoroutineType):
            return self._awaiting(call, result)
        self._end(call, result)
        return result

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        """Await the tool and record it."""
        call = self._begin(tool, arguments)
        with self._ended_by_error(call), _within(call):
            result = await live()
        if isinstance(result, AsyncGeneratorType):
            return self._watch(call, is_async=True).through_async(result)
        self._end(call, result)
        return result

    def stream(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Generator[Any, Any, Any]:
        """Run the generator and record what it yields, chunk by chunk."""
        return self._watch(self._begin(tool, arguments), is_async=False).through(live())

    def stream_async(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> AsyncGenerator[Any, Any]:
        """Run the async generator and record what it yields, chunk by chunk."""
        return self._watch(self._begin(tool, arguments), is_async=True).through_async(live())

    async def _awaiting(self, call: _Call, coroutine: CoroutineType[Any, Any, Any]) -> Any:
        """What a plain function handed out to be awaited."""
        marked = not call.tool.is_awaited
        with self._ended_by_error(call, TypedData(AWAITED, {}) if marked else ABSENT), _within(call):
            result = await coroutine
        self._end(call, TypedData(AWAITED, {"value": snapshot(result)}) if marked else result)
        return result

    def _watch(self, call: _Call, *, is_async: bool) -> Watch:
        kept = call.stream = Stream([], is_async, closed=True)

        def ended(closed: bool, returned: Any, error: BaseException | None) -> None:
            self._end(call, replace(kept, closed=closed, returned=snapshot(returned)).stored(), error)

        return Watch(lambda chunk: kept.chunks.append(snapshot(chunk)), kept.tell, ended, lambda: _within(call))

    def _begin(self, tool: Tool, arguments: dict[str, Any]) -> _Call:
        during = _inside.get()
        with self._lock:
            number = next(self._numbers)
            if not self._in_flight and during is None:
                self._step, self._first = self._step + 1, number
            self._in_flight += 1
            self._began.append(len(self.ledger.events))
            call = _Call(len(self._calls), number, tool, snapshot(arguments), self._step, during, acting_agent())
            if during is None:
                call.strand = current_strand()
                call.before = call.strand.begin(number)
                call.after = sorted(before - number + call.index for before in call.before if before >= self._first)
            self._open[call.index] = call
            self._calls.append(call.recorded())
            return call

    @contextmanager
    def _ended_by_error(self, call: _Call, result: Any = ABSENT) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._end(call, result, error)
            raise

    def _end(self, call: _Call, result: Any = ABSENT, error: BaseException | None = None) -> None:
        latency = round((time.perf_counter() - call.began) * 1000)
        record = None if error is None or _is_cut_off(error) else error_record(error)
        if record is not None and _is_cancelled_from_outside(error):
            record["cancelled_after_ms"] = latency
        kept = snapshot(result)
        with self._lock:
            if self._open.get(call.index) is not call:
                return  # it ended after its turn
            del self._open[call.index]
            self._in_flight -= 1
            if call.strand is not None:
                call.strand.end(call.number, call.before)
            self._calls[call.index] = replace(call.recorded(), result=kept, error=record, latency_ms=latency)

    def _close_open(self) -> None:
        """A generator that is open when its turn ends was read no further; what a call would give is not known."""
        for call in list(self._open.values()):
            if call.stream is not None:
                self._end(call, call.stream.stored())
        with self._lock:
            self._open = {}


@dataclass(slots=True, eq=False)
class _Call:
    """A call that runs."""

    index: int
    """Position among the calls of its turn."""
    number: int
    tool: Tool
    arguments: dict[str, Any]
    step: int
    during: int | None
    agent: str | None
    began: float = field(default_factory=time.perf_counter)
    stream: Stream | None = None
    strand: Strand | None = None
    before: frozenset[int] = frozenset()
    """Numbers of the last calls that came before it."""
    after: list[int] = field(default_factory=list)
    """Positions of those that are of the same step."""

    def recorded(self) -> ToolCalled:
        """The call as it began."""
        return ToolCalled(
            self.tool.name,
            self.arguments,
            step=self.step,
            after=self.after or None,
            agent=self.agent,
            during=self.during,
        )


@contextmanager
def _within(call: _Call) -> Iterator[None]:
    token = _inside.set(call.index)
    try:
        yield
    finally:
        _inside.reset(token)


def _is_cancelled_from_outside(error: BaseException | None) -> bool:
    """Whether a call was cancelled by its caller (a time-out, a task group), and did not raise that by itself."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task() if loop_is_running() else None
    return task is not None and task.cancelling() > 0


def _is_cut_off(error: BaseException) -> bool:
    """Whether nothing came back: trio's own way of cancelling can be raised by nobody else."""
    return type(error).__module__.startswith("trio.")


def _told(error: BaseException) -> dict[str, Any]:
    """The agent's own exception as data; what cannot be stored of it is left out, as nobody will raise it again."""
    record = error_record(error)
    try:
        parts_of(record)
    except UnstorableError:
        return {"type": record["type"], "message": record["message"]}
    return record
