"""Reasoning that was recorded, and whether it says anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..ledger import Ledger, StateRolledBack, StateUpdated, TurnAdded, TurnStarted

_WORD = re.compile(r"[^\W\d_]{2,}")
_EMPTY: Final = """
a agent all an and answer answered as assistant at based by called calling change changed changes complete
completed completion context continue continued continuing data default done event execute executed fine
finished for from general generate generated generating good handle handled handling in info information input
instructed is it its message messages misc model new next no none null of ok okay on operation output per
perform performed process processed processing progress query question reason reasoning received replied reply
replying request requested respond responded responding response result results save saved session set state
step success successful successfully sure system task test the their them this to todo tool turn unknown update
updated updates updating used user users using value values via was with yes
"""
"""Words that say nothing of a case: a reasoning of these alone could stand beside any turn."""
_EMPTY_WORDS = frozenset(_EMPTY.split())
_FEWEST = 2


def is_vague(reasoning: str) -> bool:
    """Whether a reasoning says nothing: `Updated state`, `User input processed`, a single word, no words at all."""
    words = _WORD.findall(reasoning.casefold())
    if any(char.isdigit() for char in reasoning) and words:
        return False
    # Scripts without blanks between words have long ones.
    few = len(words) < _FEWEST and all(word.isascii() for word in words)
    return few or all(word in _EMPTY_WORDS for word in words)


@dataclass(frozen=True, slots=True)
class Reasoned:
    """Something that was done, with the reasoning that was given for it."""

    turn: int | None
    what: str
    """`turn`, `state 3` or `rollback to 1`."""
    reasoning: str | None

    @property
    def is_missing(self) -> bool:
        return not (self.reasoning or "").strip()

    @property
    def is_vague(self) -> bool:
        return not self.is_missing and is_vague(self.reasoning or "")


def reasons_of(ledger: Ledger) -> Iterator[Reasoned]:
    """Everything in a session that should have a reasoning, in order: turns, updates of the state, rollbacks.

    A turn that raised, and what was caused inside a call of a tool, have none to give.
    """
    turn: int | None = None
    for event in ledger.events:
        if isinstance(event, TurnStarted):
            turn = event.number
        elif isinstance(event, TurnAdded):
            if event.error is None:
                yield Reasoned(turn, "turn", event.reasoning)
            turn = None
        elif isinstance(event, StateUpdated) and event.during is None:
            yield Reasoned(turn, f"state {event.version}", event.reasoning)
        elif isinstance(event, StateRolledBack) and event.during is None:
            yield Reasoned(turn, f"rollback to {event.to_version}", event.reason)


def has_reasons(ledger: Ledger) -> bool:
    """Whether the session records any reasoning: chat logs have none, and lack nothing that they could have."""
    return any(not one.is_missing for one in reasons_of(ledger))
