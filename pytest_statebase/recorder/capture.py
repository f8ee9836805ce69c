"""Capture in production: `with capture("captured", tools=["myapp.tools:*"]) as recording: …`."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, overload

from ..engine.asked import Entry, Where
from ..engine.finding import find_tools, with_marked
from ..engine.snapshot import snapshot
from ..engine.watched import Watched
from ..errors import OptionError
from ..events import SessionCreated, timestamp
from ..frames import Frame
from ..journal import Limits, Writer
from ..values import ABSENT
from ..wire.hosts import Hosts
from ..wire.hosts import api_hosts as hosts_of_api
from .cleaning import cleaning_of
from .entry import Asked, T, attach, decorated
from .rules import Rules
from .sessions import Bounds, Journal, Session, Sessions, here
from .tap import Tap
from .turns import Turn, is_at_a_turn, turn_here

if TYPE_CHECKING:
    from ..privacy import RedactionOptions

_running: list[Recording] = []
"""Those that were started, the last one at the end."""
_lock = threading.Lock()


class Entries:
    """Marks the entry points of agents."""

    def _running(self) -> Recording | None:
        """What captures a call that is made now."""
        raise NotImplementedError

    @overload
    def agent(self, target: T, /) -> T: ...
    @overload
    def agent(
        self,
        /,
        *,
        session: Where = None,
        input: Where = None,
        state: Where = None,
        user: Where = None,
        output: Where = None,
        agent_id: str | None = None,
    ) -> Callable[[T], T]: ...
    def agent(self, target: Any = None, /, **where: Any) -> Any:
        """Make each call of a function, method, coroutine function or generator a turn.

        What it is handed is found by the parameters that a replay knows (`session_id`, `user_input`, `messages`,
        `state`), or where it is told: a path such as `request.thread_id`, or a function of the arguments by name.
        output: the same for the reply in what it returns, or in each chunk that it yields. Without an id, the session
        is the one entered around the call, or one of a single turn.
        Of `capture` itself, it is for the recording that runs when the entry point is called; without one, nothing.
        Raises AgentError for what is no function, and for a parameter that it does not have.
        """
        entry = Entry(**where)

        def begin(asked: Asked) -> Turn | None:
            found = self._running()
            return None if found is None else found.begin(asked)

        def failed(what: str, error: Exception) -> None:
            found = self._running()
            if found is not None:
                found.failed(what, error)

        def decorate(target: Any) -> Any:
            return decorated(target, entry, begin, failed)

        return decorate if target is None else decorate(target)


class Recording(Entries):
    """What captures the sessions of this process from `start` to `stop`; made by `capture`."""

    def __init__(
        self,
        journal: Callable[[], Journal],
        tools: Iterable[str],
        rules: Rules,
        bounds: Bounds,
        agent_id: str | None,
        *,
        http: bool = True,
        api_hosts: Hosts | None = None,
    ) -> None:
        self._make_journal = journal
        self._patterns = tuple([tools] if isinstance(tools, str) else tools)
        self._rules = rules
        self._bounds = bounds
        self._agent_id = agent_id
        self._journal: Journal | None = None
        self._sessions: Sessions | None = None
        self._watched: Watched | None = None
        self._tap = Tap(self._opened, self.end, self.failed, http=http, api_hosts=api_hosts)

    def start(self) -> Recording:
        """Begin: from now on the tools are watched and sessions are kept.

        Raises ToolError for a pattern of tools that means nothing here, before anything is changed.
        """
        with _lock:
            if self._watched is not None:
                return self
            watched = Watched(with_marked(find_tools(self._patterns)), lambda error: self.failed("tool", error))
            self._journal = self._make_journal()
            self._sessions = Sessions(self._journal, self._rules, self._bounds, self.failed)
            watched.begin()
            self._tap.begin()
            self._watched = watched
            _running.append(self)
            atexit.register(_stop, weakref.ref(self))
        return self

    def stop(self, timeout: float | None = None) -> bool:
        """End: sessions are closed, the journal is written, everything is as it was before.

        False where that takes longer than `timeout` seconds.
        """
        with _lock:
            watched, self._watched = self._watched, None
            if watched is None or self._sessions is None or self._journal is None:
                return True
            watched.end()
            self._tap.end()
            _running.remove(self)
        self._sessions.end_all("stopped")
        return self._journal.stop(timeout)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until what was captured so far is written, or lost; False where that takes longer than `timeout`."""
        return self._journal is None or self._journal.flush(timeout)

    def __enter__(self) -> Recording:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Recording:
        return self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def is_running(self) -> bool:
        return self._watched is not None

    def session(
        self,
        id: str,
        *,
        agent_id: str | None = None,
        user_id: str | None = None,
        state: Any = ABSENT,
        metadata: Mapping[str, Any] | None = None,
    ) -> Session:
        """The session of that id, opened where it is not: the same one for whoever asks, in any task and thread.

        An empty id is none: the session gets one of its own.
        state: its first state, where it is opened here. metadata: what else is to be known of it.
        """
        created = SessionCreated(str(id) or _new_id(), agent_id or self._agent_id, user_id, timestamp())
        try:
            kept = None if metadata is None else snapshot(dict(metadata))
            created = SessionCreated(created.id, created.agent_id, user_id, created.at, snapshot(state), metadata=kept)
        except Exception as error:
            self.failed("session", error)
        return self._known().get(created)

    def end(self, id: str, reason: str = "completed") -> None:
        """The session of that id is over, as far as this process knows; nothing happens where it is not open."""
        self._known().end(str(id), reason)

    def feedback(self, id: str, value: Any, *, comment: str | None = None, **more: Any) -> None:
        """What a user thought of a session, also of one that is long over or was seen by another process."""
        session = self.session(id)
        session.feedback(value, comment=comment, **more)

    def _running(self) -> Recording | None:
        return self

    def attach(self, function: FunctionType, entry: Entry) -> None:
        """As `agent`, in place: wherever the function is held, its calls are captured, for as long as the process runs.

        Raises AgentError for a parameter that it does not have.
        """
        attach(function, entry, self.begin, self.failed)

    def watch(self, patterns: Iterable[str]) -> None:
        """Have the calls of further tools watched, whose modules are there by now."""
        watched = self._watched
        if watched is not None:
            watched.more(lambda: find_tools(patterns))

    def begin(self, asked: Asked) -> Turn | None:
        """A turn that has begun; None where a call is none, because another turn goes on around it."""
        if self._sessions is None or self._sessions.is_over or is_at_a_turn():
            return None
        entered, is_alone = here.get(), False
        if asked.session or entered is None or entered.of is not self._sessions:
            is_alone = not asked.session
            name = asked.session or _new_id()
            session = self.session(name, agent_id=asked.agent_id, user_id=asked.user, state=asked.state)
        else:
            session = entered
        turn = session.turn(asked.input, state=asked.state)
        turn.is_alone = is_alone
        outer = turn_here()
        if not turn.begin():
            return None
        if outer is not None and outer.session is session:
            turn.take_over(outer)
        return turn

    def trouble(self, kind: str, what: str) -> None:
        """Count something that is not as it should be. what: of the kind alone, with nothing that was captured."""
        if self._journal is not None:
            self._journal.trouble(kind, what)

    def failed(self, what: str, error: Exception) -> None:
        """Count what goes wrong in capturing, and log it the first time; never raises."""
        try:
            if self._journal is not None:
                self._journal.trouble(what, f"capture failed at {_PARTS.get(what, what)}: {type(error).__qualname__}")
        except Exception:  # there is nobody left to tell
            return

    def _opened(self, created: SessionCreated) -> Session:
        return self._known().get(replace(created, agent_id=created.agent_id or self._agent_id))

    def _known(self) -> Sessions:
        if self._sessions is None:
            raise OptionError(
                "the recording was not started", remedy="Write `with capture(…) as recording:`, or call `start()`."
            )
        return self._sessions

    def forked(self) -> None:
        """In a child of fork: what was open is the parent's."""
        self._tap.forked()
        if self._sessions is not None:
            self._sessions.forked()
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            # Its children end without `atexit`, and what is registered for their end before they begin is forgotten.
            util.register_after_fork(self, lambda recording: util.Finalize(None, recording.stop, exitpriority=-10))


