"""What pytest's terminal shows of replays: lines of parts, each with the markup of pytest's terminal writer.

A line is a list of `(text, markup)`, markup as `TerminalWriter.write` takes it: `[("fail", {"red": True})]`.
No part holds an escape sequence or a line break; what was recorded is made visible first.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from ..compare.model import Group, Kind, Verdict
from .grouping import (
    Cause,
    calls_line,
    cassette_name,
    causes,
    group_of_row,
    group_of_turn,
    in_one_line,
    judged,
    kind_of,
    name_of,
    not_reached,
    plural,
    root_cause,
    sentence,
    side_name,
    tally_text,
    told_sides,
    totals,
)
from .notes import expired_text, known_text
from .raised import raised_text, trace_of
from .rows import Row
from .show import one_line, shorten, shorten_pair, visible
from .traffic import is_stale_alone, stale_lines, stale_text, traffic_texts

__all__ = [
    "Line",
    "Part",
    "divergence_lines",
    "failure_lines",
    "in_one_line",
    "named",
    "note_lines",
    "plain",
    "summary_lines",
    "told_failures",
    "width_of",
]

Part: TypeAlias = tuple[str, dict[str, bool]]
Line: TypeAlias = list[Part]

BOLD, DIM = {"bold": True}, {"light": True}
RED, GREEN, YELLOW, CYAN = {"red": True}, {"green": True}, {"yellow": True}, {"cyan": True}
BLUE, PURPLE = {"blue": True}, {"purple": True}

COLOURS = {Group.FAIL: RED, Group.COULD_NOT_RUN: YELLOW, Group.REVIEW: BLUE, Group.OK: GREEN}

_WIDTHS = (140, 2_000, 100_000)
_FOLDED = 6
_FAILED = 20
_CAUSES = 8


def plain(lines: Iterable[Line]) -> str:
    """The lines as text without markup."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def width_of(verbosity: int) -> int:
    """Characters of a value that are shown: `-v` shows more, `-vv` all that the row holds."""
    return _WIDTHS[min(max(verbosity, 0), 2)]


def failure_lines(row: Row, *, verbosity: int = 0) -> list[Line]:
    """Why a replay did not pass, for the failing item: turn, facet, path and both values, the cause first.

    verbosity: pytest's; from 1 on, what follows from the cause is told in full and values are cut later.
    """
    lines: list[Line] = list(_heading(row))
    if row["message"]:
        lines += _message(row["message"])
    root = root_cause(row)
    for (is_aside, _), turns in groupby(judged(row), key=lambda turn: _aside_key(turn, verbosity)):
        if is_aside:
            lines.append(_asides(list(turns)))
        else:
            for turn in turns:
                lines += _turn(turn, root[0] if root else None, verbosity)
    lines += _hints(row)
    return lines


def _heading(row: Row) -> Iterator[Line]:
    yield [(visible(name_of(row)), BOLD)] + ([(f"  {visible(row['title'])}", {})] if row["title"] else [])
    facts = [("session", row["session"]), ("agent", row["agent"]), ("fork", row["fork"]), ("until turn", row["until"])]
    told = [f"{word} {visible(str(value))}" for word, value in facts if value not in (None, "")]
    yield [("  " + ", ".join(told + ([row["mode"]] if row["mode"] else [])), DIM)]
    if row["owner"]:
        yield [(f"  owner {visible(row['owner'])}", DIM)]
    if row["outcome"] == "failed" and row["failure"] and not _has_bad_turn(row):
        yield [(f"  {visible(row['failure'])}", RED)]


def _has_bad_turn(row: Row) -> bool:
    return any(not group_of_turn(turn).passes for turn in judged(row))


def _message(message: str) -> Iterator[Line]:
    for line in message.split("\n"):
        yield [("  " + visible(line), RED)]


def _aside_key(turn: Row, verbosity: int) -> tuple[bool, str]:
    """Whether a turn needs no more than a mention, and with which of its neighbours it shares one."""
    is_aside = turn["verdict"] == Verdict.NOT_REPLAYED or (verbosity < 1 and group_of_turn(turn) is Group.REVIEW)
    told = (turn["verdict"], turn.get("reason"), turn["authored"], turn.get("known"), turn.get("excused"))
    return is_aside, str(told) if is_aside else ""


