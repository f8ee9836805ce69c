"""What a model or an agent was given and gave, in every dialect of attributes and events → chat messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...values import ABSENT
from ..dialects import chat_messages, tool_definitions
from ..logged import decoded
from .attributes import NOTHING, first, nested
from .raw import RawEvent, RawSpan

_IN_JSON = ("gen_ai.input.messages", "pydantic_ai.all_messages")
_OUT_JSON = ("gen_ai.output.messages",)
_IN_ANY = (
    "gen_ai.prompt",
    "ai.prompt.messages",
    "ai.prompt",
    "request_data",
    "gcp.vertex.agent.llm_request",
    "langfuse.observation.input",
    "input.value",
    "traceloop.entity.input",
    "input",
)
_OUT_ANY = (
    "gen_ai.completion",
    "response_data",
    "gcp.vertex.agent.llm_response",
    "gen_ai.output",
    "final_result",
    "langfuse.observation.output",
    "output.value",
    "traceloop.entity.output",
    "output",
)
_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_DETAILS = "gen_ai.client.inference.operation.details"
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_BODIES = ("gen_ai.event.content", "content", "message", "gen_ai.prompt", "gen_ai.completion")


def is_cut(value: Any) -> bool:
    """Whether a text is JSON that breaks off, as opposed to words that begin with a bracket."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(value)
    except json.JSONDecodeError as error:
        rest = value[error.pos :].strip()
        return error.msg.startswith("Unterminated") or any(word.startswith(rest) for word in _WORDS)
    except (ValueError, RecursionError):
        return False
    return False


def given(span: RawSpan, *, raw: bool) -> tuple[Any, bool]:
    """What went in, and whether it was cut off.

    raw: for anything but a model: what is no list of messages stays as it is.
    ABSENT where nothing was kept.
    """
    attributes = _with_details(span)
    cut = False
    for key in _IN_JSON:
        if key in attributes:
            cut = cut or is_cut(attributes[key])
            found = None if is_cut(attributes[key]) else _messages(decoded(attributes[key]), "user")
            if found:
                return [*_instructions(attributes), *found], False
    spread = nested(attributes, "llm.input_messages"), nested(attributes, "gen_ai.prompt")
    for structure in spread:
        found = None if structure is NOTHING else _messages(_flat(structure), "user")
        if found:
            return found, cut
    told = [message for message, is_answer in _events(span) if not is_answer]
    if told:
        return told, cut
    value, broken = _any(attributes, _IN_ANY, "user", raw=raw)
    if isinstance(value, list) and not raw:
        value = [*_instructions(attributes), *value]
    return value, cut or broken


def gave(span: RawSpan, *, raw: bool) -> tuple[Any, bool]:
    """What came out, and whether it was cut off; as `given`."""
    attributes = _with_details(span)
    cut = False
    for key in _OUT_JSON:
        if key in attributes:
            cut = is_cut(attributes[key])
            found = None if cut else _messages(decoded(attributes[key]), "assistant")
            if found:
                return found[:1] if _are_choices(attributes[key]) else found, False
    spread = nested(attributes, "llm.output_messages"), nested(attributes, "gen_ai.completion")
    for index, structure in enumerate(spread):
        flat = NOTHING if structure is NOTHING else _flat(structure)
        found = (
            None if flat is NOTHING else _messages(flat[:1] if index and isinstance(flat, list) else flat, "assistant")
        )
        if found:
            return found, cut
    told = [message for message, is_answer in _events(span) if is_answer]
    if told:
        return told, cut
    if any(key.startswith(("ai.response.", "ai.result.")) for key in attributes):
        return _vercel_answer(attributes), cut
    value, broken = _any(attributes, _OUT_ANY, "assistant", raw=raw)
    return value, cut or broken


def offered(span: RawSpan) -> list[Any] | None:
    """The definitions of the tools that a model was offered."""
    attributes = _with_details(span)
    listed = (nested(attributes, "llm.tools"), nested(attributes, "llm.request.functions"))
    schemas = [
        _schema(item) for structure in listed if isinstance(structure, list) for item in structure if item is not None
    ]
    known = (decoded(attributes.get("gen_ai.tool.definitions")), decoded(attributes.get("ai.prompt.tools")))
    more = [item for items in known if isinstance(items, list) for item in map(decoded, items)]
    request = (attributes.get("model_request_parameters"), attributes.get("llm.invocation_parameters"))
    found = tool_definitions({"tools": [*schemas, *more]}, *request)
    return list(found) or None


def _schema(item: Any) -> Any:
    tool = item.get("tool") if isinstance(item, Mapping) else None
    schema = decoded(tool["json_schema"]) if isinstance(tool, Mapping) and "json_schema" in tool else item
    if isinstance(schema, Mapping) and isinstance(schema.get("parameters"), str):
        return {**schema, "parameters": decoded(schema["parameters"])}
    return schema


def _with_details(span: RawSpan) -> Mapping[str, Any]:
    """The attributes with those of the one event that holds the whole of a call."""
    found = dict(span.attributes)
    for event in span.events:
        if event.name == _DETAILS:
            body = event.body if isinstance(event.body, Mapping) else {}
            for key, value in {**body, **event.attributes}.items():
                found.setdefault(key, value)
    return found


