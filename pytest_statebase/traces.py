"""The events of a session as an auditor reads them. Actions and details are those of the StateBase API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .events import (
    Event,
    MemoryAdded,
    MemoryDeleted,
    MemoryUpdated,
    SessionCreated,
    SessionForked,
    StateRolledBack,
    StateUpdated,
    TurnAdded,
    TurnStarted,
    state_of,
)
from .values import ABSENT, Absent


@dataclass(frozen=True, slots=True)
class Trace:
    """One event: who (`actor`), when (`timestamp`), why (`reasoning`), what (`action`, `details`)."""

    id: str
    action: str
    actor: str | None
    timestamp: str | None
    reasoning: str | None
    details: Mapping[str, Any]


def traces_of(session: str, events: Iterable[Event]) -> Iterator[Trace]:
    """The traces that the events of a session leave, oldest first.

    Where an event tells no time, its trace has that of the last one before it which does.
    """
    prefix = f"trace_{session}"
    time: str | None = None
    turn: TurnStarted | None = None
    state: Any = ABSENT
    version: int | None = None
    for index, event in enumerate(events):
        if isinstance(event, TurnStarted):
            turn = event
        time = event.at or time
        found = _trace_of(event, turn, state, version, session)
        if isinstance(event, (SessionCreated, StateUpdated, StateRolledBack)):
            state = state_of(event)
            version = 0 if isinstance(event, SessionCreated) else event.version
        if found is not None:
            action, reasoning, details = found
            yield Trace(f"{prefix}_{index}", action, getattr(event, "actor", None), time, reasoning, details)


def _trace_of(
    event: Event, turn: TurnStarted | None, state: Any, version: int | None, session: str
) -> tuple[str, str | None, dict[str, Any]] | None:
    """Action, reasoning and details, as the StateBase documentation on replay and audit tabulates them."""
    match event:
        case SessionCreated():
            details = {
                "agent_id": event.agent_id,
                "user_id": event.user_id,
                "initial_state": none_if_absent(event.state),
            }
            return "session.created", event.reasoning, {**details, "reasoning": event.reasoning}
        case StateUpdated():
            diff = state_diff(state, event.value)
            return (
                "state.updated",
                event.reasoning,
                {"reasoning": event.reasoning, "state_diff": diff, "version": event.version, "actor": event.actor},
            )
        case StateRolledBack():
            details = {"from_version": version, "to_version": event.to_version, "reason": event.reason}
            return "state.rolled_back", event.reason, {**details, "reasoning": event.reason}
        case TurnAdded():
            details = {
                "turn_number": turn.number if turn else None,
                "input": turn.input if turn else None,
                "output": none_if_absent(event.output),
                "metadata": event.metadata or {},
            }
            if event.error is not None:
                details["error"] = event.error
            return "turn.added", event.reasoning, {**details, "reasoning": event.reasoning}
        case MemoryAdded():
            details = {"content": event.content, "type": event.type, "tags": event.tags or [], "session_id": session}
            return "memory.created", None, details
        case MemoryUpdated():
            return "memory.updated", None, event.changes
        case MemoryDeleted():
            return "memory.deleted", None, {"content": event.was}
        case SessionForked():
            details = {"source_session": event.source, "source_session_id": event.source, "fork_version": event.version}
            return "session.forked", None, details
        case _:
            return None


def none_if_absent(value: Any | Absent) -> Any:
    """None for what was not recorded, for interfaces that know no absence."""
    return None if value is ABSENT else value


def state_diff(before: Any, after: Any) -> dict[str, Any]:
    """The top-level difference of two states as a trace tells it: `{added, removed, modified}`."""
    old = before if isinstance(before, Mapping) else {}
    new = after if isinstance(after, Mapping) else {}
    return {
        "added": {key: new[key] for key in new if key not in old},
        "removed": {key: old[key] for key in old if key not in new},
        "modified": {key: {"from": old[key], "to": new[key]} for key in new if key in old and old[key] != new[key]},
    }
