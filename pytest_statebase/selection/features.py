"""What there is to see in a session: transitions between tools, errors, and the places of the state that changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import combinations, product
from typing import Any, Final, NamedTuple

from ..ledger import Ledger, SessionCreated, StateRolledBack, StateUpdated, ToolCalled, Turn
from ..report.show import visible
from ..values import ABSENT
from .statepaths import WHOLE, changed_paths

_LONGEST = 100
_AT_ONCE = 16
"""Tools of one step that count: those of a step may follow all those of the step before."""
MOST_PATHS: Final = 2_000
"""Places of the state that are counted in one session."""


class Kind(StrEnum):
    """What sort of feature it is."""

    TRANSITION = "transition"
    """One tool after another, at the start or the end of a turn or of the session, at once with or inside another."""
    ERROR = "error"
    """A tool or the agent failed, or a result says so."""
    STATE = "state"
    """A place of the state that was set, removed or rolled back."""


class Feature(NamedTuple):
    """Something that a set of tests should cover."""

    kind: Kind
    text: str
    """On one line, without control characters."""


def features_of(ledger: Ledger) -> set[Feature]:
    """Everything in a session that is worth a test."""
    found = {Feature(Kind.TRANSITION, text) for text in _transitions(ledger)}
    found |= {Feature(Kind.ERROR, text) for text in _errors(ledger)}
    return found | {Feature(Kind.STATE, text) for text in _state_paths(ledger)}


# --- Transitions


def _transitions(ledger: Ledger) -> Iterator[str]:
    turns = [_steps(turn) for turn in ledger.turns]
    for turn, steps in zip(ledger.turns, turns, strict=True):
        for before, after in zip([["turn begins"], *steps], [*steps, ["turn ends"]], strict=True):
            yield from (f"{one} → {other}" for one, other in product(before, after))
        yield from (f"{one} + {other} at once" for step in steps for one, other in combinations(step, 2))
        yield from _inside(turn)
    if turns:
        yield from (f"session begins → {tool}" for tool in (turns[0] or [["no call"]])[0])
        yield from (f"{tool} → session ends" for tool in (turns[-1] or [["no call"]])[-1])
    if ledger.ended is not None and ledger.ended.input is not None:
        yield "words without an answer → session ends"


def _steps(turn: Turn) -> list[list[str]]:
    """The tools of each step, in order of their names: calls that were made at once have no order."""
    steps: list[tuple[int | None, set[str]]] = []
    for call in turn.calls:
        if call.during is not None:
            continue
        if call.step is None or not steps or steps[-1][0] != call.step:
            steps.append((call.step, set()))
        steps[-1][1].add(_name(call))
    return [sorted(tools)[:_AT_ONCE] for _, tools in steps]


def _inside(turn: Turn) -> Iterator[str]:
    calls = turn.calls
    for call in calls:
        if call.during is not None and 0 <= call.during < len(calls):
            yield f"{_name(call)} inside {_name(calls[call.during])}"


def _name(call: ToolCalled) -> str:
    """An agent's name goes with its tools: what one of several agents does is not what another does."""
    return _short(f"{call.agent}: {call.tool}" if call.agent else call.tool)


def _short(text: str) -> str:
    """A text without control characters and not too long; two long texts stay two."""
    if len(text) > _LONGEST:
        digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
        text = f"{text[: _LONGEST - 8]}…{digits}"
    return visible(text)


# --- Errors


def _errors(ledger: Ledger) -> Iterator[str]:
    for turn in ledger.turns:
        for call in turn.calls:
            if call.error is not None:
                yield f"{_name(call)} raised {error_kind(call.error)}"
            elif call.said_failed:
                yield f"{_name(call)} said that it failed"
        yield from _errors_of_turn(turn)


def _errors_of_turn(turn: Turn) -> Iterator[str]:
    if turn.added is None:
        yield "a turn was never finished"
        return
    if turn.added.error is not None:
        yield f"the agent raised {error_kind(turn.added.error)}"
    elif isinstance(turn.output, Mapping) and turn.output.get("type") == "error":
        yield "the agent answered with an error"
    if turn.added.interrupted:
        yield "a turn was interrupted"


def error_kind(error: Mapping[str, Any]) -> str:
    """The name of an exception's class, without its module."""
    return _short(str(error.get("type") or "an error").rpartition(":")[2])


# --- States


def _state_paths(ledger: Ledger) -> set[str]:
    found: set[str] = set()
    for path in _all_paths(ledger):
        found.add(path)
        if len(found) == MOST_PATHS:
            break
    return found


def _all_paths(ledger: Ledger) -> Iterator[str]:
    state: Any = ABSENT
    for event in ledger.events:
        if isinstance(event, StateUpdated):
            yield from changed_paths(event.value, state)
            state = event.value
        elif isinstance(event, StateRolledBack):
            yield "rolled back"
            yield from (f"{path} (rolled back)" for path in changed_paths(event.value, state))
            state = event.value
        elif isinstance(event, SessionCreated) and event.state is not ABSENT:
            state = event.state
            # What begins with nothing in it shows nothing.
            yield from (f"{path} at the start" for path in changed_paths(state) if state or path != WHOLE)
