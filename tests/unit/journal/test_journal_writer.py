"""The writer of journals: what it takes stands on disk, and what it cannot take hurts nobody."""

from __future__ import annotations

from pathlib import Path

from pytest_statebase.events import SessionCreated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.frames import Frame, SessionOpened, TurnClosed
from pytest_statebase.journal import Writer
from pytest_statebase.journal.read import Index, journals_of


def turn(session: str, number: int, result: object = "ok") -> TurnClosed:
    at = f"2026-03-15T10:00:{number:02}.000000Z"
    started = TurnStarted(number, {"type": "text", "content": f"{session} {number}"}, at)
    return TurnClosed(session, (started, ToolCalled("look_up", {"number": number}, result), TurnAdded("done", at=at)))


def frames_in(directory: Path) -> list[Frame]:
    index = Index(journals_of([directory]))
    return [entry.frame for session in index.sessions for entry in index.entries(session)]


def test_what_was_kept_is_read_back_equal(tmp_path: Path) -> None:
    kept: list[bool] = []
    writer = Writer(tmp_path / "captured")
    frames: list[Frame] = [
        SessionOpened(SessionCreated("s", "agent", at="2026-03-15T10:00:00.000000Z", state={"a": (1, 2)})),
        *(turn("s", number) for number in range(1, 20)),
    ]
    assert all(writer.put(frame, kept.append) for frame in frames)
    assert writer.stop(10)
    assert kept == [True] * len(frames)
    assert frames_in(tmp_path / "captured") == frames
