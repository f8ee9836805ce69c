"""The log that an agent keeps of its tool calls (`add_tool_call`), beside the calls that were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..cassette.shapes import encode
from ..ledger import ToolCalled
from ..values import same


def with_log(calls: Iterable[ToolCalled], log: Iterable[ToolCalled]) -> tuple[list[ToolCalled], list[dict[Any, Any]]]:
    """The calls, each with what the log says of it, and what the log has besides, as a record writes calls.

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
    return found, [encode(entry) for entry in left]


def _is_of(entry: ToolCalled, call: ToolCalled, *, alike: bool) -> bool:
    if call.tool != entry.tool or not alike:
        return call.tool == entry.tool
    asked, made = entry.arguments, call.arguments
    if isinstance(asked, Mapping) and isinstance(made, Mapping):
        return all(name in made and same(made[name], value) for name, value in asked.items())
    return same(asked, made)
