"""Messages of inspect_ai as OpenAI has them, attachments in their places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ATTACHMENT = re.compile(r"attachment://([0-9a-f]{32})")
_IMAGES = ("image",)
_CALLS = frozenset({"tool_use", "tool_result"})


class Messages:
    """Reads the messages of one sample.

    attachments: long texts that the log keeps once, by their hash.
    """

    def __init__(self, attachments: Any) -> None:
        self._attachments = attachments if isinstance(attachments, Mapping) else {}
        self.lost = 0
        """Attachments that are not in the log."""

    def all(self, messages: Any) -> list[dict[str, Any]]:
        """A list of messages; a text is one of a user."""
        if isinstance(messages, str):
            return [{"role": "user", "content": self.whole(messages)}]
        messages = messages if isinstance(messages, list) else []
        return [self.one(message) for message in messages if isinstance(message, Mapping)]

    def one(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """One message; its reasoning under `reasoning`."""
        content: Any = message.get("content")
        reasoning: list[str] = []
        if isinstance(content, list):
            thoughts = (part for part in content if _is(part, "reasoning"))
            reasoning = [str(part.get("reasoning") or part.get("summary") or "") for part in thoughts]
            content = [self._part(part) for part in content if not _is(part, "reasoning")]
        made: dict[str, Any] = {"role": message.get("role"), "content": self.whole(content)}
        if any(reasoning):
            made["reasoning"] = "\n\n".join(filter(None, map(self.whole, reasoning)))
        if isinstance(message.get("tool_calls"), list):
            made["tool_calls"] = [self._call(call) for call in message["tool_calls"] if isinstance(call, Mapping)]
        if message.get("role") == "tool":
            made |= {"tool_call_id": message.get("tool_call_id"), "name": message.get("function")}
        return made

    def whole(self, value: Any) -> Any:
        """A value with its attachments in it."""
        if isinstance(value, str):
            return _ATTACHMENT.sub(self._attached, value) if "attachment://" in value else value
        if isinstance(value, Mapping):
            return {key: self.whole(item) for key, item in value.items()}
        return [self.whole(item) for item in value] if isinstance(value, list) else value

    def _attached(self, found: re.Match[str]) -> str:
        text = self._attachments.get(found[1])
        if not isinstance(text, str):
            self.lost += 1
            return found[0]
        return text

    def _part(self, part: Any) -> Any:
        if not isinstance(part, Mapping):
            return part
        kind = part.get("type")
        if kind == "text":
            return {"type": "text", "text": part.get("text", "")}
        if kind in _IMAGES:
            return {"type": "image_url", "image_url": {"url": part.get("image")}}
        if kind in _CALLS:
            return {**part, "type": f"server_{kind}"}  # what the provider ran itself
        return dict(part)

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        function, arguments = call.get("function"), self.whole(call.get("arguments"))
        if isinstance(function, Mapping):
            return {"id": call.get("id"), "function": self.whole(function)}
        return {"id": call.get("id"), "function": {"name": function, "arguments": arguments}}


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, Mapping) and part.get("type") == kind
