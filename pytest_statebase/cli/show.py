"""`pytest-statebase show`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..errors import StatebaseError
from .output import BOLD, DIM, GREEN, RED, YELLOW, columns, counted, labelled, say_lines, wrapped
from .targets import find_cassette, shown

if TYPE_CHECKING:
    from ..cassette import Cassette
    from ..cassette.accepted import Accepted
    from ..cassette.plan import ReplaySpec
    from ..report.terminal import Line


@click.command("show")
@click.argument("session")
@click.option("--turn", "number", type=click.IntRange(min=1), metavar="N", help="Only turn N.")
@click.option(
    "--rules", is_flag=True, help="Instead of the turns, which rule applies where, and which matches nothing."
)
@click.option("--full", is_flag=True, help="Everything whole: no text, value or list is cut.")
def command(session: str, number: int | None, rules: bool, full: bool) -> None:
    """Show a session turn by turn.

    SESSION is a plan, a record or the id of a session in the project's cassettes. What the plan says is shown at the
    turn that it is about: failing, expect, inputs. A record is shown by itself, without the plan beside it.
    """
    from .rules import rule_lines
    from .turns import Teller

    cassette = find_cassette(session)
    if number is not None:
        cassette.ledger.turn(number)
    width = columns()
    accepted, broken = _accepted(cassette)
    say_lines(heading(cassette, width))
    if rules:
        say_lines(rule_lines(cassette, width, only=number))
    else:
        say_lines(Teller(cassette, width, full, accepted).lines(number))
    if broken is not None:
        raise broken


def _accepted(cassette: Cassette) -> tuple[Accepted | None, StatebaseError | None]:
    """The accepted baseline, or why it cannot be shown: the session can."""
    try:
        return cassette.accepted, None
    except StatebaseError as error:
        return None, error


def heading(cassette: Cassette, width: int) -> Iterator[Line]:
    """What a session is, before its turns."""
    from ..report.show import visible

    ledger, plan = cassette.ledger, cassette.plan
    title = visible(plan.title or "")
    room = max(width - len(visible(ledger.id)) - 2, 20)
    yield [(ledger.id, BOLD), (f"  {title if len(title) <= room else title[: room - 1] + '…'}" if title else "", {})]
    for label, text in _facts(cassette):
        yield from labelled(label, wrapped(text, width - 11))
    if cassette.path is not None:
        yield from labelled("plan", [shown(cassette.path)])
    yield _sealed(cassette)
    for number, spec in enumerate(plan.replays if cassette.path else ()):
        yield from labelled("" if number else "replay", wrapped(_replay(cassette, spec), width - 11))
    if plan.failing:
        told = ", ".join(map(str, sorted(plan.failing)))
        missing = sorted(plan.failing - plan.expect.keys())
        note = f"  (no expect yet: {', '.join(map(str, missing))})" if missing else ""
        yield [("  failing".ljust(11), DIM), (f"turn {told}", RED), (note, YELLOW)]


def _facts(cassette: Cassette) -> Iterator[tuple[str, str]]:
    from ..report.times import recorded_at
    from .ages import age_text, days_since

    ledger, plan, created = cassette.ledger, cassette.plan, cassette.ledger.created
    agent = plan.agent or created.agent_id
    who = [f"{agent}" if agent else "", f"user {created.user_id}" if created.user_id else ""]
    if any(who):
        yield "agent", ", ".join(filter(None, who))
    if plan.owner or plan.gate != "block":
        yield "owner", f"{plan.owner or '(nobody)'}" + (f", gate: {plan.gate}" if plan.gate != "block" else "")
    moment = recorded_at(ledger)
    when = f"{moment:%Y-%m-%d %H:%M} UTC, " if moment else ""
    yield "recorded", when + age_text(days_since(moment))
    calls = sum(len(turn.calls) for turn in ledger.turns)
    numbers = [version.version for version in ledger.versions]
    span = f" ({min(numbers)} to {max(numbers)})" if len(numbers) > 1 else ""
    versions = counted(len(numbers), "state version") + span if numbers else "no states recorded"
    yield "holds", f"{counted(len(ledger.turns), 'turn')}, {counted(calls, 'call')}, {versions}"


def _sealed(cassette: Cassette) -> Line:
    """The record, and whether it is as it was sealed: reading a broken one is an error, so that none gets here."""
    mark = ("  unsealed", YELLOW) if cassette.warnings else ("  sealed", GREEN)
    return [("  record".ljust(11), DIM), (shown(cassette.record_path or "(in memory)"), {}), mark]


def _replay(cassette: Cassette, spec: ReplaySpec) -> str:
    plan = cassette.plan
    last = max((*plan.failing, *plan.expect), default=0)
    until = spec.until or last or "end"
    told = f"fork {spec.fork} until {'the end' if until == 'end' else f'turn {until}'}"
    return told + (f", {spec.mode}" if spec.mode else "")
