"""`pytest-statebase explain`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..errors import ForkError
from .output import BOLD, DIM, GREEN, RED, YELLOW, columns, say_lines, wrapped
from .targets import find_cassette

if TYPE_CHECKING:
    from ..audit.explain import Explanation, Origin
    from ..audit.signs import Sign
    from ..cassette import Cassette
    from ..report.terminal import Line

_SIGNS = 12


@click.command("explain")
@click.argument("session")
@click.argument("turn", required=False, type=click.IntRange(min=1))
@click.option("--all", "everything", is_flag=True, help=f"Every sign; by default the {_SIGNS} latest.")
def command(session: str, turn: int | None, everything: bool) -> None:
    """Explain why a turn went as it did.

    SESSION is a plan, a record or the id of a session in the project's cassettes. TURN is by default the first that
    the plan has in `failing`; else the last that ended with an error, was rolled back, looped, or had a tool fail.

    Told are the turn in plain words, the reasoning that was recorded for it, where the values that it used came from,
    and, walking back from it, what went wrong before: rollbacks, errors of tools, loops, values that nobody gave,
    reasoning that is missing. Nothing is guessed: all of it is in the recording.
    """
    from ..audit.explain import explain, failing_turn

    cassette = find_cassette(session)
    number = failing_turn(cassette.ledger, cassette.plan) if turn is None else turn
    if number is None:
        turns = [one.number for one in cassette.ledger.turns]
        remedy = f"Name a turn: {turns[0]} to {turns[-1]}." if turns else "The session has no turns."
        raise ForkError("nothing in the session shows a failure", where=cassette.ledger.id, remedy=remedy)
    found = explain(cassette.ledger, cassette.plan, number)
    say_lines(_lines(cassette, found, columns(), None if everything else _SIGNS))


def _lines(cassette: Cassette, found: Explanation, width: int, most: int | None) -> Iterator[Line]:
    mark: Line = [("  failing", {**RED, **BOLD})] if found.failing else []
    yield [(f"{cassette.ledger.id}, turn {found.turn}", BOLD), *mark]
    for sentence in found.words:
        for number, text in enumerate(wrapped(sentence, width - 4)):
            yield [("    " + text if number else "  " + text, {})]
    yield from _head("Why")
    for what, reasoning in found.reasons:
        yield from _entry(what, reasoning, width)
    if not found.reasons:
        yield [("  No reasoning was recorded for this turn.", YELLOW)]
    if found.origins:
        yield from _head("Where its values came from")
        for origin in found.origins:
            yield from _origin(origin, width)
    yield from _head("What led there, walking back")
    for sign in found.signs[:most]:
        yield from _sign(sign, width, is_root=sign is found.root)
    if not found.signs:
        yield [("  Nothing: no rollback, no failed tool, no loop, no value out of nowhere.", GREEN)]
    elif most is not None and len(found.signs) > most:
        yield [(f"  and {len(found.signs) - most:,} earlier ones (--all shows them)", DIM)]
    if found.root is not None:
        yield []
        told = f"It may have begun {_place(found.root)}: {found.root.text}"
        for text in wrapped(told, width):
            yield [(text, BOLD)]


def _head(title: str) -> Iterator[Line]:
    yield []
    yield [(title, BOLD)]


def _entry(label: str, text: str, width: int) -> Iterator[Line]:
    for number, line in enumerate(wrapped(text, width - 15)):
        yield [(("" if number else f"  {label}").ljust(14) + " ", DIM), (line, {})]


def _origin(origin: Origin, width: int) -> Iterator[Line]:
    from ..audit.words import brief, joined

    told = f"{brief(origin.value)} ({joined(list(origin.names))}): "
    style = RED if origin.place is None else {}
    place = "no user, tool or memory gave it" if origin.place is None else origin.place
    for number, line in enumerate(wrapped(told + place, width - 4)):
        yield [("    " + line if number else "  " + line, style)]


def _sign(sign: Sign, width: int, *, is_root: bool) -> Iterator[Line]:
    for number, line in enumerate(wrapped(f"{sign.kind}: {sign.text}", width - 12)):
        label = "" if number else "  between" if sign.turn is None else f"  turn {sign.turn}"
        yield [(label.ljust(12), DIM), (line, RED if is_root else {})]


def _place(sign: Sign) -> str:
    return "between two turns" if sign.turn is None else f"in turn {sign.turn}"
