"""What the page's script reads: an index of summaries, and a packed chunk for some sessions each.

Values are JSON as rows have them: the script makes texts of them and puts them on the page as text alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ...compare.model import Group, Kind
from ..grouping import (
    GROUPS,
    Cause,
    Totals,
    causes,
    group_of,
    group_of_row,
    group_of_turn,
    in_one_line,
    judged,
    kind_of,
    short_name,
    side_name,
    tally,
    told_sides,
    totals,
    words_beside_path,
)
from ..show import one_line, short_value, shorten, shorten_pair, visible
from .briefs import Briefs
from .exact import exact_row
from .limits import cut_values, value_limit
from .packing import chunked, packed
from .performance import performance
from .recordings import recordings
from .viewmodel import SLUGS

if TYPE_CHECKING:
    from ..against import Against
    from ..rows import Row
    from ..runs import Run
    from .viewmodel import ReportView

_SEARCHED = 600_000
"""Characters of what was said in all sessions together that free text is searched in."""
_LEAST, _MOST = 400, 8_000
"""The same of one session, at least and at most."""
_VALUES = 20
"""Pairs of values of one cause that are told."""
_WIDTH = 160


@dataclass(frozen=True, slots=True)
class PageData:
    """The packed texts of one page."""

    index: str
    chunks: Sequence[str]


def page_data(made: Run, anchors: Sequence[str], view: ReportView, whole: Run) -> PageData:
    """Everything that the script shows.

    view: what the plain part of the page has counted already. whole: the run with no name cut, for what is copied.
    """
    limit = value_limit(made.rows)
    briefs = Briefs(whole)
    sessions = [
        (anchor, briefs.added(exact_row(_worded(cut_values(row, limit))), full, anchor))
        for anchor, row, full in zip(anchors, made.rows, whole.rows, strict=True)
    ]
    chunks, places = chunked(sessions)
    at = {id(row): anchor for row, anchor in zip(made.rows, anchors, strict=True)}
    counted = totals(made.rows)
    found = causes(made.rows)
    searched = min(_MOST, max(_LEAST, _SEARCHED // max(1, len(made.rows))))
    index: dict[str, Any] = {
        "format": 1,
        "verdict": view.verdict,
        "facts": view.facts,
        "warnings": view.warnings,
        "stale": view.stale,
        "differences": view.turns,
        "calls": view.calls,
        "reached": view.reached,
        "stopped": [asdict(link) for link in view.stopped],
        "stopped_more": view.stopped_more,
        "writes": asdict(view.writes),
        "groups": [_group(group, made.rows) for group in SLUGS],
        "verdicts": _verdicts(counted),
        "sessions": [
            {**summary(row, at[id(row)], chunk, searched), "recording": number}
            for row, chunk, number in zip(made.rows, places, recordings(made.rows), strict=True)
        ],
        "causes": [_cause(cause, at) for cause in found],
        "url": made.url,
        **performance(made, at),
    }
    _add_causes(index["sessions"], found, at)
    if made.against is not None:
        index["against"] = _against(made.against, index["sessions"], at)
    return PageData(packed(index), chunks)


def _worded(row: Row) -> Row:
    """With the group of each turn, and each difference in words."""
    turns = [
        {
            **turn,
            "slug": SLUGS[group_of_turn(turn)],
            "divergences": [{**found, "words": words_beside_path(found)} for found in turn["divergences"]],
            **_values_of_short_texts(turn),
        }
        for turn in row["turns"]
    ]
    return {**row, "turns": turns}


def _values_of_short_texts(turn: Row) -> dict[str, Any]:
    """The calls and the recorded side of a turn that is as recorded, with the values that are kept as short texts."""
    if not (turn["replayed"] or {}).get("same"):
        return {}
    calls = [call | {"recorded": _with_value(call["recorded"], "arguments")} for call in turn["calls"]]
    return {"calls": calls, "recorded": _with_value(turn["recorded"], "error")}


def _with_value(side: Row | None, key: str) -> Row | None:
    return side and (side | {key: short_value(side[key])} if isinstance(side.get(key), str) else side)


def _group(group: Group, rows: Sequence[Row]) -> dict[str, Any]:
    """A group with its number of sessions, and the verdicts of their turns."""
    found = [row for row in rows if group_of_row(row) is group]
    verdicts = tally(Counter(turn["verdict"] for row in found for turn in judged(row)))
    return {"slug": SLUGS[group], "name": group.value, "count": len(found), "verdicts": verdicts}


def _verdicts(counted: Totals) -> dict[str, str]:
    """The slugs of the verdicts that there are."""
    return {name: SLUGS[group_of(name)] for name in counted.turns}


def summary(row: Row, anchor: str, chunk: int, searched: int) -> dict[str, Any]:
    """What the list of sessions shows, filters and searches without unpacking the session.

    searched: how many characters of what was said go with it.
    """
    turns = judged(row)
    made: dict[str, Any] = {
        "id": anchor,
        "chunk": chunk,
        "name": short_name(row),
        "cassette": row["cassette"],
        "fork": row["fork"],
        "group": SLUGS[group_of_row(row)],
        "verdicts": Counter(turn["verdict"] for turn in turns),
        "marks": "".join(map(_mark, row["turns"])),
        "tools": sorted({name for turn in turns for call in turn["calls"] for name in _names(call)}),
        "kinds": sorted({found["kind"] for turn in turns for found in turn["divergences"] if not found.get("note")}),
        "turns": len(row["turns"]),
        "ms": row.get("duration_ms"),
        "text": " ".join(filter(None, _said(row)))[:searched],
    }
    made |= {key: row[key] for key in ("title", "session", "agent", "owner", "until", "mode") if row.get(key)}
    if row.get("gate") == "warn":
        made["gate"] = "warn"
    if row.get("warnings"):
        made["warned"] = len(row["warnings"])
    if not group_of_row(row).passes:
        made["why"] = in_one_line(row, now="now")
        made["bad"] = [[turn["turn"], turn["verdict"]] for turn in turns if not group_of_turn(turn).passes]
    return made


def _names(call: Row) -> Iterator[str]:
    """The tool that was called, and those that were in its place before."""
    yield call["tool"]
    for side in ("recorded", "accepted"):
        if (call.get(side) or {}).get("tool"):
            yield call[side]["tool"]


def _mark(turn: Row) -> str:
    """The first letter of the slug of a turn's group, `-` beyond `until`."""
    return "-" if turn.get("beyond_until") else SLUGS[group_of_turn(turn)][0]


