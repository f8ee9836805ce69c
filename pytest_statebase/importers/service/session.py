"""Everything that was pulled of one session → its ledger, a proposed plan, and how sure one can be of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import ImportFileError
from ...ledger import (
    Content,
    Event,
    Ledger,
    MemoryAdded,
    SessionCreated,
    SessionEnded,
    StateEvent,
    StateRolledBack,
    StateUpdated,
    TurnAdded,
    TurnStarted,
)
from ...values import ABSENT
from ..model import ImportedSession
from ..proposal import first_words, propose_plan
from .calls import call_of, is_call, told_calls
from .findings import Replayable, grade, reasons_to_fail
from .raw import Object, Pulled, details_of, moment, number_of, part, text_of, time_of
from .versions import Place, Traced, counted, initial_state, memory_places, places_of, rolled_back_to


@dataclass(frozen=True, slots=True)
class PulledSession:
    """A session ready to be stored, with what is to be said of it."""

    imported: ImportedSession
    replayable: Replayable
    aligned: Mapping[str, int]
    """How many state versions were placed by `traces`, `states`, `times` or mere `order`."""
    failing: Mapping[int, list[str]]
    """The turns that are proposed as failing, each with the reasons."""


def session_from(pulled: Pulled, where: str) -> PulledSession:
    """The ledger and plan of a pulled session.

    where: the file or address, for errors.
    Raises ImportFileError where a turn or version is none.
    """
    reader = _Reader(pulled, where)
    ledger = Ledger(reader.events())
    failing = reasons_to_fail(ledger)
    replayable = grade(pulled, ledger, reader.aligned)
    told = {"aligned": dict(reader.aligned), "replayable": replayable.grade, "because": list(replayable.reasons)}
    ended = ledger.events[-1]
    assert isinstance(ended, SessionEnded)
    ledger = Ledger([*ledger.events[:-1], replace(ended, extra={"pulled": told})])
    plan = replace(propose_plan(ledger, first_words(ledger)), failing=frozenset(failing))
    unfinished = [turn.number for turn in ledger.turns if turn.added is None]
    if unfinished and not failing:
        spec = replace(plan.replays[0], until=unfinished[0] - 1)
        plan = replace(plan, replays=(spec,)) if unfinished[0] > 1 else plan
    notes = [f"turn {number}: {'; '.join(why)}" for number, why in sorted(failing.items())]
    if notes:
        notes.insert(0, "Proposed as failing; whether they are is for a person to say:")
    if replayable.answers:
        notes += ["Calls that failed as their results say. For those that raised, with the type that they raised:"]
        notes += replayable.answers
    imported = ImportedSession(pulled.id, ledger, plan, tuple(notes), pulled.file())
    return PulledSession(imported, replayable, reader.aligned, failing)


@dataclass(frozen=True, slots=True)
class _Folded:
    """One turn of the conversation: the raw turns that it was logged as, its calls first."""

    first: int
    """Index of its first raw turn."""
    calls: list[int]
    text: int | None
    """None where the calls at the session's end belong to a turn that never finished."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """An event beside the turns, with its place."""

    event: StateEvent | MemoryAdded
    place: Place
    order: tuple[int, int] = field(default=(0, 0))
    """Among those of one slot."""


