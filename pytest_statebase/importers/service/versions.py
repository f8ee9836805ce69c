"""Where in a session its state versions were made: by traces, else by the states of turns, else by times."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .raw import Object, details_of, moment, number_of, oldest_first, text_of, time_of

How: TypeAlias = Literal["traces", "states", "times", "order"]
_ADDED, _UPDATED, _ROLLED_BACK, _REMEMBERED = "turn.added", "state.updated", "state.rolled_back", "memory.created"
_AHEAD = 100
"""Versions among which the state of a turn is looked for; one turn makes no more."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place among the raw turns of a session."""

    slot: int
    """How many raw turns had been added before."""
    how: How
    between: bool | None = None
    """Before that turn began, or while it ran; None where nothing tells."""
    position: int = -1
    """Of the trace that told it, among all; -1 where it was told by something else."""
    trace: Object = field(default_factory=dict)


def places_of(turns: list[Object], versions: list[Object], told: Traced, initial: Any) -> list[Place]:
    """The place of each version, in the order of the versions; none lies before that of an earlier version.

    turns, versions: oldest first; version 0 is not among them. told: what the traces tell of them.
    initial: version 0; None where it is not known.
    """
    states = _by_states(turns, versions, initial)
    tells_turns = any(number_of(version.get("turn_number")) is not None for version in versions)
    clock = _Clock(turns)
    found: list[Place] = []
    for version in versions:
        number = version["version"]
        before = found[-1] if found else Place(0, "order")
        place = told.versions.get(number)
        seen = states.get(number)
        if place is None:
            place = seen or clock.place(version) or Place(before.slot, "order")
        else:
            # Many clients leave `state_before` out, and the service takes the state as the turn was added: it tells
            # nothing of what came before the turn began, but where the service names the turns of its versions.
            between = seen.between if seen is not None and seen.slot == place.slot else None
            if number_of(version.get("turn_number")) is not None:
                between = False
            elif not tells_turns:
                between = None if between else between
            # Calls that left no trace of their own: the times tell what came before them.
            slot = place.slot if between else clock.among(version, place.slot, told.slot_after(place.slot))
            place = Place(slot, "traces", between, place.position, place.trace)
        if place.slot < before.slot:
            place = Place(before.slot, place.how, None, place.position, place.trace)
        found.append(place)
    return found


def counted(places: list[Place]) -> dict[str, int]:
    """How many versions were placed by what: `{"traces": 3, "times": 1}`."""
    return dict(Counter(place.how for place in places))


class Traced:
    """What the traces tell: the place of versions and memories among the turns.

    versions: by number. memories: the trace of each, with its place.
    """

    def __init__(self, turns: list[Object], versions: list[Object], traces: list[Object]) -> None:
        self.versions: dict[int, Place] = {}
        self.memories: list[Place] = []
        self._turns = {turn["id"]: index for index, turn in enumerate(turns) if isinstance(turn.get("id"), str)}
        self._numbers = {number_of(turn.get("turn_number")): index for index, turn in enumerate(turns)}
        ordered = oldest_first(traces)
        actions = Counter(text_of(trace.get("action")) for trace in ordered)
        self._turns_in_order = actions[_ADDED] == len(turns)
        in_order = actions[_UPDATED] + actions[_ROLLED_BACK] == len(versions)
        self._waiting = [version["version"] for version in versions] if in_order else []
        self._added: list[int] = []
        self._read(ordered)

    def slot_after(self, slot: int) -> int:
        """The first traced turn from that one on; its own index where there is none."""
        return next((index for index in self._added if index >= slot), slot)

    def _read(self, traces: list[Object]) -> None:
        slot: int | None = 0
        added = changed = 0
        for position, trace in enumerate(traces):
            action = trace.get("action")
            if action == _ADDED:
                index = self._turn(trace, added)
                slot = None if index is None else index + 1
                self._added += [] if index is None else [index]
                added += 1
            elif slot is not None and action == _REMEMBERED:
                self.memories.append(Place(slot, "traces", None, position, trace))
            elif action in (_UPDATED, _ROLLED_BACK):
                number = self._version(trace, changed)
                changed += 1
                if slot is not None and number is not None:
                    self.versions.setdefault(number, Place(slot, "traces", None, position, trace))

    def _turn(self, trace: Object, added: int) -> int | None:
        """The index of the turn that a trace is about."""
        details = details_of(trace)
        for name in (trace.get("resource_id"), details.get("turn_id")):
            if isinstance(name, str) and name in self._turns:
                return self._turns[name]
        number = number_of(details.get("turn_number"))
        if number is not None:
            return self._numbers.get(number)
        return added if self._turns_in_order else None

    def _version(self, trace: Object, changed: int) -> int | None:
        """The number of the version that a trace is about."""
        details = details_of(trace)
        told = number_of(details.get("version"))
        if told is None and trace.get("action") == _ROLLED_BACK:
            before = number_of(details.get("from_version"))
            told = None if before is None else before + 1
        if told is not None:
            return told
        return self._waiting[changed] if changed < len(self._waiting) else None


