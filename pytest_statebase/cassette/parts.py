"""The canonical parts of a document: what the seal is computed from and the writer lays out.

A flat list of texts, one for each event of the parser. A text stands for itself; everything else begins with U+0000:
`{` begins a mapping, `[` a list, `}` ends either, `!tag` stands before what it tags, `null`, `true`, `false` and
numbers are as YAML writes them, and a text that holds U+0000 is its JSON text.
"""

from __future__ import annotations

import json
import math
from typing import Any

MAX_DEPTH = 1000
"""Containers inside one another."""
MOST_BITS = 13_000
"""Of an integer: beyond, Python refuses to make a decimal text of it, and to read one."""
MARK = "\0"
MAP = MARK + "{"
LIST = MARK + "["
END = MARK + "}"
_TAG = MARK + "!"
_SEPARATOR = MARK + "\n"


def canonical_text(parts: list[str]) -> str:
    """The parts as one text: equal exactly where the parts are."""
    return _SEPARATOR.join(parts)


def text_part(text: str) -> str:
    """The part of a text."""
    return text if MARK not in text else MARK + json.dumps(text)


def word_part(value: float | bool | None) -> str:
    """The part of a scalar that is no text."""
    return MARK + word_of(value)


def part_of(value: Any) -> str | None:
    """The part of a scalar, None for any other value."""
    if type(value) is str:
        return text_part(value)
    return word_part(value) if value is None or type(value) in (bool, int, float) else None


def word_of(value: float | bool | None) -> str:
    """A scalar that is no text, as YAML 1.1 and 1.2 read it."""
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value)
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 reads 1e+16 as a text, 1.0e+16 as a number.
    return text if "e" not in text or "." in text else text.replace("e", ".0e")


def text_of(part: str) -> str | None:
    """The text that a part stands for, None for a word or a mark."""
    if part[:1] != MARK:
        return part
    return str(json.loads(part[1:])) if part[1] == '"' else None


def tag_part(tag: str) -> str:
    """The part of a tag such as `!decimal`."""
    return MARK + tag


def is_tag(part: str) -> bool:
    """Whether a part is the tag of what follows it."""
    return part[:2] == _TAG


def begins(part: str) -> bool:
    """Whether a part begins a mapping or a list."""
    return part in (MAP, LIST)


def after(parts: list[str], at: int) -> int:
    """The position after the node that begins at `at`."""
    depth = 0
    while True:
        part = parts[at]
        at += 1
        if is_tag(part):
            continue
        if begins(part):
            depth += 1
        elif part == END:
            depth -= 1
        if depth == 0:
            return at
