"""The APIs of model providers as the model server speaks them: requests read, answers written, plain and streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from .script import Asked, Call, Move

Json: TypeAlias = dict[str, Any]
Event: TypeAlias = tuple[str | None, Any]
"""The name of a server-sent event (None: it has none) and its data."""
CREATED = 1_760_000_000
USAGE = (31, 12)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API."""

    read: Callable[[Json], Asked]
    answer: Callable[[Json, Move, int], Json]
    events: Callable[[Json, Move, int], Iterator[Event]]


def text_of(content: Any) -> str:
    """The text in a content that may be a list of parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content or ""


class _Reading:
    """Collects what a request says, message by message."""

    def __init__(self) -> None:
        self.system: list[str] = []
        self.user = ""
        self.turn = 0
        self.results: list[tuple[str, str]] = []
        self.names: dict[str, str] = {}

    def message(self, role: str, content: Any) -> None:
        if role in ("system", "developer"):
            self.system.append(text_of(content))
        elif role == "user":
            self.user, self.turn, self.results = text_of(content), self.turn + 1, []

    def result(self, call_id: str, content: Any) -> None:
        self.results.append((self.names.get(call_id, "?"), text_of(content)))

    def asked(self, tools: list[str]) -> Asked:
        return Asked("\n".join(self.system), self.user, self.turn, tuple(self.results), tuple(tools))


def _pieces(text: str, size: int = 12) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def _calls(move: Move) -> list[Call]:
    return move if isinstance(move, list) else []


# --- OpenAI, chat completions ------------------------------------------------------------------------------------


def _read_chat(body: Json) -> Asked:
    reading = _Reading()
    for message in body["messages"]:
        for call in message.get("tool_calls") or ():
            reading.names[call["id"]] = call["function"]["name"]
        if message["role"] == "tool":
            reading.result(message["tool_call_id"], message["content"])
        else:
            reading.message(message["role"], message.get("content"))
    return reading.asked([tool["function"]["name"] for tool in body.get("tools") or ()])


def _chat_message(move: Move, number: int) -> Json:
    if isinstance(move, str):
        return {"role": "assistant", "content": move, "refusal": None}
    calls = [
        {
            "id": f"call_{number:04d}{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(move)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls, "refusal": None}


def _chat_usage() -> Json:
    return {"prompt_tokens": USAGE[0], "completion_tokens": USAGE[1], "total_tokens": sum(USAGE)}


def _chat_head(body: Json, number: int, kind: str) -> Json:
    return {"id": f"chatcmpl-{number:04d}", "object": kind, "created": CREATED, "model": body["model"]}


def _answer_chat(body: Json, move: Move, number: int) -> Json:
    reason = "tool_calls" if _calls(move) else "stop"
    choice = {"index": 0, "message": _chat_message(move, number), "logprobs": None, "finish_reason": reason}
    return {**_chat_head(body, number, "chat.completion"), "choices": [choice], "usage": _chat_usage()}


def _chat_events(body: Json, move: Move, number: int) -> Iterator[Event]:
    head = _chat_head(body, number, "chat.completion.chunk")

    def chunk(delta: Json, reason: str | None = None) -> Event:
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    message = _chat_message(move, number)
    if isinstance(move, str):
        yield chunk({"role": "assistant", "content": ""})
        yield from (chunk({"content": piece}) for piece in _pieces(move))
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        begun = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield chunk({"role": "assistant", "content": None, "tool_calls": [begun]})
        for piece in _pieces(function["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if _calls(move) else "stop")
    if (body.get("stream_options") or {}).get("include_usage"):
        yield None, {**head, "choices": [], "usage": _chat_usage()}
    yield None, "[DONE]"


# --- OpenAI, responses -------------------------------------------------------------------------------------------


def _read_responses(body: Json) -> Asked:
    reading = _Reading()
    reading.message("system", body.get("instructions"))
    items = body["input"]
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        kind = item.get("type", "message")
        if kind == "function_call":
            reading.names[item["call_id"]] = item["name"]
        elif kind == "function_call_output":
            reading.result(item["call_id"], item["output"])
        elif kind == "message":
            reading.message(item["role"], item["content"])
    return reading.asked([tool["name"] for tool in body.get("tools") or () if tool["type"] == "function"])


def _output_items(move: Move, number: int) -> list[Json]:
    if isinstance(move, str):
        content = {"type": "output_text", "text": move, "annotations": [], "logprobs": []}
        message = {"id": f"msg_{number:04d}", "type": "message", "role": "assistant", "status": "completed"}
        return [{**message, "content": [content]}]
    return [
        {
            "id": f"fc_{number:04d}{index}",
            "type": "function_call",
            "call_id": f"call_{number:04d}{index}",
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }
        for index, call in enumerate(move)
    ]


def _answer_responses(body: Json, move: Move, number: int) -> Json:
    usage = {
        "input_tokens": USAGE[0],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": USAGE[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sum(USAGE),
    }
    return {
        "id": f"resp_{number:04d}",
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": body["model"],
        "output": _output_items(move, number),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "usage": usage,
    }


def _response_events(body: Json, move: Move, number: int) -> Iterator[Event]:
    whole = _answer_responses(body, move, number)
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    parts: list[Json] = [{"type": f"response.{kind}", "response": started} for kind in ("created", "in_progress")]
    for index, item in enumerate(whole["output"]):
        parts += _item_events(item, index)
    parts.append({"type": "response.completed", "response": whole})
    for sequence, part in enumerate(parts):
        yield part["type"], {**part, "sequence_number": sequence}


def _item_events(item: Json, index: int) -> list[Json]:
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "message":
        content = item["content"][0]
        empty = {**item, "content": [], "status": "in_progress"}
        inside = {**place, "content_index": 0}
        named = "response.output_text"
        middle = [{"type": "response.content_part.added", **inside, "part": {**content, "text": ""}}]
        middle += [
            {"type": f"{named}.delta", **inside, "delta": piece, "logprobs": []} for piece in _pieces(content["text"])
        ]
        middle.append({"type": f"{named}.done", **inside, "text": content["text"], "logprobs": []})
        middle.append({"type": "response.content_part.done", **inside, "part": content})
    else:
        empty = {**item, "arguments": "", "status": "in_progress"}
        named = "response.function_call_arguments"
        middle = [{"type": f"{named}.delta", **place, "delta": piece} for piece in _pieces(item["arguments"])]
        middle.append({"type": f"{named}.done", **place, "name": item["name"], "arguments": item["arguments"]})
    return [
        {"type": "response.output_item.added", "output_index": index, "item": empty},
        *middle,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


# --- Anthropic, messages -----------------------------------------------------------------------------------------


def _read_messages(body: Json) -> Asked:
    reading = _Reading()
    reading.message("system", body.get("system"))
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_use":
                reading.names[block["id"]] = block["name"]
            elif block["type"] == "tool_result":
                reading.result(block["tool_use_id"], block.get("content"))
        texts = [block for block in blocks if block["type"] == "text"]
        if texts:
            reading.message(message["role"], texts)
    return reading.asked([tool["name"] for tool in body.get("tools") or ()])


def _answer_messages(body: Json, move: Move, number: int) -> Json:
    content: list[Json] = [{"type": "text", "text": move}] if isinstance(move, str) else []
    for index, call in enumerate(_calls(move)):
        used = {"type": "tool_use", "id": f"toolu_{number:04d}{index}", "name": call.name}
        content.append({**used, "input": call.arguments})
    return {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "tool_use" if _calls(move) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": USAGE[0], "output_tokens": USAGE[1]},
    }


def _message_events(body: Json, move: Move, number: int) -> Iterator[Event]:
    whole = _answer_messages(body, move, number)
    begun = {**whole, "content": [], "stop_reason": None}
    yield _named({"type": "message_start", "message": begun})
    yield _named({"type": "ping"})
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": p} for p in _pieces(block["text"])]
        else:
            pieces = _pieces(json.dumps(block["input"]))
            empty, deltas = {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in pieces]
        yield _named({"type": "content_block_start", "index": index, "content_block": empty})
        for delta in deltas:
            yield _named({"type": "content_block_delta", "index": index, "delta": delta})
        yield _named({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield _named({"type": "message_delta", "delta": ended, "usage": {"output_tokens": USAGE[1]}})
    yield _named({"type": "message_stop"})


def _named(data: Json) -> Event:
    return data["type"], data


DIALECTS = {
    "/v1/chat/completions": Dialect(_read_chat, _answer_chat, _chat_events),
    "/v1/responses": Dialect(_read_responses, _answer_responses, _response_events),
    "/v1/messages": Dialect(_read_messages, _answer_messages, _message_events),
}
