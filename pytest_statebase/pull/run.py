"""Pulls sessions one after another into a directory, and goes on where an earlier run was stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ..errors import FileError, ImportFileError, PullError, StatebaseError
from ..importers.service import Pulled, PulledSession, session_from
from ..importers.service.raw import SUFFIX
from ..importers.store import Store
from .api import Api, Stopped, Unavailable
from .fetch import Gone, fetch, session_of
from .find import Found
from .pages import PAGE

What = Literal["pulled", "completed", "unchanged", "passed", "went on", "expired", "failed"]
_IN_A_ROW: Final = 3
"""Sessions whose requests all fail, after which no other is tried."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one session.

    `completed`: an earlier run was stopped before everything was written. `unchanged`: it is there already.
    `passed`: nothing in it looks wrong, and only failed ones were wanted. `went on`: it is there as it was before more
    happened in it. `expired`: it is not there, or no longer. `failed`: it could not be had. For the last three see
    `error`.
    """

    id: str
    what: What
    session: PulledSession | None = None
    error: StatebaseError | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """A session that the directory has already."""

    path: Path
    found: Found

    @property
    def is_whole(self) -> bool:
        stem = self.path.name.removesuffix(SUFFIX)
        return all(self.path.with_name(stem + end).exists() for end in (".record.yaml", ".session.yaml"))


class Pull:
    """Pulls into one directory.

    only_failed: keep only sessions with a turn that looks wrong.
    damaged: what is wrong with each `.pulled.json` of the directory that cannot be read, by its NAME. A session of that
    name is not pulled; the others are.
    """

    def __init__(self, api: Api, out: Path, *, only_failed: bool = False) -> None:
        self._api = api
        self._only_failed = only_failed
        self._kept, self.damaged = _kept_in(out)
        self._has_defaults = (out / "statebase.yaml").exists()
        self._in_a_row = 0
        self.store = Store(out)

    def is_whole(self, found: Found) -> bool:
        """Whether a session is there already, as it stands now."""
        kept = self._kept.get(found.id)
        return kept is not None and kept.is_whole and kept.found.is_same(found)

    def one(self, found: Found) -> Outcome:
        """Pull one session.

        Raises Stopped where no other would fare better, and FileError where nothing can be written.
        """
        try:
            outcome = self._one(found)
        except (Stopped, FileError):
            raise
        except Gone as error:
            return Outcome(found.id, "expired", None, error)
        except StatebaseError as error:
            self._count(error)
            return Outcome(found.id, "failed", None, error)
        self._in_a_row = 0
        return outcome

    def _one(self, found: Found) -> Outcome:
        if found.id in self.damaged:
            return Outcome(found.id, "failed", None, self.damaged[found.id])
        kept = self._kept.get(found.id)
        if kept is not None and not kept.is_whole:
            session = session_from(_read(kept.path), str(kept.path))
            self.store.add(session.imported)
            return Outcome(found.id, "completed", session)
        if kept is not None and found.updated_at is None and found.turns is None:
            try:
                found = Found.of(session_of(self._api, found.id))
            except Gone:
                found = kept.found
        if kept is None:
            return self._new(found)
        if not kept.found.is_same(found):
            return Outcome(found.id, "went on", None, _went_on(kept, found))
        if not self._has_defaults:
            # What is proposed for them at the end names the tools of all sessions.
            self.store.count(session_from(_read(kept.path), str(kept.path)).imported.ledger)
        return Outcome(found.id, "unchanged")

    def _new(self, found: Found) -> Outcome:
        whole = found.session if found.session is not None else session_of(self._api, found.id)
        pulled = fetch(self._api, whole)
        session = session_from(pulled, found.id)
        if self._only_failed and not session.failing:
            return Outcome(found.id, "passed", session)
        self.store.add(session.imported)
        return Outcome(found.id, "pulled", session)

    def _count(self, error: StatebaseError) -> None:
        self._in_a_row = self._in_a_row + 1 if isinstance(error, Unavailable) else 0
        if self._in_a_row >= _IN_A_ROW:
            raise Stopped(f"{_IN_A_ROW} sessions one after another could not be had", where=error.where) from error


def _went_on(kept: _Kept, found: Found) -> PullError:
    then, now = kept.found.turns, found.turns
    turns = f": {then} turns then, {now} now" if None not in (then, now) and then != now else ""
    return PullError(
        f"the session went on after it was pulled{turns}",
        where=str(kept.path),
        remedy="A recording is never written over: pull it into another directory, or delete that cassette.",
    )


def _kept_in(out: Path) -> tuple[dict[str, _Kept], dict[str, FileError]]:
    """What the directory has, by the session's id, and what is wrong with files that cannot be read, by their name."""
    found: dict[str, _Kept] = {}
    damaged: dict[str, FileError] = {}
    for path in sorted(out.glob(f"*{SUFFIX}")):
        try:
            pulled = _read(path)
        except FileError as error:
            damaged[path.name.removesuffix(SUFFIX)] = error
        else:
            found[pulled.id] = _Kept(path, _facts(pulled))
    return found, damaged


def _facts(pulled: Pulled) -> Found:
    facts = Found.of(pulled.session)
    return Found(facts.id, facts.turns, facts.updated_at)


def _read(path: Path) -> Pulled:
    from ..cassette.files import read_bytes

    try:
        return Pulled.parse(json.loads(read_bytes(path)), str(path))
    except (ValueError, RecursionError):
        what, where = "the file is no JSON", str(path)
    except ImportFileError as error:
        what, where = error.what, error.where or str(path)
    remedy = "Restore it from version control, or delete it to pull the session again."
    raise FileError(what, where=where, remedy=remedy)


def estimate(found: Iterable[Found]) -> tuple[int, int]:
    """The turns of sessions, and the requests that pulling them takes at least."""
    turns = requests = 0
    for one in found:
        count = one.turns or 0
        turns += count
        lists = 3 * max(1, -(-count // PAGE))
        requests += lists + (one.session is None)
    return turns, requests