def _new_id() -> str:
    return f"sess_{uuid.uuid4().hex}"


_PARTS = {"call": "a call of a tool", "tool": "looking for tools"}


class Capture(Entries):
    """`capture(…)` makes a recording; `capture.agent` marks an entry point for whatever recording runs."""

    def __call__(
        self,
        directory: str | os.PathLike[str] = "captured",
        *,
        tools: Iterable[str] = (),
        sample: float = 1.0,
        keep: Iterable[str] = (),
        slow: float = 10.0,
        idle: float = 1800.0,
        max_sessions: int = 1000,
        agent_id: str | None = None,
        redact: Callable[[Frame], Frame] | RedactionOptions | None = None,
        privacy: str = "default",
        keep_fields: Iterable[str] = (),
        limits: Limits | None = None,
        http: bool = True,
        statebase: bool = True,
        api_hosts: Iterable[str] = (),
    ) -> Recording:
        """A recording of the sessions of this process, in journals below `directory`.

        tools: patterns such as `myapp.tools:*`, as in `statebase_tools`. sample: the share of sessions that is kept,
        from 0 to 1, the same ones in every process. keep: by what others are kept as well: `errors`, `rollbacks`,
        `slow` (a turn of so many seconds or more), `unusual`, `feedback`. idle: seconds without a turn after which a
        session is over. max_sessions: how many are open at once; beyond, the oldest is ended. agent_id: of sessions
        that name none. redact: rules and options of the redaction that is done anyway, or what makes of
        each frame the one that is written. privacy: `strict` keeps only the fields of `keep_fields`, as `order_id` or
        `state.order.status`. limits: of memory and disk. http: whether the HTTP requests of turns are
        kept, model calls among them. statebase: whether those to StateBase tell of sessions, turns and states;
        api_hosts: its further hosts, besides those of the service.

        Raises OptionError for a value that means nothing.
        """
        rules, bounds = Rules(sample, keep, slow), Bounds.checked(idle, max_sessions)
        if limits is not None and not isinstance(limits, Limits):
            raise OptionError(f"limits={limits!r} limits nothing", remedy="Write limits=Limits(…).")
        cleaning = cleaning_of(directory, redact, privacy, keep_fields)
        hosts = hosts_of_api([api_hosts] if isinstance(api_hosts, str) else api_hosts) if statebase else None
        return Recording(
            lambda: Writer(directory, redact=cleaning, limits=limits),
            tools,
            rules,
            bounds,
            agent_id,
            http=http,
            api_hosts=hosts,
        )

    def _running(self) -> Recording | None:
        return running()


capture = Capture()


def running() -> Recording | None:
    """The recording that was started last and is not stopped; None where there is none."""
    return _running[-1] if _running else None


def _stop(found: weakref.ref[Recording]) -> None:
    recording = found()
    if recording is not None:
        recording.stop()


def _forked() -> None:
    global _lock
    _lock = threading.Lock()
    for recording in _running:
        recording.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
