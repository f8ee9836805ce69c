"""Why a turn went as it did: its reasoning in plain words, where its values came from, and what led there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ledger import (
    Ledger,
    MemoryAdded,
    MemoryDeleted,
    MemoryUpdated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    Turn,
    TurnAdded,
    TurnStarted,
)
from ..report.show import visible
from ..values import ABSENT
from .given import Given, is_named, is_telling, leaves
from .signs import Kind, Sign, Watch
from .words import brief, call_brief, error_brief, output_of

if TYPE_CHECKING:
    from ..cassette import Plan

_FAILURES = (Kind.ERROR, Kind.ROLLBACK, Kind.LOOP, Kind.TOOL)
"""What makes a turn a failure where the plan names none, the surest first."""
_ROOTS = (*_FAILURES, Kind.MADE_UP, Kind.AGAIN)
"""What a failure may have begun with."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value that a turn used came from."""

    names: tuple[str, ...]
    """Where the turn used it: `refund.order_id`, `state.order`."""
    value: Any
    place: str | None
    """`the user, turn 1`; None where nobody gave it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What there is to say about one turn."""

    turn: int
    failing: bool
    """The plan names the turn as wrong."""
    words: list[str]
    """What happened, one sentence each."""
    reasons: list[tuple[str, str]]
    """Each reasoning that was recorded in the turn, after what it is about."""
    origins: list[Origin]
    signs: list[Sign]
    """What went wrong up to the end of the turn, the latest first."""
    root: Sign | None
    """The first of them that a failure may have begun with."""


def failing_turn(ledger: Ledger, plan: Plan) -> int | None:
    """The turn to explain where nobody names one.

    The first that the plan has in `failing`; else the last that ended with an error, was rolled back, looped or had a
    tool fail, in this order; for a rollback between turns the turn before it. None where there is none of these.
    """
    if plan.failing:
        return min(plan.failing)
    found: dict[Kind, int] = {}
    last: int | None = None
    watch = Watch(ledger, plan.tools)
    for event in ledger.events:
        if isinstance(event, TurnStarted):
            last = event.number
        for sign in watch.see(event):
            number = sign.turn or last
            if number is not None:
                found[sign.kind] = number
    return next((found[kind] for kind in _FAILURES if kind in found), None)


def explain(ledger: Ledger, plan: Plan, number: int) -> Explanation:
    """Explain turn `number`: what was recorded about it and before it, nothing is guessed.

    Raises ForkError where the session has no such turn.
    """
    turn = ledger.turn(number)
    watch = Watch(ledger, plan.tools)
    signs: list[Sign] = []
    origins: list[Origin] = []
    reasons = [(what, text.strip()) for what, text in _reasons(turn) if text and text.strip()]
    inside = over = False
    for event in ledger.events:
        inside = inside or event is turn.started
        # What comes after the turn and before the next input is its consequence: a rollback, mostly.
        if over and isinstance(event, TurnStarted):
            break
        if inside and not over:
            origins += _origins(event, watch)
        signs += watch.see(event)
        over = over or event is turn.added
    root = next((sign for sign in signs if sign.kind in _ROOTS), None)
    return Explanation(
        number, number in plan.failing, list(_words(turn)), reasons, _each_once(origins), signs[::-1], root
    )


def _reasons(turn: Turn) -> Iterator[tuple[str, str | None]]:
    for event in turn.events:
        if isinstance(event, StateUpdated):
            yield f"state {event.version}", event.reasoning
        elif isinstance(event, StateRolledBack):
            yield f"back to {event.to_version}", event.reason
    if turn.added is not None:
        yield "the answer", turn.added.reasoning


def _words(turn: Turn) -> Iterator[str]:
    """What happened in a turn, in sentences, in the order of the recording."""
    if turn.is_opening:
        yield "The agent spoke first"
    else:
        yield f"The user said: {brief(turn.text, 200)}"
    if not turn.calls:
        yield "The agent called no tool"
    who = "The agent"
    for event in turn.events:
        if isinstance(event, ToolCalled):
            yield f"{who} called {call_brief(event)}{_came_back(event)}"
            who = "Then it"
        elif isinstance(event, StateUpdated):
            yield f"The state became version {event.version}"
        elif isinstance(event, StateRolledBack):
            yield f"The state went back to version {event.to_version}, which made version {event.version}"
        elif isinstance(event, MemoryAdded):
            yield f"It remembered: {brief(event.content, 200)}"
        elif isinstance(event, MemoryUpdated):
            yield f"It changed what it remembered of {brief(event.was, 100)}: {brief(event.changes, 200)}"
        elif isinstance(event, MemoryDeleted):
            yield f"It forgot: {brief(event.was, 200)}"
    yield _answer(turn.added)


def _came_back(call: ToolCalled) -> str:
    if call.error is not None:
        return f", which failed: {error_brief(call.error)}"
    if call.result is ABSENT:
        return "; what came back was not recorded"
    return f", {'which said that it failed' if call.said_failed else 'and got'}: {brief(call.result, 100)}"


def _answer(added: TurnAdded | None) -> str:
    if added is None:
        return "The turn was never finished"
    if added.error is not None:
        return f"It raised {error_brief(added.error)} instead of answering"
    if added.output is ABSENT:
        return "No answer was recorded"
    is_error = isinstance(added.output, Mapping) and added.output.get("type") == "error"
    return f"It {'ended with an error' if is_error else 'answered'}: {brief(output_of(added.output), 300)}"


def _origins(event: Any, watch: Watch) -> Iterator[Origin]:
    """Where the values of a call or of a change of the state came from, as of just before it."""
    if isinstance(event, ToolCalled) and isinstance(event.arguments, Mapping):
        for name, value in event.arguments.items():
            yield from _origins_in(value, visible(f"{event.tool}.{name}"), watch.given)
    elif isinstance(event, StateUpdated) and event.during is None:
        for path, _, value in watch.changes(event):
            yield from _origins_in(value, path, watch.given)


def _origins_in(value: Any, name: str, given: Given) -> Iterator[Origin]:
    for leaf in leaves(value):
        place = given.place(leaf)
        # The agent may name things itself: of a short name it is told where it is from, not that it is from nowhere.
        if is_telling(leaf) or (place is not None and is_named(leaf)):
            yield Origin((name,), leaf, place)


def _each_once(origins: list[Origin]) -> list[Origin]:
    """Each value once, with all names under which it was used."""
    kept: dict[tuple[str, str | None], Origin] = {}
    for origin in origins:
        key = (brief(origin.value), origin.place)
        names = kept[key].names if key in kept else ()
        kept[key] = Origin(tuple(dict.fromkeys([*names, *origin.names])), origin.value, origin.place)
    return list(kept.values())
