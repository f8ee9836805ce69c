"""Calls of models as messages: what was asked, and what the model said, in whichever API, at once or in a stream."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..engine.web.deltas import is_stream
from ..engine.web.talk import reply_of, talk_of
from ..wire.exchange import Request, Response
from .jsonsafe import json_safe

Said = dict[str, Any]
"""A message: `role`, `content` and `tool_calls` (`{name, arguments}`), where there are any."""

MESSAGE_LIMIT = 4_000
"""Characters of one message that a row keeps."""
_MESSAGES = 40
"""Messages of one call that a row keeps, the last ones."""


def asked_by(request: Request) -> dict[str, Any] | None:
    """A request's `model`, `system`, `messages`, `tools` (their names) and `parameters`; None where it has no messages.

    Of many messages the last are there, and `left` says how many are not.
    """
    talk = talk_of(request)
    messages = [piece.value for piece in talk.messages]
    if not messages or not all(isinstance(message, dict) and "role" in message for message in messages):
        return None
    system = "\n".join(str(piece.value) for piece in talk.system)
    told = {"model": talk.model, "system": system, "tools": list(talk.tools), "parameters": talk.parameters}
    row = {key: json_safe(value) for key, value in told.items() if value}
    row["messages"] = [json_safe(message, limit=MESSAGE_LIMIT) for message in messages[-_MESSAGES:]]
    return row | ({"left": len(messages) - _MESSAGES} if len(messages) > _MESSAGES else {})


def said_by(answer: Response, request: Request) -> Said | None:
    """The message in a model's answer; None where none can be read."""
    reply = None if is_stream(answer) else reply_of(answer, request)
    if reply is not None:
        return _message(reply.text, [(call.name, call.arguments) for call in reply.calls])
    with contextlib.suppress(TypeError, KeyError, IndexError, AttributeError):
        return _streamed(list(_events(answer.body)))
    return None


def _message(text: str | None, calls: list[tuple[str, str]]) -> Said | None:
    said: Said = {"role": "assistant"}
    if text:
        said["content"] = text
    if calls:
        said["tool_calls"] = [{"name": name, "arguments": _value(arguments)} for name, arguments in calls]
    return said if len(said) > 1 else None


def _value(arguments: str) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(arguments)
    return arguments


def _events(body: bytes) -> Iterator[Mapping[str, Any]]:
    """The JSON mappings of server-sent events, of lines that are JSON themselves, or of one list."""
    for line in body.decode("utf-8", "replace").splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(line.removeprefix("data:"))
            yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict))


def _streamed(events: list[Mapping[str, Any]]) -> Said | None:
    texts: list[str] = []
    calls: dict[Any, list[str]] = {}
    for event in events:
        for place, name, text in _pieces(event):
            if place is None:
                texts.append(text)
            else:
                call = calls.setdefault(place, ["", ""])
                call[0] += name
                call[1] += text
    return _message("".join(texts), [(name, arguments) for name, arguments in calls.values()])


def _pieces(event: Mapping[str, Any]) -> Iterator[tuple[Any, str, str]]:
    """What an event adds: `(None, "", text)`, or the place of a call with more of its name and arguments."""
    kind = event.get("type", "")
    for choice in (event.get("choices") or ())[:1]:
        delta = choice.get("delta") or {}
        yield None, "", delta.get("content") or ""
        for call in delta.get("tool_calls") or ():
            made = call.get("function") or {}
            yield call.get("index", 0), made.get("name") or "", made.get("arguments") or ""
    for candidate in (event.get("candidates") or ())[:1]:
        for part in candidate["content"].get("parts") or ():
            made = part.get("functionCall")
            yield (id(part), made["name"], json.dumps(made.get("args"))) if made else (None, "", part.get("text") or "")
    if kind == "content_block_start" and event["content_block"]["type"] == "tool_use":
        yield event["index"], event["content_block"]["name"], ""
    elif kind == "content_block_delta":
        delta = event["delta"]
        is_call = "partial_json" in delta
        yield event["index"] if is_call else None, "", delta.get("partial_json") or delta.get("text") or ""
    elif kind == "response.output_text.delta":
        yield None, "", event["delta"]
    elif kind == "response.output_item.done" and event["item"]["type"] == "function_call":
        yield event["output_index"], event["item"]["name"], event["item"]["arguments"]
