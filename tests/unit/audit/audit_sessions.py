"""Sessions as tests of the audit need them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_statebase.ledger import (
    Event,
    Ledger,
    SessionCreated,
    SessionEnded,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)


def said(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def turn(
    number: int, user: str | None, *events: Event, answer: Any = "Done, anything else?", reasoning: str | None = None
) -> list[Event]:
    """A turn from the user's words to the answer; an answer that is no text is the output itself."""
    output = said(answer) if isinstance(answer, str) else answer
    started = TurnStarted(number, None if user is None else said(user))
    return [started, *events, TurnAdded(output, reasoning=reasoning)]


def session(*turns: Iterable[Event], id: str = "sess_1", state: Any = None, **more: Any) -> Ledger:
    """A session of turns, and of events between them."""
    created = SessionCreated(
        id, "support", "user_1", "2026-03-15T10:00:00Z", {"step": "new"} if state is None else state
    )
    return Ledger([created, *(event for events in turns for event in events), SessionEnded(**more)])


def call(tool: str, result: Any = None, **arguments: Any) -> ToolCalled:
    return ToolCalled(tool, arguments, result)


def update(version: int, value: Any, reasoning: str | None = None) -> StateUpdated:
    return StateUpdated(version, value, reasoning)
