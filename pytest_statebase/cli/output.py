"""Lines for a terminal, whatever the recorded text in them holds."""

from __future__ import annotations

import sys

import click


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
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    click.echo(printable(text).encode(encoding, "backslashreplace").decode(encoding), err=err)


def counted(number: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
