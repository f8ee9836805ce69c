"""The log that an agent keeps of its tool calls (`add_tool_call`), beside the calls that were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, TypeAlias

from ..cassette.shapes import encode
from ..events import Event, ToolCalled
from ..values import same


def with_log(calls: Iterable[ToolCalled], log: Iterable[ToolCalled]) -> tuple[list[ToolCalled], list[dict[Any, Any]]]:
    """The calls, each with what the log says of it, and what the log has besides, as a record writes calls."""
    found, left = _matched(calls, log)
    return found, [encode(entry) for entry in left]


Placed: TypeAlias = tuple[int, ToolCalled]


def with_logged(
    calls: Sequence[Placed], others: Sequence[Event]
) -> tuple[Sequence[Placed], Sequence[Event], list[dict[Any, Any]]]:
    """Calls and other events of a turn that was captured, and what else the agent has logged of tools that were seen.

    calls: those that were seen, each with its position (see `woven`). others: everything else; a call among them is one
    that the agent has logged, and of a tool that was not seen to be called it is an event of the turn.
    """
    log = [event for event in others if isinstance(event, ToolCalled)]
    if not log or not calls:
        return calls, others, []
    found, left = _matched([call for _, call in calls], log)
    seen = {call.tool for call in found}
    before = list(accumulate((isinstance(event, ToolCalled) for event in others), initial=0))
    placed = [(position - before[position], call) for (position, _), call in zip(calls, found, strict=True)]
    # Calls tell of others by their position: what is added stands behind them all.
    own = [entry for entry in left if entry.tool not in seen]
    rest = [*(event for event in others if not isinstance(event, ToolCalled)), *own]
    return placed, rest, [encode(entry) for entry in left if entry.tool in seen]


def _matched(calls: Iterable[ToolCalled], log: Iterable[ToolCalled]) -> tuple[list[ToolCalled], list[ToolCalled]]:
    """The calls with what the log says of them, and the rest of the log.

    An entry belongs to the first call of that tool with its arguments (a log may leave out those that have a default),
    else to the first of that tool.
    """
    found = list(calls)
    free = dict(enumerate(found))
    left = list(log)
    for alike in (True, False):
        entries, left = left, []
        for entry in entries:
            at = next((at for at, call in free.items() if _is_of(entry, call, alike=alike)), None)
            if at is None:
                left.append(entry)
            else:
                call = free.pop(at)
                found[at] = replace(call, extra={**call.extra, **entry.extra})
    return found, left


def _is_of(entry: ToolCalled, call: ToolCalled, *, alike: bool) -> bool:
    if call.tool != entry.tool or not alike:
        return call.tool == entry.tool
    asked, made = entry.arguments, call.arguments
    if isinstance(asked, Mapping) and isinstance(made, Mapping):
        return all(name in made and same(made[name], value) for name, value in asked.items())
    return same(asked, made)