def _asides(turns: list[Row]) -> Line:
    """`turns 5 to 8 off-script  14 differences, not judged`."""
    first, last = turns[0], turns[-1]
    name = f"turn {first['turn']}" if len(turns) == 1 else f"turns {first['turn']} to {last['turn']}"
    count = sum(not found.get("note") for turn in turns for found in turn["divergences"])
    told = str(first.get("reason") or "").split("\n", 1)[0]
    if not told and count and first["verdict"] == Verdict.OFF_SCRIPT:
        told = plural(count, "difference") + ", not judged"
    return [*_named(name, first), (f"  {visible(told)}" if told else "", DIM)]


def _turn(turn: Row, cause_turn: Row | None, verbosity: int) -> Iterator[Line]:
    if group_of_turn(turn) is Group.OK and verbosity < 1:
        return
    yield []
    said = [(f"  {shorten(one_line(turn['input']), 70)}", DIM)] if turn["input"] else []
    yield [*_named(f"turn {turn['turn']}", turn), *said]
    yield from _divergences(turn, turn is cause_turn, verbosity)
    if turn["verdict"] == Verdict.STILL_FAILING and not turn["divergences"]:
        yield [("  as it was recorded", RED)]
    yield from _crash(turn, width_of(verbosity))
    yield from _not_reached(turn, width_of(verbosity))
    if verbosity > 0 and "accepted" in turn:
        yield from _columns(turn, width_of(verbosity))
    for call in turn["calls"]:
        if call.get("explanation"):
            yield from _block(call["explanation"])
    for request in turn.get("requests", ()):
        if request.get("explanation") and request["explanation"] != turn.get("reason"):
            yield from _block(request["explanation"])
        if request.get("hint"):
            yield from _block(request["hint"])
    if turn.get("reason"):
        yield from _block(turn["reason"])


def _crash(turn: Row, width: int) -> Iterator[Line]:
    """What the agent raised, and where."""
    raised, trace = raised_text(turn, turn["divergences"]), trace_of(turn)
    if raised:
        yield [("  the agent raised ", {}), (shorten(raised, 2 * width), {**RED, **BOLD})]
    if trace:
        yield from _block(trace)


def _not_reached(turn: Row, width: int) -> Iterator[Line]:
    """What the recording does after the point at which the turn ended, writes first."""
    calls = sorted(not_reached(turn), key=lambda call: bool(call.get("reads")))
    if calls:
        names = ", ".join(visible(call["label"]) for call in calls)
        yield [(f"  {plural(len(calls), 'recorded call')} not reached: ", {}), (shorten(names, width), {})]


def _columns(turn: Row, width: int) -> Iterator[Line]:
    """What was recorded, what was accepted and what was replayed, one below the other, where they are not all one."""
    sides = {side: turn[side] or {} for side in ("recorded", "accepted", "replayed")}
    told = {key: {side: one_line(found[key]) for side, found in sides.items() if key in found} for key in _TOLD}
    told["calls"] = {side: ", ".join(_made(turn, side)) or "none" for side in sides}
    for key, texts in told.items():
        if len(set(texts.values())) > 1 or 0 < len(texts) < len(sides):
            yield [(f"  {key}", DIM)]
            for side in sides:
                colour = PURPLE if side == "recorded" else CYAN if side == "replayed" else GREEN
                yield [(f"      {side}  ", DIM), (shorten(texts.get(side, "nothing"), width + 40), colour)]


_TOLD = ("error", "state", "memory", "output")


def _made(turn: Row, side: str) -> Iterator[str]:
    """The calls of one side as text."""
    place = ("recorded", "accepted", "replayed").index(side)
    for call in sorted(turn["calls"], key=lambda call: call["places"][place] or 0):
        found = call.get(side)
        if found is not None and found.get("same"):
            found = call["replayed"] if side == "accepted" and not call["replayed"].get("same") else call["recorded"]
        if found is not None:
            yield f"{visible(found.get('tool') or call['tool'])}({_arguments(found['arguments'])})"


