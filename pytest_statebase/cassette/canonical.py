"""A value as the canonical parts that reading it back would give (see `parts`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..errors import UnstorableError
from .parts import END, LIST, MAP, MAX_DEPTH, MOST_BITS, canonical_text, tag_part, text_part, word_part
from .tags import TYPED, UNORDERED, escape_surrogates, form_of

_MAX_JSON_DEPTH = 100

_Frame = tuple[Iterator[tuple[Any, Any]], bool]


def parts_of(value: Any, *, path: str = "") -> list[str]:
    """The canonical parts of a value.

    path: names the value in errors.
    Raises UnstorableError, naming the path inside the value, for what has no form in the format.
    """
    return _Flattener(path).flatten(value)


class _Flattener:
    def __init__(self, path: str) -> None:
        self.path = path
        self.parts: list[str] = []
        self.keys: list[Any] = []
        self.stack: list[_Frame] = []

    def flatten(self, value: Any) -> list[str]:
        self.put(value)
        while self.stack:
            steps, is_map = self.stack[-1]
            step = next(steps, None)
            if step is None:
                self.stack.pop()
                self.parts.append(END)
                if self.keys:
                    self.keys.pop()
                continue
            key, item = step
            self.keys.append(key)
            if is_map:
                self.put_key(key)
            depth = len(self.stack)
            self.put(item)
            if len(self.stack) == depth:
                self.keys.pop()
        return self.parts

    def put(self, value: Any) -> None:
        """Add a scalar, or begin a container: its items follow from the stack."""
        kind = type(value)
        if kind is str:
            self.put_text(value)
        elif value is None or kind is bool or kind is int or kind is float:
            if kind is int and value.bit_length() > MOST_BITS:
                raise self.unstorable(f"an integer of {value.bit_length():,} bits has no form in a record")
            self.parts.append(word_part(value))
        elif kind is dict:
            self.begin(MAP, iter(value.items()), True)
        elif kind is list:
            self.begin(LIST, enumerate(value), False)
        else:
            self.put_tagged(value)

    def begin(self, marker: Any, steps: Iterator[tuple[Any, Any]], is_map: bool) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise self.unstorable(f"it contains itself, or nests deeper than {MAX_DEPTH}")
        self.parts.append(marker)
        self.stack.append((steps, is_map))

    def put_text(self, text: str, *, structured: bool = True) -> None:
        if structured and text[:1] in ("{", "["):
            structure = json_structure(text)
            if structure is not None:
                self.parts.append(tag_part("!json"))
                self.put(structure)
                return
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                self.parts.append(tag_part("!surrogates"))
                text = escape_surrogates(text)
        self.parts.append(text_part(text))

    def put_tagged(self, value: Any) -> None:
        try:
            tag, form = form_of(value)
        except (TypeError, ValueError, AttributeError) as error:
            raise self.unstorable(str(error)) from None
        if tag in UNORDERED:
            form = sorted(form, key=lambda item: canonical_text(self.hashable(item, "an element")))
        self.parts.append(tag_part(tag))
        if type(form) is str:
            self.parts.append(text_part(form))
        else:
            self.put(form)

    def put_key(self, key: Any) -> None:
        if type(key) is str:
            self.put_text(key, structured=False)
        else:
            self.parts.extend(self.hashable(key, "a key"))

    def hashable(self, value: Any, role: str) -> list[str]:
        """The parts of a key or an element of a set: what reads back as data with fields cannot be one."""
        parts = parts_of(value, path=self.shown())
        if any(tag_part(tag) in parts for tag in TYPED):
            raise self.unstorable(f"{role} of type {type(value).__qualname__} has no form in a record")
        return parts

    def shown(self) -> str:
        return self.path + "".join(_step(key) for key in self.keys) or "value"

    def unstorable(self, reason: str) -> UnstorableError:
        return UnstorableError(
            reason,
            where=self.shown().lstrip("."),
            remedy="Return plain data from it, or convert it before it is recorded.",
        )


def _step(key: Any) -> str:
    if type(key) is str:
        return f".{key}" if key.isidentifier() else f".{json.dumps(key)}"
    return f"[{key!r:.40}]"


def json_structure(text: str) -> Any:
    """The object or list whose own `json.dumps` the text is, None for any other text."""
    if text[-1] not in "}]":
        return None
    try:
        structure = json.loads(text)
        if json.dumps(structure) != text or depth_of(structure) > _MAX_JSON_DEPTH:
            return None
    except (ValueError, RecursionError):
        return None
    return structure


def depth_of(structure: Any) -> int:
    """How many containers of a plain JSON value stand inside one another, at most; a scalar counts as one."""
    depth, level = 0, [structure]
    while level:
        depth += 1
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is dict or type(item) is list
        ]
    return depth
