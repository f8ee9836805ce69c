"""What an importer hands on: sessions, one by one, each with the plan that is proposed for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ImportFileError
from ..ledger import Ledger
from ..wire.exchange import Exchange
from .grades import Grade

if TYPE_CHECKING:
    from ..cassette import Plan


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a session beside its messages."""

    id: str
    agent: str | None = None
    user: str | None = None
    at: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    end_reason: str | None = None
    end_at: str | None = None
    error_texts: bool = False
    """Failed calls are known only by their text, which begins with `Error`."""


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """One session of a file."""

    name: str
    """What a person would call it; the file name is made from it (`names.safe_name`)."""
    ledger: Ledger
    plan: Plan
    """Proposed: session, agent and title. Which turn failed is for a person to say."""
    notes: tuple[str, ...] = ()
    """Comments for the top of the plan."""
    raw: bytes | None = None
    """What the session was made of, to be kept beside its record; None where the source is a file that people have."""
    grade: Grade | None = None
    """How far it can be replayed; None where the format holds all that a replay needs."""
    exchanges: tuple[Exchange, ...] = ()
    """Its HTTP exchanges and model calls, for `NAME.http.yaml`."""
    has_plan: bool = True
    """False for calls without a conversation, whose record answers other sessions and is not replayed itself."""


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file of sessions, read one by one. Iterate it once."""

    path: Path
    format: str
    """As `detect` names it; `project` where a hook read the file, `mixed` where its sessions are of several."""
    total: int
    """How many sessions it holds, those included that cannot be read."""
    sessions: Iterator[ImportedSession | ImportFileError]
    warnings: list[str] = field(default_factory=list)
    """What to tell beside them; complete once the sessions are read."""

    def __iter__(self) -> Iterator[ImportedSession | ImportFileError]:
        return self.sessions
