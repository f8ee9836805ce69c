"""Captures into a list in place of a journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pytest_statebase.events import ToolCalled, TurnAdded
from pytest_statebase.frames import Frame, SessionClosed, SessionOpened, TurnClosed
from pytest_statebase.journal import CapturedSession, read_sessions
from pytest_statebase.recorder.capture import Recording
from pytest_statebase.recorder.rules import Rules
from pytest_statebase.recorder.sessions import Bounds


class Listed:
    """A journal that keeps frames as they are put."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.lost: list[tuple[Frame, str]] = []
        self.troubles: list[str] = []
        self.stopped = 0

    def put(self, frame: Frame, kept: Callable[[bool], None] | None = None) -> bool:
        self.frames.append(frame)
        if kept is not None:
            kept(True)
        return True

    def lose(self, frame: Frame, reason: str, what: str) -> None:
        self.lost.append((frame, reason))

    def trouble(self, kind: str, what: str) -> None:
        self.troubles.append(kind)

    def flush(self, timeout: float | None = None) -> bool:
        return True

    def stop(self, timeout: float | None = None) -> bool:
        self.stopped += 1
        return True

    def turns(self, session: str | None = None) -> list[TurnClosed]:
        return [one for one in self.frames if isinstance(one, TurnClosed) and session in (None, one.session)]

    def calls(self, session: str | None = None) -> list[ToolCalled]:
        return [one for turn in self.turns(session) for one in turn.events if isinstance(one, ToolCalled)]

    def outputs(self, session: str | None = None) -> list[Any]:
        added = [turn.events[-1] for turn in self.turns(session)]
        return [one.output and one.output["content"] for one in added if isinstance(one, TurnAdded)]

    def keeps(self) -> dict[str, Any]:
        return {one.session: one.keep for one in self.frames if isinstance(one, SessionClosed)}

    def reasons(self) -> dict[str, Any]:
        return {one.session: one.reason for one in self.frames if isinstance(one, SessionClosed)}

    def opened(self) -> list[SessionOpened]:
        return [one for one in self.frames if isinstance(one, SessionOpened)]


def listed(
    tools: Iterable[str] = (),
    *,
    sample: float = 1.0,
    keep: Iterable[str] = (),
    slow: float = 10.0,
    idle: float = 1800.0,
    most: int = 1000,
) -> tuple[Listed, Recording]:
    """A recording that was not started, and where its frames go."""
    journal = Listed()
    return journal, Recording(lambda: journal, tools, Rules(sample, keep, slow), Bounds(idle, most), None)


def sessions(directory: Path) -> dict[str, CapturedSession]:
    return {one.id: one for one in read_sessions([directory])}
