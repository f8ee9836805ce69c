"""The tool calls of one turn, recorded while they run live."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from ..engine.acting import acting_agent
from ..engine.agents import loop_is_running
from ..engine.snapshot import snapshot
from ..engine.strands import Strand, current_strand
from ..engine.streams import AWAITED, Stream, Watch
from ..engine.tool import Seen, Tool
from ..events import Event, ToolCalled
from ..values import ABSENT, TypedData
from .order import place

Live = Callable[[], Any]
"""Runs the tool itself with the arguments of the call."""
_inside: ContextVar[Call | None] = ContextVar("statebase_recorded_call", default=None)


@dataclass(slots=True, eq=False)
class Call:
    """A call of a turn, from its beginning."""

    calls: Calls
    """Those of its turn."""
    index: int
    """Its position among them."""
    number: int
    tool: str
    is_awaited: bool
    """The tool is one that is awaited anyway."""
    arguments: dict[str, Any]
    span: int
    """How often, up to this call, one began while no other one went on."""
    during: int | None
    agent: str | None
    at: str | None
    position: int
    """How many other events the turn had when it began."""
    began: float = field(default_factory=time.perf_counter)
    stream: Stream | None = None
    strand: Strand | None = None
    before: frozenset[int] = frozenset()
    """Numbers of the last calls that came before it."""
    step: int | None = None
    after: list[int] | None = None
    """Positions of those that came before it and are of the same step. Set with `step` when the turn is over."""
    result: Any = ABSENT
    error: dict[str, Any] | None = None
    latency_ms: int | None = None

    def recorded(self) -> ToolCalled:
        """The call as far as it is known; one that has not ended has no result."""
        return ToolCalled(
            self.tool,
            self.arguments,
            self.result,
            self.error,
            step=self.step,
            after=self.after,
            latency_ms=self.latency_ms,
            agent=self.agent,
            at=self.at,
            during=self.during,
        )


class Calls:
    """Lets the calls of a turn run, and keeps what each was and what came back, as it stood at that moment.

    What a tool returns is handed on itself, generators and coroutines with somebody between who listens. numbers: over
    the calls of the session, as strands may outlast a turn. position: how many other events the turn has so far.
    error_record: makes data of what a tool raised.
    """

    def __init__(
        self,
        numbers: Iterator[int],
        position: Callable[[], int],
        error_record: Callable[[BaseException], dict[str, Any]],
    ) -> None:
        self._numbers = numbers
        self._position = position
        self._error_record = error_record
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self._open: dict[int, Call] = {}
        """Those that have not ended yet."""
        self._in_flight = 0
        self._span = 0

    # --- what happens in our own code: exchanged where it must not reach the agent

    def failed(self, error: Exception) -> None:
        """Told of what went wrong in keeping a call."""
        raise error

    def clock(self) -> str | None:
        """When a call begins, where that is to be kept."""
        return None

    def room(self, count: int) -> bool:
        """Whether so many calls and chunks more are to be kept."""
        return True

    # --- the ways to call

    def call(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any:
        """Run the tool and record it."""
        call = self.begin(tool, arguments)
        if call is None:
            return live()
        token = _inside.set(call)
        try:
            result = live()
        except BaseException as error:
            self.end(call, error=error)
            raise
        finally:
            _inside.reset(token)
        return self._handed_on(call, result)

    def _handed_on(self, call: Call, result: Any) -> Any:
        kind = type(result)
        if kind is GeneratorType:
            return self._watch(call, is_async=False).through(result)
        if kind is AsyncGeneratorType:
            return self._watch(call, is_async=True).through_async(result)
        if kind is CoroutineType:
            return self._awaiting(call, result)
        self.end(call, result)
        return result

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Any:
        """Await the tool and record it."""
        call = self.begin(tool, arguments)
        if call is None:
            return await live()
        token = _inside.set(call)
        try:
            result = await live()
        except BaseException as error:
            self.end(call, error=error)
            raise
        finally:
            _inside.reset(token)
        if type(result) is AsyncGeneratorType:
            return self._watch(call, is_async=True).through_async(result)
        self.end(call, result)
        return result

    async def call_seen(self, seen: Seen, live: Live) -> Any:
        """Await a way to a tool and record the tool."""
        call = self.begin(seen.tool, seen.arguments)
        if call is None:
            return await live()
        token = _inside.set(call)
        try:
            result = await live()
        except BaseException as error:
            self.end(call, error=error, recorded=seen.error)
            raise
        finally:
            _inside.reset(token)
        self.end(call, result, make=seen.result)
        return result

    def stream(self, tool: Tool, arguments: dict[str, Any], live: Live) -> Generator[Any, Any, Any]:
        """Run the generator and record what it yields, chunk by chunk."""
        call = self.begin(tool, arguments)
        source: Generator[Any, Any, Any] = live()
        return source if call is None else self._watch(call, is_async=False).through(source)

    def stream_async(self, tool: Tool, arguments: dict[str, Any], live: Live) -> AsyncGenerator[Any, Any]:
        """Run the async generator and record what it yields, chunk by chunk."""
        call = self.begin(tool, arguments)
        source: AsyncGenerator[Any, Any] = live()
        return source if call is None else self._watch(call, is_async=True).through_async(source)

    async def _awaiting(self, call: Call, coroutine: CoroutineType[Any, Any, Any]) -> Any:
        """What a plain function handed out to be awaited."""
        marked = not call.is_awaited
        token = _inside.set(call)
        try:
            result = await coroutine
        except BaseException as error:
            self.end(call, TypedData(AWAITED, {}) if marked else ABSENT, error)
            raise
        finally:
            _inside.reset(token)
        self.end(call, result, make=(lambda kept: TypedData(AWAITED, {"value": kept})) if marked else None)
        return result

    def _watch(self, call: Call, *, is_async: bool) -> Watch:
        kept = call.stream = Stream([], is_async, closed=True)

        def seen(chunk: Any) -> None:
            try:
                if call.index in self._open and self.room(1):
                    kept.chunks.append(snapshot(chunk))
            except Exception as error:
                self.failed(error)

        def ended(closed: bool, returned: Any, error: BaseException | None) -> None:
            self.end(call, returned, error, lambda kept_: replace(kept, closed=closed, returned=kept_).stored())

        return Watch(seen, self._told(kept), ended, lambda: within(call))

    def _told(self, kept: Stream) -> Callable[[Any], None]:
        def told(heard: Any) -> None:
            try:
                kept.tell(heard)
            except Exception as error:
                self.failed(error)

        return told

    # --- begin and end

    def begin(self, tool: Tool, arguments: dict[str, Any]) -> Call | None:
        """A call of `tool` begins; None where it is not kept."""
        try:
            return self._begin(tool, arguments) if self.room(1) else None
        except Exception as error:
            self.failed(error)
            return None

    def _begin(self, tool: Tool, arguments: dict[str, Any]) -> Call:
        during = inside(self)
        kept, at, agent, awaited = snapshot(arguments), self.clock(), acting_agent(), tool.is_awaited
        with self._lock:
            number = next(self._numbers)
            if not self._in_flight and during is None:
                self._span += 1
            self._in_flight += 1
            index, position = len(self._calls), self._position()
            call = Call(self, index, number, tool.name, awaited, kept, self._span, during, agent, at, position)
            if during is None:
                call.strand = current_strand()
                call.before = call.strand.begin(number)
            self._open[index] = call
            self._calls.append(call)
        return call

    def end(
        self,
        call: Call,
        result: Any = ABSENT,
        error: BaseException | None = None,
        make: Callable[[Any], Any] | None = None,
        recorded: Callable[[BaseException], BaseException] | None = None,
    ) -> None:
        """A call has ended, with a result or an error.

        make: what the record holds of the copy of the result; recorded: of the error.
        """
        try:
            if error is not None and recorded is not None:
                error = recorded(error)
            self._end(call, result, error, make)
        except Exception as trouble:
            self.failed(trouble)

    def _end(self, call: Call, result: Any, error: BaseException | None, make: Callable[[Any], Any] | None) -> None:
        if call.index not in self._open:
            return  # it ended after its turn
        latency = round((time.perf_counter() - call.began) * 1000)
        record = None if error is None or _is_cut_off(error) else self._error_record(error)
        if record is not None and _is_cancelled_from_outside(error):
            record["cancelled_after_ms"] = latency
        kept = snapshot(result)
        if make is not None:
            kept = make(kept)
        with self._lock:
            if self._open.pop(call.index, None) is None:
                return
            self._in_flight -= 1
            if call.strand is not None:
                call.strand.end(call.number, call.before)
            call.result, call.error, call.latency_ms = kept, record, latency

    def close(self) -> list[Call]:
        """The turn is over: its calls. A generator that is open was read no further; what a call would give is not
        known."""
        for call in list(self._open.values()):
            if call.stream is not None:
                self.end(call, call.stream.stored())
        with self._lock:
            self._open = {}
            place(self._calls)
            return self._calls

    @property
    def is_any(self) -> bool:
        """Whether there is one."""
        return bool(self._calls)

    def leave(self) -> None:
        """Nobody asks for the calls any more. Without the lock: a thread may hold it that a fork has left behind."""
        self._open = {}

    def forget(self) -> None:
        """Nothing of the calls is kept any more; those that go on run to their end."""
        with self._lock:
            self._calls, self._open = [], {}


def woven(calls: Iterable[tuple[int, Event]], others: Iterable[Event]) -> list[Event]:
    """The events of a turn, each call before what came after it had begun.

    calls: each with its position. others: everything else.
    """
    woven: list[Event] = []
    rest = list(others)
    taken = 0
    for position, call in calls:
        woven += rest[taken:position]
        taken = max(taken, position)
        woven.append(call)
    return woven + rest[taken:]


def inside(calls: Calls) -> int | None:
    """The position of the call of a turn inside of which this code runs; None outside of any."""
    call = _inside.get()
    return None if call is None or call.calls is not calls else call.index


@contextmanager
def within(call: Call) -> Iterator[None]:
    """What is done here is done inside a call."""
    token = _inside.set(call)
    try:
        yield
    finally:
        _inside.reset(token)


def numbers() -> Iterator[int]:
    """For the calls of one session."""
    return itertools.count()


def _is_cancelled_from_outside(error: BaseException | None) -> bool:
    """Whether a call was cancelled by its caller (a time-out, a task group), and did not raise that by itself."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task() if loop_is_running() else None
    return task is not None and task.cancelling() > 0


def _is_cut_off(error: BaseException) -> bool:
    """Whether nothing came back: trio's own way of cancelling can be raised by nobody else."""
    return type(error).__module__.startswith("trio.")
