"""What pytest's terminal shows of replays: lines of parts, each with the markup of pytest's terminal writer.

A line is a list of `(text, markup)`, markup as `TerminalWriter.write` takes it: `[("fail", {"red": True})]`.
No part holds an escape sequence or a line break; what was recorded is made visible first.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from ..compare.model import Group, Kind, Verdict
from .grouping import (
    calls_line,
    causes,
    group_of,
    group_of_row,
    in_one_line,
    judged,
    name_of,
    plural,
    root_cause,
    sentence,
    tally_text,
    told_sides,
    totals,
)
from .rows import Row
from .show import one_line, shorten, shorten_pair, visible

__all__ = ["Line", "Part", "divergence_lines", "failure_lines", "in_one_line", "plain", "summary_lines", "width_of"]

Part: TypeAlias = tuple[str, dict[str, bool]]
Line: TypeAlias = list[Part]

BOLD, DIM = {"bold": True}, {"light": True}
RED, GREEN, YELLOW, CYAN = {"red": True}, {"green": True}, {"yellow": True}, {"cyan": True}
BLUE, PURPLE = {"blue": True}, {"purple": True}

COLOURS = {Group.FAIL: RED, Group.COULD_NOT_RUN: YELLOW, Group.REVIEW: BLUE, Group.OK: GREEN}

_WIDTHS = (140, 2_000, 100_000)
_FOLDED = 6


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
    return any(group_of(turn["verdict"]) in (Group.FAIL, Group.COULD_NOT_RUN) for turn in judged(row))


def _message(message: str) -> Iterator[Line]:
    for line in message.split("\n"):
        yield [("  " + visible(line), RED)]


def _aside_key(turn: Row, verbosity: int) -> tuple[bool, str]:
    """Whether a turn needs no more than a mention, and with which of its neighbours it shares one."""
    is_aside = turn["verdict"] == Verdict.NOT_REPLAYED or (verbosity < 1 and group_of(turn["verdict"]) is Group.REVIEW)
    return is_aside, f"{turn['verdict']} {turn.get('reason')} {turn['authored']}" if is_aside else ""


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
    if group_of(turn["verdict"]) is Group.OK and verbosity < 1:
        return
    yield []
    said = [(f"  {shorten(one_line(turn['input']), 70)}", DIM)] if turn["input"] else []
    yield [*_named(f"turn {turn['turn']}", turn), *said]
    yield from _divergences(turn, turn is cause_turn, verbosity)
    for call in turn["calls"]:
        if call.get("explanation"):
            yield from _block(call["explanation"])
    if turn.get("reason"):
        yield from _block(turn["reason"])


def _named(name: str, turn: Row) -> Line:
    authored = [(" (input authored)", DIM)] if turn["authored"] else []
    return [(f"{name} ", BOLD), (visible(turn["verdict"]), {**COLOURS[group_of(turn["verdict"])], **BOLD}), *authored]


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
    yield [(f"  {facet}", DIM), (visible(found["path"]), {**colour, **BOLD}), (f"  {words}" if words else "", {})]
    yield from _values(found, width_of(verbosity))


def _values(found: Row, width: int) -> Iterator[Line]:
    sides = told_sides(found)
    texts = [one_line(found[side]) for side in sides]
    if len(texts) == 2:
        texts = list(shorten_pair(texts[0], texts[1], width))
    for side, text in zip(sides, texts, strict=True):
        yield [(f"      {side}  ", DIM), (shorten(text, width + 40), PURPLE if side == "recorded" else CYAN)]


def _hints(row: Row) -> Iterator[Line]:
    stopped = any(turn["verdict"] == Verdict.NOT_REPLAYED for turn in judged(row))
    if stopped and row["mode"] == "continuous":
        yield [("  --statebase-mode=isolated replays each turn from its own recorded history", DIM)]
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
        lines += _failed(rows, 20 if verbosity < 1 else len(rows))
    if verbosity > 0:
        lines += _reviewed(rows)
    for group in Group:
        if counted.replays[group] and (verbosity >= 0 or group in (Group.FAIL, Group.COULD_NOT_RUN)):
            lines.append(_labelled(group, _group_text(rows, group), COLOURS[group]))
    if verbosity >= 0:
        lines.append(_labelled("calls", calls_line(counted.calls), {}))
        lines += _causes(rows)
    if report:
        lines.append(_labelled("report", visible(report), {}))
    return lines


def _group_text(rows: Sequence[Row], group: Group) -> str:
    """`3 sessions, turns: 9 unchanged`."""
    members = [row for row in rows if group_of_row(row) is group]
    verdicts = tally_text(totals(members).turns)
    return plural(len(members), "session") + (f", turns: {verdicts}" if verdicts else "")


def _labelled(label: str, text: str, markup: dict[str, bool]) -> Line:
    return [(f"{label:<15}", {**markup, **BOLD}), (text, {})]


def _failed(rows: Sequence[Row], most: int) -> Iterator[Line]:
    failed = [row for row in rows if group_of_row(row) in (Group.FAIL, Group.COULD_NOT_RUN)]
    for row in failed[:most]:
        group = group_of_row(row)
        warn = [(" (gate: warn)", YELLOW)] if row["gate"] == "warn" else []
        yield [(f"{group:<15}", COLOURS[group]), (visible(name_of(row)), BOLD), *warn, (f"  {in_one_line(row)}", {})]
    if len(failed) > most:
        yield [(f"{'':<15}and {len(failed) - most:,} more (-v names them all)", DIM)]


def _reviewed(rows: Sequence[Row]) -> Iterator[Line]:
    for row in rows:
        turns = [turn for turn in judged(row) if group_of(turn["verdict"]) is Group.REVIEW]
        if turns and group_of_row(row) is Group.REVIEW:
            told = ", ".join(f"turn {turn['turn']} {turn['verdict']}" for turn in turns)
            yield [(f"{Group.REVIEW:<15}", BLUE), (visible(name_of(row)), BOLD), (f"  {told}", {})]


def _causes(rows: Sequence[Row]) -> Iterator[Line]:
    found = [cause for cause in causes(rows) if len(cause.rows) > 1]
    for cause in found[:5]:
        words = sentence({"kind": cause.kind}) or cause.kind
        yield _labelled("cause", f"{visible(cause.path)}  {words}, in {plural(len(cause.rows), 'session')}", {})
