"""What goes wrong in a capture: counted by kind, logged once, and never raised."""

from __future__ import annotations

import contextlib
import logging
import threading
from itertools import islice
from pathlib import Path

from ..frames import Frame
from .markers import marked_places
from .status import Counts

_log = logging.getLogger("pytest_statebase.capture")
_MOST_PLACES = 20


class Telling:
    """Counts for the status of one process, and warnings for its log."""

    def __init__(self, directory: Path, before: Telling | None = None) -> None:
        """before: of the parent of a fork, what was logged already."""
        self.counts = Counts()
        self.is_news = False
        """Whether something was counted that the status does not tell yet."""
        self._directory = directory
        self._lock = threading.RLock()
        self._logged: set[str] = set() if before is None else before._logged
        self._places: set[str] = set() if before is None else before._places
        """Where values stood that could not be stored, as far as that was logged."""

    def trouble(self, kind: str, what: str) -> None:
        """Count it; the first of its kind is logged. what: without anything that was captured."""
        with self._lock:
            self.is_news = True
            is_first = self.counts.trouble(kind, what) and kind not in self._logged
            self._logged.add(kind)
        if is_first:
            _warn("%s (%s); told once, and counted in %s", what, kind, self._directory)

    def uncopied(self, frame: Frame, count: int) -> None:
        """Parts of a frame's values could not be stored: the first places are logged one by one."""
        self.counts.uncopied += count
        places = [place for place in islice(marked_places(frame), _MOST_PLACES) if place not in self._places]
        where = places[0] if places else "a part of a value"
        self.trouble("uncopied", f"{where}, which cannot be stored: a marker stands in its place")
        for place in places[: _MOST_PLACES - len(self._places)]:
            if self._places:
                _warn("%s, which cannot be stored: a marker stands in its place", place)
            self._places.add(place)


def named(error: BaseException) -> str:
    """The kind of an error: its text may hold what was to be redacted."""
    return type(error).__qualname__


def _warn(message: str, *values: object) -> None:
    with contextlib.suppress(Exception):  # handlers are strangers
        _log.warning(message, *values)
