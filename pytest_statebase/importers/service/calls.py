"""Tool calls, in all the forms in which StateBase sessions tell them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ...ledger import ToolCalled
from ...statebase.toolturns import logged_call, written_call
from ...values import ABSENT
from .raw import Object, part, text_of, time_of

_UNKNOWN: Final = "unknown"
_NOT_RECORDED: Final = {"arguments": "not recorded"}
"""What a call says of itself whose arguments nobody told."""


def is_call(turn: Object) -> bool:
    """Whether a turn is one call of a tool, logged as a turn of its own."""
    return part(turn, "input").get("type") == "tool_call"


def call_of(turn: Object) -> ToolCalled:
    """The call that such a turn is."""
    said, metadata = part(turn, "input"), part(turn, "metadata")
    call = logged_call(said, turn.get("output"), time_of(turn)) or ToolCalled(_UNKNOWN, at=time_of(turn))
    extra = {key: value for key in ("reasoning", "metadata") if (value := turn.get(key))}
    answered = part(turn, "output")
    more = {key: answered[key] for key in ("args", "attributes") if key in answered}
    return replace(
        call,
        error=None if call.error is None else {**call.error, **more},
        is_error=call.is_error or metadata.get("is_error") is True,
        latency_ms=_latency(metadata),
        extra=extra if _tells_arguments(said) else {**extra, **_NOT_RECORDED},
    )


def _tells_arguments(said: Object) -> bool:
    holders = (part(said, "tool_metadata"), said)
    if any(holder.get("arguments") is not None for holder in holders):
        return True
    content = said.get("content")
    return isinstance(content, str) and written_call(content) is not None


def _latency(metadata: Object) -> float | None:
    value = metadata.get("latency_ms")
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def told_calls(turn: Object, known: list[ToolCalled]) -> Iterator[ToolCalled]:
    """The calls that a turn of text names in its metadata, but for those that turns of their own told already."""
    left = [call.tool for call in known]
    ids = {call.id for call in known if call.id}
    for call in _told(part(turn, "metadata")):
        if call.id is not None and call.id in ids:
            continue
        if call.tool in left:
            left.remove(call.tool)
            continue
        yield call


def _told(metadata: Object) -> Iterator[ToolCalled]:
    listed = metadata.get("tool_calls")
    if isinstance(listed, list):
        for item in listed:
            if isinstance(item, str) and item:
                yield _named(item)
            elif isinstance(item, Mapping):
                yield _listed(item)
        return
    used = next((metadata[key] for key in ("tool_used", "tools_used", "tool_name") if metadata.get(key)), None)
    for name in used if isinstance(used, list) else [used]:
        if isinstance(name, str) and name:
            yield _named(name, metadata if not isinstance(used, list) else {})


def _named(tool: str, told: Object | None = None) -> ToolCalled:
    """A call of which the name is known, and what stands beside it in the metadata."""
    told = told or {}
    arguments = next((told[key] for key in ("tool_arguments", "tool_args", "tool_input") if key in told), ABSENT)
    result = next((told[key] for key in ("tool_result", "tool_output") if key in told), ABSENT)
    return _call(tool, arguments, result, {})


def _listed(item: Object) -> ToolCalled:
    """One of `tool_calls`: OpenAI's form, or a mapping with `name` or `tool`."""
    inner = part(item, "function") or item
    named = (inner.get("name"), item.get("tool"), item.get("tool_name"))
    tool = next((name for name in named if isinstance(name, str) and name), _UNKNOWN)
    arguments = next((inner[key] for key in ("arguments", "args", "input", "parameters") if key in inner), ABSENT)
    result = next((item[key] for key in ("result", "output", "response") if key in item), ABSENT)
    return _call(tool, arguments, result, item)


def _call(tool: str, arguments: Any, result: Any, told: Object) -> ToolCalled:
    failure = told.get("error")
    output = {"type": "error", **failure} if isinstance(failure, dict) else {"type": "error", "message": failure}
    asked = {"type": "tool_call", "tool": tool, "arguments": None if arguments is ABSENT else arguments}
    call = logged_call(asked, output if failure else {} if result is ABSENT else {"output": result})
    assert call is not None
    return replace(
        call,
        is_error=told.get("is_error") is True or told.get("status") == "error",
        id=text_of(told.get("id")) or text_of(told.get("tool_call_id")),
        latency_ms=_latency(told),
        extra=_NOT_RECORDED if arguments is ABSENT or arguments is None else {},
    )
