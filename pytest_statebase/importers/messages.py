"""One chat message, OpenAI style, in the one form that the rest of the import works with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from ..errors import ImportFileError
from ..ledger import Content
from ..values import ABSENT
from .files import inside

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})
_OTHER_PARTS = {
    "image_url": "image",
    "input_image": "image",
    "input_audio": "audio",
    "output_audio": "audio",
    "input_file": "file",
}
_CALL_PARTS = frozenset({"tool_use", "tool_result", "tool_call", "function_call", "tool-call", "tool-result"})
_TIMES = ("timestamp", "created_at", "at")
_REASONS = ("reasoning", "reasoning_content")
_KNOWN = frozenset(
    {"role", "content", "name", "tool_calls", "function_call", "tool_call_id", "id", "refusal", "audio", "function"}
    | {"is_error", "error", "status", *_TIMES, *_REASONS}
)


@dataclass(frozen=True, slots=True)
class Request:
    """A call as an assistant's message asks for it."""

    tool: str
    arguments: Any
    id: str | None


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `where` names it for errors: file and place in the file."""

    role: Role
    where: str
    parts: list[Content] | None
    """None where the message has no content (`""` is one text part), and for results."""
    requests: list[Request] = field(default_factory=list)
    id: str | None = None
    """Of a result: the call that it answers."""
    name: str | None = None
    at: str | None = None
    is_error: bool = False
    result: Any = ABSENT
    """Of a tool: what came back, a text exactly as it stood; ABSENT where the message has no content at all."""
    reasoning: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Everything else that the message says, but for nulls."""

    @property
    def text(self) -> str | None:
        """The text parts as one text; None where there is none."""
        texts = [part["content"] for part in self.parts or () if part["type"] == "text"]
        return "".join(texts) if texts else None


def parse_message(raw: Any, where: str) -> Message:
    """Read one message.

    raw: as it stood in the file, any JSON value.
    where: file and place, for errors.
    Raises ImportFileError for what is no chat message.
    """
    if not isinstance(raw, Mapping):
        raise _error("is no chat message but " + _kind(raw), where, "A message is a mapping with `role` and `content`.")
    role = _role(raw, where)
    content = raw.get("content")
    if content is None and role == "assistant":
        content = _spoken(raw)
    return Message(
        role=role,
        where=where,
        parts=None if role == "tool" else _parts(content, where),
        requests=_requests(raw, where) if role == "assistant" else [],
        id=_text_or_none(raw.get("tool_call_id", raw.get("id"))),
        name=_text_or_none(raw.get("name")),
        at=_first_time(raw),
        is_error=raw.get("is_error") is True or raw.get("error") is True or raw.get("status") == "error",
        result=_result(content) if role == "tool" and "content" in raw else ABSENT,
        reasoning=next((raw[key] for key in _REASONS if isinstance(raw.get(key), str) and raw[key]), None),
        extra={key: value for key, value in raw.items() if key not in _KNOWN and value is not None},
    )


def _role(raw: Mapping[str, Any], where: str) -> Role:
    role = raw.get("role")
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        found = "has no `role`" if role is None else f"has the unknown role {role!r}"
        raise _error(found, where, f"Known roles: {', '.join(_ROLES)}.")
    return known


def _spoken(raw: Mapping[str, Any]) -> Any:
    """What an answer without content says elsewhere: its refusal, or the words of its audio."""
    audio = raw.get("audio")
    return raw.get("refusal") or (audio.get("transcript") if isinstance(audio, Mapping) else None)


def _parts(content: Any, where: str) -> list[Content] | None:
    if content is None:
        return None
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    if isinstance(content, Mapping):
        return [_part(content, inside(where, "content"))]
    if isinstance(content, list):
        return [_part(part, inside(inside(where, "content"), index)) for index, part in enumerate(content)]
    raise _error(f"has a content that is {_kind(content)}", where, "Content is a text, a list of parts, or null.")


def _part(part: Any, where: str) -> Content:
    if isinstance(part, str):
        return {"type": "text", "content": part}
    kind = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(kind, str):
        raise _error(
            "is no part of a message", where, 'A part is a text or a mapping like {"type": "text", "text": …}.'
        )
    if kind in _CALL_PARTS:
        remedy = "Convert it to OpenAI's form: calls in `tool_calls`, results as messages of the role `tool`."
        raise _error(f"is a call or a result inside the content ({kind})", where, remedy)
    if kind in _TEXT_PARTS:
        return {"type": "text", "content": _part_text(part, kind, where)}
    rest = {key: value for key, value in part.items() if key != "type"}
    value = next(iter(rest.values())) if len(rest) == 1 else rest
    return {"type": _OTHER_PARTS.get(kind, kind), "content": value}


def _part_text(part: Mapping[str, Any], kind: str, where: str) -> str:
    text = _text_in(part, kind)
    if text is None:
        raise _error("is a text part without text", where, 'A text part is {"type": "text", "text": …}.')
    return text


def _text_in(part: Mapping[str, Any], kind: str) -> str | None:
    text = part.get("refusal" if kind == "refusal" else "text", part.get("content"))
    if isinstance(text, Mapping):
        text = text.get("value")
    return text if isinstance(text, str) else None


def _result(content: Any) -> Any:
    """A text exactly as it stood; text parts as one text; anything else as it stood."""
    if not isinstance(content, list) or not content:
        return content
    texts = [_text_of(part) for part in content]
    return content if None in texts else "".join(text for text in texts if text is not None)


def _text_of(part: Any) -> str | None:
    kind = part.get("type") if isinstance(part, Mapping) else None
    return _text_in(part, kind) if isinstance(kind, str) and kind in _TEXT_PARTS else None


def _requests(raw: Mapping[str, Any], where: str) -> list[Request]:
    calls = raw.get("tool_calls") or []
    if not isinstance(calls, list):
        raise _error(f"has `tool_calls` that are {_kind(calls)}", where, "`tool_calls` is a list of calls.")
    found = [_request(call, inside(inside(where, "tool_calls"), index)) for index, call in enumerate(calls)]
    legacy = raw.get("function_call")
    if legacy is not None and not found:
        found.append(_request(legacy, inside(where, "function_call")))
    return found


def _request(call: Any, where: str) -> Request:
    inner = call
    if isinstance(call, Mapping):
        inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), Mapping)), call)
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(name, str) or not name:
        raise _error("is a call without the name of its tool", where, "A call is {id, function: {name, arguments}}.")
    arguments = next((inner[key] for key in ("arguments", "args", "input") if key in inner), None)
    return Request(name, _arguments(arguments), _text_or_none(call.get("id")))


def _arguments(arguments: Any) -> Any:
    """A mapping where the text is the JSON of one; a text that is not stays a text; nothing is no arguments."""
    if arguments is None:
        return {}
    if not isinstance(arguments, str):
        return arguments
    if not arguments.strip():
        return {}
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments


def _first_time(raw: Mapping[str, Any]) -> str | None:
    return next((time for time in (time_text(raw.get(key)) for key in _TIMES) if time is not None), None)


def time_text(value: Any) -> str | None:
    """A time as text: a text as it stands (with or without a zone), seconds or milliseconds since 1970 in UTC."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return None


def _text_or_none(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return names.get(type(value), type(value).__name__)


def _error(what: str, where: str, remedy: str) -> ImportFileError:
    return ImportFileError(what, where=where, remedy=remedy)
