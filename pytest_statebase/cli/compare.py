"""`pytest-statebase compare`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..values import ABSENT
from .output import BLUE, BOLD, DIM, GREEN, RED, YELLOW, Style, columns, counted, say_lines, wrapped
from .targets import find_cassette

if TYPE_CHECKING:
    from ..audit.parting import Parting, Row, Step
    from ..cassette import Cassette
    from ..report.terminal import Line

_AFTER = 10
_BEFORE = 3


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--all", "everything", is_flag=True, help="Every step; by default those around the parting.")
def command(a: str, b: str, everything: bool) -> None:
    """Find where two sessions part, a good and a bad one for example.

    A and B are plans, records or ids of sessions in the project's cassettes. Their steps (what the user said, calls,
    changes of the state, answers) are aligned, so that a step more or less on one side moves nothing. They part where
    the first call, result, change of state, rollback, error or end differs; other words alone part nobody.
    """
    from ..audit.parting import part

    left, right = find_cassette(a), find_cassette(b)
    found = part(left.ledger, right.ledger)
    say_lines(_lines(left, right, found, columns(), everything))


def _lines(left: Cassette, right: Cassette, found: Parting, width: int, everything: bool) -> Iterator[Line]:
    for label, cassette in (("A", left), ("B", right)):
        ledger = cassette.ledger
        calls = sum(len(turn.calls) for turn in ledger.turns)
        told = f"{counted(len(ledger.turns), 'turn')}, {counted(calls, 'call')}"
        title = f"  {cassette.plan.title}" if cassette.plan.title else ""
        for number, text in enumerate(wrapped(f"{ledger.id}  {told}{title}", width - 3)):
            yield [("   " if number else f"{label}  ", BOLD), (text, {})]
    yield []
    if found.first is None:
        yield [(f"They do not part: {counted(found.together, 'step')}, the same actions in both.", {**GREEN, **BOLD})]
    else:
        yield from _parting(found.rows[found.first], found.together, width)
    yield from _said(found, width)
    first = found.first or 0
    begin = 0 if everything else max(first - _BEFORE, 0)
    end = len(found.rows) if everything else min(first + 1 + _AFTER, len(found.rows))
    if found.first is None and not everything:
        return
    yield []
    yield [("Step by step", BOLD), ("  = the same, ~ in other words, ! otherwise, A or B only there", DIM)]
    if begin:
        yield [(f"  {counted(begin, 'step')} before (--all shows them)", DIM)]
    for at in range(begin, end):
        yield from _row(found.rows[at], width, is_parting=at == found.first)
    if end < len(found.rows):
        yield [(f"  and {len(found.rows) - end:,} more (--all shows them)", DIM)]


def _parting(row: Row, together: int, width: int) -> Iterator[Line]:
    from .values_text import value_text

    places = [f"{name} in {_place(step)}" for name, step in (("A", row.a), ("B", row.b)) if step is not None]
    yield [(f"They part after {counted(together, 'step')}, {' and '.join(places)}: {row.relation}", {**RED, **BOLD})]
    for name, step in (("A", row.a), ("B", row.b)):
        yield from _step(name, step, width)
    for path, before, after in row.changes:
        told = [f"{name} {value_text(value)}" for name, value in (("A", before), ("B", after)) if value is not ABSENT]
        for text in wrapped(f"{path or 'it'}: {', '.join(told)}", width - 4, most=3):
            yield [("    " + text, YELLOW)]


def _place(step: Step) -> str:
    return "the session itself" if step.turn is None else f"turn {step.turn}"


def _step(name: str, step: Step | None, width: int) -> Iterator[Line]:
    if step is None:
        yield [(f"  {name}  ", DIM), ("(nothing of the kind)", DIM)]
        return
    for number, text in enumerate(wrapped(f"{step.sort}  {step.told}", width - 5)):
        yield [("     " if number else f"  {name}  ", DIM), (text, {})]
    for text in wrapped(f"why: {step.why}", width - 5) if step.why else ():
        yield [("     " + text, DIM)]


def _said(found: Parting, width: int) -> Iterator[Line]:
    """The last words of the users that differ: what makes sessions part, more often than not."""
    rows = found.said_otherwise
    if not rows:
        return
    row = rows[-1]
    yield []
    until = "" if found.first is None else " up to there"
    yield [(f"The users said {counted(len(rows), 'thing')} in other words{until}, last:", BOLD)]
    for name, step in (("A", row.a), ("B", row.b)):
        yield from _step(name, step, width)


_MARKS: dict[str, tuple[str, Style]] = {
    "same": ("=", DIM),
    "reworded": ("~", BLUE),
    "only in A": ("A", YELLOW),
    "only in B": ("B", YELLOW),
}


def _row(row: Row, width: int, *, is_parting: bool) -> Iterator[Line]:
    mark, style = _MARKS.get(row.relation, ("!", RED))
    style = {**RED, **BOLD} if is_parting else style
    step = row.a or row.b
    if step is None:
        return
    turns = "/".join("-" if one is None or one.turn is None else str(one.turn) for one in (row.a, row.b))
    head = f"{'>' if is_parting else ' '} {mark} {turns:<7} {step.sort:<8} "
    yield from _cut(head, step.told, width, style)
    if mark in "~!" and row.b is not None and row.b.told != step.told:
        yield from _cut(" " * (len(head) - 3) + "B: ", row.b.told, width, style)


def _cut(head: str, text: str, width: int, style: Style) -> Iterator[Line]:
    from ..report.show import visible

    room, text = width - len(head), visible(text)
    yield [(head, style), (text if len(text) <= room else text[: room - 1] + "…", style)]