class _Reader:
    """Makes the events of one session."""

    def __init__(self, pulled: Pulled, where: str) -> None:
        self._pulled = pulled
        self._turns = pulled.turns
        self._where = where
        versions = _checked(pulled.versions, where) or _told_by_turns(pulled.turns)
        self._initial = initial_state(versions, pulled.turns, pulled.traces)
        later = [version for version in versions if version["version"] > 0]
        self._traced = Traced(pulled.turns, later, pulled.traces)
        added = [trace for trace in pulled.traces if trace.get("action") == "turn.added"]
        self._actors = {text_of(trace.get("resource_id")): text_of(trace.get("actor")) for trace in added}
        places = places_of(pulled.turns, later, self._traced, self._initial)
        self.aligned = counted(places)
        self._beside: dict[int, list[_Placed]] = {}
        for one in self._placed(later, places):
            self._beside.setdefault(one.place.slot, []).append(one)

    def events(self) -> Iterator[Event]:
        session = self._pulled.session
        created = next((trace for trace in self._pulled.traces if trace.get("action") == "session.created"), {})
        yield SessionCreated(
            self._pulled.id,
            text_of(session.get("agent_id")),
            text_of(session.get("user_id")),
            time_of(session),
            ABSENT if self._initial is None else self._initial,
            dict(part(session, "metadata")) or None,
            text_of(created.get("actor")),
            text_of(details_of(created).get("reasoning")),
        )
        for number, folded in enumerate(_fold(self._turns), start=1):
            yield from self._turn(number, folded)
        for one in self._take(len(self._turns)):
            yield one.event
        yield SessionEnded(_end(self._pulled.traces))

    def _turn(self, number: int, folded: _Folded) -> Iterator[Event]:
        starting = self._take(folded.first)
        before, inside = _parted(starting, is_new=folded.text is not None or bool(folded.calls))
        yield from before
        raw = [*folded.calls, *([] if folded.text is None else [folded.text])]
        started = [time_of(self._turns[index]) for index in raw] + [event.at for event in inside]
        text = None if folded.text is None else self._turns[folded.text]
        yield TurnStarted(number, None if text is None else _input(text, self._where), _earliest(started))
        yield from inside
        calls = []
        for index in raw:
            if index != folded.first:
                yield from (one.event for one in self._take(index))
            if index in folded.calls:
                calls.append(call_of(self._turns[index]))
                yield calls[-1]
        if text is not None:
            yield from told_calls(text, calls)
            if text.get("partial") is not True:
                yield _added(text, number, self._actors.get(text_of(text.get("id"))))

    def _take(self, slot: int) -> list[_Placed]:
        """What has that slot, in order."""
        return sorted(self._beside.get(slot, []), key=lambda one: one.order)

    def _placed(self, versions: list[Object], places: list[Place]) -> list[_Placed]:
        found: list[_Placed] = []
        states: dict[int, Any] = {0: self._initial}
        position = -1
        for version, place in zip(versions, places, strict=True):
            position = max(position, place.position)
            states[version["version"]] = version.get("state")
            found.append(_Placed(_version(version, place, states), place, (position, 0)))
        for memory, place in memory_places(self._turns, self._pulled.memories, self._traced):
            event = _memory(memory, place)
            if event is not None:
                found.append(_Placed(event, place, (place.position if place.position >= 0 else 1 << 60, 1)))
        return found


def _fold(turns: list[Object]) -> Iterator[_Folded]:
    calls: list[int] = []
    for index, turn in enumerate(turns):
        if is_call(turn):
            calls.append(index)
            continue
        yield _Folded(calls[0] if calls else index, calls, index)
        calls = []
    if calls:
        yield _Folded(calls[0], calls, None)


def _parted(placed: list[_Placed], *, is_new: bool) -> tuple[list[Event], list[Event]]:
    """What happened before a turn began, and what happened in it before anything was logged.

    Where nothing tells, a rollback that comes first takes back what the turn before did; a new turn has no reason to.
    """
    before: list[Event] = []
    inside: list[Event] = []
    for one in placed:
        is_between = one.place.between
        if is_between is None:
            is_between = isinstance(one.event, StateRolledBack) and one.place.slot > 0
        (before if is_between and not inside and is_new else inside).append(one.event)
    return before, inside


def _checked(versions: list[Object], where: str) -> list[Object]:
    """The versions, oldest first, each once.

    Raises ImportFileError for one without a number or a state.
    """
    found: dict[int, Object] = {}
    for version in versions:
        number = number_of(version.get("version"))
        if number is None or number < 0 or "state" not in version:
            remedy = "A version is {version, state, …}, numbered from 0."
            raise ImportFileError("a state version has no number or no state", where=where, remedy=remedy)
        found.setdefault(number, version)
    return [found[number] for number in sorted(found)]


