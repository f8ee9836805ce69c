"""How far an imported session can be replayed, why not further, and what would mend that at its source."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["replayable", "partial", "unusable"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that is missing."""

    kind: str
    """Stable, a word or a few with dashes: `no-results`."""
    text: str
    """What is missing, for a person."""
    remedy: str = ""
    """The setting of the tracer, or of the export, that would mend it the next time."""

    def __str__(self) -> str:
        return f"{self.text}. {self.remedy}" if self.remedy else self.text


@dataclass(frozen=True, slots=True)
class Grade:
    """How far a session can be replayed."""

    level: Level
    reasons: tuple[Reason, ...] = ()


def graded(reasons: Iterable[Reason], *, unusable: bool = False) -> Grade:
    """The grade that some reasons make: without any the session is replayable."""
    found = tuple(dict.fromkeys(reasons))
    return Grade("unusable" if unusable else "partial" if found else "replayable", found)


def with_reasons(grade: Grade, reasons: Iterable[Reason]) -> Grade:
    """A grade with further reasons."""
    return graded([*grade.reasons, *reasons], unusable=grade.level == "unusable")


def notes_of(grade: Grade | None) -> Iterator[str]:
    """Comments for the top of the plan of a session that is not wholly replayable."""
    if grade is None or grade.level == "replayable":
        return
    yield f"{'Partly' if grade.level == 'partial' else 'Not'} replayable:"
    for reason in grade.reasons:
        text = "".join(char if char.isprintable() else " " for char in str(reason))
        yield from textwrap.wrap(f"- {text}", 110, subsequent_indent="  ", break_on_hyphens=False)
