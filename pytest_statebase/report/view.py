"""Rows as the view model: everything that is counted, sorted, shortened or named for the page is done here."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..compare.model import Group, Kind, Verdict
from .grouping import (
    DIFFERENCES,
    GROUPS,
    Cause,
    Totals,
    Write,
    causes,
    group_of_row,
    group_of_turn,
    judged,
    kind_of,
    plural,
    sentence,
    short_name,
    tally_text,
    told_sides,
    totals,
    writes,
)
from .outputs import Run
from .results import replay_key
from .rows import Row
from .sessionview import session_view
from .show import one_line, shorten, shorten_pair, visible
from .traffic import stale_text, traffic_counts
from .viewmodel import SLUGS, CauseView, GroupView, Link, Mark, ReportView, SessionView, WriteItem, WriteRow, WritesView

_PAGE = 6_000_000
_FULL_TURNS = 2_000
_LISTED = 60
_OPEN = 30


def build_view(made: Run, anchors: Sequence[str]) -> ReportView:
    """All that the page says of a run without its script. anchors: as `anchors_of` the rows."""
    rows, run = made.rows, made.run
    counted = totals(rows)
    sessions = _sessions(rows, anchors)
    at = {id(row): anchor for row, anchor in zip(rows, anchors, strict=True)}
    groups = _groups(rows, sessions)
    bad = [session.anchor for group in groups[:2] for session in group.sessions]
    stopped = [_stop(row, at[id(row)]) for row in rows if not _is_done(row)]
    found = causes(rows)
    return ReportView(
        title="Replay report",
        facts=_run_facts(run),
        warnings=[visible(str(warning)) for warning in run.get("warnings", ())],
        stale=visible(stale_text(rows) or "") or None,
        verdict=_sentence(counted, len(rows)),
        groups=groups,
        reached=f"{counted.to_the_end:,} of {plural(len(rows), 'session')} reached the last turn to be replayed",
        stopped=stopped[:_LISTED],
        stopped_more=max(0, len(stopped) - _LISTED),
        calls=_call_counts(counted),
        turns=_turn_counts(counted),
        writes=_writes_view(list(writes(rows)), at),
        causes=[_cause(one, at) for one in found[:_LISTED]],
        causes_more=max(0, len(found) - _LISTED),
        first_bad=bad[0] if bad else None,
    )


def _sessions(rows: Sequence[Row], anchors: Sequence[str]) -> list[SessionView]:
    """In the order of `rows`. What a page can hold in full goes to the worst groups first."""
    sizes = {id(row): sum(1 for turn in row["turns"] if turn["verdict"] != Verdict.UNCHANGED) for row in rows}
    limit = min(20_000, max(200, _PAGE // (8 * min(_FULL_TURNS, max(1, sum(sizes.values()))))))
    full: set[int] = set()
    left = _FULL_TURNS
    for row in sorted(rows, key=lambda row: GROUPS.index(group_of_row(row))):
        left -= sizes[id(row)]
        if left >= 0 or not full:
            full.add(id(row))
    return [session_view(row, anchor, limit, full=id(row) in full) for row, anchor in zip(rows, anchors, strict=True)]


_WRITE_STATES = ("made", "moved", "changed", "missing", "extra", "unrecorded", "not reached")


def anchors_of(rows: Sequence[Row]) -> list[str]:
    """Names of sessions on the page: digests, so that nothing recorded gets into an attribute, equal in every run."""
    seen: Counter[str] = Counter()
    anchors = []
    for row in rows:
        digest = hashlib.sha256("\0".join(replay_key(row)).encode("utf-8", "backslashreplace")).hexdigest()[:10]
        seen[digest] += 1
        anchors.append(f"s-{digest}" + (f"-x{seen[digest]}" if seen[digest] > 1 else ""))
    return anchors


def _run_facts(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    words = {"started_at": "started", "duration_s": "seconds", "pytest_statebase": "pytest-statebase"}
    known = [
        name for name in ("agent", "started_at", "duration_s", "pytest_statebase", "pytest", "python") if run.get(name)
    ]
    facts = [(words.get(name, name), visible(str(run[name]))) for name in known]
    return facts + ([("result files", str(run["files"]))] if run.get("files") else [])


def _sentence(counted: Totals, number: int) -> str:
    bad = counted.replays[Group.FAIL] + counted.replays[Group.COULD_NOT_RUN]
    if not number:
        return "No session was replayed."
    if not bad:
        return f"All {number:,} sessions pass." if number > 1 else "The session passes."
    if number == 1:
        return "The session does not pass."
    return f"{bad:,} of {number:,} sessions {'does' if bad == 1 else 'do'} not pass."


def _groups(rows: Sequence[Row], sessions: Sequence[SessionView]) -> list[GroupView]:
    members: dict[Group, list[SessionView]] = {group: [] for group in Group}
    verdicts: dict[Group, Counter[str]] = {group: Counter() for group in Group}
    for row, session in zip(rows, sessions, strict=True):
        group = group_of_row(row)
        members[group].append(session)
        verdicts[group].update(turn["verdict"] for turn in judged(row))
    return [
        GroupView(
            Mark(group.value, SLUGS[group]),
            len(members[group]),
            round(100 * len(members[group]) / max(1, len(rows)), 3),
            tally_text(verdicts[group]),
            members[group] if group.passes else _chained(members[group]),
        )
        for group in Group
    ]


def _chained(sessions: list[SessionView]) -> list[SessionView]:
    """Each with the anchors of its neighbours; the first ones open, so that a page of many stays quick."""
    last = len(sessions) - 1
    return [
        replace(
            session,
            previous=sessions[index - 1].anchor if index else None,
            following=sessions[index + 1].anchor if index < last else None,
            is_open=index < _OPEN,
        )
        for index, session in enumerate(sessions)
    ]


def _turn_counts(counted: Totals) -> list[tuple[str, int]]:
    always = ("other actions", "only reworded", "no difference")
    return [(name, counted.differences[name]) for name in DIFFERENCES if counted.differences[name] or name in always]


def _call_counts(counted: Totals) -> list[tuple[str, int]]:
    """What can be and was not is left out, but for what everybody looks for."""
    calls = counted.calls
    flags = [(name, calls[name]) for name in ("stale", "repeated", "moved") if calls[name]] or [("flagged", 0)]
    others = [(name, calls[name]) for name in ("accepted", "authored", "sibling", "simulated", "live") if calls[name]]
    return [
        ("answered", calls["answered"]),
        *flags,
        *others,
        ("unrecorded", calls["unrecorded"]),
        ("unused", calls["unused"]),
        *((f"{label} {how}", number) for label, counts in traffic_counts(counted.requests) for how, number in counts),
    ]


def _is_done(row: Row) -> bool:
    turns = judged(row)
    return bool(turns) and turns[-1]["replayed"] is not None


def _stop(row: Row, anchor: str) -> Link:
    turns = judged(row)
    ran = [turn for turn in turns if turn["replayed"] is not None]
    note = "did not begin"
    if ran:
        left = f"{len(turns) - len(ran)} of {plural(len(turns), 'turn')} left"
        note = f"stopped in turn {ran[-1]['turn']} ({visible(ran[-1]['verdict'])}), {left}"
    return Link(visible(short_name(row)), anchor, SLUGS[group_of_row(row)], note)


def _writes_view(found: Sequence[Write], at: Mapping[int, str]) -> WritesView:
    troubled = [one for one in found if one.state in _TROUBLE]
    troubled.sort(key=lambda one: group_of_turn(one.turn) is not Group.FAIL)
    others = [one for one in found if one.state in ("made", "moved", "not reached")]
    states = _write_states(found)
    return WritesView(
        states,
        _write_rows(found, states),
        [_write_item(one, at[id(one.row)]) for one in troubled[:_LISTED]],
        max(0, len(troubled) - _LISTED),
        [_write_item(one, at[id(one.row)]) for one in others[:_LISTED]],
        max(0, len(others) - _LISTED),
    )


def _write_states(made: Sequence[Write]) -> list[str]:
    """The columns: those that anybody looks for, and those in which something stands."""
    seen = {one.state for one in made} | {"made", "missing", "unrecorded"}
    return [state for state in _WRITE_STATES if state in seen]


def _write_rows(made: Sequence[Write], states: Sequence[str]) -> list[WriteRow]:
    tools: dict[str, Counter[str]] = {}
    hot: Counter[tuple[str, str]] = Counter()
    for one in made:
        if one.state == "elsewhere":
            continue
        tool = one.call["tool"]
        tools.setdefault(tool, Counter())[one.state] += 1
        if one.state in _TROUBLE and group_of_turn(one.turn) is not Group.OK:
            hot[tool, one.state] += 1
    order = sorted(tools, key=lambda tool: (-sum(tools[tool][state] for state in _TROUBLE), tool))
    return [
        WriteRow(visible(tool), [(tools[tool][state], bool(hot[tool, state])) for state in states]) for tool in order
    ]


_TROUBLE = ("changed", "missing", "extra", "unrecorded")
_STATE_SLUGS = {"made": "ok", "moved": "review", "not reached": "norun"}


def _write_item(one: Write, anchor: str) -> WriteItem:
    side = (
        one.call["replayed"] if one.call["replayed"] and not one.call["replayed"].get("same") else one.call["recorded"]
    )
    arguments = side["arguments"] if side else None
    shown = arguments if isinstance(arguments, str) else one_line(arguments)
    number = one.turn["turn"]
    return WriteItem(
        Mark(one.state, _STATE_SLUGS.get(one.state) or SLUGS[group_of_turn(one.turn)]),
        visible(one.call["tool"]),
        shorten(visible(shown), 160),
        Link(f"{visible(short_name(one.row))}, turn {number}", f"{anchor}-{number}"),
    )


def _cause(cause: Cause, at: Mapping[int, str]) -> CauseView:
    example = cause.example
    texts = {side: one_line(example[side]) for side in told_sides(example)}
    if len(texts) == 2:
        texts = dict(zip(texts, shorten_pair(texts["recorded"], texts["replayed"], 160), strict=True))
    links = [
        Link(f"{visible(short_name(row))}, turn {turn['turn']}", f"{at[id(row)]}-{turn['turn']}")
        for row, turn in cause.rows[:5]
    ]
    return CauseView(
        visible(cause.path),
        visible(sentence(example if cause.kind == Kind.EXPECT else kind_of(cause)) or "another value"),
        cause.sessions,
        "" if cause.fingerprints < 2 or not texts else f"{cause.fingerprints} pairs of values, one of them:",
        shorten(texts["recorded"], 200) if "recorded" in texts else None,
        shorten(texts["replayed"], 200) if "replayed" in texts else None,
        links,
        len(cause.rows) - len(links),
    )
