"""What is known to be missing among the results of a run: jobs without a file, replays after the cut of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .grouping import plural

_KEY = "missing"
_MOST = 1_000_000_000
"""What claims more, counts nothing."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Counts, and no text: they may come from a file of strangers."""

    jobs: int = 0
    """Results files that are not there or cannot be read."""
    of: int = 0
    """How many results files the run has."""
    cut: int = 0
    """Results files that end before their last replay."""
    replays: int = 0
    """How many these lack, at least."""

    def __bool__(self) -> bool:
        return bool(self.jobs or self.cut)

    def in_run(self) -> dict[str, Any]:
        """As the first line of a results file has it; nothing where nothing is missing."""
        return {_KEY: {name: value for name, value in asdict(self).items() if value}} if self else {}

    def text(self) -> str:
        """`results of 1 of 2 jobs are missing`; empty where nothing is."""
        told = (
            [f"results of {self.jobs:,} of {plural(max(self.of, self.jobs), 'job')} are missing"] if self.jobs else []
        )
        if self.cut:
            lost = f", at least {plural(self.replays, 'replay')} missing" if self.replays else ""
            told.append(f"{plural(self.cut, 'results file')} {'was' if self.cut == 1 else 'were'} cut off{lost}")
        return ", and ".join(told)


def missing_of(run: Mapping[str, Any]) -> Missing:
    """What the first line of a results file says to be missing."""
    found = run.get(_KEY)
    if not isinstance(found, Mapping):
        return Missing()
    return Missing(*(count_of(found.get(name)) or 0 for name in ("jobs", "of", "cut", "replays")))


def missing_of_all(runs: Sequence[Mapping[str, Any]], jobs: int) -> Missing:
    """What is missing of several files together. jobs: as many more were to be there."""
    found = [missing_of(run) for run in runs]
    return Missing(
        jobs + sum(one.jobs for one in found),
        jobs + sum(max(one.of, 1) for one in found),
        sum(one.cut for one in found),
        sum(one.replays for one in found),
    )


def headline(run: Mapping[str, Any], words: str) -> str:
    """What the results that are there come to, led by what is missing."""
    told = missing_of(run).text()
    return f"Incomplete: {told}; {words[:1].lower()}{words[1:]}" if told else words


def passing(run: Mapping[str, Any], number: int, told: str = "") -> str:
    """That all sessions pass, or all that are there; that there are none.

    told: how many there are in words, as `sessions_text` has them.
    """
    many = told or plural(number, "session")
    if not number:
        return "No session was replayed"
    is_whole = not missing_of(run)
    if number == 1:
        return "The session passes" if is_whole else "the session that is here passes"
    return f"All {many} pass" if is_whole else f"{number:,} of {many} that are here pass"


def failing(bad: int, number: int, told: str) -> str:
    """That some sessions do not pass, to be put into a sentence. told: as for `passing`."""
    if number == 1:
        return "the session does not pass"
    return f"{bad:,} of {told} {'does' if bad == 1 else 'do'} not pass"


def count_of(value: object) -> int | None:
    """A count that a file tells; None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None
