"""A fork of a recorded session that answers the calls of the agent under test from the recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..cassette import Cassette
from ..compare import IgnoreRules
from ..compare.model import ReplayedCall, Source
from ..errors import UnrecordedCall
from ..ledger import (
    Event,
    ForkPoint,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    Turn,
    TurnAdded,
    TurnStarted,
    state_of,
)
from ..statebase import LocalClient
from ..values import ABSENT, changed_alike, copy_value, freeze
from ..wire.doors import Decision, let_pass
from ..wire.exchange import Request
from ..wire.guard import Attempt
from ..wire.sites import site_of_call
from .acting import acting_agent
from .authored import Authored
from .canonical import Canonicaliser
from .delivery import Delivery
from .explain import explain_answer, explain_miss
from .given import given_by
from .handlers import own_turn
from .kept import KeptAnswer, KeptAnswers
from .matching import Found, Miss, Pool
from .ongoing import Ongoing
from .options import ReplayOptions
from .revive import error_record
from .siblings import SiblingAnswer, Siblings, same_session
from .tools import Tool
from .volatile import rename
from .web.fence import Fence, stop_turn, tell_late
from .web.requests import Requests

if TYPE_CHECKING:
    from .web.pending import Pending


class Fork(Delivery):
    """One fork of the recorded session, with the pool of recorded answers and what has been seen so far.

    It is the `Handler` that answers the stubbed tools while a turn is ongoing.
    """

    def __init__(
        self,
        cassette: Cassette,
        options: ReplayOptions,
        rules: IgnoreRules,
        point: ForkPoint,
        *,
        id: str | None = None,
        pending: Pending | None = None,
    ) -> None:
        self.cassette = cassette
        self.options = options
        self.recorded = cassette.ledger
        self.ledger = self.recorded.fork(point, id=id)
        self.position = self.recorded.cut(point)
        self.tools = {tool.name: tool for tool in options.tools}
        self.canonical = Canonicaliser(cassette.plan, rules, self.tools, self.ledger.id, self.recorded.id)
        self.pool = Pool(self.recorded, self.position, self.canonical, self.canonical.is_write, self.canonical.lenient)
        self.pool.know(cassette.http.exchanges if cassette.http else ())
        self.kept = KeptAnswers(cassette.accepted, self.canonical, self.pool)
        self.authored = Authored.of(
            cassette.plan.answers, self.canonical, self.canonical.is_write, self.canonical.lenient
        )
        self.siblings = Siblings.of(cassette, self.canonical, self.canonical.is_write)
        super().__init__()
        self.first = self.ledger.next_number()
        """The first turn that is replayed."""
        self.turns: set[int] = set()
        self.client: LocalClient | None = None
        """What agents are handed as `statebase`; made when one asks for it."""
        self.clock_follows = False
        """The clock of a turn starts when the turn was recorded."""
        self._learnt = 0
        self._recorded_calls: tuple[int, list[ToolCalled]] = (0, [])
        """Of the turn that was asked for last."""
        self.requests = Requests(self, rules, pending)
        self.fence: Fence | None = None
        """What stands around the replay, for what its turns leave behind."""

    def catch_up(self, turn: Turn) -> None:
        """Take over what the recording holds before `turn` and no agent does: greetings, events between turns."""
        events = self.recorded.events
        inside = bool(self.ledger.turns) and self.ledger.turns[-1].added is None
        history = False
        while (event := events[self.position]) is not turn.started:
            self.position += 1
            if isinstance(event, TurnStarted):
                inside, history = True, self.recorded.turn(event.number).is_greeting
            if inside and history:
                self.ledger.append(event)
            elif not inside:
                self._reapply(event)
            inside = inside and not isinstance(event, TurnAdded)

    def _reapply(self, event: Event) -> None:
        """Let an event that the agent does not cause itself happen to the fork.

        The fork's versions may by now be numbered otherwise, and its state may differ: what changed then changes now.
        """
        version = self.ledger.next_version()
        if isinstance(event, StateUpdated):
            before = self.recorded.version_before(event)
            value = changed_alike(self.ledger.state, before, copy_value(event.value))
            event = replace(event, version=version, value=value)
        elif isinstance(event, StateRolledBack):
            value = next((v.event for v in self.ledger.versions if v.version == event.to_version), None)
            event = replace(event, version=version, value=event.value if value is None else state_of(value))
        self.ledger.append(event)

    def state(self) -> Any:
        """A copy of the state as it stands; an empty one where the session has none."""
        state = self.ledger.state
        return {} if state is ABSENT else state

    def finish(self, number: int) -> None:
        """Pass over the recorded turn that was just replayed."""
        self.turns.add(number)
        events = self.recorded.events
        while self.position < len(events) and not isinstance(events[self.position], TurnAdded):
            self.position += 1
        self.position += 1

    def unused(self) -> int:
        """Recorded calls of the replayed turns that answered nothing."""
        return self.pool.unused(self.turns)

    def closing_warnings(self) -> list[str]:
        """What is worth a line once the replay is over."""
        warnings = [f"the authored answer for {answer.tool} was never asked for" for answer in self.authored.unused()]
        if self.siblings is not None and self.siblings.contradiction is not None:
            warnings.append(self.siblings.contradiction)
        return [*warnings, *self.pool.withheld, *self.requests.warnings()]

    # --- answering requests --------------------------------------------------------------------------------------

    def door(self, request: Request) -> Decision:
        """What becomes of an HTTP request that is made in this replay."""
        return self.requests.decide(request)

    def door_behind(self, request: Request) -> Decision:
        """What becomes of a request of a thread that was there before the replay."""
        return self.requests.decide_behind(request)

    def stop(self, attempt: Attempt, why: str) -> bool:
        """Mark the turn that tried to leave the machine. False where it is judged no more."""
        return stop_turn(self, attempt, why)

    # --- answering calls -----------------------------------------------------------------------------------------

    def call_by_name(self, name: str, arguments: Any) -> Any:
        """Answer a call made through the `tools` that the agent was handed."""
        tool = self.tools.get(name)
        return self.answer(name, dict(arguments) if isinstance(arguments, Mapping) else arguments, tool)

    def answer(self, name: str, arguments: Any, tool: Tool | None) -> Any:
        """The recorded, authored or simulated answer of one call; raises what the recording raised.

        Raises UnrecordedCall, at once and ever after in this turn, where there is no answer.
        """
        return self._give(*self._ask(name, arguments, tool), tool)

    def _ask(
        self, name: str, arguments: Any, tool: Tool | None, live: Callable[[], Any] | None = None
    ) -> tuple[ReplayedCall, Ongoing]:
        """A call with its answer; where its source is LIVE, it still has to run."""
        with self.lock:
            run = self.run
            if run is None or run.over:
                raise UnrecordedCall(tell_late(self, f"{name} was not answered", "called", site_of_call()))
            if run.latch is not None:
                self._bound(run, run.bounds.refuse(name, arguments))
                raise UnrecordedCall(run.latch)
            call = ReplayedCall(name, copy_value(arguments), run.turn.number, agent=acting_agent())
            run.observed.calls.append(call)
            self._bound(run, run.bounds.exceeded(run.observed.calls))
            run.numbers[name] += 1
            canonical = self.canonical(name, arguments, run.numbers[name])
            self._find(call, canonical, run, live)
            if call.source is not Source.LIVE:
                self._enter(call)
            if self.pool.renames:
                run.observed.renames = self.pool.renames
        return call, run

    def _bound(self, run: Ongoing, reason: str | None) -> None:
        if reason is not None:
            run.run_away(reason)

    def _enter(self, call: ReplayedCall) -> None:
        event = ToolCalled(call.tool, call.arguments, result=call.result, error=call.error, agent=call.agent)
        if call.source is Source.RECORD and call.recorded_turn == call.turn and not call.repeated:
            # A recorded model knows the call by them, and is asked again with the messages that hold it.
            known = self._calls_of(call.turn)[call.recorded_index or 0]
            event = replace(event, id=known.id, step=known.step)
        self.ledger.append(event)

    def _calls_of(self, turn: int) -> list[ToolCalled]:
        if self._recorded_calls[0] != turn:
            self._recorded_calls = turn, self.recorded.turn(turn).calls
        return self._recorded_calls[1]

    def _find(self, call: ReplayedCall, canonical: Any, run: Ongoing, live: Callable[[], Any] | None) -> None:
        self._learn()
        kept = self.kept.answer(call.tool, canonical, run.turn.number, is_write=self.canonical.is_write(call.tool))
        # An answer that people wrote is theirs to change: it is kept for when the plan has it no more.
        may_change = kept is None or kept.call.source == Source.AUTHORED
        authored = self.authored.answer(call.tool, canonical) if may_change else None
        if kept is not None and authored is None:
            self._keep(call, kept, canonical)
            return
        if authored is not None:
            call.source, call.result, call.error = Source.AUTHORED, authored.result, authored.error
            self.pool.note_write(call.tool, (call.tool, freeze(canonical)))
            return
        found = self.pool.answer(call.tool, canonical, run.turn.number, run.clocks(), agent=call.agent)
        if isinstance(found, Found):
            self._take(call, found)
        elif self.siblings and (other := self.siblings.answer(call.tool, canonical, self.pool.writes.made)) is not None:
            self._borrow(call, other)
        elif self.options.unrecorded == "simulate":
            self._simulate(call, run, found)
        elif self.options.unrecorded == "call" and (why := self._why_not_live(call, live)) is None:
            call.source, call.explanation = Source.LIVE, explain_answer(call, found, "the tool itself")
        else:
            self._miss(call, run, found, why if self.options.unrecorded == "call" else None)

    def _why_not_live(self, call: ReplayedCall, live: Callable[[], Any] | None) -> str | None:
        """What keeps the real tool from running for a call without an answer; None where nothing does."""
        rules = self.cassette.plan.tools.get(call.tool)
        if rules is None or not rules.live:
            return "it does not run either: it is not marked `live: true` in statebase.yaml"
        return "it does not run either: it was called by its name alone" if live is None else None

    def _keep(self, call: ReplayedCall, kept: KeptAnswer, canonical: Any) -> None:
        call.source, call.origin = Source.ACCEPTED, kept.call.source
        call.recorded_turn, call.recorded_index = call.turn, kept.index
        call.repeated, call.renamed = kept.repeated, kept.renamed
        call.result, call.error = self.pool.translate(kept.call.result), kept.call.error
        self.pool.note_write(call.tool, (call.tool, freeze(canonical)))

    def _take(self, call: ReplayedCall, found: Found) -> None:
        entry = found.entry
        call.source = Source.RECORD
        call.recorded_turn, call.recorded_index = entry.turn, entry.index
        call.repeated, call.stale, call.renamed = found.repeated, found.stale, found.renamed
        if found.provisional and self.run is not None:
            self.run.provisional.append((call, entry))
        call.result = self.pool.translate(entry.call.result)
        call.error = entry.call.error
        for effect in entry.effects:
            self._reapply(effect)
        self.requests.consumed(entry.turn, entry.index)

    def _borrow(self, call: ReplayedCall, other: SiblingAnswer) -> None:
        call.source, call.sibling = Source.SIBLING, other.session
        call.explanation = f"answered by turn {other.turn} of {other.session}: this session's record does not know it"
        call.result = rename(other.call.result, same_session(other.session, self.recorded.id))
        call.error = other.call.error

    def _simulate(self, call: ReplayedCall, run: Ongoing, miss: Miss) -> None:
        call.source = Source.SIMULATED
        call.explanation = explain_answer(call, miss, "the simulator")
        asked = ReplayedCall(call.tool, copy_value(call.arguments), call.turn)
        # It is the project's own, and may well ask a model.
        try:
            with let_pass():
                answer = self.options.simulator(asked, self.state(), self.cassette)  # type: ignore[misc]
            call.result = copy_value(answer)
        except UnrecordedCall as refusal:
            call.source = Source.NONE
            self._miss(call, run, miss, f"the simulator refused: {refusal}")
        except Exception as error:
            call.error = error_record(error)

    def _miss(self, call: ReplayedCall, run: Ongoing, miss: Miss, why: str | None = None) -> None:
        blamed = own_turn() or run
        if blamed is not run:  # an earlier turn left behind what made this call
            run.observed.calls.pop()
            blamed.observed.calls.append(call)
            call.turn = blamed.turn.number
        call.unrecorded = True
        gone = self._gone() if miss.reason == "never recorded" and call.tool in self.tools else ()
        call.explanation = explain_miss(call, miss, why, gone)
        blamed.latch = call.explanation
        blamed.observed.missed = True
        raise UnrecordedCall(call.explanation)

    def _gone(self) -> set[str]:
        """Recorded tools for which the project has no function (any more)."""
        return {entry.call.tool for entry in self.pool.entries} - self.tools.keys()

    def _learn(self) -> None:
        events = self.ledger.events
        for event in events[self._learnt :]:
            self.pool.learn(given_by(event))
        self._learnt = len(events)
