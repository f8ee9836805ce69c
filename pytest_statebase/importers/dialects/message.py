"""One message, whatever framework logged it, in OpenAI's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .blocks import Pieces, call_of, calls_in, is_definition, plain_result
from .roles import Role
from .text import NOT_JSON, from_json

_CONTENTS = ("content", "parts", "blocks", "contents")
_CALLS = ("tool_calls", "toolCalls")
_THOUGHTS = ("reasoning_content", "reasoning", "thinking", "thought", "reasoningText")


def messages_of(raw: Mapping[str, Any], role: Role) -> list[dict[str, Any]]:
    """The messages of a mapping that has content, parts or calls.

    Mostly one. Results inside a content become messages of their own before it; a tool that is only offered to the
    model becomes none.
    """
    content = next((raw[key] for key in _CONTENTS if raw.get(key) is not None), None)
    if isinstance(content, Mapping) and isinstance(content.get("parts"), list):
        content = content["parts"]
    if role == "tool":
        return _tool_messages(raw, content)
    pieces = Pieces()
    _fill(pieces, content)
    _take_calls(pieces, raw)
    if not pieces.parts and isinstance(raw.get("refusal"), str):
        pieces.take(raw["refusal"])
    pieces.reasoning.extend(_reasoning(raw))
    return build(role, pieces, raw.get("name"))


def build(role: Role, pieces: Pieces, name: Any = None) -> list[dict[str, Any]]:
    """The messages that pieces make: results first, then what was said and asked for."""
    messages = list(pieces.results)
    role = "assistant" if pieces.calls else role
    if not (pieces.parts or pieces.calls or pieces.reasoning) and (messages or role != "assistant"):
        return messages
    message: dict[str, Any] = {"role": role, "content": _content(pieces.parts)}
    if isinstance(name, str) and name:
        message["name"] = name
    if pieces.calls:
        message["tool_calls"] = pieces.calls
    if pieces.reasoning:
        message["reasoning_content"] = "\n\n".join(pieces.reasoning)
    return [*messages, message]


def _content(parts: list[Any]) -> Any:
    if not parts:
        return None
    only = parts[0] if len(parts) == 1 else None
    return only["text"] if only is not None and only.get("type") == "text" else parts


def _tool_messages(raw: Mapping[str, Any], content: Any) -> list[dict[str, Any]]:
    if isinstance(content, Mapping) and is_definition(content):
        return []
    calls = _calls_as_text(content)
    if calls is not None:
        return build("assistant", Pieces(calls=calls))
    if isinstance(content, list):
        pieces = Pieces()
        if all(isinstance(block, Mapping) and pieces.take(block) for block in content) and pieces.results:
            return pieces.results
    is_there = content is not None or any(key in raw for key in _CONTENTS)
    message: dict[str, Any] = {"role": "tool"} | ({"content": plain_result(content)} if is_there else {})
    call = next((raw[key] for key in ("tool_call_id", "toolCallId", "call_id") if raw.get(key)), None)
    name = next((raw[key] for key in ("name", "tool_name", "toolName") if raw.get(key)), None)
    message |= {"tool_call_id": str(call)} if call is not None else {}
    message |= {"name": str(name)} if name is not None else {}
    if raw.get("status") == "error" or raw.get("is_error") is True or raw.get("tool_call_error") is True:
        message["is_error"] = True
    return [message]


def _fill(pieces: Pieces, content: Any) -> None:
    if content is None:
        return
    calls = _calls_as_text(content)
    if calls is not None:
        pieces.calls.extend(calls)
        return
    for block in content if isinstance(content, (list, tuple)) else [content]:
        if not pieces.take(block):
            pieces.parts.append({"type": "data", "data": block})


def _calls_as_text(content: Any) -> list[dict[str, Any]] | None:
    """Calls that a framework wrote into the text of a message, as JSON."""
    if not isinstance(content, str) or not content.startswith("[{") or '"function"' not in content:
        return None
    decoded = from_json(content)
    if decoded is NOT_JSON or not all(isinstance(item, Mapping) and "function" in item for item in decoded):
        return None
    return calls_in(decoded)


def _take_calls(pieces: Pieces, raw: Mapping[str, Any]) -> None:
    """Calls beside the content, which often holds the same ones again."""
    more = raw.get("additional_kwargs")
    holders = [raw, more] if isinstance(more, Mapping) else [raw]
    calls: list[dict[str, Any]] = []
    for holder in holders:
        listed: list[Any] = next(
            (holder[key] for key in _CALLS if isinstance(holder.get(key), list) and holder[key]), []
        )
        single = holder.get("function_call")
        items = listed or ([single] if isinstance(single, Mapping) else [])
        calls = calls or [call for call in (_call(item) for item in items) if call is not None]
    if calls:
        ids = {call["id"] for call in calls}
        pieces.calls = [call for call in pieces.calls if call["id"] is not None and call["id"] not in ids]
        pieces.calls.extend(calls)


def _call(item: Any) -> dict[str, Any] | None:
    if not isinstance(item, Mapping):
        return None
    inner = item.get("tool_call")
    return call_of(inner if isinstance(inner, Mapping) else item)


def _reasoning(raw: Mapping[str, Any]) -> list[str]:
    more = raw.get("additional_kwargs")
    holders = [raw, more] if isinstance(more, Mapping) else [raw]
    values = (holder.get(key) for holder in holders for key in _THOUGHTS)
    return next(([value] for value in values if isinstance(value, str) and value), [])
