"""Two texts word by word: which parts only one of them has."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import NamedTuple

_TOKENS = re.compile(r"\s+|\d+(?:[.,:]\d+)*|\w+|[^\w\s]")
_MOST = 300


class Segment(NamedTuple):
    """A part of a text."""

    text: str
    differs: bool


def word_diff(left: str, right: str) -> tuple[Sequence[Segment], Sequence[Segment]]:
    """Both texts in parts, each marked as common or as this side's own.

    What stands between a common beginning and a common end is compared word by word up to some hundred words,
    and is marked as a whole beyond, which keeps a report of many long texts quick.
    """
    old, new = _TOKENS.findall(left), _TOKENS.findall(right)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    first, last = "".join(old[:head]), "".join(old[len(old) - tail :])
    parts = _middle(middle_old, middle_new)
    return tuple(_joined([Segment(first, False), *part, Segment(last, False)]) for part in parts)  # type: ignore[return-value]


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _middle(old: list[str], new: list[str]) -> tuple[list[Segment], list[Segment]]:
    if len(old) > _MOST or len(new) > _MOST or not old or not new:
        return [Segment("".join(old), True)], [Segment("".join(new), True)]
    left, right = [], []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        differs = kind != "equal"
        left.append(Segment("".join(old[i:j]), differs))
        right.append(Segment("".join(new[k:m]), differs))
    return left, right


def _joined(parts: Sequence[Segment]) -> list[Segment]:
    """Without empty parts, and with a blank between two changed words taken for changed."""
    made: list[Segment] = []
    filled = [part for part in parts if part.text]
    for index, part in enumerate(filled):
        is_gap = part.text.isspace() and 0 < index < len(filled) - 1
        differs = part.differs or (is_gap and filled[index - 1].differs and filled[index + 1].differs)
        if made and made[-1].differs == differs:
            made[-1] = Segment(made[-1].text + part.text, differs)
        else:
            made.append(Segment(part.text, differs))
    return made
