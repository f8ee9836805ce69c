"""A conversation while it is put together, message by message."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

_SYSTEM = ("system", "developer")
_TEXTS = ("text", "input_text", "output_text", "refusal")
_NOTHING = ("", "null", "None")
_UNSAID = frozenset({"thinking", "redacted_thinking", "reasoning", "thought"})
_MEDIA = {
    "image_url": "image",
    "input_image": "image",
    "image": "image",
    "input_audio": "audio",
    "audio": "audio",
    "input_file": "file",
    "file": "file",
    "document": "file",
    "inlineData": "file",
    "inline_data": "file",
    "fileData": "file",
    "file_data": "file",
}


class Talk:
    """Collects what is said, in the order in which it stands."""

    def __init__(self) -> None:
        self.system: list[str] = []
        self._messages: list[dict[str, Any]] = []
        self._calls: list[tuple[Any, Any]] = []
        """Id and tool of every call so far."""
        self._waiting: list[int] = []

    def say(self, role: Any, content: Any) -> None:
        """A text or parts. What one role says in several messages is one."""
        texts, media = text_of(content), list(_media(content))
        if role in _SYSTEM:
            self.system += [texts] if texts else []
        elif texts or media:
            message = self._of("assistant" if role in ("assistant", "model") else "user")
            if texts:
                message["content"] = f"{message['content']}\n{texts}" if message.get("content") else texts
            if media:
                message.setdefault("media", []).extend(media)

    def call(self, id: Any, tool: Any, arguments: Any) -> None:
        """A call that the model wants."""
        self._of("assistant").setdefault("tool_calls", []).append({"name": tool, "arguments": _arguments(arguments)})
        self._waiting.append(len(self._calls))
        self._calls.append((id, tool))

    def result(self, id: Any, content: Any, *, name: Any = None) -> None:
        """What a tool answered: to the call of that id, else to one of the tool, else to the next without an answer."""
        number = next((at for at in self._waiting if id and self._calls[at][0] == id), None)
        if number is None:
            number = next((at for at in self._waiting if name and self._calls[at][1] == name), None)
        if number is None and self._waiting:
            number = self._waiting[0]
        if number is not None:
            self._waiting.remove(number)
        self._messages.append({"role": "tool", "call": number, "content": _result(content)})

    def messages(self) -> list[dict[str, Any]]:
        """Results of calls that were made at once stand in the order of the calls."""
        found: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        for message in self._messages:
            if message["role"] == "tool":
                results.append(message)
            else:
                found += [*_in_order(results), message]
                results = []
        return [*found, *_in_order(results)]

    def _of(self, role: str) -> dict[str, Any]:
        if not self._messages or self._messages[-1]["role"] != role:
            self._messages.append({"role": role})
        return self._messages[-1]


def _in_order(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(results, key=lambda one: -1 if one["call"] is None else one["call"])


def text_of(content: Any) -> str:
    """The texts of a content as one, without blanks around it."""
    return "\n".join(text for one in _texts(content) if (text := one.strip()))


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from _texts(part)
    elif isinstance(content, dict):
        kind = content.get("type", "text")
        text = content.get("refusal" if kind == "refusal" else "text")
        if kind in _TEXTS and isinstance(text, str):
            yield text


def _media(content: Any) -> Iterator[str]:
    """What is no text, by kind: the bytes of an image a tracer seldom keeps."""
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict) or (part.get("type", "text") in _TEXTS and "text" in part):
            continue
        kind = str(part.get("type") or next(iter(part), ""))
        if kind not in _UNSAID and kind not in _TEXTS:
            yield _by_mime(part.get(kind)) or _MEDIA.get(kind, kind)


def _by_mime(data: Any) -> str | None:
    mime = data.get("mimeType", data.get("mime_type")) if isinstance(data, dict) else None
    kind = mime.partition("/")[0] if isinstance(mime, str) else None
    return kind if kind in ("image", "audio") else None


def _arguments(arguments: Any) -> Any:
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(arguments)
    return arguments


def _result(content: Any) -> Any:
    """JSON as the value that it says, however it was laid out, and nothing as None; else the text."""
    if isinstance(content, list) and all(isinstance(part, dict) and "type" in part for part in content):
        media = list(_media(content))
        if media:
            return [text_of(content), *media]
        content = text_of(content)
    if not isinstance(content, str):
        return content
    text = content.strip()
    if text[:1] in ("{", "[", '"'):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(text)
            return value.strip() if isinstance(value, str) else value
    return None if text in _NOTHING else text
