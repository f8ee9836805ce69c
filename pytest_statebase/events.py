"""What can happen in a session, one small type each. Events are never edited: every value in them is read-only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from .values import ABSENT

Content: TypeAlias = Mapping[str, Any]
"""`{type, content, …}` as the StateBase API has it: type is text, audio, image, tool_call, tool_result, error, …"""


def timestamp() -> str:
    """Now, as the API writes it, and as fine as the clock is: such times tell what came first."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class SessionCreated:
    """The first event. `state` is version 0; ABSENT where the recording knows nothing of states."""

    id: str
    agent_id: str | None = None
    user_id: str | None = None
    at: str | None = None
    state: Any = ABSENT
    metadata: Mapping[str, Any] | None = None
    actor: str | None = None
    reasoning: str | None = None
    http: bool = False
    """HTTP exchanges were recorded with it: without their file the recording is not whole."""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The input of a turn. None where the agent speaks first; several where two came before any event."""

    number: int
    input: Content | list[Content] | None = None
    at: str | None = None
    authored: bool = False
    """The words are the plan's (`inputs`), not the recorded user's."""


@dataclass(frozen=True, slots=True)
class Said:
    """Text beside calls in one message; the last text of a turn is its output instead."""

    text: str
    at: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """One call of a tool with what came back."""

    tool: str
    arguments: Any = field(default_factory=dict)
    """A mapping by parameter name; a text where the recorded arguments were not JSON."""
    result: Any = ABSENT
    error: Mapping[str, Any] | None = None
    """A raised exception: `{type, message, …}`."""
    is_error: bool = False
    """The result says itself that it failed."""
    step: int | None = None
    """Calls of one step were made at once; they have no order but what `after` says."""
    after: list[int] | None = None
    """Positions in the turn of the last calls of the same step that came before this one."""
    id: str | None = None
    latency_ms: float | None = None
    agent: str | None = None
    at: str | None = None
    during: int | None = None
    """Position in the turn of the call inside which this one was made."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def said_failed(self) -> bool:
        """It came back, and its result says that it failed: by a flag, or by what is in it (see `says_error`)."""
        return self.error is None and (self.is_error or says_error(self.result))

    @property
    def failed(self) -> bool:
        """It raised, or its result says that it failed."""
        return self.error is not None or self.said_failed


def says_error(result: Any) -> bool:
    """Whether a result is an object, or one as JSON, with an `error` that is not empty, or with `success: false`."""
    if isinstance(result, str) and result.startswith("{"):
        try:
            result = json.loads(result)
        except (ValueError, RecursionError):
            return False
    if not isinstance(result, Mapping):
        return False
    return bool(result.get("error")) or result.get("success") is False


def came_before(calls: Sequence[ToolCalled]) -> list[int]:
    """For each call of a turn, which calls of its step came before it: one bit each, by their positions.

    calls: all of the turn, nested ones included. Positions that are none, or of another step, are passed over.
    """
    earlier = [0] * len(calls)
    for index, call in enumerate(calls):
        for before in call.after or ():
            if 0 <= before < index and call.step is not None and calls[before].step == call.step:
                earlier[index] |= earlier[before] | 1 << before
    return earlier


@dataclass(frozen=True, slots=True)
class StateUpdated:
    """A new state version; `value` is the whole state."""

    version: int
    value: Any
    reasoning: str | None = None
    actor: str | None = None
    at: str | None = None
    during: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateRolledBack:
    """A new state version equal to an earlier one."""

    version: int
    to_version: int
    value: Any
    reason: str | None = None
    actor: str | None = None
    at: str | None = None
    during: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryAdded:
    """Something the agent was to remember beyond the session."""

    content: str
    type: str = "general"
    tags: list[str] | None = None
    id: str | None = None
    actor: str | None = None
    at: str | None = None
    during: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryUpdated:
    """Something that was remembered has changed: what is not None, the rest stays."""

    number: int
    """Which memory of the session, from 1 in the order in which they were added."""
    was: str
    """Its content before."""
    content: str | None = None
    type: str | None = None
    tags: list[str] | None = None
    metadata: Mapping[str, Any] | None = None
    actor: str | None = None
    at: str | None = None
    during: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def changes(self) -> dict[str, Any]:
        """What is new, by name."""
        new = {"content": self.content, "type": self.type, "tags": self.tags, "metadata": self.metadata}
        return {name: value for name, value in new.items() if value is not None}


@dataclass(frozen=True, slots=True)
class MemoryDeleted:
    """Something that was remembered is forgotten."""

    number: int
    """Which memory of the session, from 1 in the order in which they were added."""
    was: str
    """Its content."""
    actor: str | None = None
    at: str | None = None
    during: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemorySearched:
    """A search in memory with its results, best first."""

    query: str
    results: list[Mapping[str, Any]] = field(default_factory=list)
    at: str | None = None
    during: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnAdded:
    """The end of a turn: its output, or that it was interrupted."""

    output: Any = ABSENT
    """`{type, content}`; ABSENT where none was recorded."""
    error: Mapping[str, Any] | None = None
    """What the agent raised instead of answering: `{type, message, …}`."""
    reasoning: str | None = None
    metadata: Mapping[str, Any] | None = None
    interrupted: bool = False
    actor: str | None = None
    at: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionForked:
    """Stands in a fork, just after what it took over from its source."""

    id: str
    source: str
    point: str
    """As `str(ForkPoint)`."""
    version: int | None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The last event of a recording. `input` is what the user said last and nobody answered."""

    reason: str | None = None
    input: Content | list[Content] | None = None
    at: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


StateEvent: TypeAlias = StateUpdated | StateRolledBack
Event: TypeAlias = (
    SessionCreated
    | TurnStarted
    | Said
    | ToolCalled
    | StateUpdated
    | StateRolledBack
    | MemoryAdded
    | MemoryUpdated
    | MemoryDeleted
    | MemorySearched
    | TurnAdded
    | SessionForked
    | SessionEnded
)


def input_text(content: Content | list[Content] | None) -> str:
    """What the user said, as one text; several inputs are joined by line breaks."""
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n".join(map(input_text, content))
    said = content.get("content", "")
    return said if isinstance(said, str) else str(said)


def memories_of(events: Iterable[Event]) -> list[dict[str, Any]]:
    """What was done to memory, in order.

    `{content, type, tags}` was added, `{updated, …}` has changed, `{deleted}` is forgotten. These two tell the content
    that there was, and a change what is new.
    """
    found: list[dict[str, Any]] = []
    for event in events:
        if type(event) is MemoryAdded:
            found.append({"content": event.content, "type": event.type, "tags": list(event.tags or [])})
        elif type(event) is MemoryUpdated:
            found.append({"updated": event.was, **event.changes})
        elif type(event) is MemoryDeleted:
            found.append({"deleted": event.was})
    return found


def memory_event(told: Mapping[str, Any]) -> MemoryAdded | MemoryUpdated | MemoryDeleted:
    """The event that an item of `memories_of` tells, without its place in a session."""
    if "deleted" in told:
        return MemoryDeleted(0, told["deleted"])
    if "updated" in told:
        new: dict[str, Any] = {name: told.get(name) for name in ("content", "type", "tags", "metadata")}
        return MemoryUpdated(0, told["updated"], **new)
    return MemoryAdded(told.get("content", ""), told.get("type", "general"), told.get("tags"))


def state_of(event: SessionCreated | StateUpdated | StateRolledBack) -> Any:
    """The state that an event made, itself: not to be changed by the caller."""
    return event.state if type(event) is SessionCreated else event.value  # type: ignore[union-attr]
