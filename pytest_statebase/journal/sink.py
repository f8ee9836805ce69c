"""Frames as lines at the end of a journal: redacted, checked, appended. For the writer's thread alone."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..events import timestamp
from ..frames import Frame, SessionCut
from .files import Journal, new_name, prune
from .limits import Limits
from .lines import HEADER, Head, checked, line_of
from .settle import settled
from .telling import Telling, named

_PRUNE_SECONDS = 600.0
_FORMAT = 1


class NoLineError(Exception):
    """A frame that cannot be written; `reason` is what its loss counts as."""

    def __init__(self, reason: str, what: str) -> None:
        super().__init__(what)
        self.reason = reason
        self.what = what


class Sink:
    """The journal of this process."""

    def __init__(self, directory: Path, limits: Limits, redact: Callable[[Frame], Frame], telling: Telling) -> None:
        self.name, self._process = new_name()
        self.started = timestamp()
        self._directory = directory
        self._limits = limits
        self._redact = redact
        self._telling = telling
        self._journal = Journal(directory, self.name, limits)
        self._number = 0
        self._pruned_at = 0.0

    @property
    def path(self) -> Path | None:
        """The file that is open."""
        return self._journal.path

    def line(self, frame: Frame, *, is_plain: bool = True) -> bytes:
        """The line of a frame, redacted.

        is_plain: whether its values are known to be settled.
        Raises NoLineError.
        """
        reason, what = "encoding", "a turn could not be made text of"
        try:
            uncopied = 0
            if not is_plain:
                frame, uncopied = settled(frame)
            reason, what = "redaction", "the redaction of a turn failed, so that it is not kept"
            frame = self._redact(frame)
            reason, what = "encoding", "a turn could not be made text of"
            line, more = line_of(frame, self._number + 1, time.time())
        except Exception as error:
            raise NoLineError(reason, f"{what}: {named(error)}") from None
        self._number += 1
        if uncopied or more:
            self._telling.uncopied(frame, max(uncopied, more))
        return line

    def append(self, cuts: Sequence[SessionCut], lines: list[bytes]) -> tuple[int, int]:
        """Append what tells of the cuts, and the lines; how many of each stand in the journal now."""
        told = [line for cut in cuts if (line := self._told(cut)) is not None]
        written, error = 0, None
        try:
            self._ready()
            written, error = self._journal.append([*told, *lines])
            if self._limits.fsync and error is None:
                self._journal.sync()
        except OSError as failed:
            written, error = 0, failed
        if error is not None:
            self._telling.trouble("disk", f"the journal cannot be written: {error.strerror or named(error)}")
            if error.errno == errno.EFBIG:
                self._journal.close()
        return (len(cuts) if written >= len(told) else written), max(0, written - len(told))

    def _told(self, cut: SessionCut) -> bytes | None:
        """The line that tells of a cut; None where the redaction fails even of that."""
        try:
            return self.line(cut)
        except NoLineError as error:
            self._telling.trouble(error.reason, error.what)
            return None

    def _ready(self) -> None:
        before = self._journal.path
        self._number += 1
        payload = f'{{"journal":{_FORMAT},"process":"{self._process}","pid":{os.getpid()},"started":"{self.started}"}}'
        self._journal.ready(checked(Head(HEADER, self._number, "", time.time()), payload))
        now = time.monotonic()
        if before != self._journal.path or now - self._pruned_at > _PRUNE_SECONDS:
            self._pruned_at = now
            self._telling.counts.removed += prune(self._directory, self._limits, self.name)

    def close(self) -> None:
        """Have the disk hold it."""
        self._journal.close()

    def abandon(self) -> None:
        """In a child of fork: it is the parent's."""
        self._journal.abandon()
