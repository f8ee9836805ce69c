"""A replay: a fork of a recorded session to which the agent under test appends, turn by turn.

Knows nothing of any test framework. `replay` and `replay_async` are the public ways in.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal

from ..cassette import Cassette
from ..cassette.http import HttpRecording
from ..cassette.plan import Plan, ReplaySpec
from ..compare import IgnoreRules, check_plan, judge
from ..compare.known import known_uses
from ..compare.model import Observed, ReplayResult
from ..errors import AgentError
from ..ledger import ForkPoint, Ledger, MemoryAdded, StateUpdated, ToolCalled, Turn, TurnStarted
from ..wire.exchange import Exchange
from ..wire.intercept import intercepted
from .agents import Agent, BoundAgent, as_agent, is_awaitable, loop_is_running
from .alarm import ALARM
from .binding import unbound_calls
from .clock import shiftable
from .fork import Fork
from .late import watch_imports
from .loops import Lease, event_loop
from .marked import with_marked_rules
from .options import Clock, Mode, ReplayOptions, Simulator, Unrecorded, make_options
from .reach import doubtful_moves, misspelt_tools, refuse_live_tools, texts_for_objects
from .remains import keep_guard
from .reshape import reshaped
from .tools import Tool, stub_kin, stubbed, with_marked
from .turn import TurnRun
from .upkeep import unused_rules, upkeep_of
from .web.doorway import door_here
from .web.fence import Fence, fenced
from .web.leftover import left_over
from .web.options import HttpMode, ModelMode


def replay(
    cassette: Cassette,
    agent: Any,
    *,
    fork: str | ForkPoint | None = None,
    until: int | str | None = None,
    mode: Mode | None = None,
    tools: Iterable[str | Tool] = (),
    unrecorded: Unrecorded = "fail",
    simulator: Simulator | None = None,
    turn_timeout: float = 60.0,
    clock: Clock = "recorded",
    pin: Iterable[str] = (),
    allowed_hosts: Iterable[str] = (),
    blocked_hosts: Iterable[str] = (),
    http: HttpMode = "none",
    model: ModelMode = "recorded",
    model_hosts: Iterable[str] = (),
    max_model_calls: int | None = None,
    api_hosts: Iterable[str] = (),
    keep: str | os.PathLike[str] | None = None,
) -> ReplayResult:
    """Fork a recorded session, replay its turns against `agent` with every tool answered from the recording, and judge.

    cassette: from `load_cassette`. agent: a function, class, object or `module:attribute`, sync or async.
    fork: `version V`, `turn N` or `last-good`; until: a turn number or `end`; both default to the plan's.
    mode: `continuous` or `isolated`. tools: patterns such as `myapp.tools:*`.
    unrecorded: what answers a call that the recording does not: `fail`, `simulate` with
    `simulator(call, state, cassette)`, or `call`, which runs the real tool where it is marked `live: true`.
    turn_timeout: seconds that a turn may take, 0 for no limit. clock: `recorded`, so that a turn begins when it was
    recorded, or `real`. pin: `random`, `uuid`, to seed for each turn.
    allowed_hosts: what it may reach (`host`, `host:port`, `*.example.com`); blocked_hosts: what is refused without a
    verdict.
    http: what but model calls goes live: `none`, `new_episodes` (what no recording answers) or `all`.
    model: which model calls go live: none (`recorded`), those that no recording answers (`auto`) or all (`live`), at
    most `max_model_calls`. model_hosts: further hosts of models. keep: a directory where live answers are kept.
    api_hosts: further hosts of StateBase, besides api.statebase.org: requests there are answered from the fork.
    Raises StatebaseError (AgentError, ToolError, ForkError, RecordError, …) where the replay cannot begin.
    """
    options = make_options(
        fork=fork,
        until=until,
        mode=mode,
        tools=tools,
        unrecorded=unrecorded,
        simulator=simulator,
        turn_timeout=turn_timeout,
        clock=clock,
        pin=pin,
        allowed_hosts=allowed_hosts,
        blocked_hosts=blocked_hosts,
        http=http,
        model=model,
        model_hosts=model_hosts,
        max_model_calls=max_model_calls,
        api_hosts=api_hosts,
        keep=keep,
    )
    return run(cassette, as_agent(agent), options)


async def replay_async(cassette: Cassette, agent: Any, **options: Any) -> ReplayResult:
    """`replay` for a caller that is inside an event loop (asyncio or trio): an async agent runs in that loop.

    Takes the options of `replay`, by the same names.
    """
    return await run_async(cassette, as_agent(agent), make_options(**options))


def run(cassette: Cassette, agent: Agent, options: ReplayOptions, spec: ReplaySpec | None = None) -> ReplayResult:
    """One replay of a cassette as `spec` (default: the plan's first replay) and `options` say."""
    steps = _Replays(cassette, agent, options, spec)
    with ExitStack() as stack:
        for turn in steps.turns(stack):
            reply = turn.begin()
            if is_awaitable(reply):
                if loop_is_running():
                    reply.close() if hasattr(reply, "close") else None
                    raise AgentError(
                        f"the agent {agent.name} is async, and an event loop is running here already",
                        remedy="Write `await replay_async(…)`, or `await statebase_replay()` in an async test.",
                    )
                turn.finish_async(reply, steps.loop(stack))
    return steps.result()


async def run_async(
    cassette: Cassette, agent: Agent, options: ReplayOptions, spec: ReplaySpec | None = None
) -> ReplayResult:
    """`run` inside the caller's event loop."""
    steps = _Replays(cassette, agent, options, spec)
    with ExitStack() as stack:
        for turn in steps.turns(stack):
            reply = turn.begin()
            if is_awaitable(reply):
                await turn.finish(reply)
    return steps.result()


class _Replays:
    """The forks of one replay: one in `continuous`, one a turn in `isolated`."""

    def __init__(self, cassette: Cassette, agent: Agent, options: ReplayOptions, spec: ReplaySpec | None) -> None:
        # A pattern such as `module:*` may take in the agent itself, which is no tool.
        tools = tuple(tool for tool in with_marked(options.tools) if tool.function is not agent.source)
        cassette = with_marked_rules(reshaped(cassette), tools)
        self.cassette = cassette
        self.agent = agent
        self.options = replace(options, tools=tools)
        self.ledger: Ledger = cassette.ledger
        spec = spec or cassette.plan.replays[0]
        plan = cassette.plan
        self.point, self.first, self.until = span_of(self.ledger, plan, spec, options.fork, options.until)
        self.mode: Mode = options.mode or spec.mode or "continuous"
        self.rules = IgnoreRules.of_plan(plan)
        check_plan(self.ledger, plan)
        self.observed: list[Observed] = []
        self.warnings: list[str] = [*cassette.warnings, *misspelt_tools(cassette, self.ledger, tools)]
        self.warnings += cut_short(self.ledger, self.point)
        self.warnings += [*doubtful_moves(cassette, tools), *texts_for_objects(self.ledger, tools)]
        self.stopped: str | None = None
        self.unused = 0
        self.started = time.perf_counter()
        self.pinned: tuple[str, ...] = ()
        self.pending = options.web.pending_for(cassette, str(self.point), agent.name)
        self._clock_follows = False
        self._loop: Lease | None = None
        self._forks: list[Fork] = []
        self._untold: list[Fork] = []
        """Those whose agent was handed nothing of what came before."""
        self._fence: Fence | None = None

    def turns(self, stack: ExitStack) -> Iterator[TurnRun]:
        """Each turn to be replayed, one after the other, while the tools are stubbed."""
        stack.enter_context(stubbed(self.options.tools))
        stack.enter_context(intercepted(door_here))
        self._fence = stack.enter_context(fenced(self.options.allowed_hosts, self.options.blocked_hosts))
        stack.callback(self._close)
        wanted = [t for t in self.ledger.turns if self.first <= t.number <= self.until and not t.is_greeting]
        self._pin(wanted, stack)
        stack.enter_context(ALARM.kept())
        fork: Fork | None = None
        agent: BoundAgent | None = None
        for turn in wanted:
            if fork is None or agent is None or self.mode == "isolated":
                fork = self._fork(self.point if fork is None else ForkPoint("turn", turn.number))
                agent = self._agent(fork, stack)
            fork.catch_up(turn)
            stub_kin()
            run = TurnRun(fork, agent, self.agent.name, turn)
            yield run
            self.observed.append(run.observed)
            fork.finish(turn.number)
            if run.stopped and self.mode == "continuous":
                self.stopped = run.stopped
                break
        for fork in self._forks:
            fork.is_ending = True

    def _close(self) -> None:
        """What the turns left behind is refused from now on, as long as there is any."""
        for fork in self._forks:
            fork.close()
        keep_guard()

    def _pin(self, turns: Iterable[Turn], stack: ExitStack) -> None:
        """Pin the clock where the recording has times, and what else is asked for."""
        timed = self.options.clock == "recorded" and any(turn.started.at for turn in turns)
        self._clock_follows = timed and stack.enter_context(shiftable())
        self.pinned = (("clock",) if self._clock_follows else ()) + self.options.pin

    def _fork(self, point: ForkPoint) -> Fork:
        fork = Fork(
            self.cassette,
            self.options,
            self.rules,
            point,
            id=self.ledger.fork_id(self.point),
            pending=self.pending,
        )
        fork.clock_follows, fork.fence = self._clock_follows, self._fence
        self._forks.append(fork)
        return fork

    def _agent(self, fork: Fork, stack: ExitStack) -> BoundAgent:
        """A fresh agent that knows what happened before the fork, or may ask for it in its turns."""
        agent = self.agent.fresh()
        missing = refuse_live_tools(self.cassette, self.ledger, self.options.tools, agent)
        stack.enter_context(watch_imports(missing))
        restore = getattr(agent.target, "restore", None)
        if not fork.ledger.turns:
            return agent
        if callable(restore):
            restore(list(fork.ledger.turns), fork.state())
        elif agent.keeps_memory_itself:
            self._untold.append(fork)
        return agent

    def _warn_of_untold(self) -> None:
        """Say so where the agent was handed nothing of what came before the fork, and did not ask StateBase for it."""
        if not all(fork.requests.told_session for fork in self._untold):
            self.warnings.append(
                f"the agent {self.agent.name} is not told what happened before the fork: "
                "let it take history, messages or state, or give it restore(history, state)"
            )

    def loop(self, stack: ExitStack) -> Lease:
        """The event loop of this replay's async turns."""
        if self._loop is None:
            self._loop = stack.enter_context(event_loop())
        return self._loop

    def _exchanges(self, recording: HttpRecording | None) -> tuple[Exchange, ...]:
        """Without those with StateBase, which the session itself answers."""
        exchanges = recording.exchanges if recording else ()
        hosts = self.options.api_hosts
        return tuple(one for one in exchanges if not hosts.matches(one.request.host, one.request.port))

    def _close_pending(self) -> None:
        """A live run that came to its end is told from one that has to go on."""
        if self.pending is not None and self.options.web.is_live and not self._is_inconclusive():
            self.pending.complete()

    def _is_inconclusive(self) -> bool:
        return any(seen.inconclusive is not None for seen in self.observed)

    def result(self) -> ReplayResult:
        """The replay, judged."""
        plan = self.cassette.plan
        source = self.ledger.id
        turns = judge(
            ledger=self.ledger,
            plan=plan,
            observed=self.observed,
            first=self.first,
            until=self.until,
            mode=self.mode,
            stopped=self.stopped,
            fork_id=self.ledger.fork_id(self.point),
            source_id=source,
            rules=self.rules,
            bind=self._forks[-1].canonical.bind if self._forks else None,
            made_up=self._forks[-1].pool.made_up if self._forks else None,
            accepted=self.cassette.accepted.turns if self.cassette.accepted else None,
            exchanges=self._exchanges(self.cassette.http),
            accepted_exchanges=self._exchanges(self.cassette.accepted_http),
            is_model=self.options.web.hosts.is_model,
        )
        self._close_pending()
        self._warn_of_untold()
        for fork in self._forks:
            self.warnings += fork.closing_warnings()
            self.unused += fork.unused()
        self.warnings += self._fence.refused if self._fence else ()
        if self.stopped is None:
            self.warnings += [f"the ignore rule `{rule}` hid nothing" for rule in unused_rules(plan, self.rules)]
            numbers = {turn.number for turn in self.ledger.turns if not turn.is_greeting}
            whole = numbers <= {seen.number for seen in self.observed}
            self.warnings += left_over([fork.requests for fork in self._forks], self.observed, whole=whole)
        return ReplayResult(
            cassette=str(self.cassette.path or self.cassette.record_path or source),
            session=source,
            agent=self.agent.name,
            fork=str(self.point),
            until=self.until,
            mode=self.mode,
            turns=turns,
            warnings=list(dict.fromkeys(self.warnings)),
            unused=self.unused,
            title=plan.title,
            duration_ms=(time.perf_counter() - self.started) * 1000,
            gate=plan.gate,
            owner=plan.owner,
            fork_id=self.ledger.fork_id(self.point),
            failing=plan.failing,
            unbound=unbound_calls(self.ledger, self.options.tools, plan.tools),
            known=known_uses(plan, turns),
            pinned=self.pinned,
            recording=self.ledger,
            upkeep=upkeep_of(self.cassette, self.rules, range(self.first, self.until + 1), self.stopped),
        )


def span_of(
    ledger: Ledger,
    plan: Plan,
    spec: ReplaySpec,
    fork: ForkPoint | None = None,
    until: int | Literal["end"] | None = None,
) -> tuple[ForkPoint, int, int]:
    """Where a replay forks, its first turn and its last one. fork, until: win over what the plan says.

    Raises ForkError for a place that the session does not have.
    """
    point = ledger.resolve(fork or spec.fork, plan.failing)
    cut = ledger.cut(point)
    first = ledger.next_number() if cut >= len(ledger.events) else _first_turn(ledger, cut)
    return point, first, _last_turn(ledger, until or spec.until, plan)


def cut_short(ledger: Ledger, point: ForkPoint) -> list[str]:
    """A warning where a version is no end of a turn: what its turn did after it, the fork does not know."""
    version = next((one for one in ledger.versions if str(point) == f"version {one.version}"), None)
    if version is None or version.turn is None or ledger.events[ledger.cut(point) - 1] is not version.event:
        return []
    turn = ledger.turn(version.turn)
    at = next(index for index, event in enumerate(turn.events) if event is version.event)
    if not any(isinstance(event, (ToolCalled, StateUpdated, MemoryAdded)) for event in turn.events[at + 1 :]):
        return []
    return [
        f"{point} is in the middle of turn {turn.number}: what that turn did after it is no part of the fork, though "
        f"later turns may need it; fork at `turn {turn.number}` to replay all of it"
    ]


def _first_turn(ledger: Ledger, cut: int) -> int:
    for event in ledger.events[cut:]:
        if isinstance(event, TurnStarted):
            return event.number
    return ledger.next_number()


def _last_turn(ledger: Ledger, until: int | Literal["end"] | None, plan: Plan) -> int:
    last = ledger.turns[-1].number if ledger.turns else 0
    if until is None:
        return max((*plan.failing, *plan.expect), default=last)
    if until == "end":
        return last
    return ledger.turn(until).number
