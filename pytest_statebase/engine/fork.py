"""A fork of a recorded session that answers the calls of the agent under test from the recording."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..cassette import Cassette
from ..compare import IgnoreRules
from ..compare.model import Observed, ReplayedCall, Source
from ..errors import StatebaseError, UnrecordedCall
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
from ..values import ABSENT, changed_alike, copy_value, freeze
from .canonical import Canonicaliser
from .explain import explain_miss
from .matching import Authored, Entry, Found, Miss, Pool, given_by, now
from .options import ReplayOptions
from .revive import build_error, build_result, error_record
from .tools import Tool
from .volatile import as_moment


def is_history(turn: Turn) -> bool:
    """An opening turn without calls (a greeting) is not replayed: nothing asked for it."""
    return turn.is_opening and not turn.calls


class Ongoing:
    """A turn that is being replayed, as far as the answering of calls is concerned."""

    def __init__(self, recorded: Ledger, turn: Turn) -> None:
        self.turn = turn
        self.observed = Observed(turn.number)
        self.latch: str | None = None
        """Why the turn is over before its time: a call had no answer. Every later call is refused."""
        self.fatal: StatebaseError | None = None
        self.over = False
        self.provisional: list[tuple[ReplayedCall, Entry]] = []
        self._recorded = recorded
        self._clocks: list[datetime] | None = None

    def clocks(self) -> list[datetime]:
        """The turn's own time: now, and when it was recorded."""
        if self._clocks is None:
            moment = as_moment(self.turn.started.at or self._recorded.created.at)
            self._clocks = [now(), moment] if moment else [now()]
        return self._clocks


class Fork:
    """One fork of the recorded session, with the pool of recorded answers and what has been seen so far.

    It is the `Handler` that answers the stubbed tools while a turn is ongoing.
    """

    def __init__(
        self, cassette: Cassette, options: ReplayOptions, rules: IgnoreRules, point: ForkPoint, *, id: str | None = None
    ) -> None:
        self.cassette = cassette
        self.options = options
        self.recorded = cassette.ledger
        self.ledger = self.recorded.fork(point, id=id)
        self.position = self.recorded.cut(point)
        self.tools = {tool.name: tool for tool in options.tools}
        self.canonical = Canonicaliser(cassette.plan, rules, self.tools, self.ledger.id, self.recorded.id)
        self.pool = Pool(self.recorded, self.position, self.canonical, self.canonical.is_write)
        self.authored = Authored.of(cassette.plan.answers, self.canonical)
        self.lock = threading.RLock()
        self.run: Ongoing | None = None
        self.turns: set[int] = set()
        self._learnt = 0

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
        return [f"the authored answer for {answer.tool} was never asked for" for answer in self.authored.unused()]

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

    def _give(self, call: ReplayedCall, run: Ongoing, tool: Tool | None) -> Any:
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

    def _find(self, call: ReplayedCall, canonical: Any, run: Ongoing, tool: Tool | None) -> None:
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
        for effect in entry.effects:
            self._reapply(effect)

    def _simulate(self, call: ReplayedCall, run: Ongoing, miss: Miss) -> None:
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

    def _miss(self, call: ReplayedCall, run: Ongoing, miss: Miss, why: str | None = None) -> None:
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
