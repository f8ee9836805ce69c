"""Recorded text in Markdown: in code spans and fences that nothing in it can close."""

from __future__ import annotations

import re

from .show import shorten, visible

_TICKS = re.compile(r"`+")


def span(text: str, width: int = 300) -> str:
    """Any text as one code span on one line. width: characters, after which it is cut and says its size."""
    inner = shorten(visible(text), width) or " "
    ticks = "`" * _longer(inner, 1)
    pad = " " if inner[0] == "`" or inner[-1] == "`" else ""
    return f"{ticks}{pad}{inner}{pad}{ticks}"


def fenced(text: str, kind: str = "text", width: int = 100_000) -> str:
    """Any text as a fenced block, its line breaks kept. kind: a word for highlighting, our own."""
    inner = shorten(visible(text, lines=True).strip("\n"), width)
    ticks = "`" * _longer(inner, 3)
    return f"{ticks}{kind}\n{inner}\n{ticks}"


def _longer(text: str, least: int) -> int:
    """One backtick more than stand together anywhere in the text."""
    return max([least, *(len(found) + 1 for found in _TICKS.findall(text))])