def _said(row: Row) -> Iterator[str]:
    """What users said, then what was answered."""
    for turn in row["turns"]:
        yield _as_text(turn.get("input"))
    for turn in row["turns"]:
        replayed = turn["replayed"] or {}
        yield _as_text((turn["recorded"] if replayed.get("same") else replayed).get("output"))


def _as_text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else one_line(value)


def _add_causes(sessions: Sequence[dict[str, Any]], found: Sequence[Cause], at: Mapping[int, str]) -> None:
    """To each session the positions of its causes, and their fingerprints, by which they are searched."""
    by_anchor = {session["id"]: session for session in sessions}
    for position, cause in enumerate(found):
        for row, turn in cause.rows:
            session = by_anchor[at[id(row)]]
            prints = session.setdefault("prints", [])
            prints += [fingerprint] if (fingerprint := _found(cause, turn).get("fingerprint", "")) not in prints else []
            places = session.setdefault("causes", [])
            places += [position] if position not in places else []


def _cause(cause: Cause, at: Mapping[int, str]) -> dict[str, Any]:
    """The first differences of many sessions that are of one kind at one path, as one; equal ones are one pair."""
    pairs: dict[str, dict[str, Any]] = {}
    for row, turn in cause.rows:
        found = _found(cause, turn)
        pair = pairs.setdefault(found.get("fingerprint", ""), {**_pair(found), "turns": []})
        pair["turns"].append([at[id(row)], turn["turn"]])
    told = sorted(pairs.values(), key=lambda pair: -len(pair["turns"]))
    example = cause.example if cause.kind == Kind.EXPECT else kind_of(cause)
    return {
        "path": cause.path,
        "kind": cause.kind,
        "facet": cause.facet,
        "words": words_beside_path(example | {"path": cause.path}),
        "sessions": cause.sessions,
        "slug": SLUGS[min((group_of_row(row) for row, _ in cause.rows), key=GROUPS.index)],
        "owners": sorted({str(row["owner"]) for row, _ in cause.rows if row.get("owner")}),
        "pairs": told[:_VALUES],
        "more": len(told[_VALUES:]),
    }


def _found(cause: Cause, turn: Row) -> Row:
    """The difference of this turn that the cause is."""
    return next(
        found
        for found in turn["divergences"]
        if (found["kind"], found["path"]) == (cause.kind, cause.path)
        and not found.get("note")
        and not found.get("follows")
    )


def _pair(found: Row) -> dict[str, Any]:
    texts = {side: one_line(found[side]) for side in told_sides(found)}
    if len(texts) == 2:
        texts = dict(zip(texts, shorten_pair(texts["recorded"], texts["replayed"], _WIDTH), strict=True))
    told = {side: shorten(text, _WIDTH + 40) for side, text in texts.items()}
    return {"print": found.get("fingerprint", ""), "side": side_name(found, "recorded"), **told}


def _against(found: Against, sessions: Sequence[dict[str, Any]], at: Mapping[int, str]) -> dict[str, Any]:
    """What differs from the base: names with counts, each session marked with its own, and what is gone."""
    by_anchor = {session["id"]: session for session in sessions}
    changes = {
        "newly-failing": found.newly_failing,
        "newly-passing": found.newly_passing,
        "still-failing": found.still_failing,
        "new": found.new,
        **({"unfinished": found.unknown} if found.unknown else {}),
    }
    for name, rows in changes.items():
        for row in rows:
            by_anchor[at[id(row)]]["base"] = name
    removed = [visible(short_name(row)) for row in found.removed]
    return {"path": found.path, "counts": [[name, len(rows)] for name, rows in changes.items()], "removed": removed}
