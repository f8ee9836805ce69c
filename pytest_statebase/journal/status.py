"""What became of the turns of one process: counted, and told in a file beside its journal."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .files import STATUS_SUFFIX

VERSION = 1


@dataclass(slots=True)
class Trouble:
    """Something that went wrong, of one kind."""

    count: int
    first: str
    last: str
    what: str
    """Of the first time; it holds nothing of what was captured."""


@dataclass(slots=True)
class Counts:
    """What became of the turns of one process. The numbers only grow."""

    kept: Counter[str] = field(default_factory=Counter)
    """What stands in the journal: turns, events, frames, bytes."""
    lost: Counter[str] = field(default_factory=Counter)
    """Turns that do not, by reason: `queue full`, `session cut`, `too large`, `redaction`, `encoding`, `disk` or
    `stopped`."""
    cut: int = 0
    """Sessions that are not kept to their end."""
    uncopied: int = 0
    """Parts of values that could not be stored."""
    removed: int = 0
    """Journals that were removed, too old or too much."""
    troubles: dict[str, Trouble] = field(default_factory=dict)

    def trouble(self, kind: str, what: str) -> bool:
        """Count it; whether it is the first of its kind."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        known = self.troubles.get(kind)
        if known is None:
            self.troubles[kind] = Trouble(1, now, now, what)
            return True
        known.count += 1
        known.last = now
        return False

    def told(self) -> dict[str, Any]:
        """As the status file has it."""
        lost = {"turns": self.lost.total(), "by": dict(self.lost)}
        troubles = {
            kind: {"count": one.count, "first": one.first, "last": one.last, "what": one.what}
            for kind, one in list(self.troubles.items())
        }
        return {
            "kept": dict(self.kept),
            "lost": lost,
            "cut_sessions": self.cut,
            "uncopied": self.uncopied,
            "removed_journals": self.removed,
            "troubles": troubles,
        }


def write_status(directory: Path, name: str, status: Mapping[str, Any]) -> None:
    """Write the status file in one step.

    Raises OSError.
    """
    path = directory / f"{name}{STATUS_SUFFIX}"
    fresh = directory / f".{name}{STATUS_SUFFIX}.tmp"
    data = json.dumps({"capture": VERSION, **status}, indent=1).encode()
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.replace(fresh, path)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


def read_statuses(directory: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """What the processes that write, or wrote, to a directory of journals told of themselves, oldest first.

    Each is `{pid, started, at, ended, journal, queue, redacted, kept, lost, cut_sessions, uncopied, removed_journals,
    troubles}` with `file`; one that cannot be read has only `file` and `unreadable`, the reason.
    """
    return [_status(path) for path in sorted(Path(directory).glob(f"*{STATUS_SUFFIX}"))]


def _status(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        return {"file": str(path), "unreadable": str(error)}
    if not isinstance(found, dict) or found.get("capture") != VERSION:
        return {"file": str(path), "unreadable": "it is no status of a capture that is known here"}
    return {**found, "file": str(path)}
