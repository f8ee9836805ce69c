"""The turns of a session as chat messages, calls and results included."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..ledger import Said, ToolCalled, Turn, input_text
from ..values import ABSENT


def chat_messages(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """OpenAI-style messages: `{role, content}`, with `tool_calls` and tool results where calls were made."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        inputs = turn.input if isinstance(turn.input, list) else [turn.input]
        messages += [{"role": "user", "content": input_text(content)} for content in inputs if content is not None]
        messages += _calls(turn)
        if turn.output is not ABSENT and turn.output is not None:
            messages.append({"role": "assistant", "content": turn.output.get("content")})
    return messages


def _calls(turn: Turn) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    step: int | None = None
    number = 0
    for event in turn.events:
        if isinstance(event, Said):
            messages.append({"role": "assistant", "content": event.text})
            step = None
        elif isinstance(event, ToolCalled) and event.during is None:
            number += 1
            identity = event.id or f"call_{turn.number}_{number}"
            asked = {"name": event.tool, "arguments": _json(event.arguments)}
            call = {"id": identity, "type": "function", "function": asked}
            if event.step is not None and event.step == step:
                _last_asking(messages)["tool_calls"].append(call)
            else:
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            step = event.step
            messages.append({"role": "tool", "tool_call_id": identity, "name": event.tool, "content": _answer(event)})
    return messages


def _last_asking(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return next(message for message in reversed(messages) if "tool_calls" in message)


def _answer(call: ToolCalled) -> str:
    if call.error is not None:
        return f"{call.error.get('type', 'Error')}: {call.error.get('message', '')}"
    if call.result is ABSENT:
        return ""
    return call.result if isinstance(call.result, str) else _json(call.result)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
