"""Chunks of a streamed answer → the message they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def joined(items: list[Any]) -> dict[str, Any] | None:
    """The message of chat completion chunks (`choices[0].delta`), in OpenAI's form; None for any other list."""
    if not items or not all(isinstance(item, Mapping) and isinstance(item.get("choices"), list) for item in items):
        return None
    deltas = list(_deltas(items))
    if not deltas:
        return None
    message: dict[str, Any] = {"content": "".join(_texts(deltas, "content")) or None}
    message["reasoning_content"] = "".join(_texts(deltas, "reasoning_content"))
    calls: dict[Any, dict[str, Any]] = {}
    for delta in deltas:
        for part in delta.get("tool_calls") or ():
            if isinstance(part, Mapping):
                _add(calls.setdefault(_index(part, len(calls)), {"id": None, "name": "", "arguments": ""}), part)
    message["tool_calls"] = list(calls.values())
    return message


def _deltas(items: list[Any]) -> Iterator[Mapping[str, Any]]:
    for item in items:
        first = item["choices"][0] if item["choices"] else None
        delta = first.get("delta") if isinstance(first, Mapping) else None
        if isinstance(delta, Mapping):
            yield delta


def _texts(deltas: list[Mapping[str, Any]], key: str) -> Iterator[str]:
    return (delta[key] for delta in deltas if isinstance(delta.get(key), str))


def _index(part: Mapping[str, Any], default: int) -> int:
    index = part.get("index")
    return index if isinstance(index, int) else default


def _add(call: dict[str, Any], part: Mapping[str, Any]) -> None:
    call["id"] = call["id"] or part.get("id")
    function = part.get("function")
    for key in ("name", "arguments"):
        text = function.get(key) if isinstance(function, Mapping) else None
        call[key] += text if isinstance(text, str) else ""