def _arguments(arguments: object) -> str:
    if not isinstance(arguments, dict):
        return one_line(arguments)
    return ", ".join(f"{visible(str(key))}={one_line(value)}" for key, value in arguments.items())


def _named(name: str, turn: Row) -> Line:
    authored = [(" (input authored)", DIM)] if turn["authored"] else []
    verdict = (visible(turn["verdict"]), {**COLOURS[group_of_turn(turn)], **BOLD})
    return [(f"{name} ", BOLD), verdict, *authored, *_known(turn)]


def _known(turn: Row) -> Line:
    known: Line = [(f"  {visible(known_text(one))}", {}) for one in turn.get("known", ())]
    return known + [(f"  {visible(expired_text(one))}", {**RED, **BOLD}) for one in turn.get("expired", ())]


def _block(text: str) -> Iterator[Line]:
    """A text of several lines that somebody may paste from."""
    for line in textwrap.dedent(visible(text, lines=True)).strip("\n").split("\n"):
        yield [("    " + line, {})]


def _divergences(turn: Row, is_cause_turn: bool, verbosity: int) -> Iterator[Line]:
    shown, folded = _split(turn, is_cause_turn, verbosity)
    for found in shown:
        yield from divergence_lines(found, verbosity=verbosity)
    if folded:
        followers = all(found.get("follows") for found in folded)
        more = f"{len(folded)} more follow" + ("s" if len(folded) == 1 else "") if followers else f"{len(folded)} more"
        source = " from it" if is_cause_turn else " from the first difference"
        yield [(f"  {more}{source if followers else ''} (-v shows them)", DIM)]


def _split(turn: Row, is_cause_turn: bool, verbosity: int) -> tuple[list[Row], list[Row]]:
    """The differences to tell in full, the cause first, and those to count alone."""
    found = [one for one in turn["divergences"] if verbosity > 0 or not one.get("note")]
    if verbosity > 0:
        return found, []
    shown = [one for one in found if not one.get("follows") or one["kind"] == Kind.EXPECT]
    shown.sort(key=lambda one: (bool(one.get("follows")), one["kind"] == Kind.TEXT))
    if not shown and found:
        shown = found[:1]
    kept = shown[:_FOLDED]
    return kept, [one for one in found if not any(one is other for other in kept)]


def divergence_lines(found: Row, *, verbosity: int = 0) -> Iterator[Line]:
    """One difference: its facet, path and kind, then the recorded and the replayed value."""
    colour = DIM if found.get("note") or found.get("follows") else RED
    words = visible(sentence(found))
    facet = "" if found["path"].startswith(found["facet"]) else f"{found['facet']}  "
    told = [(f"  {facet}", DIM), (visible(found["path"]), {**colour, **BOLD}), (f"  {words}" if words else "", {})]
    yield told + ([(f"  {found['fingerprint']}", DIM)] if verbosity > 0 and found.get("fingerprint") else [])
    yield from _values(found, width_of(verbosity))


def _values(found: Row, width: int) -> Iterator[Line]:
    sides = told_sides(found)
    texts = [one_line(found[side]) for side in sides]
    if len(texts) == 2:
        texts = list(shorten_pair(texts[0], texts[1], width))
    for side, text in zip(sides, texts, strict=True):
        colour = PURPLE if side == "recorded" else CYAN
        yield [(f"      {side_name(found, side)}  ", DIM), (shorten(text, width + 40), colour)]


