"""GitHub-flavoured Markdown in which recorded text stays text.

Whatever was recorded stands in code spans and fenced blocks: no renderer looks for links, mentions, references or
markup in those. Everything else is the package's own words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from ..show import shorten, visible
from .fences import fenced_off, spanned

_LONG_RUN = re.compile("`{250,}")
_COMMAND = re.compile("^/", re.MULTILINE)
_PAGE = re.compile(r"https?://[^\s/]", re.IGNORECASE)


def code(text: object, width: int = 160) -> str:
    """Any text, or what `repr` says of another value, as a code span of one line.

    width: characters; a longer text is cut and says its size.
    """
    shown = shorten(visible(text), width)
    if not shown.strip(" "):
        return "(empty)" if not shown else "(blank)"
    return _isolated(spanned(shown), shown)


def block(text: str, width: int = 4_000) -> str:
    """A text of several lines as a fenced block, exact, as somebody may paste from it. width: characters."""
    return _moved(fenced_off(_fenceable(shorten(visible(text, lines=True), width)).strip("\n")))


def _fenceable(text: str) -> str:
    """Renderers know no fence of more than 255 backticks, and a fence is longer than what it holds."""
    return _LONG_RUN.sub(lambda run: r"\x60" * len(run[0]), text)


def _moved(fence: str) -> str:
    """No line begins with what GitLab may take for a command.

    It runs none of a code block, but before it had a parser, it took a block that holds fences for one that ends
    early. Of a fence that stands a blank further in, renderers take that blank from each line.
    """
    return re.sub("^(?=.)", " ", fence, flags=re.MULTILINE) if _COMMAND.search(fence) else fence


def _isolated(span: str, text: str) -> str:
    """Text that is written from right to left must not turn what stands around it."""
    if text.isascii() or not any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text):
        return span
    return f"\u2068{span}\u2069"


def page_link(url: str | None, anchor: str = "") -> str | None:
    """The address of a place on the published page; None where it is published nowhere, or at no web address."""
    if not url or not _PAGE.match(url):
        return None
    page = quote(url.partition("#")[0].strip(), safe="/:?@&=+,;%~-._")
    return f"{page}#{anchor}" if anchor else page


def linked(label: str, address: str | None) -> str:
    """Ready Markdown as a link, or as it is. address: from `page_link`."""
    return f"[{label}]({address})" if address else label


def table_head(*titles: str) -> list[str]:
    """The first two lines of a table; columns whose title ends in `#` hold numbers."""
    names = [title.removesuffix("#") for title in titles]
    return [table_row(*names), table_row(*("---:" if title.endswith("#") else "---" for title in titles))]


def table_row(*cells: str) -> str:
    """One line of a table. A pipe in a cell, in a code span too, is told from the border by the backslash before it."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


@dataclass(frozen=True, slots=True)
class Part:
    """A section of a page that must not grow beyond a size."""

    title: str
    lines: Sequence[str] = ()
    """What it always has."""
    items: Iterable[str] = ()
    """What follows, as much of it as there is room for; the most important first."""
    count: int = 0
    """How many items there are."""
    of: str = ""
    """What several items are called."""
    most: int = 1_000_000
    """How many are shown at most."""
    is_folded: bool = False


_CLOSING = 600
"""Bytes for what names the sections that were left out."""


def fitted(opening: str, parts: Sequence[Part], closing: str, limit: int) -> str:
    """A page of at most `limit` bytes of UTF-8, which says what was left out.

    No section takes more than half of the room that the ones before it left, so that a long list hides no other one.
    """
    left = limit - _size(opening) - _size(closing) - _CLOSING
    texts, missing = [opening], []
    for part in parts:
        text = _rendered(part, left // 2)
        if text is None:
            missing.append(part.title)
        else:
            texts.append(text)
            left -= _size(text) + 2
    if missing:
        texts.append(f"Left out, because this text may not be longer: {', '.join(missing)}.")
    return "\n\n".join([*texts, closing]) + "\n"


def _rendered(part: Part, room: int) -> str | None:
    lines = list(_opening(part))
    room -= sum(map(_size, lines)) + 200
    if room < 0:
        return None
    shown = 0
    for item in part.items:
        room -= _size(item)
        if room < 0 or shown == part.most:
            break
        lines.append(item)
        shown += 1
    if shown < part.count:
        lines += ["", f"… and {part.count - shown:,} more {part.of}." if shown else f"{part.count:,} {part.of}."]
    return "\n".join([*lines, "", "</details>"] if part.is_folded else lines)


def _opening(part: Part) -> Iterator[str]:
    if part.is_folded:
        yield from ("<details>", f"<summary>{part.title}</summary>", "")
    else:
        yield from (f"#### {part.title}", "")
    yield from part.lines


def _size(text: str) -> int:
    return len(text.encode("utf-8")) + 1
