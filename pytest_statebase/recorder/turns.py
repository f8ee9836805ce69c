"""One turn of a captured session, from the user's words to the agent's reply."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ..engine.agents import AgentReply, as_reply
from ..engine.handlers import Watcher, own_handler, watch_from_here, watching
from ..engine.patches import tool_of
from ..engine.snapshot import raw_error_record, snapshot
from ..engine.strands import Strand, record_from_here, recording_strands
from ..engine.tool import Tool
from ..engine.trampoline import kind_of
from ..events import (
    Content,
    Event,
    MemoryAdded,
    Said,
    StateRolledBack,
    StateUpdated,
    TurnAdded,
    TurnStarted,
    timestamp,
)
from ..frames import TurnClosed, TurnOpened
from ..values import ABSENT, same
from ..wire.exchange import Exchange
from .calls import Calls, inside, woven
from .logged import with_logged
from .traffic import bytes_of, without_bodies

if TYPE_CHECKING:
    from ..statebase.observed import TurnLogged
    from .sessions import Session

_WAYS: Mapping[int, Callable[..., Any]] = {
    0: Calls.call,
    CO_COROUTINE: Calls.call_async,
    CO_GENERATOR: Calls.stream,
    CO_ASYNC_GENERATOR: Calls.stream_async,
}
MOST_PARTS = 50_000
"""Calls, chunks and other events of one turn: a turn that goes beyond is not kept."""
MOST_BODIES = 16 << 20
"""Bytes of all bodies of one turn: of requests that go beyond it is kept that they were made, and what came back."""
T = TypeVar("T")


class _LiveCalls(Calls):
    """Calls of which nothing that goes wrong here reaches the agent."""

    def __init__(self, turn: Turn) -> None:
        super().__init__(turn.session.numbers, lambda: len(turn.others), raw_error_record)
        self._turn = turn
        self._parts = 0

    def failed(self, error: Exception) -> None:
        self._turn.session.failed("call", error)

    def clock(self) -> str | None:
        return timestamp()

    def room(self, count: int) -> bool:
        self._parts += count
        if self._parts > MOST_PARTS:
            self._turn.overflow()
            return False
        return True


class Turn(Watcher):
    """A turn that is captured while the agent is at it: `with session.turn("Where is my order?") as turn: …`.

    What the agent calls inside belongs to it, in whatever task or thread. Nothing that goes wrong in here is raised.
    """

    def __init__(self, session: Session, content: Content | None, state: Any = ABSENT) -> None:
        self.session = session
        self.content = content
        self.others: list[Event] = []
        """What happened besides calls."""
        self.exchanges: list[Exchange] = []
        self.given: TurnLogged | None = None
        """The turn as the agent has logged it in StateBase."""
        self.is_open = False
        self.is_alone = False
        """The session is made for this one turn."""
        self.is_sure = True
        """Whether it is known to be one, before it is over."""
        self.kept: bool | None = None
        """Whether the turn stands in the journal; None as long as that is not known."""
        self._handed = state
        self._before: Any = ABSENT
        self._reply = AgentReply()
        self._stack = ExitStack()
        self._strand = Strand()
        self._calls = _LiveCalls(self)
        self._is_lost = False
        self._body_bytes = 0
        self._overlaps = False
        self._at = ""
        self._began = 0.0
        self._over: tuple[float, str] | None = None
        """When the agent had answered, where that was before its end."""
        self._number = 0

    # --- what the agent's own code tells

    def reply(self, value: Any, *, reasoning: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """The agent's answer: text, a mapping, a dataclass, a pydantic model or an AgentReply."""
        self._guarded("reply", lambda: self._replied(value, reasoning, metadata))

    def state(self, value: Any, *, reasoning: str | None = None, actor: str | None = None) -> None:
        """The agent has written this state, as a whole."""
        self._note("state", lambda: self._updated(value, reasoning, actor))

    def rollback(self, to_version: int, value: Any, *, reason: str | None = None, actor: str | None = None) -> None:
        """The state is again as it was in an earlier version, which is `value`."""
        self._note(
            "rollback",
            lambda: StateRolledBack(
                self.session.next_version(), to_version, snapshot(value), reason, actor, timestamp(), self.inside()
            ),
        )

    def said(self, text: str) -> None:
        """Words beside calls, before the reply."""
        self._note("said", lambda: Said(text, timestamp()))

    def memory(self, content: str, *, type: str = "general", tags: list[str] | None = None) -> None:
        """Something that the agent is to remember beyond the session."""
        self._note(
            "memory",
            lambda: MemoryAdded(
                content, type, None if tags is None else list(tags), at=timestamp(), during=self.inside()
            ),
        )

    def reasoning(self, text: str) -> None:
        """Why the agent answers as it does."""
        self._guarded("reasoning", lambda: self._set_reply(reasoning=text))

    def exchange(self, exchange: Exchange) -> None:
        """An HTTP request that the agent or a tool has made, with what came back."""
        if not self.is_open:
            self.session.of.journal.trouble("http", "an HTTP request came to its end after its turn: it is not kept")
        elif self._calls.room(1):
            self._body_bytes += bytes_of(exchange)
            self.exchanges.append(exchange if self._body_bytes <= MOST_BODIES else without_bodies(exchange))

    def event(self, event: Event) -> None:
        """Something that is known of the turn as an event already."""
        self._note("event", lambda: event)

    def starts_with(self, state: Any) -> None:
        """The state is known to be this before the turn has written any."""
        is_written = any(isinstance(one, (StateUpdated, StateRolledBack)) for one in self.others)
        if self.is_open and self._before is ABSENT and not is_written:
            self._before = state

    def take_over(self, other: Turn) -> None:
        """What has happened so far in `other` has happened in this one, which has just begun."""
        self.others, self.exchanges = [*other.others, *self.others], [*other.exchanges, *self.exchanges]
        self._before = other._before if self._before is ABSENT else self._before
        other.abandon()

    def move(self, session: Session) -> None:
        """The turn is one of another session, as it turns out: of one that was made for it alone."""
        if self.is_open and self.is_alone and session is not self.session:
            alone, self.session, self.is_alone = self.session, session, False
            self._number, self._overlaps = session.turn_begins(self)
            alone.drop(self)
            if self._number:
                session.put(TurnOpened(session.id, self.content, self._at))
            else:
                self.is_open = False

    def inside(self) -> int | None:
        """The position, from 0, of the call inside of which this code runs; None outside of any."""
        return inside(self._calls)

    @property
    def is_over(self) -> bool:
        return not self.is_open

    def has_room(self) -> bool:
        """Whether one chunk of its reply more is kept."""
        return self.is_open and self._calls.room(1)

    # --- from its beginning to its end

    def __enter__(self) -> Turn:
        self._guarded("turn", self._enter)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._guarded("turn", self._stack.close)
        self.close(error)

    async def __aenter__(self) -> Turn:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _enter(self) -> None:
        if self.begin():
            self._stack.enter_context(self.around())

    def begin(self) -> bool:
        """The turn begins; False where it is not captured: a replay or a recording by itself is at work here."""
        handler = own_handler()
        if handler is not None and not isinstance(handler, Watcher):
            return False
        self._guarded("turn", self._begin)
        return self.is_open

    def _begin(self) -> None:
        self._at, self._began = timestamp(), time.perf_counter()
        if self._handed is not ABSENT:
            self._before = snapshot(self._handed)
        self._number, self._overlaps = self.session.turn_begins(self)
        if self._number:
            self.is_open = True
            self.session.put(TurnOpened(self.session.id, self.content, self._at))

    @contextmanager
    def around(self) -> Iterator[None]:
        """What runs inside belongs to the turn."""
        stack = ExitStack()
        self._guarded("turn", lambda: self._take_place(stack))
        try:
            yield
        finally:
            self._guarded("turn", stack.close)

    def _take_place(self, stack: ExitStack) -> None:
        stack.enter_context(watching(self))
        stack.enter_context(recording_strands(self._strand))

    def from_here(self) -> None:
        """What runs in this context from now on belongs to the turn."""
        watch_from_here(self)
        record_from_here(self._strand)

    def close(self, error: BaseException | None = None, *, interrupted: bool = False) -> None:
        """The turn is over. error: what the agent raised; one that only ends it (a cancellation) interrupts it."""
        if not self.is_open:
            return
        self.is_open = False
        try:
            self._close(error, interrupted)
        except Exception as trouble:
            self.kept = False
            self.session.failed("turn", trouble)
        self._guarded("turn", lambda: self.session.turn_ended(self))
        # Threads that the turn has left behind hold it for as long as they live.
        self.others, self.exchanges, self._handed, self._before = [], [], ABSENT, ABSENT
        self._calls, self._reply = _LiveCalls(self), AgentReply()

    def is_answered(self) -> None:
        """The agent has answered; what it does now is done afterwards, and belongs to the turn all the same."""
        self._over = time.perf_counter(), timestamp()

    def abandon(self) -> None:
        """Nobody waits for its end any more: the input stays without an answer."""
        self.is_open = False
        self._calls.leave()

    def overlapped(self) -> None:
        """Another turn of the session begins while this one goes on."""
        self._overlaps = True

    def overflow(self) -> None:
        """More happens in the turn than is kept of one."""
        self._is_lost = True
        self.others, self.exchanges = [], []
        self._calls.forget()

    def _close(self, error: BaseException | None, interrupted: bool) -> None:
        over, at = self._over or (time.perf_counter(), timestamp())
        seconds = over - self._began
        calls = [(call.position, call.recorded()) for call in self._calls.close()]
        self._take_given()
        if error is None:
            self._settle()
        placed, others, besides = with_logged(calls, self.others)
        raised = None if error is None or not isinstance(error, Exception) else raw_error_record(error)
        reply = self._reply
        metadata: dict[str, Any] = {"latency_ms": round(seconds * 1000), **(reply.metadata or {})}
        if self._overlaps:
            metadata["overlaps"] = True
        added = TurnAdded(
            reply.output,
            raised,
            reply.reasoning,
            metadata,
            interrupted=interrupted or (error is not None and raised is None),
            at=at,
            extra={"logged": besides} if besides else {},
        )
        started = TurnStarted(self._number, self.content, self._at)
        exchanges = sorted(self.exchanges, key=lambda exchange: exchange.at or "")
        frame = TurnClosed(self.session.id, (started, *woven(placed, others), added), tuple(exchanges), self._before)
        if self._is_lost:
            self.kept = False
            self.session.lose(frame)
            return
        if not self.session.put(frame, self._is_kept):
            self.kept = False
        self.session.signs.turn(frame.events, seconds, self.session.slow)

    def _take_given(self) -> None:
        """An agent that returns nothing has replied with the turn that it logged."""
        given, reply = self.given, self._reply
        if given is None:
            return
        if self.content is None:
            self.content = given.input
        self._set_reply(
            output=given.output if reply.output is ABSENT else reply.output,
            reasoning=reply.reasoning or given.reasoning,
            metadata=reply.metadata or given.metadata,
        )

    def _is_kept(self, kept: bool) -> None:
        self.kept = kept

    def _settle(self) -> None:
        """A state that came with the reply, or the one that was handed and is another now."""
        new = self._reply.state
        if new is ABSENT and self._handed is not ABSENT:
            now = snapshot(self._handed)
            new = ABSENT if same(now, self._before) else now
        if new is not ABSENT:
            self.others.append(self._updated(new, self._reply.reasoning, None, is_copy=True))

    # --- the calls

    def look(
        self, tool: Tool, original: FunctionType, named: dict[str, Any], args: tuple[Any, ...], kw: dict[str, Any]
    ) -> Any:
        if not self.is_open or self._is_lost or (tool.adapter is not None and tool.seen is None):
            return original(*args, **kw)
        try:
            if tool.seen is not None:
                return self._calls.call_seen(tool.seen(named), lambda: original(*args, **kw))
            meant = tool_of(tool, args)
            arguments = meant.bind(named, args, kw)
            how = _WAYS[kind_of(original.__code__)]
        except Exception as error:
            self.session.failed("call", error)
            return original(*args, **kw)
        return how(self._calls, meant, arguments, lambda: original(*args, **kw))

    # --- how it is done

    def _replied(self, value: Any, reasoning: str | None, metadata: Mapping[str, Any] | None) -> None:
        reply = as_reply(value, "captured")
        self._set_reply(
            output=snapshot(reply.output),
            state=snapshot(reply.state),
            reasoning=reasoning if reasoning is not None else reply.reasoning,
            metadata=snapshot(dict(metadata if metadata is not None else reply.metadata or {})),
        )

    def _set_reply(self, **given: Any) -> None:
        old = self._reply
        self._reply = AgentReply(
            given.get("output", old.output),
            given.get("state", old.state),
            given.get("reasoning") or old.reasoning,
            given.get("metadata") or old.metadata,
        )

    def _updated(self, value: Any, reasoning: str | None, actor: str | None, *, is_copy: bool = False) -> StateUpdated:
        kept = value if is_copy else snapshot(value)
        return StateUpdated(self.session.next_version(), kept, reasoning, actor, timestamp(), self.inside())

    def _note(self, what: str, event: Callable[[], Event]) -> None:
        if self.is_open and not self._is_lost:
            self._guarded(what, lambda: self.others.append(event()) if self._calls.room(1) else None)

    def _guarded(self, what: str, action: Callable[[], T]) -> None:
        try:
            action()
        except Exception as error:
            self.session.failed(what, error)


class Slot(Watcher):
    """Stands for a turn that begins later, in whatever task: where the request is read that it answers."""

    def __init__(self) -> None:
        self.turn: Turn | None = None

    @property
    def is_over(self) -> bool:
        return self.turn is not None and self.turn.is_over

    def look(
        self, tool: Tool, original: FunctionType, named: dict[str, Any], args: tuple[Any, ...], kw: dict[str, Any]
    ) -> Any:
        turn = self.turn
        return original(*args, **kw) if turn is None else turn.look(tool, original, named, args, kw)


def turn_here() -> Turn | None:
    """The captured turn that goes on around this code."""
    handler = own_handler()
    turn = handler.turn if isinstance(handler, Slot) else handler
    return turn if isinstance(turn, Turn) and turn.is_open else None


def is_at_a_turn() -> bool:
    """Whether a turn goes on around this code, captured, recorded or replayed."""
    handler, turn = own_handler(), turn_here()
    return (turn is not None and turn.is_sure) or (handler is not None and not isinstance(handler, Watcher))
