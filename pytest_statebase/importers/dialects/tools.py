"""The tools that a model was offered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .blocks import is_definition
from .text import NOT_JSON, from_json

_DEPTH = 6
_LISTS = ("tools", "functions", "available_tools", "function_declarations", "functionDeclarations", "function_tools")
_HOLDERS = ("config", "invocation_params", "model_request_parameters", "kwargs", "toolConfig", "model_kwargs")
_SCHEMAS = ("parameters", "parameters_json_schema", "input_schema", "inputSchema", "parametersJsonSchema")


def tool_definitions(*values: Any) -> tuple[dict[str, Any], ...]:
    """The tools that a request, or what was logged beside it, offers: {name, description, parameters}, each name once.

    Never raises, whatever the values.
    """
    found: dict[str, dict[str, Any]] = {}
    for value in values:
        for tool in _tools(value, _DEPTH):
            found.setdefault(tool["name"], tool)
    return tuple(found.values())


def _tools(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, str):
        value = from_json(value)
    if depth <= 0 or value is NOT_JSON:
        return
    if isinstance(value, list):
        for item in value:
            yield from _offered(item, depth)
    elif isinstance(value, Mapping):
        for key in _LISTS:
            items = value.get(key)
            for item in items if isinstance(items, list) else ():
                yield from _definitions(item, depth)
        for key in _HOLDERS:
            if isinstance(value.get(key), Mapping):
                yield from _tools(value[key], depth - 1)


def _offered(item: Any, depth: int) -> Iterator[dict[str, Any]]:
    """A definition that stands between the messages (LangChain), or alone in a list."""
    if isinstance(item, str):
        item = from_json(item)
    if not isinstance(item, Mapping):
        return
    content = item.get("content")
    if item.get("role") == "tool" and isinstance(content, Mapping) and is_definition(content):
        yield from _definitions(content, depth)
    elif "role" not in item and is_definition(item):
        yield from _definitions(item, depth)


def _definitions(item: Any, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(item, str):
        item = from_json(item)
    if not isinstance(item, Mapping):
        return
    inner = next((item[key] for key in ("function", "toolSpec") if isinstance(item.get(key), Mapping)), item)
    name = inner.get("name")
    if isinstance(name, str) and name:
        schema = next((inner[key] for key in _SCHEMAS if isinstance(inner.get(key), Mapping)), None)
        schema = schema["json"] if schema is not None and schema.keys() == {"json"} else schema
        tool = {"name": name, "description": inner.get("description"), "parameters": schema}
        yield {key: value for key, value in tool.items() if value is not None}
    elif depth > 0:
        yield from _tools({key: item[key] for key in _LISTS if key in item}, depth - 1)


def without_output_tools(messages: Any, names: set[str]) -> Any:
    """The messages, calls of some tools made the text of their arguments, and what answered these left out.

    messages: as `chat_messages` gives them; any other value is given back.
    names: tools through which a model gives a structured answer.
    """
    if not names or not isinstance(messages, list):
        return messages
    answers: set[Any] = set()
    kept: list[Any] = []
    for message in messages:
        calls = message.get("tool_calls") or ()
        given = [call for call in calls if call["function"]["name"] in names]
        answers.update(call["id"] for call in given)
        if message["role"] == "tool" and (message.get("tool_call_id") or message.get("name")) in answers | names:
            continue
        kept.append(_answered(message, calls, given) if given else message)
    return kept


def _answered(message: Mapping[str, Any], calls: Any, given: list[Any]) -> dict[str, Any]:
    rest = [call for call in calls if call not in given]
    arguments = given[0]["function"]["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    changed = {key: value for key, value in message.items() if key != "tool_calls"}
    return changed | {"content": message["content"] or text} | ({"tool_calls": rest} if rest else {})