def _by_states(turns: list[Object], versions: list[Object], initial: Any) -> dict[int, Place]:
    """The places that `state_before` and `state_after` of the turns tell, by the number of the version."""
    told = ((turn.get("state_before"), turn.get("state_after")) for turn in turns)
    # Where no turn changed anything, the service took both as the turn was added.
    tells_between = any(before != after for before, after in told if None not in (before, after)) or None
    states = [initial, *(version.get("state") for version in versions)]
    found: dict[int, Place] = {}
    current: int | None = 0
    for slot, turn in enumerate(turns):
        for key, between in (("state_before", tells_between), ("state_after", False)):
            state = turn.get(key)
            if not isinstance(state, Mapping):
                current = None
                continue
            start = current if current is not None else _last(found, versions)
            index = _index(states, state, start)
            if index is None:
                current = None
                continue
            if current is not None:
                for passed in range(current + 1, index + 1):
                    found[versions[passed - 1]["version"]] = Place(slot, "states", between)
            current = index
    if current is not None:
        for version in versions[current:]:
            found[version["version"]] = Place(len(turns), "states", True)
    return found


def _last(found: dict[int, Place], versions: list[Object]) -> int:
    """The index among the states from which on to look: after the last version that has its place."""
    last = max(found, default=None)
    if last is None:
        return 0
    return next(index for index, version in enumerate(versions, start=1) if version["version"] == last)


def _index(states: list[Any], wanted: Any, start: int) -> int | None:
    end = min(len(states), start + _AHEAD)
    return next((index for index in range(start, end) if states[index] == wanted), None)


class _Clock:
    """Tells places by times. A turn is dated when it was added, so what is not later belongs to it."""

    def __init__(self, turns: list[Object]) -> None:
        times = [moment(time_of(turn)) for turn in turns]
        known = [time for time in times if time is not None]
        self._times = known if len(known) == len(times) and known == sorted(known) else None
        self._all = times

    def among(self, item: Object, first: int, last: int) -> int:
        """The first turn from `first` to `last` that was added no earlier; the last one where no time tells."""
        at = moment(time_of(item, "updated_at"))
        while first < last and (at is None or (added := self._all[first]) is None or added < at):
            first += 1
        return first

    def place(self, item: Object) -> Place | None:
        at = moment(time_of(item, "updated_at"))
        if at is None or self._times is None:
            return None
        return Place(bisect_left(self._times, at), "times")


def memory_places(turns: list[Object], memories: list[Object], traced: Traced) -> list[tuple[Object, Place]]:
    """Every memory with its place: those that traces tell, completed from `memories`, then those without a trace."""
    clock = _Clock(turns)
    left = list(memories)
    found: list[tuple[Object, Place]] = []
    for place in traced.memories:
        details = details_of(place.trace)
        ids = [text_of(place.trace.get("resource_id")), text_of(details.get("memory_id")), text_of(details.get("id"))]
        whole = next((memory for memory in left if memory.get("id") in ids), None) or next(
            (memory for memory in left if memory.get("content") == details.get("content", ...)), None
        )
        if whole is not None:
            left.remove(whole)
        told = {"id": next((name for name in ids if name and name.startswith("mem")), None), **details}
        found.append((whole if whole is not None else told, place))
    found += [(memory, clock.place(memory) or Place(len(turns), "order")) for memory in left]
    return found


def rolled_back_to(number: int, states: Mapping[int, Any]) -> int | None:
    """The version that a rollback went back to: the one earlier version with the same state.

    states: by number. None where there are several, or none.
    """
    found = [earlier for earlier, state in states.items() if earlier < number and state == states[number]]
    return found[0] if len(found) == 1 else None


def initial_state(versions: list[Object], turns: list[Object], traces: list[Object]) -> Any:
    """Version 0: of the state history, else of the trace of the session's creation, else of the first turn.

    None where nobody tells it.
    """
    first = next((version.get("state") for version in versions if version["version"] == 0), None)
    if first is not None:
        return first
    created = next((trace for trace in traces if trace.get("action") == "session.created"), {})
    told = details_of(created).get("initial_state")
    if told is not None:
        return told
    before = turns[0].get("state_before") if turns else None
    return before if isinstance(before, Mapping) else None