def _told_by_turns(turns: list[Object]) -> list[Object]:
    """The versions of a session whose state history is unknown: each state that a turn left other than it was."""
    found: list[Object] = []
    current: Any = None
    for turn in turns:
        for key in ("state_before", "state_after"):
            state = turn.get(key)
            if isinstance(state, Mapping) and state != current:
                found.append({"version": len(found), "state": state, "created_at": turn.get("created_at")})
                current = state
    return found


def _version(version: Object, place: Place, states: Mapping[int, Any]) -> StateEvent:
    trace, details = place.trace, details_of(place.trace)
    number, state = version["version"], version["state"]
    actor = text_of(version.get("updated_by")) or text_of(trace.get("actor"))
    reasoning = (
        text_of(version.get("reasoning")) or text_of(details.get("reasoning")) or text_of(trace.get("reasoning"))
    )
    at = time_of(version, "updated_at") or time_of(trace, "timestamp")
    is_back = trace.get("action") == "state.rolled_back"
    target = number_of(details.get("to_version"))
    if is_back and target is None:
        target = rolled_back_to(number, states)
    if is_back and target is not None:
        reason = text_of(details.get("reason")) or reasoning
        return StateRolledBack(number, target, state, reason, actor, at)
    return StateUpdated(number, state, reasoning, actor, at, extra={"rolled_back": True} if is_back else {})


def _memory(memory: Object, place: Place) -> MemoryAdded | None:
    """A memory; None where not even a preview of what it says was told."""
    content = text_of(memory.get("content"))
    preview = text_of(memory.get("content_preview"))
    if content is None and preview is None:
        return None
    tags = memory.get("tags")
    metadata = memory.get("metadata")
    extra: dict[str, Any] = {"metadata": metadata} if isinstance(metadata, Mapping) and metadata else {}
    if content is None:
        extra["preview"] = True
    return MemoryAdded(
        content or preview or "",
        text_of(memory.get("type")) or "general",
        [str(tag) for tag in tags] if isinstance(tags, list) and tags else None,
        text_of(memory.get("id")),
        text_of(place.trace.get("actor")),
        time_of(memory) or time_of(place.trace, "timestamp"),
        extra=extra,
    )


def _input(turn: Object, where: str) -> Content | None:
    """What the user said; None where the agent spoke first."""
    said = turn.get("input")
    if isinstance(said, str):
        return {"type": "text", "content": said}
    if said is not None and not isinstance(said, Mapping):
        raise ImportFileError(f"the input of turn {turn.get('turn_number')} is no object", where=where)
    kept = _content(said)
    return None if kept is ABSENT else kept


def _content(said: Any) -> Any:
    """An input or output without what it says nothing of; ABSENT where it has no content."""
    if isinstance(said, str):
        return {"type": "text", "content": said}
    if not isinstance(said, Mapping):
        return ABSENT
    kept = {key: value for key, value in said.items() if value is not None}
    return {"type": "text", **kept} if set(kept) - {"type"} else ABSENT


def _added(turn: Object, number: int, actor: str | None) -> TurnAdded:
    extra: dict[str, Any] = {"id": turn["id"]} if isinstance(turn.get("id"), str) else {}
    theirs = number_of(turn.get("turn_number"))
    if theirs is not None and theirs != number:
        extra["turn_number"] = theirs
    return TurnAdded(
        _content(turn.get("output")),
        reasoning=text_of(turn.get("reasoning")),
        metadata=dict(part(turn, "metadata")) or None,
        actor=actor,
        at=time_of(turn),
        extra=extra,
    )


def _earliest(times: Iterable[str | None]) -> str | None:
    known = [(found, text) for text in times if (found := moment(text)) is not None]
    return min(known)[1] if known else next((text for text in times if text), None)


def _end(traces: list[Object]) -> str | None:
    actions = {text_of(trace.get("action")) for trace in traces}
    return next((name for name in ("expired", "deleted") if f"session.{name}" in actions), None)
