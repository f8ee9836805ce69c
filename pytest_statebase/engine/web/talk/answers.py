"""What a model replied, read from an answer and written as one, in whichever API."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ....wire.exchange import Request, Response
from .apis import Api, api_of

Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]
_REASONS: Mapping[str, Mapping[Finish, str]] = {
    "messages": {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"},
    "gemini": {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"},
}
_UNKNOWN_USAGE: Final = (0, 0)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that a model wants."""

    id: str
    name: str
    arguments: str
    """JSON of a mapping, or what the model gave instead."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model replied."""

    id: str
    model: str
    text: str | None
    calls: tuple[ToolUse, ...] = ()
    finish: Finish = "stop"
    usage: tuple[int, int] | None = None
    """Tokens read and written."""
    created: int = 0
    """Seconds since 1970."""


def reply_of(answer: Response, request: Request) -> Reply | None:
    """The reply in a plain answer; None where it is none that can be read.

    request: what was answered; its address tells the API.
    """
    api = api_of(request)
    try:
        return _READERS[api](json.loads(answer.body)) if api is not None and answer.status == 200 else None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


# --- OpenAI, chat completions


def chat_message(reply: Reply) -> dict[str, Any]:
    """The message of the assistant."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    return message


def chat_usage(reply: Reply) -> dict[str, int] | None:
    """None where nothing is known."""
    if reply.usage is None:
        return None
    read, written = reply.usage
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _chat(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": chat_message(reply), "logprobs": None, "finish_reason": reply.finish}
    head = {"id": reply.id, "object": "chat.completion", "created": reply.created, "model": reply.model}
    return {**head, "choices": [choice], "usage": chat_usage(reply)}


def _from_chat(value: Any) -> Reply:
    choice = value["choices"][0]
    message, usage = choice["message"], value.get("usage") or {}
    calls = message.get("tool_calls") or ()
    return Reply(
        value["id"],
        value["model"],
        message.get("content"),
        tuple(ToolUse(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls),
        choice["finish_reason"],
        _usage(usage.get("prompt_tokens"), usage.get("completion_tokens")),
        value["created"],
    )


def _usage(read: Any, written: Any) -> tuple[int, int] | None:
    known = (read or 0, written or 0)
    return None if known == _UNKNOWN_USAGE else known


# --- OpenAI, responses


def output_items(reply: Reply) -> list[dict[str, Any]]:
    """The items of the output: a message, then calls."""
    items: list[dict[str, Any]] = []
    if reply.text is not None:
        content = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        head = {"id": f"msg_{reply.id}", "type": "message", "role": "assistant", "status": "completed"}
        items.append({**head, "content": [content]})
    for at, call in enumerate(reply.calls):
        head = {"id": f"fc_{reply.id}_{at}", "type": "function_call", "call_id": call.id, "name": call.name}
        items.append({**head, "arguments": call.arguments, "status": "completed"})
    return items


def _responses(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(reply.finish)
    return {
        "id": reply.id,
        "object": "response",
        "created_at": reply.created,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": reply.model,
        "output": output_items(reply),
        "parallel_tool_calls": True,
        "temperature": body.get("temperature"),
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p"),
        "usage": _responses_usage(reply),
    }


def _responses_usage(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is None:
        return None
    read, written = reply.usage
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
    }


def _from_responses(value: Any) -> Reply:
    texts = [part["text"] for item in value["output"] if item["type"] == "message" for part in item["content"]]
    calls = [item for item in value["output"] if item["type"] == "function_call"]
    usage, cut = value.get("usage") or {}, (value.get("incomplete_details") or {}).get("reason")
    finish: Finish = "length" if cut == "max_output_tokens" else "content_filter" if cut else "stop"
    return Reply(
        value["id"],
        value["model"],
        "".join(texts) if texts else None,
        tuple(ToolUse(call["call_id"], call["name"], call["arguments"]) for call in calls),
        "tool_calls" if calls and finish == "stop" else finish,
        _usage(usage.get("input_tokens"), usage.get("output_tokens")),
        value["created_at"],
    )


# --- Anthropic, messages


def _messages(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    read, written = reply.usage or _UNKNOWN_USAGE  # this API has no answer without
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_of(call)} for call in reply.calls
    ]
    return {
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": _REASONS["messages"][reply.finish],
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": written},
    }


def arguments_of(call: ToolUse) -> Any:
    """A call's arguments as a mapping, which some APIs insist on."""
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        value = call.arguments
    return value if isinstance(value, dict) else {"value": value}


def _from_messages(value: Any) -> Reply:
    texts = [block["text"] for block in value["content"] if block["type"] == "text"]
    used = [block for block in value["content"] if block["type"] == "tool_use"]
    usage = value.get("usage") or {}
    return Reply(
        value["id"],
        value["model"],
        "".join(texts) if texts else None,
        tuple(ToolUse(block["id"], block["name"], _json_text(block["input"])) for block in used),
        _finish("messages", value["stop_reason"]),
        _usage(usage.get("input_tokens"), usage.get("output_tokens")),
    )


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _finish(dialect: str, reason: str) -> Finish:
    return next((name for name, said in _REASONS[dialect].items() if said == reason), "stop")


# --- Gemini


def gemini_candidate(reply: Reply) -> dict[str, Any]:
    """The one candidate."""
    parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
    parts += [{"functionCall": {"id": call.id, "name": call.name, "args": arguments_of(call)}} for call in reply.calls]
    content = {"role": "model", "parts": parts}
    return {"content": content, "finishReason": _REASONS["gemini"][reply.finish], "index": 0}


def _gemini(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "candidates": [gemini_candidate(reply)],
        "modelVersion": reply.model,
        "responseId": reply.id,
    }
    if reply.usage is not None:
        read, written = reply.usage
        usage = {"promptTokenCount": read, "candidatesTokenCount": written, "totalTokenCount": read + written}
        whole["usageMetadata"] = usage
    return whole


def _from_gemini(value: Any) -> Reply:
    candidate, usage = value["candidates"][0], value.get("usageMetadata") or {}
    parts = candidate["content"]["parts"]
    texts = [part["text"] for part in parts if "text" in part]
    called = [part["functionCall"] for part in parts if "functionCall" in part]
    finish = _finish("gemini", candidate["finishReason"])
    return Reply(
        value["responseId"],
        value["modelVersion"],
        "".join(texts) if texts else None,
        tuple(ToolUse(call["id"], call["name"], _json_text(call["args"])) for call in called),
        "tool_calls" if called and finish == "stop" else finish,
        _usage(usage.get("promptTokenCount"), usage.get("candidatesTokenCount")),
    )


_READERS: Mapping[Api, Callable[[Any], Reply]] = {
    "chat": _from_chat,
    "responses": _from_responses,
    "messages": _from_messages,
    "gemini": _from_gemini,
}
WRITERS: Mapping[Api, Callable[[Reply, Mapping[str, Any]], dict[str, Any]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}
"""Plain answers, given the reply and the body of the request."""
