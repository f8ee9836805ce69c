"""The texts and numbers of a document by their canonical parts (see `parts`), each with the keys that lead to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .parts import END, MAP, begins, is_tag, text_of

Keys = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text or a number of a document."""

    at: int
    """Its position in the parts."""
    keys: Keys
    """What leads to it; for a key itself, what leads to its value."""
    text: str
    """A number as it is written."""
    is_key: bool = False
    is_number: bool = False
    tag: str | None = None
    """`!bytes`, `!decimal` and the like; None for a plain one."""

    @property
    def name(self) -> str:
        """The nearest key that is a name; that of the list for what stands in one."""
        return next((key for key in reversed(self.keys) if isinstance(key, str)), "")


@dataclass(slots=True)
class _Frame:
    is_map: bool
    key: Any = -1
    """Of a list the position."""
    wants_key: bool = False


def leaves(parts: list[str]) -> Iterator[Leaf]:
    """Every text and number in the order in which they stand, keys included."""
    stack: list[_Frame] = []
    tag: str | None = None
    for at, part in enumerate(parts):
        if is_tag(part):
            tag = part[1:]
            continue
        top = stack[-1] if stack else None
        if begins(part):
            if top is not None and not top.is_map:
                top.key += 1
            elif top is not None and top.wants_key:
                top.key = "?"
            stack.append(_Frame(part == MAP, wants_key=part == MAP))
        elif part == END:
            stack.pop()
            _value_done(stack)
        else:
            is_key = top is not None and top.is_map and top.wants_key
            text = text_of(part)
            if top is not None and not top.is_map:
                top.key += 1
            elif top is not None and is_key:
                top.key = part[1:] if text is None else text
            if text is not None or _is_number(part):
                keys = tuple(frame.key for frame in stack)
                yield Leaf(at, keys, part[1:] if text is None else text, is_key, text is None, tag)
            _value_done(stack)
        tag = None


def _value_done(stack: list[_Frame]) -> None:
    if stack and stack[-1].is_map:
        stack[-1].wants_key = not stack[-1].wants_key


def _is_number(part: str) -> bool:
    return part[1:2].isdigit() or (part[1:2] == "-" and part[2:3].isdigit())
