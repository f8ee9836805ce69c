"""A reply as the events of a stream, in whichever API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from .answers import WRITERS, Reply, chat_message, chat_usage
from .apis import Api

Event: TypeAlias = tuple[str | None, Any]
"""The name of a server-sent event (None: it has none) and its data."""
_PIECE = 24
"""Characters of a text that one event tells."""


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


def _chat(reply: Reply, body: Mapping[str, Any]) -> list[Event]:
    head = {"id": reply.id, "object": "chat.completion.chunk", "created": reply.created, "model": reply.model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    events = [chunk({"role": "assistant", "content": "" if reply.text is not None else None})]
    events += [chunk({"content": piece}) for piece in _pieces(reply.text or "")]
    for at, call in enumerate(chat_message(reply).get("tool_calls", ())):
        function = {"name": call["function"]["name"], "arguments": ""}
        events.append(chunk({"tool_calls": [{**call, "index": at, "function": function}]}))
        for piece in _pieces(call["function"]["arguments"]):
            events.append(chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}))
    events.append(chunk({}, reply.finish))
    options = body.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage"):
        events.append((None, {**head, "choices": [], "usage": chat_usage(reply)}))
    return [*events, (None, "[DONE]")]


def _responses(reply: Reply, body: Mapping[str, Any]) -> list[Event]:
    whole = WRITERS["responses"](reply, body)
    started = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    parts: list[dict[str, Any]] = [
        {"type": f"response.{kind}", "response": started} for kind in ("created", "in_progress")
    ]
    for index, item in enumerate(whole["output"]):
        parts += _item(item, index)
    parts.append({"type": f"response.{whole['status']}", "response": whole})
    return [(part["type"], {**part, "sequence_number": number}) for number, part in enumerate(parts)]


def _item(item: dict[str, Any], index: int) -> list[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "message":
        content = item["content"][0]
        inside, named = {**place, "content_index": 0}, "response.output_text"
        empty = {**item, "content": [], "status": "in_progress"}
        middle = [{"type": "response.content_part.added", **inside, "part": {**content, "text": ""}}]
        middle += [
            {"type": f"{named}.delta", **inside, "delta": piece, "logprobs": []} for piece in _pieces(content["text"])
        ]
        middle.append({"type": f"{named}.done", **inside, "text": content["text"], "logprobs": []})
        middle.append({"type": "response.content_part.done", **inside, "part": content})
    else:
        named = "response.function_call_arguments"
        empty = {**item, "arguments": "", "status": "in_progress"}
        middle = [{"type": f"{named}.delta", **place, "delta": piece} for piece in _pieces(item["arguments"])]
        middle.append({"type": f"{named}.done", **place, "name": item["name"], "arguments": item["arguments"]})
    return [
        {"type": "response.output_item.added", "output_index": index, "item": empty},
        *middle,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _messages(reply: Reply, body: Mapping[str, Any]) -> list[Event]:
    whole = WRITERS["messages"](reply, body)
    parts: list[dict[str, Any]] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        parts += _block(block, index)
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    parts.append({"type": "message_delta", "delta": ended, "usage": whole["usage"]})
    parts.append({"type": "message_stop"})
    return [(part["type"], part) for part in parts]


def _block(block: dict[str, Any], index: int) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        empty = {**block, "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
    else:
        arguments = json.dumps(block["input"], ensure_ascii=False)
        empty = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(arguments)]
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _gemini(reply: Reply, body: Mapping[str, Any]) -> list[Event]:
    """One event holds it all."""
    return [(None, WRITERS["gemini"](reply, body))]


EVENTS: Mapping[Api, Callable[[Reply, Mapping[str, Any]], list[Event]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}
"""Streamed answers, given the reply and the body of the request."""
