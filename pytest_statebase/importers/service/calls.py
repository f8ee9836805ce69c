"""Tool calls, in all the forms in which StateBase sessions tell them."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterator
from typing import Any

from ...ledger import ToolCalled
from ...values import ABSENT
from .raw import Object, objects, part, text_of, time_of

_LONGEST = 20_000
"""Characters of a content that are read as a call; parsing more costs more than it is worth."""
_ERROR = "RuntimeError"
"""The class of a failure of which only the message is known."""


def is_call(turn: Object) -> bool:
    """Whether a turn is one call of a tool, logged as a turn of its own."""
    return part(turn, "input").get("type") == "tool_call"


def call_of(turn: Object) -> ToolCalled:
    """The call that such a turn is."""
    said, answered = part(turn, "input"), part(turn, "output")
    told = part(said, "tool_metadata")
    tool, arguments = _asked(said, told)
    error = None
    result: Any = ABSENT
    if answered.get("type") == "error":
        error = _error(answered)
    elif "output" in answered:
        result = answered["output"]
    elif "content" in answered:
        result = answered["content"]
    metadata = part(turn, "metadata")
    extra = {key: value for key in ("reasoning", "metadata") if (value := turn.get(key))}
    if arguments is ABSENT:
        extra["arguments"] = "not recorded"
    return ToolCalled(
        tool,
        {} if arguments is ABSENT else arguments,
        result=result,
        error=error,
        is_error=answered.get("is_error") is True or metadata.get("is_error") is True,
        id=text_of(told.get("id")) or text_of(said.get("id")),
        latency_ms=_latency(metadata),
        at=time_of(turn),
        extra=extra,
    )


def _asked(said: Object, told: Object) -> tuple[str, Any]:
    """The tool and its arguments; ABSENT where they are not told."""
    named = (told.get("name"), said.get("tool"), said.get("tool_name"), said.get("name"))
    tool = next((name for name in named if isinstance(name, str) and name), None)
    holders = [holder for holder in (told, said) if isinstance(holder.get("arguments"), (dict, str))]
    arguments: Any = _parsed(holders[0]["arguments"]) if holders else ABSENT
    content = said.get("content")
    if (tool is None or arguments is ABSENT) and isinstance(content, str):
        name, read = _read(content)
        tool = tool or name
        arguments = read if arguments is ABSENT and name == tool else arguments
    return tool or "unknown", arguments


def _parsed(arguments: Any) -> Any:
    """Arguments that are a JSON text, as an object; any other text as it stands."""
    if not isinstance(arguments, str):
        return arguments
    value = _json(arguments)
    return value if isinstance(value, dict) else arguments


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read(content: str) -> tuple[str | None, Any]:
    """A content such as `get_weather(city='Paris')` or `{"name": …, "arguments": …}`; (None, ABSENT) for others."""
    value = _json(content)
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return value["name"], value.get("arguments", ABSENT)
    return (None, ABSENT) if len(content) > _LONGEST else _written(content.strip())


def _written(text: str) -> tuple[str | None, Any]:
    """A call as Python writes it. Arguments without names, and those that JSON has no form for, stay a text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Name, ast.Attribute)):
            return None, ABSENT
        name, inside = ast.unparse(call.func), text[text.index("(") :]
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            return name, inside
        values = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, ABSENT
    try:
        return name, json.loads(json.dumps(values))
    except (TypeError, ValueError):
        return name, inside


def _error(answered: Object) -> dict[str, Any]:
    given = answered.get("error")
    told = given if isinstance(given, dict) else answered
    texts = (told.get("message"), told.get("content"), given)
    message = next((text for text in texts if isinstance(text, str)), "")
    kind = text_of(told.get("error_type")) or (text_of(told.get("type")) if told is given else None)
    return {"type": kind or _ERROR, "message": message}


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
        yield from (_listed(item) for item in objects(listed))
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
    return _call(tool, _parsed(arguments), result, {})


def _listed(item: Object) -> ToolCalled:
    """One of `tool_calls`: OpenAI's form, or a mapping with `name` or `tool`."""
    inner = part(item, "function") or item
    named = (inner.get("name"), item.get("tool"), item.get("tool_name"))
    tool = next((name for name in named if isinstance(name, str) and name), "unknown")
    arguments = next((inner[key] for key in ("arguments", "args", "input", "parameters") if key in inner), ABSENT)
    result = next((item[key] for key in ("result", "output", "response") if key in item), ABSENT)
    return _call(tool, _parsed(arguments), result, item)


def _call(tool: str, arguments: Any, result: Any, told: Object) -> ToolCalled:
    failure = told.get("error")
    error = None
    if failure:
        error = _error({"error": failure} if isinstance(failure, (str, dict)) else {})
    unknown = arguments is ABSENT or arguments is None
    return ToolCalled(
        tool,
        {} if unknown else arguments,
        result=ABSENT if error else result,
        error=error,
        is_error=told.get("is_error") is True or told.get("status") == "error",
        id=text_of(told.get("id")) or text_of(told.get("tool_call_id")),
        latency_ms=_latency(told),
        extra={"arguments": "not recorded"} if unknown else {},
    )
