"""A replay: a fork of a recorded session to which the agent under test appends, turn by turn.

Knows nothing of any test framework. `replay` and `replay_async` are the public ways in.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from ..cassette import Cassette
from ..cassette.plan import ReplaySpec
from ..compare import IgnoreRules, check_plan, judge
from ..compare.model import Observed, ReplayedCall, ReplayResult, Source
from ..errors import AgentError, ForkError, OptionError, StatebaseError, UnrecordedCall
from ..ledger import (
    Event,
    ForkPoint,
    Ledger,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    Turn,
    TurnAdded,
    TurnStarted,
    state_of,
)
from ..values import ABSENT, copy_value, freeze
from .agents import Agent, AgentReply, as_agent, as_reply, is_awaitable, loop_is_running
from .canonical import Canonicaliser
from .explain import explain_miss
from .matching import Authored, Entry, Found, Miss, Pool, given_by, now
from .offer import Offer
from .revive import build_error, build_result, error_record
from .tools import Tool, current, find_tools, stubbed
from .volatile import as_moment

Mode = Literal["continuous", "isolated"]
Simulator = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How a replay is run, as one object.

    fork, until and mode given here win over the plan's.
    """

    fork: ForkPoint | None = None
    until: int | Literal["end"] | None = None
    mode: Mode | None = None
    tools: tuple[Tool, ...] = ()
    unrecorded: Literal["fail", "simulate"] = "fail"
    simulator: Simulator | None = None


def replay(
    cassette: Cassette,
    agent: Any,
    *,
    fork: str | ForkPoint | None = None,
    until: int | str | None = None,
    mode: Mode | None = None,
    tools: Iterable[str | Tool] = (),
    unrecorded: Literal["fail", "simulate"] = "fail",
    simulator: Simulator | None = None,
) -> ReplayResult:
    """Fork a recorded session, replay its turns against `agent` with every tool answered from the recording, and judge.

    cassette: from `load_cassette`. agent: a function, class, object or `module:attribute`, sync or async.
    fork: `version V`, `turn N` or `last-good`; until: a turn number or `end`; both default to the plan's.
    mode: `continuous` or `isolated`. tools: patterns such as `myapp.tools:*`.
    unrecorded: what answers a call that the recording does not: `fail`, or `simulate` with
    `simulator(call, state, cassette)`.
    Raises StatebaseError (AgentError, ToolError, ForkError, RecordError, …) where the replay cannot begin.
    """
    options = make_options(fork=fork, until=until, mode=mode, tools=tools, unrecorded=unrecorded, simulator=simulator)
    return run(cassette, as_agent(agent), options)


async def replay_async(cassette: Cassette, agent: Any, **options: Any) -> ReplayResult:
    """`replay` for a caller that is inside an event loop (asyncio or trio): an async agent runs in that loop.

    Takes the options of `replay`, by the same names.
    """
    return await run_async(cassette, as_agent(agent), make_options(**options))


def make_options(
    *,
    fork: str | ForkPoint | None = None,
    until: int | str | None = None,
    mode: str | None = None,
    tools: Iterable[str | Tool] = (),
    unrecorded: str = "fail",
    simulator: Simulator | None = None,
) -> ReplayOptions:
    """Options from what people write.

    Raises OptionError, ForkError or ToolError for what means nothing.
    """
    if mode not in (None, "continuous", "isolated"):
        raise OptionError(f"{mode!r} is no mode", remedy="Modes are continuous and isolated.")
    if unrecorded not in ("fail", "simulate"):
        raise OptionError(f"{unrecorded!r} is no policy for unrecorded calls", remedy="Policies are fail and simulate.")
    if unrecorded == "simulate" and simulator is None:
        raise OptionError(
            "unrecorded calls are to be simulated, but there is no simulator",
            remedy="Name one with the ini key statebase_simulator = module:callable.",
        )
    tools = list(tools)
    found = [tool for tool in tools if isinstance(tool, Tool)]
    found += find_tools(tool for tool in tools if isinstance(tool, str))
    return ReplayOptions(
        ForkPoint.parse(fork) if isinstance(fork, str) else fork,
        parse_until(until),
        mode,  # type: ignore[arg-type]
        tuple(found),
        unrecorded,  # type: ignore[arg-type]
        simulator,
    )


