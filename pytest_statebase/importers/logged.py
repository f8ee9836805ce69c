"""Values as tracers log them: JSON in JSON, Python's repr, errors as text, times without a zone."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..values import ABSENT
from .dialects import chat_messages
from .dialects.text import NOT_JSON, from_json
from .messages import time_text

_ERROR = re.compile(
    r"\A(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*?(?:Error|Exception|Exit|Interrupt|Timeout|Warning|Group))\b"
)
_TRACEBACK = re.compile(r"(?:\n\s*)?\n?Traceback \(most recent call last\):")
_LONGEST_REPR = 1_000_000


def decoded(value: Any) -> Any:
    """The value that a JSON text holds, or what it stood for after two layers of it; anything else as it stands."""
    for _ in range(3):
        inner = from_json(value) if isinstance(value, str) else NOT_JSON
        if inner is NOT_JSON:
            return value
        value = inner
    return value


def arguments(value: Any) -> Any:
    """Of a tool: the arguments, also where they were logged as JSON or as Python prints a dict."""
    value = decoded(value)
    if isinstance(value, str) and value.startswith("{") and len(value) <= _LONGEST_REPR:
        try:
            found = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return value
        return found if isinstance(found, dict) else value
    return {} if value is None else value


def result(value: Any) -> Any:
    """Of a tool: what it gave. A text of JSON with line breaks in it was written by the tool itself and stays one."""
    if isinstance(value, str) and not value.startswith('"') and "\n" in value:
        return value
    return decoded(value)


def messages(value: Any, *, role: str) -> Any:
    """Of a generation: its chat messages; ABSENT for nothing, one message with the JSON text for an unknown form."""
    if value is None or value is ABSENT:
        return ABSENT
    found = chat_messages(value, role=role)
    if found is None:
        try:
            return [{"role": role, "content": json.dumps(value, ensure_ascii=False)}]
        except (TypeError, ValueError, RecursionError):
            return ABSENT
    return found


def handed(value: Any, role: str) -> Any:
    """What an agent or a step was handed (`user`) or gave back (`assistant`): its messages where it holds some."""
    value = decoded(value)
    if not isinstance(value, (list, Mapping)):
        return value
    found = chat_messages(value, role=role)
    return found or value


def tool_message(value: Any) -> Mapping[str, Any] | None:
    """The message of the role `tool` that a framework's tool gave instead of its bare result; None for any other."""
    value = decoded(value)
    if not isinstance(value, Mapping):
        return None
    kwargs = value.get("kwargs")
    fields = kwargs if "lc" in value and isinstance(kwargs, Mapping) else value
    if "tool_call_id" not in fields or "content" not in fields:
        return None
    found = chat_messages({**fields, "role": "tool"}, role="tool")
    return found[0] if found is not None and len(found) == 1 else None


def error_of(text: Any) -> dict[str, Any] | None:
    """`{type, message}` of an error's text (`ValueError('…')Traceback …`, `ValueError: …`); None for nothing."""
    if isinstance(text, Mapping):
        text = text.get("message", text.get("error"))
    if not isinstance(text, str) or not text.strip():
        return None
    said = _TRACEBACK.split(text, maxsplit=1)[0].strip() or text.strip().rpartition("\n")[2]
    kind = _ERROR.match(said)
    if kind is None:
        return {"type": "Exception", "message": said}
    rest = said[kind.end() :].strip()
    if rest.startswith("(") and rest.endswith(")"):
        try:
            rest = str(ast.literal_eval(rest))
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            rest = rest[1:-1]
    return {"type": kind["type"].rpartition(".")[2], "message": rest.removeprefix(":").strip()}


def utc(value: Any) -> str | None:
    """A time as ISO text, in UTC where it names no zone; None for none."""
    text = time_text(value)
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()
