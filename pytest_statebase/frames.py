"""What is captured of a session in one piece: a frame is written to a journal whole or not at all.

Turns, versions and memories have the numbers of the process that saw them: who reads the journals numbers them anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from .events import Content, Event, SessionCreated, TurnStarted
from .values import ABSENT
from .wire.exchange import Exchange


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """A process begins to see a session, which others may have seen before."""

    created: SessionCreated
    """`state`: as this process finds it, its version 0."""

    @property
    def session(self) -> str:
        return self.created.id


@dataclass(frozen=True, slots=True)
class TurnOpened:
    """The user has said something. Without its TurnClosed nobody answered it."""

    session: str
    input: Content | list[Content] | None
    at: str | None = None
    """The very `at` of the turn's TurnStarted: by it the two belong together."""


@dataclass(frozen=True, slots=True)
class TurnClosed:
    """A whole turn."""

    session: str
    events: tuple[Event, ...]
    """From TurnStarted to TurnAdded."""
    exchanges: tuple[Exchange, ...] = ()
    state_before: Any = ABSENT
    """The state as the turn began; ABSENT where nothing is known of it."""

    @property
    def at(self) -> str | None:
        """When it began."""
        first = self.events[0] if self.events else None
        return first.at if isinstance(first, TurnStarted) else None


@dataclass(frozen=True, slots=True)
class Between:
    """What happened between two turns: an operator's rollback, memories, a user's feedback."""

    session: str
    events: tuple[Event, ...] = ()
    exchanges: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """The session has come to its end, as far as this process knows."""

    session: str
    reason: str | None = None
    keep: tuple[str, ...] | None = None
    """The rules by which it is worth keeping, none of them where it is not; None where no rule was asked."""
    at: str | None = None


@dataclass(frozen=True, slots=True)
class SessionCut:
    """Something of the session was lost here. Written by the journal itself."""

    session: str
    reason: str
    at: str | None = None
    """When what is lost began."""


Frame: TypeAlias = SessionOpened | TurnOpened | TurnClosed | Between | SessionClosed | SessionCut


def frame_at(frame: Frame) -> str | None:
    """When it happened, as far as the frame itself says."""
    if type(frame) is SessionOpened:
        return frame.created.at
    if type(frame) is Between:
        return next((at for event in frame.events if (at := getattr(event, "at", None)) is not None), None)
    return frame.at  # type: ignore[union-attr]
