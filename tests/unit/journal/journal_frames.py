"""Frames to write in tests, and what a directory of journals holds of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_statebase.events import Event, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.frames import Frame, TurnClosed
from pytest_statebase.journal.read import Damage, Index, journals_of
from pytest_statebase.values import ABSENT


def at(second: int) -> str:
    return f"2026-03-15T{10 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000000Z"


def turn(
    session: str,
    number: int,
    result: Any = "ok",
    *,
    more: tuple[Event, ...] = (),
    before: Any = ABSENT,
    second: int = -1,
) -> TurnClosed:
    """A turn with one call, a second after the one before."""
    time = at(number if second < 0 else second)
    started = TurnStarted(number, {"type": "text", "content": f"{session} {number}"}, time)
    call = ToolCalled("look_up", {"number": number}, result, step=1)
    return TurnClosed(
        session, (started, call, *more, TurnAdded({"type": "text", "content": "done"}, at=time)), state_before=before
    )


def state(version: int, value: Any) -> StateUpdated:
    return StateUpdated(version, value)


def frames_in(directory: Path) -> list[Frame]:
    """Everything that the journals of a directory hold; none of them may be damaged."""
    damaged: list[Damage] = []
    index = Index(journals_of([directory]), damaged.append)
    found = [entry.frame for session in index.sessions for entry in index.entries(session)]
    assert damaged == []
    return found


def turns_in(directory: Path) -> list[tuple[str, int]]:
    """The session and number of every turn."""
    closed = [frame for frame in frames_in(directory) if isinstance(frame, TurnClosed)]
    return [(frame.session, frame.events[0].number) for frame in closed]  # type: ignore[union-attr]
