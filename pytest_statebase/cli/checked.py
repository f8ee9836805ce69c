"""What `doctor` finds: one thing each, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How one thing stands."""

    OK = "ok"
    """Nothing is to be done."""
    LOOK = "look"
    """Somebody should know of it."""
    MEND = "mend"
    """It needs a hand."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    state: State
    what: str
    """One sentence without what was captured."""
    do: str = ""
    """What to do about it; nothing for what is ok."""


def ok(what: str) -> Finding:
    """All is well."""
    return Finding(State.OK, what)


def look(what: str, do: str) -> Finding:
    """Not wrong, but to be known."""
    return Finding(State.LOOK, what, do)


def mend(what: str, do: str) -> Finding:
    """Wrong."""
    return Finding(State.MEND, what, do)