def _instructions(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    raw = attributes.get("gen_ai.system_instructions")
    if raw is None or is_cut(raw):
        return []
    value = decoded(raw)
    found = chat_messages(
        {"role": "system", "content": value} if isinstance(value, (list, str)) else value, role="system"
    )
    return [message for message in found or [] if message["role"] == "system"]


def _messages(value: Any, role: str) -> list[dict[str, Any]] | None:
    return chat_messages(value, role=role) if isinstance(value, (list, Mapping, str)) and value else None


def _are_choices(value: Any) -> bool:
    """Several answers to one question, of which the first was taken: each says why it ended."""
    value = decoded(value)
    if not isinstance(value, list) or len(value) < 2:
        return False
    return all(isinstance(item, Mapping) and item.get("finish_reason") for item in value)


def _flat(structure: Any) -> Any:
    """Messages without the level `message` around each; parts that were written as JSON, as parts."""
    if not isinstance(structure, list):
        return structure
    items = [
        item["message"] if isinstance(item, Mapping) and isinstance(item.get("message"), Mapping) else item
        for item in structure
    ]
    return [_with_parts(item) if isinstance(item, Mapping) else item for item in items]


def _with_parts(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    parts = decoded(content) if isinstance(content, str) and content.startswith("[{") else None
    is_parts = isinstance(parts, list) and all(isinstance(part, Mapping) and "type" in part for part in parts)
    function = message.get("function_call_name")
    if isinstance(function, str) and function:
        call = {"name": function, "arguments": message.get("function_call_arguments_json")}
        message = {**message, "tool_calls": [{"function": call}]}
    return {**message, "content": parts} if is_parts and message.get("role") != "tool" else message


def _events(span: RawSpan) -> Iterator[tuple[dict[str, Any], bool]]:
    """The messages among a span's events, each with whether it is the answer."""
    for event in span.events:
        if event.name in _ROLES:
            yield from ((one, event.name == "gen_ai.choice") for one in _of_event(event, event.name))
        elif event.name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            is_answer = event.name.endswith("completion")
            body = first(event.attributes, _BODIES)
            found = _messages(body, "assistant" if is_answer else "user") if body is not NOTHING else None
            yield from ((one, is_answer) for one in found or [])
    listed = decoded(first(span.attributes, ("events", "all_messages_events")))
    for item in listed if isinstance(listed, list) else ():
        name = item.get("event.name") if isinstance(item, Mapping) else None
        if isinstance(name, str) and name in _ROLES:
            event = RawEvent(
                name, {}, {key: value for key, value in item.items() if not str(key).startswith("gen_ai.")}
            )
            yield from ((one, name == "gen_ai.choice") for one in _of_event(event, name))


def _of_event(event: RawEvent, name: str) -> list[dict[str, Any]]:
    body = _body(event)
    if name == "gen_ai.choice":
        if body.get("index") not in (None, 0, "0"):
            return []
        inner = decoded(body.get("message"))
        content = inner if isinstance(inner, (list, str)) else body.get("content")
        body = inner if isinstance(inner, Mapping) else {**body, "content": content}
    content = body.get("content")
    parts = decoded(content)
    if (
        isinstance(parts, list)
        and parts
        and all(isinstance(part, Mapping) for part in parts)
        and name != "gen_ai.tool.message"
    ):
        body = {**body, "content": parts}
    message = {"role": body.get("role") or _ROLES[name], "content": body.get("content")}
    message |= {key: body[key] for key in ("tool_calls", "name") if body.get(key) is not None}
    if isinstance(message.get("tool_calls"), str):
        message["tool_calls"] = decoded(message["tool_calls"])
    if name == "gen_ai.tool.message":
        message["tool_call_id"] = body.get("id") or body.get("tool_call_id")
    return chat_messages([message], role=_ROLES[name]) or []


def _body(event: RawEvent) -> Mapping[str, Any]:
    inner = decoded(event.attributes.get("gen_ai.event.content"))
    if isinstance(inner, Mapping):
        return {**event.attributes, **inner}
    body = event.body if isinstance(event.body, Mapping) else {"content": event.body} if event.body else {}
    more = {"content": inner} if isinstance(inner, str) else {}
    return {**event.attributes, **more, **body}


def _vercel_answer(attributes: Mapping[str, Any]) -> Any:
    text = first(attributes, ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"))
    calls = decoded(first(attributes, ("ai.response.toolCalls", "ai.result.toolCalls")))
    message: dict[str, Any] = {"role": "assistant", "content": text if isinstance(text, str) else None}
    if isinstance(calls, list):
        message["tool_calls"] = calls
    if message["content"] is None and "tool_calls" not in message:
        return ABSENT
    return chat_messages([message], role="assistant") or ABSENT


def _any(attributes: Mapping[str, Any], keys: tuple[str, ...], role: str, *, raw: bool) -> tuple[Any, bool]:
    cut = False
    for key in keys:
        if attributes.get(key) is None:
            continue
        value = attributes[key]
        if is_cut(value):
            cut = True
            continue
        if raw:
            is_plain = attributes.get(key.replace(".value", ".mime_type")) == "text/plain"
            return (value if is_plain else decoded(value)), cut
        found = _messages(value, role)
        if found:
            return found, cut
    return ABSENT, cut
