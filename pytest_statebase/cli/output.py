"""Lines for a terminal, whatever the recorded text in them holds."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import east_asian_width

import click

if TYPE_CHECKING:
    from ..report.terminal import Line

Style: TypeAlias = dict[str, bool]
BOLD, DIM = {"bold": True}, {"light": True}
RED, GREEN, YELLOW, BLUE, CYAN = ({name: True} for name in ("red", "green", "yellow", "blue", "cyan"))
_COLOURS = ("red", "green", "yellow", "blue", "cyan")

WIDTH = 100
"""Columns of output that is not for a terminal."""


def printable(text: str) -> str:
    """`text` with control characters and lone surrogates escaped; line breaks stay."""
    if text.isprintable():
        return text
    return "".join(char if char == "\n" or char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def say(text: str) -> None:
    """A line on stdout."""
    _echo(text, err=False)


def warn(text: str) -> None:
    """A line on stderr."""
    _echo(text, err=True)


def _echo(text: str, *, err: bool) -> None:
    click.echo(_encodable(printable(text), err=err), err=err)


def _encodable(text: str, *, err: bool = False) -> str:
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def counted(number: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def columns() -> int:
    """How wide lines may be: the terminal's width within reason, else `WIDTH`."""
    return min(max(shutil.get_terminal_size((WIDTH, 24)).columns, 60), 160) if sys.stdout.isatty() else WIDTH


def say_lines(lines: Iterable[Line]) -> None:
    """Lines on stdout, in colour where that is a terminal. What is in them cannot move the cursor."""
    from ..report.show import visible

    for line in lines:
        parts = [(_encodable(visible(text)), style) for text, style in line]
        while parts and not parts[-1][0].strip():
            parts.pop()
        if parts:
            parts[-1] = (parts[-1][0].rstrip(), parts[-1][1])
        click.echo("".join(_styled(text, style) for text, style in parts))


def _styled(text: str, style: Style) -> str:
    if not style:
        return text
    colour = next((name for name in _COLOURS if style.get(name)), None)
    return click.style(text, fg=colour, bold=style.get("bold") or None, dim=style.get("light") or None)


def wrapped(text: str, width: int, *, most: int | None = None) -> list[str]:
    """A text's own lines, broken at `width`; of more than `most` the first ones, and its size.

    Whatever has no shape of its own is escaped.
    """
    from ..report.show import size_text, visible

    lines: list[str] = []
    for line in visible(text, lines=True).replace("\t", "    ").split("\n"):
        if line.isascii() or not any(map(_is_wide, line)):
            lines += textwrap.wrap(line, width, replace_whitespace=False, break_on_hyphens=False) or [""]
        else:
            lines += _wrapped_wide(line, width)
        if most is not None and len(lines) > most:
            return [*lines[:most], f"… ({size_text(len(text))})"]
    return lines


def _is_wide(char: str) -> bool:
    return char > "\u10ff" and east_asian_width(char) in "WF"


def _width_of(text: str) -> int:
    return sum(2 if _is_wide(char) else 1 for char in text)


def _wrapped_wide(line: str, width: int) -> list[str]:
    """A line in which characters take two columns, and which may have no blanks to break it at."""
    lines, used = [""], 0
    for char in line:
        used += 2 if _is_wide(char) else 1
        if used > width:
            before, blank, word = lines[-1].rpartition(" ")
            fits = bool(blank) and 2 * len(word) < width
            lines[-1:] = [before, word] if fits else [lines[-1], ""]
            used = _width_of(lines[-1] + char)
        lines[-1] += char
    return lines


def labelled(label: str, lines: Iterable[str], style: Style | None = None, *, indent: int = 11) -> Iterator[Line]:
    """Lines of text with a label in front of the first; the others stand below it."""
    for number, text in enumerate(lines):
        yield [((f"  {label}" if number == 0 else "").ljust(indent), DIM), (text, style or {})]
