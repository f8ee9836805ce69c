"""The results of a change beside those of its base branch: what this change did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from .grouping import group_of_row, in_one_line, name_of
from .incomplete import missing_of
from .results import read_results
from .rows import Row
from .show import visible
from .terminal import BOLD, DIM, GREEN, RED, YELLOW, Line, named

_Key: TypeAlias = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Against:
    """Replays by what became of them, each as its row (of the base where it is gone)."""

    path: str
    newly_failing: Sequence[Row]
    newly_passing: Sequence[Row]
    still_failing: Sequence[Row]
    new: Sequence[Row]
    """Not among the base's results."""
    removed: Sequence[Row]
    """Among the base's alone."""
    unknown: Sequence[Row] = field(default=())
    """Did not finish, here or in the base's run."""
    lost: Sequence[Row] = field(default=())
    """Those of `unknown` that passed before, and did not finish now."""
    doubt: str = field(default="", kw_only=True)
    """Why what is told as new may not be: the base's results are incomplete."""

    @property
    def untold(self) -> list[Row]:
        """Those of `unknown` that fail now, and did not finish before."""
        return [row for row in self.unknown if not (_passes(row) or _unfinished(row))]

    @property
    def failing(self) -> list[Row]:
        """What does not pass and is not known to have failed before: newly failing, new, or passing before and lost."""
        return [*self.newly_failing, *(row for row in self.new if not _passes(row)), *self.untold, *self.lost]

    @property
    def blocking(self) -> list[Row]:
        """Those that are to keep the change from being merged."""
        return [row for row in self.failing if row["gate"] != "warn"]

    def of_rows(self, changed: Callable[[Row], Row]) -> Against:
        """The same with other rows in the place of these."""
        lists = [self.newly_failing, self.newly_passing, self.still_failing, self.new, self.removed]
        lists += [self.unknown, self.lost]
        return Against(self.path, *([changed(row) for row in rows] for rows in lists), doubt=self.doubt)


def compared_with(path: Path, rows: Sequence[Row], *, whole: bool = True) -> Against:
    """The rows beside those of the results file at `path`, item by item.

    Agent, `until` and mode may be others than they were: that a change is told of the same item is what it is for.

    whole: all sessions were to be replayed; if not, none counts as removed. Raises FileError, FormatVersionError.
    """
    run, base = read_results(path)
    several = _of_several_agents(base) | _of_several_agents(rows)
    before, now = _keyed(base, several), _keyed(rows, several)
    both = [(before[key], row) for key, row in now.items() if key in before]
    known = [(_passes(was), _passes(row), row) for was, row in both if not _unfinished(was, row)]
    near = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return Against(
        str(near),
        [row for passed, passes, row in known if passed and not passes],
        [row for passed, passes, row in known if not passed and passes],
        [row for passed, passes, row in known if not passed and not passes],
        [row for key, row in now.items() if key not in before],
        [row for key, row in before.items() if key not in now] if whole else [],
        [row for was, row in both if _unfinished(was, row)],
        [row for was, row in both if _unfinished(row) and _passes(was)],
        doubt=_doubt(run),
    )


def _doubt(run: Mapping[str, Any]) -> str:
    """What is to be said of a base that is not all of its run."""
    told = missing_of(run).text()
    return f"The base's results are incomplete ({told}): what is new here may have been in them" if told else ""


def _of_several_agents(rows: Sequence[Row]) -> set[str]:
    """The items that a run has of several agents, for whom it is not the same one."""
    agents: dict[str, set[str]] = {}
    for row in rows:
        agents.setdefault(name_of(row), set()).add(str(row["agent"]))
    return {name for name, found in agents.items() if len(found) > 1}


def _keyed(rows: Sequence[Row], several: set[str]) -> dict[_Key, Row]:
    seen: Counter[tuple[str, str]] = Counter()
    found: dict[_Key, Row] = {}
    for row in rows:
        name = (name_of(row), str(row["agent"]) if name_of(row) in several else "")
        seen[name] += 1
        found[*name, seen[name]] = row
    return found


def _passes(row: Row) -> bool:
    return group_of_row(row).passes


def _unfinished(*rows: Mapping[str, object]) -> bool:
    return any(row.get("unfinished") for row in rows)


def against_lines(against: Against, *, verbosity: int = 0, told: Iterable[Row] = ()) -> list[Line]:
    """What this change did, for a terminal: the counts, then each replay that is not known to have failed before.

    verbosity: pytest's; below 0 the counts alone, from 1 on also what passes now, still fails, is new or gone.
    told: the replays of which it was said above why they do not pass: of these, the name is enough.
    """
    known = {(name_of(row), str(row["agent"])) for row in told}
    lists = _lists(against)
    counts = ", ".join(f"{len(rows):,} {what}" for what, rows, _ in lists if rows or what == "newly failing")
    failing = set(map(id, against.failing))
    colour = RED if failing else GREEN
    head: Line = [(f"{'against base':<15}", {**colour, **BOLD}), (counts, {}), (f"  {visible(against.path)}", DIM)]
    lines = [head]
    lines += [[(f"{'':<15}{against.doubt}", YELLOW)]] if against.doubt else []
    for what, rows, style in lists if verbosity >= 0 else ():
        listed = rows if verbosity > 0 else [row for row in rows if id(row) in failing]
        most = len(listed) if verbosity > 0 else _LISTED
        for row in listed[:most]:
            is_known = (name_of(row), str(row["agent"])) in known
            why = "" if is_known or _passes(row) or what == "removed" else f"  {in_one_line(row)}"
            lines.append([(f"{what:<15}", {**style, **BOLD}), *named(row), (why, {})])
        if len(listed) > most:
            lines.append([(f"{'':<15}and {len(listed) - most:,} more (-v names them all)", DIM)])
    return lines


_LISTED = 10


def _lists(against: Against) -> list[tuple[str, Sequence[Row], dict[str, bool]]]:
    return [
        ("newly failing", against.newly_failing, RED),
        ("newly passing", against.newly_passing, GREEN),
        ("still failing", against.still_failing, YELLOW),
        ("new", against.new, {}),
        ("removed", against.removed, {}),
        ("not finished", against.unknown, YELLOW),
    ]
