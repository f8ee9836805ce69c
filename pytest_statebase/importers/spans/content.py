"""What an agent was handed and gave back, in whatever wrapping a tracer keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from ...errors import ImportFileError
from ...values import ABSENT
from ..files import inside
from ..messages import Message, parse_message

_INPUTS = ("input", "user_input", "question", "query", "prompt", "message", "text", "content", "input_str", "task")
_OUTPUTS = (
    "output",
    "answer",
    "response",
    "reply",
    "result",
    "text",
    "content",
    "message",
    "final_output",
    "output_text",
)
_LISTS = ("messages", "input", "output", "outputs", "inputs", "data")
_DEPTH = 4


def messages_of(value: Any, where: str) -> list[Message]:
    """The messages of a generation's input or output; none where the tracer kept nothing.

    value: a list of chat messages in OpenAI's form, one message, or ABSENT.
    Raises ImportFileError for what is no message.
    """
    if value is ABSENT or value is None:
        return []
    raw = value if isinstance(value, list) else [value]
    return merged([parse_message(item, inside(where, index)) for index, item in enumerate(raw)])


def merged(messages: list[Message]) -> list[Message]:
    """The messages, those of an assistant that are one answer made one: providers give each call an item of its own."""
    found: list[Message] = []
    for message in messages:
        last = found[-1] if found else None
        one = last is not None and last.role == message.role == "assistant" and (last.requests or message.requests)
        if not one or last is None:
            found.append(message)
            continue
        parts = [*(last.parts or ()), *(message.parts or ())] or None
        reasoning = "\n\n".join(text for text in (last.reasoning, message.reasoning) if text) or None
        found[-1] = Message(
            "assistant",
            last.where,
            parts,
            [*last.requests, *message.requests],
            name=last.name,
            at=last.at,
            reasoning=reasoning,
            extra={**last.extra, **message.extra},
        )
    return found


def spoken(value: Any, role: Literal["user", "assistant"]) -> str | None:
    """The one text that an agent was handed (`user`) or gave back (`assistant`); None where there is none or several.

    value: a text, JSON of anything else, chat messages (the last of that role), or a mapping with one of the keys that
    frameworks use (`input`, `question`, `output`, …).
    """
    return _spoken(value, role, _DEPTH)


def _spoken(value: Any, role: str, depth: int) -> str | None:
    if depth == 0:
        return None
    if isinstance(value, str):
        inner = structure(value)
        return value or None if inner is value else _spoken(inner, role, depth - 1)
    if isinstance(value, Mapping):
        return _in_mapping(value, role, depth)
    if isinstance(value, list):
        return _in_list(value, role, depth)
    return None


def times_spoken(value: Any, role: Literal["user", "assistant"]) -> int:
    """How many messages of a role chat messages hold; 0 for anything else."""
    value = structure(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return max((times_spoken(value[key], role) for key in _LISTS if isinstance(value.get(key), list)), default=0)
    return (
        sum(isinstance(item, Mapping) and item.get("role") == role for item in value) if isinstance(value, list) else 0
    )


def _in_mapping(value: Mapping[str, Any], role: str, depth: int) -> str | None:
    if isinstance(value.get("role"), str):
        return _in_list([value], role, depth)
    if value.keys() == {"args", "kwargs"}:
        return _in_call(value["args"], value["kwargs"], role, depth)
    for key in _LISTS:
        if isinstance(value.get(key), Mapping | list):
            found = _spoken(value[key], role, depth - 1)
            if found is not None:
                return found
    texts = [value[key] for key in (_INPUTS if role == "user" else _OUTPUTS) if isinstance(value.get(key), str)]
    return _spoken(texts[0], role, depth - 1) if len(set(texts)) == 1 else None


def _in_call(args: Any, kwargs: Any, role: str, depth: int) -> str | None:
    """Of a decorated function: its one argument."""
    given = [*(args if isinstance(args, list) else []), *(kwargs.values() if isinstance(kwargs, Mapping) else [])]
    if len(given) == 1:
        return _spoken(given[0], role, depth - 1)
    return _in_mapping(kwargs, role, depth - 1) if isinstance(kwargs, Mapping) and depth > 1 else None


def _in_list(value: list[Any], role: str, depth: int) -> str | None:
    for item in reversed(value):
        if not isinstance(item, Mapping):
            return None
        if item.get("role") == role:
            return _message_text(item, depth)
    return None


def _message_text(raw: Mapping[str, Any], depth: int) -> str | None:
    try:
        message = parse_message(raw, "")
    except ImportFileError:
        return None
    return message.text or None


def structure(text: str) -> Any:
    """The object or list of which a text is the JSON; the text itself where it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