def parse_until(until: int | str | None) -> int | Literal["end"] | None:
    """`turn 3`, `3`, `end` or None as a turn number, `end` or None.

    Raises ForkError for anything else.
    """
    if until is None or until == "end" or isinstance(until, int):
        return until  # type: ignore[return-value]
    number = until.strip().removeprefix("turn").strip()
    if number == "end":
        return "end"
    if not number.isdecimal():
        raise ForkError(f"{until!r} is no place to stop at", remedy="Write `turn N` or `end`.")
    return int(number)


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
        self.cassette = cassette
        self.agent = agent
        self.options = options
        self.ledger: Ledger = cassette.ledger
        spec = spec or cassette.plan.replays[0]
        plan = cassette.plan
        self.point = self.ledger.resolve(options.fork or spec.fork, plan.failing)
        self.mode: Mode = options.mode or spec.mode or "continuous"
        self.until = _last_turn(self.ledger, options.until or spec.until, plan)
        self.rules = IgnoreRules.of_plan(plan)
        check_plan(self.ledger, plan)
        self.observed: list[Observed] = []
        self.warnings: list[str] = list(cassette.warnings)
        self.stopped: str | None = None
        self.unused = 0
        self.started = time.perf_counter()
        self._runner: asyncio.Runner | None = None
        self._forks: list[Fork] = []
        cut = self.ledger.cut(self.point)
        self.first = self.ledger.next_number() if cut >= len(self.ledger.events) else _first_turn(self.ledger, cut)

    def turns(self, stack: ExitStack) -> Iterator[_TurnRun]:
        """Each turn to be replayed, one after the other, while the tools are stubbed."""
        stack.enter_context(stubbed(self.options.tools))
        wanted = [t for t in self.ledger.turns if self.first <= t.number <= self.until and not is_history(t)]
        fork: Fork | None = None
        for turn in wanted:
            if fork is None or self.mode == "isolated":
                fork = Fork(self, self.point if fork is None else ForkPoint("turn", turn.number))
                self._forks.append(fork)
            fork.catch_up(turn)
            run = _TurnRun(fork, turn)
            yield run
            self.observed.append(run.observed)
            fork.finish(run)
            if run.stopped and self.mode == "continuous":
                self.stopped = run.stopped
                break

    def loop(self, stack: ExitStack) -> asyncio.Runner:
        """The one event loop of this replay."""
        if self._runner is None:
            self._runner = stack.enter_context(asyncio.Runner())
        return self._runner

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
        )
        for fork in self._forks:
            self.warnings += fork.closing_warnings()
            self.unused += fork.unused()
        if self.stopped is None:
            self.warnings += [f"the ignore rule `{rule}` hid nothing" for rule in self.rules.unmatched()]
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
        )


def is_history(turn: Turn) -> bool:
    """An opening turn without calls (a greeting) is not replayed: nothing asked for it."""
    return turn.is_opening and not turn.calls


def _first_turn(ledger: Ledger, cut: int) -> int:
    for event in ledger.events[cut:]:
        if isinstance(event, TurnStarted):
            return event.number
    return ledger.next_number()


def _last_turn(ledger: Ledger, until: int | Literal["end"] | None, plan: Any) -> int:
    last = ledger.turns[-1].number if ledger.turns else 0
    if until is None:
        return max((*plan.failing, *plan.expect), default=last)
    if until == "end":
        return last
    return ledger.turn(until).number


