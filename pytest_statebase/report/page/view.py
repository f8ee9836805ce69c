"""Rows as the view model: everything that is counted, sorted, shortened or named for the page is done here."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...compare.model import Group, Kind
from ..grouping import (
    DIFFERENCES,
    GROUPS,
    PLAN,
    Cause,
    Totals,
    Write,
    causes,
    group_of_row,
    group_of_turn,
    in_one_line,
    judged,
    kind_of,
    plural,
    sessions_text,
    short_name,
    tally_text,
    told_sides,
    totals,
    words_beside_path,
    writes,
)
from ..incomplete import failing, headline, passing
from ..results import replay_key
from ..rows import Row
from ..runs import Run
from ..show import one_line, short_value, shorten, shorten_pair, visible
from ..traffic import stale_text, traffic_counts
from .sessionview import session_view, told_turns
from .viewmodel import SLUGS, CauseView, GroupView, Link, Mark, ReportView, SessionView, WriteItem, WriteRow, WritesView

_PAGE = 400_000
"""Characters of values that the plain page holds, about."""
_FULL = 20
"""Sessions of a group that are told with what differs in them."""
_LISTED = 60


def build_view(made: Run, anchors: Sequence[str]) -> ReportView:
    """All that the page says of a run without its script. anchors: as `anchors_of` the rows."""
    rows, run = made.rows, made.run
    counted = totals(rows)
    groups = _groups(rows, anchors)
    places = _Places(rows, anchors, groups)
    stopped = [_stop(row, places) for row in rows if not _is_done(row)]
    doubts = [made.against.doubt] if made.against and made.against.doubt else []
    found = causes(rows)
    return ReportView(
        title="Replay report",
        facts=_run_facts(run),
        warnings=[visible(str(warning)) for warning in [*run.get("warnings", ()), *doubts]],
        stale=visible(stale_text(rows) or "") or None,
        verdict=headline(run, _sentence(counted, rows, run)),
        groups=groups,
        reached=f"{counted.to_the_end:,} of {sessions_text(rows)} reached the last turn to be replayed",
        stopped=stopped[:_LISTED],
        stopped_more=max(0, len(stopped) - _LISTED),
        calls=_call_counts(counted),
        turns=_turn_counts(counted),
        writes=_writes_view(list(writes(rows)), places),
        causes=[_cause(one, places) for one in found[:_LISTED]],
        causes_more=max(0, len(found) - _LISTED),
        first_bad=next((session.anchor for group in groups for session in group.sessions), None),
    )


class _Places:
    """Where the page tells a session or one of its turns; what it does not tell is on the page for its script alone."""

    def __init__(self, rows: Sequence[Row], anchors: Sequence[str], groups: Sequence[GroupView]) -> None:
        self._at = {id(row): anchor for row, anchor in zip(rows, anchors, strict=True)}
        self._told = {session.anchor for group in groups for session in group.sessions}
        self._told |= {turn.anchor for group in groups for session in group.sessions for turn in session.turns}

    def link(self, text: str, row: Row, turn: Row | None = None, *, slug: str = "", note: str = "") -> Link:
        """A link to a session, or to one of its turns."""
        anchor = self._at[id(row)] + (f"-{turn['turn']}" if turn else "")
        return Link(visible(text), anchor, slug, note, anchor in self._told)


def _failures(rows: Sequence[Row], anchors: Sequence[str]) -> dict[Group, list[SessionView]]:
    """The sessions that do not pass, by group; of each group the first ones."""
    found: dict[Group, list[tuple[Row, str]]] = {group: [] for group in GROUPS if not group.passes}
    for row, anchor in zip(rows, anchors, strict=True):
        group = group_of_row(row)
        if not group.passes and len(found[group]) < _FULL:
            found[group].append((row, anchor))
    values = sum(8 + 4 * len(turn["calls"]) for told in found.values() for row, _ in told for turn in told_turns(row))
    limit = min(4_000, max(200, _PAGE // max(1, values)))
    return {group: [session_view(row, anchor, limit) for row, anchor in told] for group, told in found.items()}


_WRITE_STATES = ("made", "moved", "changed", "missing", "extra", "unrecorded", "not reached")


def anchors_of(rows: Sequence[Row]) -> list[str]:
    """Names of sessions on the page: digests, so that nothing recorded gets into an attribute, equal in every run.

    They depend on no other row, but where one test, or one item of several runs, made the same replay more than once.
    """
    alike: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        digest = hashlib.sha256("\0".join(_named(row)).encode("utf-8", "backslashreplace")).hexdigest()[:10]
        alike.setdefault(f"s-{digest}", []).append(at)
    anchors = [""] * len(rows)
    for anchor, found in alike.items():
        for number, at in enumerate(sorted(found, key=lambda at: replay_key(rows[at])), 1):
            anchors[at] = anchor if number == 1 else f"{anchor}-x{number}"
    return anchors


def _named(row: Row) -> tuple[str, ...]:
    """What a link leads to: the cassette with the fork as the plan's item names it, or with the test that replayed it.

    The name of an item holds the agent where a run has several.
    """
    cassette, fork = str(row["cassette"]), str(row["fork"]).replace(" ", "-")
    path, _, name = str(row.get("nodeid") or "").rpartition("::")
    if not name or path.endswith(PLAN):
        return cassette, name or fork
    return cassette, fork, path, name


def _run_facts(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    words = {"started_at": "started", "duration_s": "seconds", "pytest_statebase": "pytest-statebase"}
    known = [
        name for name in ("agent", "started_at", "duration_s", "pytest_statebase", "pytest", "python") if run.get(name)
    ]
    facts = [(words.get(name, name), visible(str(run[name]))) for name in known]
    return facts + ([("result files", str(run["files"]))] if run.get("files") else [])


def _sentence(counted: Totals, rows: Sequence[Row], run: Mapping[str, Any]) -> str:
    bad = counted.replays[Group.FAIL] + counted.replays[Group.COULD_NOT_RUN]
    told = sessions_text(rows)
    words = failing(bad, len(rows), told) if bad else passing(run, len(rows), told)
    return f"{words[:1].upper()}{words[1:]}."


def _groups(rows: Sequence[Row], anchors: Sequence[str]) -> list[GroupView]:
    told = _failures(rows, anchors)
    return [_group(group, [row for row in rows if group_of_row(row) is group], told, len(rows)) for group in Group]


def _group(group: Group, rows: Sequence[Row], told: Mapping[Group, list[SessionView]], total: int) -> GroupView:
    verdicts = Counter(turn["verdict"] for row in rows for turn in judged(row))
    sessions = told.get(group, [])
    left = [] if group.passes else rows[len(sessions) :]
    return GroupView(
        Mark(group.value, SLUGS[group]),
        len(rows),
        round(100 * len(rows) / max(1, total), 3),
        tally_text(verdicts),
        sessions,
        [(visible(short_name(row)), in_one_line(row, now="now")) for row in left[:_LISTED]],
        max(0, len(left) - _LISTED),
    )


def _turn_counts(counted: Totals) -> list[tuple[str, int]]:
    always = ("other actions", "only reworded", "no difference")
    return [(name, counted.differences[name]) for name in DIFFERENCES if counted.differences[name] or name in always]


def _call_counts(counted: Totals) -> list[tuple[str, int]]:
    """What can be and was not is left out, but for what everybody looks for."""
    calls = counted.calls
    flags = [(name, calls[name]) for name in ("stale", "repeated", "moved") if calls[name]]
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


def _stop(row: Row, places: _Places) -> Link:
    turns = judged(row)
    ran = [turn for turn in turns if turn["replayed"] is not None]
    note = "did not begin"
    if ran:
        left = f"{len(turns) - len(ran)} of {plural(len(turns), 'turn')} left"
        note = f"stopped in turn {ran[-1]['turn']} ({visible(ran[-1]['verdict'])}), {left}"
    return places.link(short_name(row), row, slug=SLUGS[group_of_row(row)], note=note)


def _writes_view(found: Sequence[Write], places: _Places) -> WritesView:
    troubled = [one for one in found if one.state in _TROUBLE]
    troubled.sort(key=lambda one: group_of_turn(one.turn) is not Group.FAIL)
    others = [one for one in found if one.state in _UNTROUBLED]
    counted = Counter(one.state for one in others)
    states = _write_states(found)
    return WritesView(
        states,
        _write_rows(found, states),
        [_write_item(one, places) for one in troubled[:_LISTED]],
        max(0, len(troubled) - _LISTED),
        [_write_item(one, places) for one in others[:_LISTED]],
        max(0, len(others) - _LISTED),
        ", ".join(f"{counted[state]:,} {words}" for state, words in _UNTROUBLED.items() if counted[state]),
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
_UNTROUBLED = {"made": "made as recorded", "moved": "made in another turn", "not reached": "not reached"}
_STATE_SLUGS = {"made": "ok", "moved": "review", "not reached": "norun"}


def _write_item(one: Write, places: _Places) -> WriteItem:
    side = (
        one.call["replayed"] if one.call["replayed"] and not one.call["replayed"].get("same") else one.call["recorded"]
    )
    arguments = side["arguments"] if side else None
    kept = short_value(arguments) if isinstance(arguments, str) else arguments
    shown = kept if isinstance(kept, str) else one_line(kept)
    return WriteItem(
        Mark(one.state, _STATE_SLUGS.get(one.state) or SLUGS[group_of_turn(one.turn)]),
        visible(one.call["tool"]),
        shorten(visible(shown), 160),
        places.link(f"{short_name(one.row)}, turn {one.turn['turn']}", one.row, one.turn),
    )


_VALUES = {1: "values", 2: "pairs of values"}


def _cause(cause: Cause, places: _Places) -> CauseView:
    example = cause.example
    texts = {side: one_line(example[side]) for side in told_sides(example)}
    if len(texts) == 2:
        texts = dict(zip(texts, shorten_pair(texts["recorded"], texts["replayed"], 160), strict=True))
    links = [places.link(f"{short_name(row)}, turn {turn['turn']}", row, turn) for row, turn in cause.rows[:5]]
    return CauseView(
        visible(cause.path),
        visible(words_beside_path((example if cause.kind == Kind.EXPECT else kind_of(cause)) | {"path": cause.path})),
        cause.sessions,
        "" if cause.fingerprints < 2 or not texts else f"{cause.fingerprints} {_VALUES[len(texts)]}, one of them:",
        shorten(texts["recorded"], 200) if "recorded" in texts else None,
        shorten(texts["replayed"], 200) if "replayed" in texts else None,
        links,
        len(cause.rows) - len(links),
    )
