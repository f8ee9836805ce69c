"""The grades of imported sessions, for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..importers import ImportedSession
from ..importers.grades import Grade
from .output import columns, counted, wrapped

_MOST = 20
"""Sessions that are told one by one."""


@dataclass(slots=True)
class Grades:
    """Gathers what is said of the grades of one run."""

    levels: Counter[str] = field(default_factory=Counter)
    _told: list[tuple[str, str, Grade]] = field(default_factory=list)

    def add(self, session: ImportedSession) -> None:
        """Count a session; one without a grade says nothing."""
        if session.grade is not None:
            self.levels[session.grade.level] += 1
            turns = session.ledger.turns
            size = f"{counted(len(turns), 'turn')}, {counted(sum(len(turn.calls) for turn in turns), 'call')}"
            self._told.append((session.name, size, session.grade))

    def lines(self, *, all_written: bool) -> Iterator[str]:
        """A table of sessions with reasons, what would mend them, and a line of figures."""
        if not self._told:
            return
        told = [one for one in self._told if len(self._told) <= _MOST or one[2].level != "replayable"]
        for name, size, grade in told[:_MOST]:
            yield f"{grade.level:<10}  {name}  {size}"
            for reason in grade.reasons:
                yield from _indented(reason.text, 14)
        if len(told) > _MOST:
            yield f"and {len(told) - _MOST:,} more"
        remedies = Counter(
            remedy for _, _, grade in self._told for remedy in {one.remedy for one in grade.reasons if one.remedy}
        )
        if remedies:
            yield "What would mend the next recordings:"
        for remedy, count in sorted(remedies.items(), key=lambda one: (-one[1], one[0])):
            yield from _indented(f"{remedy} ({counted(count, 'session')})", 4)
        shares = [f"{self.levels[level]:,} {level}" for level in ("replayable", "partial", "unusable")]
        left_out = self.levels["unusable"] and not all_written
        yield f"grades: {', '.join(shares)}" + (" (not written; --all writes them)" if left_out else "")


def _indented(text: str, blanks: int) -> Iterator[str]:
    """On lines of the terminal's width, the first with a dash."""
    for number, line in enumerate(wrapped(text, columns() - blanks - 2)):
        yield f"{' ' * blanks}{'  ' if number else '- '}{line}"
