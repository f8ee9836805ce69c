"""Journals as a capture writes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_statebase.frames import Frame, SessionClosed, SessionOpened, TurnClosed
from pytest_statebase.journal import Limits, Writer
from pytest_statebase.ledger import Event, SessionCreated, ToolCalled, TurnAdded, TurnStarted

NOW = "2026-11-30T10:00:00+00:00"


def session(
    id: str, *turns: Iterable[str | Event], keep: tuple[str, ...] | None = None, at: str = NOW, **created: Any
) -> list[Frame]:
    """The frames of a session: the tools, or other events, of each turn; `keep` as capture says it at the end."""
    frames: list[Frame] = [SessionOpened(SessionCreated(id, at=at, **created))]
    for number, events in enumerate(turns, start=1):
        calls = [ToolCalled(event, {}, "ok") if isinstance(event, str) else event for event in events]
        started = TurnStarted(number, {"type": "text", "content": f"Hello {number}"}, at)
        added = TurnAdded({"type": "text", "content": "Yes"}, at=at)
        frames.append(TurnClosed(id, (started, *calls, added)))
    return [*frames, SessionClosed(id, "completed", keep, at)]


def write_journal(directory: Path, *sessions: list[Frame], limits: Limits | None = None) -> None:
    """A journal of one process."""
    writer = Writer(directory, limits=limits)
    for frames in sessions:
        for frame in frames:
            assert writer.put(frame)
    assert writer.stop(60)
