"""Messages that were logged as text: JSON in JSON, transcripts, and what Python prints of an object."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, Final

from .roles import role_of

NOT_JSON: Final = object()
_LONGEST = 64 * 1024 * 1024
_LINE = re.compile(r"^(system|developer|user|human|assistant|ai|tool|function): ?", re.MULTILINE | re.IGNORECASE)
_PRINTED = re.compile(r"\A(?:Message\()?(?=role=')")
_FIELD = re.compile(r"[\s,]*([A-Za-z_]\w*)=")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_PLAIN = re.compile(r"[^\s,()\[\]{}]+")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


def from_json(text: str) -> Any:
    """The list, mapping or text that a JSON text holds; `NOT_JSON` for anything else."""
    head = text.lstrip()[:1]
    if head not in ("{", "[", '"') or len(text) > _LONGEST:
        return NOT_JSON
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return NOT_JSON
    return value


def transcript(text: str) -> list[dict[str, Any]] | None:
    """The messages of `user: …` / `assistant: …` text, calls as Python prints them as `tool_calls`; None where it does
    not begin with a role.
    """
    marks = list(_LINE.finditer(text))
    if not marks or marks[0].start() != 0:
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    messages = []
    for mark, end in zip(marks, ends, strict=True):
        said = text[mark.end() : end]
        said = said.removesuffix("\n") if end < len(text) else said
        role = role_of(mark[1])
        calls = _printed_calls(said) if role == "assistant" else []
        content = None if calls or (role == "assistant" and said == "None") else said
        messages.append({"role": role, "content": content} | ({"tool_calls": calls} if calls else {}))
    return messages


def _printed_calls(said: str) -> list[Any]:
    found = _literal(said) if said.startswith("[{'") else None
    if not isinstance(found, list) or not all(isinstance(item, dict) and "name" in item for item in found):
        return []
    return found


def printed(text: str) -> dict[str, Any] | None:
    """The fields of a message as Python printed it (`role='user' content='…' tool_calls=None …`); None for no such."""
    start = _PRINTED.match(text)
    if start is None:
        return None
    fields: dict[str, Any] = {}
    position = start.end()
    while (name := _FIELD.match(text, position)) is not None:
        end = _value_end(text, name.end())
        if end == name.end():
            break
        value = _literal(text[name.end() : end])
        if value is not NOT_JSON:
            fields[name[1]] = value
        position = end
    return fields


def _value_end(text: str, position: int) -> int:
    """Where a printed value ends: a string, a word, or brackets with all that is in them."""
    depth = 0
    while position < len(text):
        char = text[position]
        if char in "'\"":
            quoted = _STRING.match(text, position)
            if quoted is None:
                return len(text)
            position = quoted.end()
        elif char in _OPEN:
            depth += 1
            position += 1
        elif char in _CLOSE:
            if depth == 0:
                return position
            depth -= 1
            position += 1
        elif depth == 0 and (plain := _PLAIN.match(text, position)) is not None:
            position = plain.end() if "'" not in plain[0] and '"' not in plain[0] else position + 1
        elif depth == 0:
            return position
        else:
            position += 1
            continue
        if depth == 0 and text[position : position + 1] not in _OPEN:
            return position
    return position


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return NOT_JSON
