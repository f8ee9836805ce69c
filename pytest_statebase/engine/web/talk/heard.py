"""What a request to a model says, in one form for all APIs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ....compare import IgnoreRules
from ....compare.paths import Index
from ....wire.exchange import Request
from ..models import ModelRequest, Piece, body_of, model_request
from .apis import Api, api_of
from .talking import Talk

_PARAMETERS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "topP": "top_p",
    "top_k": "top_k",
    "topK": "top_k",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "stop": "stop",
    "stop_sequences": "stop",
    "stopSequences": "stop",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "frequencyPenalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "presencePenalty": "presence_penalty",
    "reasoning_effort": "reasoning_effort",
}
KNOWN_PARAMETERS = frozenset(_PARAMETERS)
"""Names, in whichever API, of the parameters that are compared."""
_INSIDE = ("generationConfig", "generation_config", "config")
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")


def talk_of(request: Request, rules: IgnoreRules | None = None) -> ModelRequest:
    """What is said in a request: system text, messages, tools and the parameters of `KNOWN_PARAMETERS`.

    Two requests that say the same have equal parts, whatever API each of them goes through. Messages have no ids: a
    result names the number of its call. JSON in arguments and results counts as what it says, texts without blanks
    around them; what is left out are thoughts, marks, and the bytes of images and files.
    """
    try:
        return _talk_of(request, rules)
    except RecursionError:
        return _unheard(request)


def _talk_of(request: Request, rules: IgnoreRules | None) -> ModelRequest:
    api, body = api_of(request), body_of(request)
    body = rules.strip(body, ("http", "body")) if rules else body
    if not isinstance(body, dict) or api is None:
        return _unheard(request)
    parts, talk = model_request(request, rules), Talk()
    _READERS[api](talk, body)
    system = "\n".join(talk.system)
    return ModelRequest(
        "other",
        "",
        (parts.model or "").rpartition("/")[2] or None,
        (Piece(("system",), system),) if system else (),
        tuple(Piece(("messages", Index(at)), message) for at, message in enumerate(talk.messages())),
        {name: _tool(tool) for name, tool in parts.tools.items()},
        dict(_parameters(body)),
    )


def _unheard(request: Request) -> ModelRequest:
    """One that says nothing but itself."""
    body = request.body.decode("utf-8", "replace")
    return ModelRequest("other", request.address, None, (), (Piece(("body",), body),), {}, {})


def _parameters(body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for holder in (body, *(body[key] for key in _INSIDE if isinstance(body.get(key), dict))):
        for key, name in _PARAMETERS.items():
            if holder.get(key) is not None:
                value = holder[key]
                yield name, [value] if name == "stop" and isinstance(value, str) else value
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("effort") is not None:
        yield "reasoning_effort", reasoning["effort"]


def _tool(tool: Any) -> Any:
    """What a definition says of itself; one without a schema may be one of the provider's own."""
    if not isinstance(tool, dict):
        return {}
    schema = next((tool[key] for key in _SCHEMAS if tool.get(key) is not None), None)
    told = {"description": tool.get("description") or None, "parameters": None if schema is None else _schema(schema)}
    return {key: value for key, value in told.items() if value is not None}


def _schema(value: Any) -> Any:
    """With types in small letters: one API has them in capitals."""
    if isinstance(value, dict):
        return {
            key: item.lower() if key == "type" and isinstance(item, str) else _schema(item)
            for key, item in value.items()
        }
    return [_schema(item) for item in value] if isinstance(value, list) else value


# --- One reader an API


def _chat(talk: Talk, body: Mapping[str, Any]) -> None:
    for message in _listed(body.get("messages")):
        role, content = message.get("role"), message.get("content")
        if role in ("tool", "function"):
            talk.result(message.get("tool_call_id"), content, name=message.get("name"))
            continue
        talk.say(role, content)
        for call in _listed(message.get("tool_calls")):
            function = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
            talk.call(call.get("id"), function.get("name"), function.get("arguments", function.get("input")))
        legacy = message.get("function_call")
        if isinstance(legacy, dict):
            talk.call(None, legacy.get("name"), legacy.get("arguments"))


def _responses(talk: Talk, body: Mapping[str, Any]) -> None:
    talk.say("system", body.get("instructions"))
    for key in ("previous_response_id", "conversation"):
        if body.get(key) is not None:
            talk.say("user", [{"type": key}])  # what the provider keeps, nobody here knows
    items = body.get("input")
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else _listed(items):
        kind = item.get("type", "message")
        if kind == "message":
            talk.say(item.get("role"), item.get("content"))
        elif kind in ("function_call", "custom_tool_call"):
            talk.call(item.get("call_id"), item.get("name"), item.get("arguments", item.get("input")))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            talk.result(item.get("call_id"), item.get("output"))
        elif kind != "reasoning":
            talk.say("user", [{"type": kind}])


def _messages(talk: Talk, body: Mapping[str, Any]) -> None:
    talk.say("system", body.get("system"))
    for message in _listed(body.get("messages")):
        role, content = message.get("role"), message.get("content")
        if not isinstance(content, list):
            talk.say(role, content)
            continue
        for block in content:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "tool_use":
                talk.call(block.get("id"), block.get("name"), block.get("input"))
            elif kind == "tool_result":
                talk.result(block.get("tool_use_id"), block.get("content"))
            else:
                talk.say(role, [block])


def _gemini(talk: Talk, body: Mapping[str, Any]) -> None:
    instruction = body.get("systemInstruction", body.get("system_instruction"))
    talk.say("system", instruction.get("parts") if isinstance(instruction, dict) else instruction)
    contents = body.get("contents")
    for content in [{"parts": [{"text": contents}]}] if isinstance(contents, str) else _listed(contents):
        role = "assistant" if content.get("role") == "model" else "user"
        parts = content.get("parts")
        for part in _listed(parts if isinstance(parts, list) else [parts]):
            called = part.get("functionCall", part.get("function_call"))
            answered = part.get("functionResponse", part.get("function_response"))
            if isinstance(called, dict):
                talk.call(called.get("id"), called.get("name"), called.get("args"))
            elif isinstance(answered, dict):
                talk.result(answered.get("id"), _bare(answered.get("response")), name=answered.get("name"))
            elif part.get("thought") is not True:
                talk.say(role, [part])


def _bare(response: Any) -> Any:
    """A result freed of what it had to be wrapped in, since that API takes mappings only."""
    if isinstance(response, dict) and len(response) == 1:
        key, value = next(iter(response.items()))
        if key in ("result", "output"):
            return value
    return response if isinstance(response, str) else json.dumps(response)


def _listed(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


_READERS: Mapping[Api, Callable[[Talk, Mapping[str, Any]], None]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}