def _hints(row: Row) -> Iterator[Line]:
    verdicts = {turn["verdict"] for turn in judged(row)}
    # Of a model that gave no answer, no other history tells more.
    stopped = Verdict.NOT_REPLAYED in verdicts and not verdicts & {Verdict.INCONCLUSIVE, Verdict.STALE}
    if stopped and row["mode"] == "continuous":
        yield [("  --statebase-mode=isolated replays each turn from its own recorded history", DIM)]
    open_turns = [turn["turn"] for turn in judged(row) if turn["verdict"] in (Verdict.CHANGED, Verdict.UNPROVEN)]
    if open_turns:
        what = f"{visible(row['session'])}:{open_turns[0]}"
        yield [(f"  --statebase-accept={what} accepts turn {open_turns[0]} as it is now", DIM)]
    for warning in row["warnings"]:
        yield [("  warning  ", YELLOW), (visible(warning), {})]


def summary_lines(rows: Sequence[Row], *, verbosity: int = 0, report: str | None = None) -> list[Line]:
    """The end of the run: failures one line each, one line a group, calls, causes; nothing for no rows.

    verbosity: pytest's; below 0 the groups that did not pass alone, from 1 on the turns to review as well.
    report: where the HTML page was written.
    """
    if not rows:
        return []
    counted = totals(rows)
    lines: list[Line] = []
    if verbosity >= 0:
        lines += _failed(rows, verbosity)
    if verbosity > 0:
        lines += _reviewed(rows)
        lines += _accepted(rows, width_of(verbosity))
        lines += _pinned(rows)
    for group in Group:
        if counted.replays[group] and (verbosity >= 0 or not group.passes):
            lines.append(_labelled(group, _group_text(rows, group), COLOURS[group]))
    if verbosity >= 0:
        lines.append(_labelled("calls", calls_line(counted.calls), {}))
        lines += [_labelled(label, text, {}) for label, text in traffic_texts(counted.requests)]
        lines += _causes(rows, verbosity)
    stale = stale_text(rows)
    if stale:
        lines.append(_labelled("stale", visible(stale), YELLOW))
        for where, moved in stale_lines(rows) if verbosity > 0 else ():
            told = shorten(visible(moved), width_of(verbosity))
            lines.append([(f"{'':<15}", {}), (visible(where), BOLD), (f"  {told}", {})])
    if report:
        lines.append(_labelled("report", visible(report), {}))
    return lines


def note_lines(accepted: Iterable[tuple[str, str]], warnings: Iterable[str]) -> list[Line]:
    """What the run made of the baselines, a word and what it is said of, and what no longer matters."""
    colours = {"accepted": GREEN, "repaired": GREEN, "refused": RED, "nothing": YELLOW}
    lines = [_labelled(word, visible(text), colours.get(word, {})) for word, text in accepted]
    return lines + [_labelled("warning", visible(text), YELLOW) for text in warnings]


def _group_text(rows: Sequence[Row], group: Group) -> str:
    """`3 sessions, turns: 9 unchanged`."""
    members = [row for row in rows if group_of_row(row) is group]
    verdicts = tally_text(totals(members).turns)
    known = sum(bool(turn.get("excused")) for row in members for turn in judged(row))
    told = f", {plural(known, 'turn')} known" if known else ""
    return plural(len(members), "session") + (f", turns: {verdicts}" if verdicts else "") + told


def _labelled(label: str, text: str, markup: dict[str, bool]) -> Line:
    return [(f"{label:<15}", {**markup, **BOLD}), (text, {})]


def _failed(rows: Sequence[Row], verbosity: int) -> Iterator[Line]:
    """A line each; what a stop or a crash kept from being judged is as many lines as there are reasons."""
    told, left, reasons = _failures(rows, verbosity)
    for row in told:
        group = group_of_row(row)
        yield [(f"{group:<15}", COLOURS[group]), *named(row), (f"  {in_one_line(row)}", {})]
    if left:
        yield [(f"{'':<15}and {left:,} more (-v names them all)", DIM)]
    for reason, number in reasons.items():
        if number > 1:
            group, name = Group.COULD_NOT_RUN, plural(number, "session")
            yield [
                (f"{group:<15}", COLOURS[group]),
                (name, BOLD),
                (f"  {visible(str(reason))} (-v names them all)", {}),
            ]


