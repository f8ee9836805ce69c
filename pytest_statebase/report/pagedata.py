"""What the page's script reads: an index of summaries, and a packed chunk for some sessions each.

Values are JSON as rows have them: the script makes texts of them and puts them on the page as text alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..compare.model import Verdict
from .grouping import (
    Cause,
    Totals,
    causes,
    group_of,
    group_of_row,
    group_of_turn,
    in_one_line,
    judged,
    kind_of,
    root_cause,
    sentence,
    short_name,
    told_sides,
    totals,
)
from .limits import cut_value, cut_values, value_limit
from .packing import chunked, packed
from .performance import performance
from .show import shorten
from .viewmodel import SLUGS

if TYPE_CHECKING:
    from .rows import Row
    from .runs import Run

_SEARCHED = 400
"""Characters of a session's inputs that free text is searched in."""


@dataclass(frozen=True, slots=True)
class PageData:
    """The packed texts of one page."""

    index: str
    chunks: Sequence[str]


def page_data(made: Run, anchors: Sequence[str], facts: Mapping[str, Any]) -> PageData:
    """Everything that the script shows. facts: what the plain part of the page has counted already."""
    limit = value_limit(made.rows)
    sessions = [(anchor, cut_values(row, limit)) for anchor, row in zip(anchors, made.rows, strict=True)]
    chunks, places = chunked(sessions)
    at = {id(row): anchor for row, anchor in zip(made.rows, anchors, strict=True)}
    counted = totals(made.rows)
    index: dict[str, Any] = {
        "format": 1,
        **facts,
        "groups": [{"slug": SLUGS[group], "name": group.value, "count": counted.replays[group]} for group in SLUGS],
        "verdicts": _verdicts(counted),
        "sessions": [
            summary(row, anchor, chunk) for (anchor, _), row, chunk in zip(sessions, made.rows, places, strict=True)
        ],
        "causes": [_cause(cause, at) for cause in causes(made.rows)],
        "url": made.url,
        **performance(made, at),
    }
    return PageData(packed(index), chunks)


def _verdicts(counted: Totals) -> list[list[Any]]:
    """`[name, turns, slug]`, in the order of the table of verdicts; those that this version does not know last."""
    names = [verdict.value for verdict in Verdict]
    names += [name for name in counted.turns if name not in names]
    return [[name, counted.turns[name], SLUGS[group_of(name)]] for name in names if counted.turns[name]]


def summary(row: Row, anchor: str, chunk: int) -> dict[str, Any]:
    """What the list of sessions shows, filters and searches without unpacking the session."""
    turns = judged(row)
    root = root_cause(row)
    bad = not group_of_row(row).passes
    made: dict[str, Any] = {
        "id": anchor,
        "chunk": chunk,
        "name": short_name(row),
        "cassette": row["cassette"],
        "fork": row["fork"],
        "group": SLUGS[group_of_row(row)],
        "verdicts": row.get("verdicts") or {},
        "tools": sorted({call["tool"] for turn in turns for call in turn["calls"]}),
        "kinds": sorted({found["kind"] for turn in turns for found in turn["divergences"] if not found.get("note")}),
        "turns": len(row["turns"]),
        "ms": row.get("duration_ms"),
        "text": shorten(" ".join(str(turn.get("input") or "") for turn in row["turns"]), _SEARCHED),
    }
    made |= {key: row[key] for key in ("title", "session", "agent", "owner", "until", "mode") if row.get(key)}
    if row.get("gate") == "warn":
        made["gate"] = "warn"
    if bad:
        made["why"] = in_one_line(row)
        made["bad"] = [[turn["turn"], turn["verdict"]] for turn in turns if not group_of_turn(turn).passes]
    if root is not None:
        made["cause"] = {"path": root[1]["path"], "kind": root[1]["kind"], "turn": root[0]["turn"]}
    return made


def _cause(cause: Cause, at: Mapping[int, str]) -> dict[str, Any]:
    """Identical first differences of many sessions, as one."""
    example = cause.example
    return {
        "path": cause.path,
        "kind": cause.kind,
        "facet": cause.facet,
        "words": sentence(kind_of(cause)),
        "sessions": cause.sessions,
        "prints": cause.fingerprints,
        "turns": [[at[id(row)], turn["turn"]] for row, turn in cause.rows],
        **{side: cut_value(example[side], _SEARCHED) for side in told_sides(example)},
    }
