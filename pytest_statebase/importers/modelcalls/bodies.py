"""Chat messages as the bodies of requests, one writer an API."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .providers import Api

_SYSTEM = ("system", "developer")
_DATA = "data:"


@dataclass(frozen=True, slots=True)
class Said:
    """One message: the form that all APIs are written from."""

    role: str
    content: Any
    """A text, a list of parts as OpenAI has them, or None."""
    calls: tuple[tuple[str, str, str], ...] = ()
    """Id, tool and arguments as JSON text."""
    answers: str | None = None
    """Of a result: the id of the call."""
    tool: str | None = None
    """Of a result: the tool, where it is known."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a model is asked."""

    model: str
    messages: Sequence[Said]
    tools: Sequence[Mapping[str, Any]] | None = None
    """Definitions: name, description, parameters."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """By their names in OpenAI's chat completions."""


def text_in(content: Any) -> str:
    """The texts of a content as one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


def _system(ask: Ask) -> str:
    return "\n".join(filter(None, (text_in(one.content) for one in ask.messages if one.role in _SYSTEM)))


def _others(ask: Ask) -> list[Said]:
    return [one for one in ask.messages if one.role not in _SYSTEM]


def _chat(ask: Ask) -> dict[str, Any]:
    body: dict[str, Any] = {"model": ask.model, "messages": [_chat_message(one) for one in ask.messages]}
    if ask.tools:
        body["tools"] = [{"type": "function", "function": dict(tool)} for tool in ask.tools]
    return {**body, **ask.parameters}


def _chat_message(one: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": one.role, "content": one.content}
    if one.calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": tool, "arguments": arguments}}
            for id_, tool, arguments in one.calls
        ]
    if one.role == "tool":
        message = {"role": "tool", "tool_call_id": one.answers, "content": _as_text(one.content)}
    return message


def _as_text(content: Any) -> Any:
    """Results are texts, or parts; anything else as JSON."""
    if isinstance(content, str) or (isinstance(content, list) and all(_is_part(part) for part in content)):
        return content
    return json.dumps(content, ensure_ascii=False, default=str)


def _is_part(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("type"), str)


def _responses(ask: Ask) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for one in _others(ask):
        if one.role == "tool":
            items.append({"type": "function_call_output", "call_id": one.answers, "output": _as_text(one.content)})
            continue
        if one.content not in (None, "", []):
            items.append({"role": one.role, "content": _input_parts(one)})
        items += [
            {"type": "function_call", "call_id": id_, "name": tool, "arguments": arguments}
            for id_, tool, arguments in one.calls
        ]
    body: dict[str, Any] = {"model": ask.model, "input": items}
    if system := _system(ask):
        body["instructions"] = system
    if ask.tools:
        body["tools"] = [{"type": "function", **tool} for tool in ask.tools]
    names = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
    return {**body, **{names.get(name, name): value for name, value in ask.parameters.items()}}


def _input_parts(one: Said) -> Any:
    if not isinstance(one.content, list):
        return one.content
    kind = "output_text" if one.role == "assistant" else "input_text"
    return [{"type": kind, "text": part["text"]} if _is_text(part) else part for part in map(_part, one.content)]


def _part(part: Any) -> Any:
    return {"type": "text", "text": part} if isinstance(part, str) else part


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("text"), str)


def _messages(ask: Ask) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for one in _others(ask):
        role = "assistant" if one.role == "assistant" else "user"
        blocks = _blocks(one)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    parameters = dict(ask.parameters)
    limit = parameters.pop("max_completion_tokens", None)
    if "stop" in parameters:
        stop = parameters.pop("stop")
        parameters["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    body = {"model": ask.model, **({} if limit is None else {"max_tokens": limit}), "messages": messages}
    if system := _system(ask):
        body["system"] = system
    if ask.tools:
        body["tools"] = [_renamed(tool, "input_schema") for tool in ask.tools]
    return {**body, **parameters}


def _renamed(tool: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """A definition with its schema under the name that the API has for it."""
    return {schema if key == "parameters" else key: value for key, value in tool.items() if key != "strict"}


def _blocks(one: Said) -> list[dict[str, Any]]:
    if one.role == "tool":
        return [{"type": "tool_result", "tool_use_id": one.answers, "content": _as_text(one.content)}]
    parts = one.content if isinstance(one.content, list) else [one.content] if one.content else []
    blocks = [_block(_part(part)) for part in parts]
    return blocks + [
        {"type": "tool_use", "id": id_, "name": tool, "input": _mapping(arguments)}
        for id_, tool, arguments in one.calls
    ]


def _block(part: Any) -> dict[str, Any]:
    if _is_text(part):
        return {"type": "text", "text": part["text"]}
    mime, data = _media(part)
    if mime.startswith("image/"):
        source = {"type": "url", "url": data} if mime == "image/" else _base64(mime, data)
        return {"type": "image", "source": source}
    return dict(part) if isinstance(part, Mapping) else {"type": "text", "text": str(part)}


def _base64(mime: str, data: str) -> dict[str, str]:
    return {"type": "base64", "media_type": mime, "data": data}


def _media(part: Any) -> tuple[str, str]:
    """The type of an image and its data, or `image/` and its address; two empty texts for what is none."""
    found = part.get("image_url") if isinstance(part, Mapping) else None
    url = found.get("url") if isinstance(found, Mapping) else found
    if not isinstance(url, str):
        return "", ""
    if not url.startswith(_DATA):
        return "image/", url
    head, _, data = url.removeprefix(_DATA).partition(",")
    return head.partition(";")[0] or "image/png", data


def _mapping(arguments: str) -> Any:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = arguments
    return value if isinstance(value, dict) else {"value": value}


def _gemini(ask: Ask) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    for one in _others(ask):
        role = "model" if one.role == "assistant" else "user"
        parts = _gemini_parts(one)
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": role, "parts": parts})
    body: dict[str, Any] = {"contents": contents}
    if system := _system(ask):
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if ask.tools:
        body["tools"] = [{"functionDeclarations": [_renamed(tool, "parameters") for tool in ask.tools]}]
    names = {
        "top_p": "topP",
        "top_k": "topK",
        "max_tokens": "maxOutputTokens",
        "max_completion_tokens": "maxOutputTokens",
        "stop": "stopSequences",
        "frequency_penalty": "frequencyPenalty",
        "presence_penalty": "presencePenalty",
    }
    settings = {names.get(name, name): value for name, value in ask.parameters.items()}
    return {**body, **({"generationConfig": settings} if settings else {})}


def _gemini_parts(one: Said) -> list[dict[str, Any]]:
    if one.role == "tool":
        response = {"id": one.answers, "name": one.tool or "", "response": {"result": _as_text(one.content)}}
        return [{"functionResponse": response}]
    given = one.content if isinstance(one.content, list) else [one.content] if one.content else []
    parts = [_gemini_part(_part(part)) for part in given]
    return parts + [
        {"functionCall": {"id": id_, "name": tool, "args": _mapping(arguments)}} for id_, tool, arguments in one.calls
    ]


def _gemini_part(part: Any) -> dict[str, Any]:
    if _is_text(part):
        return {"text": part["text"]}
    mime, data = _media(part)
    if mime == "image/":
        return {"fileData": {"mimeType": "image/*", "fileUri": data}}
    if mime:
        return {"inlineData": {"mimeType": mime, "data": data}}
    if not isinstance(part, Mapping):
        return {"text": _as_text(part)}
    return {str(part.get("type", "part")): {key: value for key, value in part.items() if key != "type"}}


BODIES: Mapping[Api, Callable[[Ask], dict[str, Any]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}
"""The body of a request, as the client of the API writes it."""
