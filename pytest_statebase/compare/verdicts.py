"""From what a replay did to a verdict on every turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from ..events import memories_of
from ..ledger import ForkPoint, Ledger, SessionCreated, StateVersion, ToolCalled, Turn
from ..values import ABSENT
from ..wire.exchange import Exchange, Request
from .align import align, unchanged_rows
from .baseline import differs, from_baseline, is_error, merge_rows, settled, turn_of_baseline
from .diff import plain_equal
from .draft import draft_expect
from .expect import check
from .facets import Facets
from .ids import Ids
from .known import mark_known
from .model import Divergence, Facet, Kind, Observed, ReplayedCall, Source, TurnResult, Verdict
from .pairing import Bind, MadeUp, Scene
from .paths import IgnoreRules, numbered
from .requests import Traffic, mark_rules
from .usage import Usage

if TYPE_CHECKING:
    from ..cassette.accepted import AcceptedTurn
    from ..cassette.plan import Plan

_PARTING = frozenset({Facet.ERROR, Facet.TOOLS, Facet.HTTP, Facet.STATE})


def judge(
    *,
    ledger: Ledger,
    plan: Plan,
    observed: Iterable[Observed],
    first: int = 1,
    until: int | None = None,
    mode: str = "continuous",
    stopped: str | None = None,
    fork_id: str = "",
    source_id: str | None = None,
    rules: IgnoreRules | None = None,
    bind: Bind | None = None,
    made_up: MadeUp | None = None,
    accepted: Mapping[int, AcceptedTurn] | None = None,
    exchanges: Sequence[Exchange] = (),
    accepted_exchanges: Sequence[Exchange] = (),
    is_model: Callable[[Request], bool] = lambda request: False,
    day: date | None = None,
) -> list[TurnResult]:
    """Compare a replay with its recording and give every turn from `first` on its verdict, in order.

    ledger: the recording, whole; observed: the turns that were replayed.
    until: the last turn that was to be replayed, None for the end; stopped: why the replay ended before that.
    fork_id: the id of the fork; like the own forks of isolated turns, it counts as equal to source_id (the ledger's).
    rules: `IgnoreRules.of_plan(plan)`, handed in by who wants to ask it afterwards which rules hid nothing.
    bind: brings recorded arguments into the form of the replayed ones (bound to the signature).
    made_up: whether two different values of an argument are ids or times that the agent makes up anew on each run.
    accepted: baselines by turn, which their turns are judged against instead of the record.
    exchanges: the recorded HTTP exchanges, accepted_exchanges: those of the baselines; is_model: tells calls of models,
    which are not judged.
    day: for the plan's `known`, by default today.
    """
    seen = list(observed)
    rules = IgnoreRules.of_plan(plan) if rules is None else rules
    case = _Case(ledger, plan, seen, first, mode, fork_id, source_id, rules, bind, made_up, accepted or {})
    case.agents = _know_agents(seen, ledger)
    if exchanges or accepted_exchanges or any(turn.requests for turn in seen):
        isolated = mode == "isolated"
        case.traffic = Traffic.of(exchanges, seen, is_model, first, isolated=isolated, accepted=accepted_exchanges)
    by_number = {turn.number: turn for turn in seen}
    results = []
    for turn in ledger.turns:
        if turn.number < first:
            continue
        replayed = by_number.get(turn.number)
        if replayed is not None:
            results.append(case.judge(turn, replayed))
        elif not turn.is_greeting:
            results.append(_not_replayed(turn, until, stopped, case.state_of(turn)))
    if case.diverged:
        _mark_followers(results, plan, mode)
    if plan.known:
        mark_known(results, plan, day=day)
    if rules:
        _look_for_unmatched(rules, ledger)
        mark_rules(rules, exchanges)
    return results


def _not_replayed(turn: Turn, until: int | None, stopped: str | None, state: Any) -> TurnResult:
    beyond = until is not None and turn.number > until
    reason = f"the replay was to end with turn {until}" if beyond else stopped
    return TurnResult(
        turn.number, Verdict.NOT_REPLAYED, turn, None, recorded_state=state, beyond_until=beyond, reason=reason
    )


@dataclass(slots=True)
class _Case:
    """One replay beside its recording, and whether the conversation has parted so far."""

    ledger: Ledger
    plan: Plan
    observed: list[Observed]
    first: int
    mode: str
    fork_id: str
    source_id: str | None
    rules: IgnoreRules
    bind: Bind | None
    made_up: MadeUp | None
    accepted: Mapping[int, AcceptedTurn]
    agents: bool = False
    """Both sides know which of several agents made a call."""
    traffic: Traffic | None = None
    parted: bool = False
    diverged: bool = False
    _states: dict[int, Any] | None = None
    _usage: Usage | None = None

    def state_of(self, turn: Turn) -> Any:
        """The recorded state at the turn's end itself, not a copy."""
        if turn.version_after is None:
            return ABSENT
        if self._states is None:
            self._states = {version.version: _value_of(version) for version in self.ledger.versions}
        return self._states[turn.version_after]

    @property
    def exact(self) -> bool:
        return bool(self.plan.compare.get("output") == "exact")

    def judge(self, turn: Turn, seen: Observed) -> TurnResult:
        calls, state = turn.calls, self.state_of(turn)
        requests = self._requests(turn, seen) if self.traffic else []
        if not requests and _is_unchanged(turn, calls, seen, state, self.agents):
            result = TurnResult(turn.number, Verdict.UNCHANGED, turn, seen, [], unchanged_rows(calls), state)
        else:
            result = TurnResult(turn.number, Verdict.UNCHANGED, turn, seen, [], recorded_state=state)
            try:
                self._compare(result, turn, seen, calls, state)
            except Exception as error:  # one turn that cannot be compared must not take the others with it
                detail = f"could not be compared: {type(error).__name__}"
                result.divergences.append(Divergence(Facet.TOOLS, Kind.VALUE, "tools", detail=detail))
            _put_in_place(requests, result.divergences)
        if turn.number in self.accepted:
            self._compare_with_baseline(result, self.accepted[turn.number], seen)
        self._give_verdict(result)
        result.reason = seen.inconclusive or seen.stale or result.reason
        return result

    def _requests(self, turn: Turn, seen: Observed, *, is_baseline: bool = False) -> list[Divergence]:
        """What the turn sent otherwise than recorded, or than accepted; calls of models aside."""
        if self.traffic is None:
            return []
        broke_off = seen.missed or (seen.error is not None and turn.error is None)
        told = self.traffic.from_accepted if is_baseline else self.traffic.divergences
        return told(turn.number, seen, self.rules, broke_off=broke_off)

    def _compare_with_baseline(self, result: TurnResult, accepted: AcceptedTurn, seen: Observed) -> None:
        """Set the turn beside what was accepted; how it differs from the record is kept as well."""
        base = result.accepted = turn_of_baseline(accepted, result.recorded)
        state = result.recorded_state if accepted.state is ABSENT else accepted.state
        against = TurnResult(result.turn, Verdict.UNCHANGED, base, seen, recorded_state=state)
        seen = settled(seen, accepted, self.ledger, self._ids(seen))
        self._compare(against, base, seen, base.calls, state, is_baseline=True)
        result.accepted_state, result.from_record = state, result.divergences
        others = [one for one in result.from_record if one.facet is Facet.HTTP]
        others = [one for one in others if one.fingerprint not in accepted.fingerprints]
        requests = {one.fingerprint: one for one in [*self._requests(base, seen, is_baseline=True), *others]}
        _put_in_place(list(requests.values()), against.divergences)
        result.divergences = from_baseline(against.divergences, result.from_record, exact=self.exact)
        merge_rows(result, [replace(row, recorded=None, accepted=row.recorded) for row in against.aligned])

    def _compare(
        self,
        result: TurnResult,
        turn: Turn,
        seen: Observed,
        calls: list[ToolCalled],
        state: Any,
        *,
        is_baseline: bool = False,
    ) -> None:
        broke_off = seen.missed or (seen.error is not None and turn.error is None)
        ids = self._ids(seen)
        facets = Facets(self.rules, ids)
        if not seen.missed:
            result.divergences += facets.error(turn.error, seen.error)
        if not is_baseline and _calls_in_place(calls, seen.calls, turn.number, self.agents):
            result.aligned = unchanged_rows(calls)
        else:
            scene = self._scene(ids, broke_off)
            if is_baseline:
                scene.usage = Usage(self.first, scene.usage.turns)
            aligned = align(turn, seen, scene)
            result.aligned = aligned.rows
            result.divergences += aligned.divergences
        if not broke_off:
            result.divergences += facets.state(state, seen.state)
            result.divergences += facets.memory(memories_of(turn.events), seen.memory)
            result.divergences += facets.output(turn.output, seen.output) if seen.error is None else []

    def _scene(self, ids: Ids, broke_off: bool) -> Scene:
        if self._usage is None:
            self._usage = Usage.of(self.observed, self.ledger, self.first, isolated=self.mode == "isolated")
        return Scene(self._usage, self.rules, self.plan.tools, ids, self.bind, self.made_up, broke_off, self.agents)

    def _ids(self, seen: Observed) -> Ids:
        source = self.source_id or self.ledger.id
        own = self.ledger.fork_id(ForkPoint("turn", seen.number)) if self.mode == "isolated" else ""
        return Ids.of({self.fork_id: source, own: source}, seen.renames)

    # verdicts

    def _give_verdict(self, result: TurnResult) -> None:
        found, number = result.divergences, result.turn
        off_script = self.parted
        from_record = found if result.accepted is None else result.from_record
        said_of = number in self.plan.expect or number in self.plan.failing or result.accepted is not None
        if not found and not off_script and not said_of:
            result.verdict = (_stopped(result.replayed) if result.replayed else None) or Verdict.UNCHANGED
            return
        self.diverged = self.diverged or bool(found)
        parts = self.mode != "isolated" and any(_parts(divergence) for divergence in from_record)
        result.verdict = self._verdict(result, off_script)
        self.parted = self.parted or parts or (result.verdict is Verdict.FIXED and self.mode != "isolated")
        self.diverged = self.diverged or bool(result.divergences)
        if result.verdict is Verdict.UNPROVEN:
            ids = self._ids(result.replayed) if result.replayed else Ids()
            result.reason = draft_expect(result, ledger=self.ledger, plan=self.plan, ids=ids, bind=self.bind)
        elif found and result.verdict is Verdict.STILL_FAILING and number not in self.plan.expect:
            result.reason = "nothing but the words differs from the turn that is recorded as wrong"

    def _verdict(self, result: TurnResult, off_script: bool) -> Verdict:
        """The first verdict that applies, in the order of precedence."""
        seen = result.replayed
        stopped = None if seen is None else _stopped(seen)
        if stopped is not None:
            return stopped
        from_record = result.divergences if result.accepted is None else result.from_record
        if is_error(from_record):
            return Verdict.ERROR
        holds = self._expectation(result)
        judged = [found for found in result.divergences if not found.note and found.kind is not Kind.EXPECT]
        only_wording = all(found.kind is Kind.TEXT for found in judged)
        if result.turn in self.plan.failing:
            if holds is not None:
                return Verdict.FIXED if holds else Verdict.STILL_FAILING
            if result.accepted is not None and not judged:
                return Verdict.FIXED
            if not differs(from_record, wording=False):
                return Verdict.STILL_FAILING
            if result.accepted is None:
                return Verdict.UNPROVEN
            return Verdict.FIXED if only_wording and not self.exact else Verdict.CHANGED
        if holds is False:
            return Verdict.BROKEN
        if result.accepted is not None:
            return self._by_baseline(judged, only_wording)
        if off_script and (judged or holds is None):
            return Verdict.OFF_SCRIPT
        if only_wording and not (judged and self.exact):
            return Verdict.REWORDED if judged else Verdict.UNCHANGED
        return Verdict.CHANGED

    def _by_baseline(self, judged: list[Divergence], only_wording: bool) -> Verdict:
        if not judged:
            return Verdict.ACCEPTED
        return Verdict.REWORDED if only_wording and not self.exact else Verdict.CHANGED

    def _expectation(self, result: TurnResult) -> bool | None:
        """Whether the plan's `expect` of the turn holds; None where it has none. What does not hold is added."""
        expect, seen = self.plan.expect.get(result.turn), result.replayed
        if expect is None or seen is None:
            return None
        failed = check(expect, seen.output, seen.calls, seen.state)
        result.divergences.extend(failed)
        return not failed


def _put_in_place(requests: list[Divergence], found: list[Divergence]) -> None:
    """Requests come behind what the turn raised and called, and before what they may cause."""
    place = sum(one.facet in (Facet.ERROR, Facet.TOOLS) for one in found)
    found[place:place] = requests


def _stopped(seen: Observed) -> Verdict | None:
    """The verdict of a turn that could not go on; None for one that did."""
    if seen.inconclusive is not None:
        return Verdict.INCONCLUSIVE
    if seen.stale is not None:
        return Verdict.STALE
    return Verdict.UNRECORDED if seen.missed else None


def _know_agents(observed: list[Observed], ledger: Ledger) -> bool:
    """A side that names no agent at all does not tell: nothing is compared then."""
    if not any(call.agent is not None for seen in observed for call in seen.calls):
        return False
    return any(type(event) is ToolCalled and event.agent is not None for event in ledger.events)


def _is_unchanged(turn: Turn, calls: list[ToolCalled], seen: Observed, state: Any, agents: bool) -> bool:
    """Whether nothing needs a closer look: the common case, made cheap."""
    if seen.missed or seen.error is not None or turn.error is not None:
        return False
    if not _calls_in_place(calls, seen.calls, turn.number, agents):
        return False
    output, replayed = turn.output, seen.output
    if output is not ABSENT and output is not replayed and not plain_equal(output, replayed):
        return False
    if seen.memory != memories_of(turn.events):
        return False
    ours = seen.state
    return state is ABSENT or state is ours or plain_equal(state, ours)


def _calls_in_place(recorded: list[ToolCalled], replayed: list[ReplayedCall], turn: int, agents: bool) -> bool:
    """Whether every call was answered by the recording in its own place, and nothing is to be said about it."""
    if len(recorded) != len(replayed):
        return False
    for position, call in enumerate(replayed):
        if call.recorded_index != position or not _is_in_place(call, recorded[position], turn, agents):
            return False
    return True


def _is_in_place(call: ReplayedCall, recorded: ToolCalled, turn: int, agents: bool) -> bool:
    return (
        call.recorded_turn == turn
        and call.source is Source.RECORD
        and not call.renamed
        and recorded.during is None
        and (not agents or call.agent == recorded.agent)
    )


def _parts(divergence: Divergence) -> bool:
    """Whether the conversation goes another way from here."""
    return divergence.facet in _PARTING and not divergence.note and divergence.kind is not Kind.EXPECT


def _mark_followers(results: list[TurnResult], plan: Plan, mode: str) -> None:
    """Name the first divergence as the cause of the later ones; isolated turns have a cause each."""
    exact = plan.compare.get("output") == "exact"
    cause: str | None = None
    for result in results:
        if mode == "isolated":
            cause = None
        for position, divergence in enumerate(result.divergences):
            if divergence.note:
                continue
            if cause is not None:
                result.divergences[position] = replace(divergence, follows=cause)
            elif divergence.kind is not Kind.TEXT or exact:
                cause = divergence.fingerprint


def _look_for_unmatched(rules: IgnoreRules, ledger: Ledger) -> None:
    """Mark the rules that would hide something recorded: they are used, though nothing differed there."""
    for turn in ledger.turns:
        if not rules.unmatched():
            return
        rules.strip(turn.output.get("content") if isinstance(turn.output, Mapping) else None, ("output",))
        rules.strip(memories_of(turn.events), ("memory",))
        if turn.error is not None:
            rules.hides(("error", "message"))
        for label, call in zip(numbered(call.tool for call in turn.calls), turn.calls, strict=True):
            rules.arguments(call.tool, call.arguments, label.ordinal)
            rules.hides(("tools", label, "order"))
            rules.hides(("tools", label, "agent"))
    for version in ledger.versions:
        if not rules.unmatched():
            return
        rules.strip(_value_of(version), ("state",))


def _value_of(version: StateVersion) -> Any:
    event = version.event
    return event.state if isinstance(event, SessionCreated) else event.value
