"""Recorded text in Markdown: in code spans and fences that nothing in it can close."""

from __future__ import annotations

import re
from itertools import count

from ..show import shorten, visible

_TICKS = re.compile(r"`+")


def span(text: str, width: int = 300) -> str:
    """Any text as one code span on one line. width: characters, after which it is cut and says its size."""
    return spanned(shorten(visible(text), width) or " ")


def fenced(text: str, kind: str = "text", width: int = 100_000) -> str:
    """Any text as a fenced block, its line breaks kept. kind: a word for highlighting, our own."""
    return fenced_off(shorten(visible(text, lines=True).strip("\n"), width), kind)


def spanned(shown: str) -> str:
    """A visible text of one line as a code span.

    Only as many backticks as began it can close it: the fewest that stand together nowhere in the text.
    """
    runs = {len(found) for found in _TICKS.findall(shown)}
    ticks = "`" * next(number for number in count(1) if number not in runs)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def fenced_off(shown: str, kind: str = "text") -> str:
    """A visible text as a fenced block."""
    ticks = "`" * max([3, *(len(found) + 1 for found in _TICKS.findall(shown))])
    return f"{ticks}{kind}\n{shown}\n{ticks}"