class Fork:
    """One fork of the recorded session, with the agent, the pool of recorded answers and what has been seen so far.

    It is the `Handler` that answers the stubbed tools.
    """

    def __init__(self, replays: _Replays, point: ForkPoint) -> None:
        cassette, options = replays.cassette, replays.options
        self.cassette = cassette
        self.options = options
        self.recorded = replays.ledger
        self.ledger = self.recorded.fork(point, id=self.recorded.fork_id(replays.point))
        self.position = self.recorded.cut(point)
        self.agent = replays.agent.fresh()
        self.agent_name = replays.agent.name
        self.tools = {tool.name: tool for tool in options.tools}
        self.canonical = Canonicaliser(cassette.plan, replays.rules, self.tools, self.ledger.id, self.recorded.id)
        self.pool = Pool(self.recorded, self.position, self.canonical, self.canonical.is_write)
        self.authored = Authored.of(cassette.plan.answers, self.canonical)
        self.lock = threading.RLock()
        self.run: _TurnRun | None = None
        self.turns: set[int] = set()
        self._learnt = 0
        self._warnings = self._restore()

    def _restore(self) -> list[str]:
        if not self.ledger.turns:
            return []
        restore = getattr(self.agent.target, "restore", None)
        if callable(restore):
            restore(list(self.ledger.turns), self.state())
            return []
        if self.agent.keeps_memory_itself:
            return [
                f"the agent {self.agent_name} is not told what happened before the fork: "
                "let it take history, messages or state, or give it restore(history, state)"
            ]
        return []

    def catch_up(self, turn: Turn) -> None:
        """Take over what the recording holds before `turn` and no agent does: greetings, events between turns."""
        events = self.recorded.events
        inside = bool(self.ledger.turns) and self.ledger.turns[-1].added is None
        history = False
        while (event := events[self.position]) is not turn.started:
            self.position += 1
            if isinstance(event, TurnStarted):
                inside, history = True, is_history(self.recorded.turn(event.number))
            if inside and history:
                self.ledger.append(event)
            elif not inside:
                self._reapply(event)
            inside = inside and not isinstance(event, TurnAdded)

    def _reapply(self, event: Event) -> None:
        """Let an event between turns happen to the fork, whose versions may by now be numbered otherwise."""
        version = self.ledger.next_version()
        if isinstance(event, StateUpdated):
            event = replace(event, version=version)
        elif isinstance(event, StateRolledBack):
            value = next((v.event for v in self.ledger.versions if v.version == event.to_version), None)
            event = replace(event, version=version, value=event.value if value is None else state_of(value))
        self.ledger.append(event)

    def state(self) -> Any:
        """A copy of the state as it stands; an empty one where the session has none."""
        state = self.ledger.state
        return {} if state is ABSENT else state

    def finish(self, run: _TurnRun) -> None:
        """Pass over the recorded turn that was just replayed."""
        self.turns.add(run.turn.number)
        events = self.recorded.events
        while self.position < len(events) and not isinstance(events[self.position], TurnAdded):
            self.position += 1
        self.position += 1

    def unused(self) -> int:
        """Recorded calls of the replayed turns that answered nothing."""
        return self.pool.unused(self.turns)

    def closing_warnings(self) -> list[str]:
        """What is worth a line once the replay is over."""
        unused = [f"the authored answer for {answer.tool} was never asked for" for answer in self.authored.unused()]
        return self._warnings + unused

    # --- answering calls -----------------------------------------------------------------------------------------

    def call(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        """Answer a call of a stubbed tool. `live` is never used."""
        return self.answer(tool.name, arguments, tool)

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        """Answer a call of a stubbed async tool."""
        return self.answer(tool.name, arguments, tool)

    def call_by_name(self, name: str, arguments: Any) -> Any:
        """Answer a call made through the `tools` that the agent was handed."""
        tool = self.tools.get(name)
        return self.answer(name, dict(arguments) if isinstance(arguments, Mapping) else arguments, tool)

    def answer(self, name: str, arguments: Any, tool: Tool | None) -> Any:
        """The recorded, authored or simulated answer of one call; raises what the recording raised.

        Raises UnrecordedCall, at once and ever after in this turn, where there is no answer.
        """
        with self.lock:
            run = self.run
            if run is None or run.over:
                raise UnrecordedCall(f"{name} was called after its turn had ended")
            if run.latch is not None:
                raise UnrecordedCall(run.latch)
            call = ReplayedCall(name, copy_value(arguments), run.turn.number)
            run.observed.calls.append(call)
            canonical = self.canonical(name, arguments)
            self._find(call, canonical, run, tool)
            self.ledger.append(ToolCalled(name, call.arguments, result=call.result, error=call.error, step=None))
            if self.pool.renames:
                run.observed.renames = self.pool.renames
        return self._give(call, run, tool)

    def _give(self, call: ReplayedCall, run: _TurnRun, tool: Tool | None) -> Any:
        try:
            raised = None if call.error is None else build_error(call.error, tool)
            result = None if call.result is ABSENT else build_result(call.result, tool)
        except StatebaseError as error:
            # The agent must not be able to take a stub that cannot be built for a failing tool.
            run.fatal = error
            run.latch = str(error)
            raise UnrecordedCall(run.latch) from error
        if raised is not None:
            raise raised
        return result

    def _find(self, call: ReplayedCall, canonical: Any, run: _TurnRun, tool: Tool | None) -> None:
        authored = self.authored.answer(call.tool, canonical)
        if authored is not None:
            call.source, call.result, call.error = Source.AUTHORED, authored.result, authored.error
            self.pool.note_write(call.tool, (call.tool, freeze(canonical)))
            return
        self._learn()
        found = self.pool.answer(call.tool, canonical, run.turn.number, run.clocks())
        if isinstance(found, Found):
            self._take(call, found)
        elif self.options.unrecorded == "simulate":
            self._simulate(call, run, found)
        else:
            self._miss(call, run, found)

    def _take(self, call: ReplayedCall, found: Found) -> None:
        entry = found.entry
        call.source = Source.RECORD
        call.recorded_turn, call.recorded_index = entry.turn, entry.index
        call.repeated, call.stale, call.renamed = found.repeated, found.stale, found.renamed
        if found.provisional and self.run is not None:
            self.run.provisional.append((call, entry))
        call.result = self.pool.translate(entry.call.result)
        call.error = entry.call.error

    def _simulate(self, call: ReplayedCall, run: _TurnRun, miss: Miss) -> None:
        call.source = Source.SIMULATED
        call.explanation = miss.reason
        asked = ReplayedCall(call.tool, copy_value(call.arguments), call.turn)
        try:
            call.result = copy_value(self.options.simulator(asked, self.state(), self.cassette))  # type: ignore[misc]
        except UnrecordedCall as refusal:
            call.source = Source.NONE
            self._miss(call, run, miss, str(refusal))
        except Exception as error:
            call.error = error_record(error)

    def _miss(self, call: ReplayedCall, run: _TurnRun, miss: Miss, why: str | None = None) -> None:
        call.unrecorded = True
        call.explanation = explain_miss(call, miss, why)
        run.latch = call.explanation
        run.observed.missed = True
        raise UnrecordedCall(call.explanation)

    def _learn(self) -> None:
        events = self.ledger.events
        for event in events[self._learnt :]:
            self.pool.learn(given_by(event))
        self._learnt = len(events)


class _TurnRun:
    """One turn being replayed."""

    def __init__(self, fork: Fork, turn: Turn) -> None:
        self.fork = fork
        self.turn = turn
        self.observed = Observed(turn.number)
        self.latch: str | None = None
        self.fatal: StatebaseError | None = None
        self.over = False
        self.provisional: list[tuple[ReplayedCall, Entry]] = []
        self.stopped: str | None = None
        self._clocks: list[datetime] | None = None
        self._began = 0.0
        inputs = fork.cassette.plan.inputs
        self.authored = turn.number in inputs
        self.input: Any = {"type": "text", "content": inputs[turn.number]} if self.authored else turn.input
        self.observed.authored_input = self.authored
        self._offer = Offer(fork.ledger, self.input, fork.call_by_name)

    def clocks(self) -> list[datetime]:
        """The turn's own time: when it was recorded, and now."""
        if self._clocks is None:
            moment = as_moment(self.turn.started.at or self.fork.recorded.created.at)
            self._clocks = [now(), moment] if moment else [now()]
        return self._clocks

    def begin(self) -> Any:
        """Call the agent. A sync agent's turn is over when this returns; an async one's awaitable is returned."""
        fork = self.fork
        fork.run = self
        fork.ledger.append(TurnStarted(self.turn.number, self.input, self.turn.started.at, self.authored))
        self._began = time.perf_counter()
        try:
            with current(fork):
                reply = fork.agent.call(self._offer.parameters())
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
        reply = as_reply(value, self.fork.agent_name)
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
