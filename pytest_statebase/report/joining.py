"""Several runs as one: of the same item the last result counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from .grouping import name_of, plural
from .incomplete import missing_of_all
from .rows import Row
from .times import parse_time

RunFacts: TypeAlias = dict[str, Any]
"""As the first line of a results file has it."""


def joined(read: Sequence[tuple[RunFacts, list[Row]]]) -> tuple[RunFacts, list[Row]]:
    """Several runs as one, as `shards.merge_results` makes one of several files."""
    runs = [run for run, _ in read]
    rows, again = merged_rows(rows for _, rows in read)
    return merged_run(runs, list(told_again(again))) | missing_of_all(runs, 0).in_run(), rows


_Item: TypeAlias = dict[str | None, list[Row]]
"""The rows of an item by agent; None stands for any, where a replay could not begin."""


def merged_rows(runs: Iterable[Sequence[Row]]) -> tuple[list[Row], int]:
    """The rows of all runs, and of how many items there was more than one result.

    One that did not finish takes no other's place.
    """
    merged: dict[str, _Item] = {}
    again: set[tuple[str, str | None]] = set()
    for rows in runs:
        for name, item in _items(rows).items():
            known = merged.setdefault(name, {})
            for agent, found in item.items():
                others = [key for key in known if agent is None or key in (agent, None)]
                again |= {(name, agent)} if others else set()
                if others and all(row.get("unfinished") for row in found):
                    continue
                for key in others:
                    del known[key]
                known[agent] = found
    return [row for item in merged.values() for found in item.values() for row in found], len(again)


def _items(rows: Sequence[Row]) -> dict[str, _Item]:
    found: dict[str, _Item] = {}
    for row in rows:
        found.setdefault(name_of(row), {}).setdefault(row["agent"], []).append(row)
    return found


def told_again(number: int) -> Iterator[str]:
    """What is said of items with more than one result."""
    if number:
        told = f"{plural(number, 'replay')} {'has' if number == 1 else 'have'} several results"
        yield f"{told}: of each the last one counts"


def merged_run(runs: Sequence[RunFacts], warnings: Sequence[str]) -> RunFacts:
    """Of several runs: it begins with the earliest and lasts as long as the longest."""
    run = dict(runs[0])
    begun = [(parse_time(one.get("started_at")), one) for one in runs]
    starts = sorted((time, str(one["started_at"])) for time, one in begun if time is not None)
    times = [one["duration_s"] for one in runs if isinstance(one.get("duration_s"), (int, float))]
    told = dict.fromkeys([*warnings, *(text for one in runs for text in one.get("warnings", ()))])
    agents = dict.fromkeys(name for one in runs for name in str(one.get("agent") or "").split(", ") if name)
    run |= {"started_at": starts[0][1]} if starts else {}
    run |= {"duration_s": max(times)} if times else {}
    run |= {"agent": ", ".join(agents)} if agents else {}
    run |= {"warnings": list(told)} if told else {}
    if len(runs) > 1:
        run.pop("part", None)  # each job was given its share; together they may be the whole
    return run