def _failures(rows: Sequence[Row], verbosity: int) -> tuple[list[Row], int, Counter[str]]:
    """What does not pass: what is told one by one, how many more there are, and what is counted by its reason."""
    failed = [row for row in rows if not group_of_row(row).passes and not is_stale_alone(row)]
    reasons = Counter(row["failure"] for row in failed if row.get("unfinished") and verbosity < 1)
    told = [row for row in failed if not row.get("unfinished") or reasons[row["failure"]] < 2]
    most = _FAILED if verbosity < 1 else len(told)
    return told[:most], max(0, len(told) - most), reasons


def told_failures(rows: Sequence[Row], *, verbosity: int = 0) -> list[Row]:
    """The replays of which `summary_lines` says one by one why they do not pass."""
    return _failures(rows, verbosity)[0] if verbosity >= 0 else []


def named(row: Row) -> Line:
    """The name of a replay in a list, and whether it blocks nothing where it does not pass."""
    is_warning = row["gate"] == "warn" and not group_of_row(row).passes
    return [(visible(name_of(row)), BOLD), *([(" (gate: warn)", YELLOW)] if is_warning else [])]


def _pinned(rows: Sequence[Row]) -> Iterator[Line]:
    """What was the same as on every run, and in how many replays."""
    counted = Counter(name for row in rows for name in row.get("pinned", ()))
    if counted:
        told = ", ".join(f"{visible(name)} in {plural(number, 'session')}" for name, number in counted.items())
        yield _labelled("pinned", told, {})


def _reviewed(rows: Sequence[Row]) -> Iterator[Line]:
    for row in rows:
        turns = [turn for turn in judged(row) if group_of_turn(turn) is Group.REVIEW]
        if turns and group_of_row(row) is Group.REVIEW:
            told = ", ".join(f"turn {turn['turn']} {turn['verdict']}" for turn in turns)
            known = {known_text(one) for turn in turns for one in turn.get("known", ()) if turn.get("excused")}
            why = f", {', '.join(map(visible, sorted(known)))}" if known else ""
            yield [(f"{Group.REVIEW:<15}", BLUE), (visible(name_of(row)), BOLD), (f"  {told}{why}", {})]


def _accepted(rows: Sequence[Row], width: int) -> Iterator[Line]:
    """The turns of passing replays that are as accepted: nothing else of them is shown."""
    for row in rows:
        turns = [turn for turn in judged(row) if turn["verdict"] == Verdict.ACCEPTED]
        for turn in turns if row["outcome"] == "passed" else ():
            yield [(f"{Group.OK:<15}", GREEN), (visible(name_of(row)), BOLD), (f"  turn {turn['turn']} accepted", {})]
            yield from _columns(turn, width)


def _causes(rows: Sequence[Row], verbosity: int) -> Iterator[Line]:
    """Causes by how many turns begin with them, and how to accept those of one; few single ones with `-v` alone."""
    found = causes(rows)
    if not found or len(found[0].rows) < 2:
        return
    often = [cause for cause in found if len(cause.rows) > 1]
    shown = found if verbosity > 0 else (found if len(found) > _CAUSES else often)[:_CAUSES]
    for cause in shown:
        words = sentence(kind_of(cause)) or cause.kind
        yield _labelled("cause", f"{visible(cause.path)}  {words}, in {_spread(cause)}", {})
    if len(found) > len(shown):
        yield [(f"{'':<15}and {len(found) - len(shown):,} more (-v names them all)", DIM)]
    if any(turn["verdict"] in (Verdict.CHANGED, Verdict.UNPROVEN) for cause in often for _, turn in cause.rows):
        yield [(f"{'':<15}--statebase-accept=PATH accepts the turns of a cause, 'tools.get_*' those of several", DIM)]


def _spread(cause: Cause) -> str:
    """`3 sessions, such as refund turn 2`, or `4 turns of 3 sessions, …` where one has several."""
    row, turn = cause.rows[0]
    sessions = plural(cause.sessions, "session")
    many = sessions if len(cause.rows) == cause.sessions else f"{plural(len(cause.rows), 'turn')} of {sessions}"
    return f"{many}, such as {visible(cassette_name(row))} turn {turn['turn']}"
