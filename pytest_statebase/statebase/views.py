"""Sessions, turns, state versions and traces of a ledger as objects of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ledger import (
    Content,
    Ledger,
    MemoryAdded,
    MemoryDeleted,
    MemoryUpdated,
    SessionForked,
    StateRolledBack,
    StateUpdated,
    StateVersion,
    ToolCalled,
    Trace,
    Turn,
    TurnAdded,
    TurnStarted,
    input_text,
)
from ..values import ABSENT, copy_value
from .held import Held, memory_id
from .items import Item


def session_item(held: Held) -> Item:
    """A session as it stands."""
    ledger = held.ledger
    created, forked = ledger.created, ledger.forked
    return Item(
        object="session",
        id=ledger.id,
        agent_id=created.agent_id,
        user_id=created.user_id,
        created_at=(forked.at if forked else None) or created.at,
        updated_at=_last_at(ledger),
        metadata=metadata_of(held),
        state=state_now(ledger),
        memory_count=len(held.memory_items()),
        turn_count=len(shown_turns(held)),
        ttl_expires_at=None,
    )


def metadata_of(held: Held) -> dict[str, Any]:
    """What the session was created with and what was changed since, and for a fork where it comes from."""
    ledger = held.ledger
    metadata: dict[str, Any] = copy_value(dict(ledger.created.metadata or {}))
    for change in held.beside:
        metadata |= copy_value(dict(change.metadata or {}))
    if ledger.forked is not None:
        metadata |= {"forked_from": ledger.forked.source, "forked_version": ledger.forked.version}
    return metadata


def _last_at(ledger: Ledger) -> str | None:
    return next((event.at for event in reversed(ledger.events) if event.at), None)


def state_now(ledger: Ledger) -> Any:
    """A copy of the state; an empty one where the session has none."""
    state = ledger.state
    return {} if state is ABSENT else state


def state_item(ledger: Ledger) -> Item:
    """The current state with its version."""
    last = ledger.versions[-1] if ledger.versions else None
    at = last.event.at if last else None
    created = ledger.created.at
    return Item(
        session_id=ledger.id, version=ledger.version or 0, state=state_now(ledger), created_at=created, updated_at=at
    )


def versions_of(ledger: Ledger) -> list[StateVersion]:
    """The state versions; the first is an empty one where nobody knows how the session began."""
    known = ledger.versions
    if ledger.created.state is not ABSENT or (known and known[0].version == 0):
        return known
    return [StateVersion(0, replace(ledger.created, state={}), None), *known]


def turns_of_versions(held: Held) -> dict[int, int | None]:
    """The turn that each version was made in, by the version's number; None between turns.

    What a client wrote since the last turn belongs to the one that it adds next, as the calls do that it logs; but a
    rollback that comes first takes back what the last turn did.
    """
    ledger = held.ledger
    found = {version.version: version.turn for version in versions_of(ledger)}
    waiting: list[int] = []
    for event in ledger.events[held.recorded :]:
        if isinstance(event, TurnStarted):
            found |= dict.fromkeys(waiting, event.number)
            waiting.clear()
        elif isinstance(event, StateUpdated) or (isinstance(event, StateRolledBack) and waiting):
            waiting += [event.version] if found[event.version] is None else []
    return found


def version_item(version: StateVersion, turn: int | None) -> Item:
    """One version of the state, made in that turn."""
    event = version.event
    reasoning = getattr(event, "reasoning", None) or getattr(event, "reason", None)
    return Item(
        object="state_version",
        id=f"version_{version.version}",
        version=version.version,
        state=version.state,
        created_at=event.at,
        updated_by=event.actor,
        reasoning=reasoning,
        turn_number=turn,
    )


def shown_turns(held: Held) -> list[Turn]:
    """The turns that a list shows: all but the one that is running, until its end was reported."""
    turns = held.ledger.turns
    running = held.running
    if running is not None and running.given is None and turns and turns[-1].added is None:
        return turns[:-1]
    return turns


def turn_items(held: Held, *, tool_turns: bool = False) -> list[Item]:
    """Every turn, oldest first; tool_turns: each tool call as a turn of its own, numbered with the others."""
    states = {version.version: version for version in held.ledger.versions}
    if not tool_turns:
        return [turn_item(held, turn, states) for turn in shown_turns(held)]
    found: list[Item] = []
    for turn in shown_turns(held):
        calls = zip(turn.calls, _call_times(turn), strict=True)
        found += [call_item(held, call, turn.number, index, at) for index, (call, at) in enumerate(calls)]
        found.append(turn_item(held, turn, states))
    number = held.ledger.next_number()
    found += [call_item(held, call, number, index, call.at) for index, call in enumerate(held.calls)]
    for place, item in enumerate(found, 1):
        item["turn_number"] = place
    return found


def id_of_turn(session: str, turn: Turn) -> str:
    """The id that the recording has, else one made of session and number."""
    recorded = None if turn.added is None else turn.added.extra.get("id")
    return recorded if isinstance(recorded, str) else f"turn_{session}_{turn.number}"


def turn_item(held: Held, turn: Turn, versions: Mapping[int, StateVersion] | None = None) -> Item:
    """One turn; `versions` by number, where they are at hand."""
    session = held.ledger.id
    added = turn.added
    if added is None and held.running is not None and turn is held.ledger.turns[-1]:
        added = held.running.given

    def state(version: int | None) -> Any:
        if version is None:
            return None
        return (held.ledger.version_of(version) if versions is None else versions[version]).state

    return Item(
        object="turn",
        id=id_of_turn(session, turn),
        session_id=session,
        turn_number=turn.number,
        created_at=turn.started.at,
        input=input_item(turn.input),
        output=output_item(added),
        metadata=copy_value(dict((added.metadata if added else None) or {})),
        reasoning=added.reasoning if added else None,
        state_before=state(turn.version_before),
        state_after=state(turn.version_after),
        partial=added is None,
    )


def _call_times(turn: Turn) -> list[str | None]:
    """When each call of a turn was made: where that was not recorded, when the event before it happened."""
    found, last = [], turn.started.at
    for event in turn.events:
        last = event.at or last
        if type(event) is ToolCalled:
            found.append(last)
    return found


def call_item(held: Held, call: ToolCalled, number: int, index: int, at: str | None) -> Item:
    """The tool call at `index` of turn `number` as the API logs one: a turn of its own."""
    asked = Item(name=call.tool, arguments=copy_value(call.arguments), id=call.id)
    reasoning, metadata = call.extra.get("reasoning"), call.extra.get("metadata")
    return Item(
        object="turn",
        id=f"turn_{held.ledger.id}_{number}_call_{index + 1}",
        session_id=held.ledger.id,
        turn_number=number,
        created_at=at,
        input=Item(type="tool_call", content=f"Call tool {call.tool} with {call.arguments}", tool_metadata=asked),
        output=_answer_item(call),
        metadata=copy_value(dict(metadata)) if isinstance(metadata, Mapping) else {},
        reasoning=reasoning if isinstance(reasoning, str) else None,
        state_before=None,
        state_after=None,
    )


def _answer_item(call: ToolCalled) -> Item:
    """What came back from a tool; without `output` where that was not recorded."""
    if call.error is not None:
        error = copy_value(dict(call.error))
        return Item({"content": str(error.get("message")), **error, "type": "error", "error_type": error.get("type")})
    answer = Item(type="tool_response", content="" if call.result is ABSENT else str(call.result))
    if call.result is not ABSENT:
        answer["output"] = copy_value(call.result)
    if call.is_error:
        answer["is_error"] = True
    return answer


def input_item(content: Content | list[Content] | None) -> Item:
    """An input; content None where the agent spoke first, several inputs as one text."""
    if content is None or isinstance(content, list):
        return Item(type="text", content=None if content is None else input_text(content))
    return Item({"type": "text", "content": None, **copy_value(dict(content))})


def output_item(added: TurnAdded | None) -> Item:
    """An output; content None where there is none, an exception as type `error`."""
    if added is None or (added.output is ABSENT and added.error is None):
        return Item(type="text", content=None)
    if added.output is ABSENT or added.output is None:
        error = dict(added.error or {})
        return Item(type="error", content=error.get("message"), message=error.get("message"))
    return Item({"type": "text", "content": None, **copy_value(dict(added.output))})


def trace_items(held: Held) -> list[Item]:
    """The traces of a session, oldest first."""
    ledger = held.ledger
    shown = _Shown(held, {id(turn.added): id_of_turn(ledger.id, turn) for turn in ledger.turns})
    items: list[Item] = []
    beside = list(zip(held.beside, beside_items(held), strict=True))
    for trace in ledger.traces:
        position = int(trace.id.rpartition("_")[2])
        while beside and beside[0][0].position <= position:
            items.append(beside.pop(0)[1])
        items.append(shown.item(trace, position))
    return items + [item for _, item in beside]


def beside_items(held: Held) -> list[Item]:
    """The traces of what the ledger has no events for."""
    ledger = held.ledger
    items = []
    for number, one in enumerate(held.beside):
        name = f"trace_{ledger.id}_{one.position}-{number}"
        details = copy_value(dict(one.details))
        items.append(_trace_item(ledger, name, one.action, details, one.actor, one.at, ledger.id))
    return items


@dataclass(slots=True)
class _Shown:
    """What the traces of one session have in common."""

    held: Held
    turn_ids: dict[int, str]
    """By the identity of the event that ended the turn."""

    def item(self, trace: Trace, position: int) -> Item:
        ledger = self.held.ledger
        details = Item(copy_value(dict(trace.details)))
        details.setdefault("reasoning", trace.reasoning)
        for key in ("input", "output"):
            if isinstance(details.get(key), dict):
                details[key] = Item(details[key])
        return _trace_item(ledger, trace.id, trace.action, details, trace.actor, trace.timestamp, self._of(position))

    def _of(self, position: int) -> str:
        """The id of what the trace is about."""
        ledger = self.held.ledger
        event = ledger.events[position]
        if isinstance(event, MemoryAdded):
            number = sum(isinstance(other, MemoryAdded) for other in ledger.events[: position + 1])
            return memory_id(ledger.id, number, event)
        if isinstance(event, (MemoryUpdated, MemoryDeleted)):
            added = ledger.memories[event.number - 1 : event.number] if event.number > 0 else []
            return memory_id(ledger.id, event.number, added[0]) if added else ledger.id
        if isinstance(event, TurnAdded):
            return self.turn_ids.get(id(event), ledger.id)
        return event.id if isinstance(event, SessionForked) else ledger.id


def _trace_item(
    ledger: Ledger,
    id: str,
    action: str,
    details: Mapping[str, Any],
    actor: str | None,
    at: str | None,
    resource: str,
) -> Item:
    """A trace as the API has it."""
    return Item(
        object="trace",
        id=id,
        session_id=ledger.id,
        user_id=ledger.created.user_id,
        action=action,
        resource_type=action.partition(".")[0],
        resource_id=resource,
        actor=actor,
        actor_id=actor,
        timestamp=at,
        ip_address=None,
        details=Item(details),
        reasoning=details.get("reasoning"),
        metadata={},
        context=Item(request_id=None, api_key_id=actor),
    )


def all_traces(helds: Sequence[Held]) -> list[Item]:
    """The traces of a session in the order of its events; of several by time, if they all have one."""
    if len(helds) == 1:
        return trace_items(helds[0])
    items = [item for held in helds for item in trace_items(held)]
    return sorted(items, key=lambda item: item.timestamp or "") if all(i.timestamp for i in items) else items
