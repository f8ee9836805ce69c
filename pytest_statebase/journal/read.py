"""Journals as they stand on disk: which lines there are, and what each holds. Nothing is trusted."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import FileError
from ..frames import Frame
from .files import SUFFIX
from .lines import HEADER, KINDS, Head, frame_of, head_of, payload_of

LONGEST_LINE = 256 * 1024 * 1024
"""A longer line is passed over unread."""
_FORMAT = 1
_KINDS = tuple(KINDS.values())
_OPEN_FILES = 64


def is_journal(path: Path) -> bool:
    """Whether a file is called as journals are."""
    return path.name.endswith(SUFFIX)


def journals_of(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The journals that are named, and those in the directories that are, each once.

    Raises FileError for a path that is not there, and for a directory without a journal.
    """
    found: dict[str, Path] = {}
    for name in paths:
        path = Path(name)
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if is_journal(file) and file.is_file())
            if not files:
                raise FileError("holds no journal", where=str(path), remedy=f"Journals are called NAME{SUFFIX}.")
        elif not path.is_file():
            raise FileError("there is no such file", where=str(path), remedy="Check the path.")
        for file in files:
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that cannot be read, and was passed over."""

    where: str
    """`FILE:LINE`."""
    what: str
    is_torn: bool = False
    """It is the last one of its file, and was never finished: the process that wrote it was stopped."""
    is_foreign: bool = False
    """It says that another version wrote the journal, of which nothing more is read."""

    @property
    def remedy(self) -> str:
        """What to do about a line that is not torn."""
        if self.is_foreign:
            return "Nothing of the journal is read; take the version of pytest-statebase that wrote it, or a newer one."
        return "The rest of the journal is read. Restore the file if there is a backup; look whether the disk fails."

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class _OtherFormatError(ValueError):
    """A journal of another version."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A frame with where it stands."""

    frame: Frame
    process: int
    """The process that wrote it, by a number of this reading."""
    number: int
    """Of the line, among those of its process."""
    time: float
    where: str


@dataclass(slots=True)
class _Place:
    """The lines of one session: for each, where it stands and what its head says."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    """File, offset, length, line, process and number, for one line after the other."""
    times: array[float] = field(default_factory=lambda: array("d"))


class _Seen:
    """Numbers of lines that were seen: a byte for each, as long as they come about one after the other."""

    __slots__ = ("_first", "_flags", "_others")

    def __init__(self, first: int) -> None:
        self._first = first
        self._flags = bytearray()
        self._others: set[int] = set()

    def add(self, number: int) -> bool:
        """Whether it is new."""
        at, flags = number - self._first, self._flags
        if not 0 <= at < len(flags) + 10_000:
            is_new = number not in self._others
            self._others.add(number)
            return is_new
        if at >= len(flags):
            flags.extend(bytes(at + 1 - len(flags)))
        is_new = not flags[at]
        flags[at] = 1
        return is_new and number not in self._others


class Index:
    """Where the lines of each session stand, over many journals. Memory grows with the lines, not with what they hold.

    damaged: called with every line that is passed over.
    """

    def __init__(self, files: Iterable[Path], damaged: Callable[[Damage], None] = lambda damage: None) -> None:
        self.files = list(files)
        self.damaged = damaged
        self._sessions: dict[str, _Place] = {}
        self._processes: dict[str, int] = {}
        self.damaged_processes: set[int] = set()
        """Those of which a line is lost that was finished once."""
        self._seen: dict[int, _Seen] = {}
        for at in range(len(self.files)):
            self._add(at)
        del self._seen

    @property
    def sessions(self) -> list[str]:
        """The ids, in the order in which the sessions began."""
        return sorted(self._sessions, key=lambda session: min(self._sessions[session].times))

    def _add(self, at: int) -> None:
        path = self.files[at]
        try:
            file = path.open("rb")
        except OSError as error:
            self.damaged(Damage(str(path), f"cannot be read: {error.strerror or error}"))
            return
        process = self._process(path.name)
        with file:
            for line, offset, text in _lines(file):
                where = f"{path}:{line}"
                try:
                    head = head_of(_whole(text))
                    if head.kind == HEADER:
                        process = self._process(_header(text))
                    else:
                        self._enter(head, (at, offset, len(text), line, process))
                except _OtherFormatError as error:
                    # What its lines mean, another version knows.
                    self.damaged(Damage(where, str(error), is_foreign=True))
                    return
                except ValueError as error:
                    is_torn = not text.endswith(b"\n")
                    if not is_torn:
                        self.damaged_processes.add(process)
                    self.damaged(Damage(where, _TORN if is_torn else str(error), is_torn))

    def _process(self, name: str) -> int:
        return self._processes.setdefault(name, len(self._processes))

    def _enter(self, head: Head, place: tuple[int, ...]) -> None:
        if head.kind not in _KINDS:
            raise ValueError(f"an unknown kind of line: {head.kind!r:.40}")
        if not self._seen.setdefault(place[-1], _Seen(head.number)).add(head.number):
            return
        known = self._sessions.setdefault(head.session, _Place())
        known.numbers.extend((*place, head.number))
        known.times.append(head.time)

    def entries(self, session: str) -> list[Entry]:
        """What the journals hold of one session, in the order of time."""
        place = self._sessions[session]
        rows = [tuple(place.numbers[start : start + 6]) for start in range(0, len(place.numbers), 6)]
        order = sorted(range(len(rows)), key=lambda row: (place.times[row], rows[row][4], rows[row][5]))
        with ExitStack() as stack:
            opened: dict[int, BinaryIO] = {}
            return [entry for row in order for entry in self._entry(rows[row], place.times[row], opened, stack)]

    def _entry(
        self, row: tuple[int, ...], time: float, opened: dict[int, BinaryIO], stack: ExitStack
    ) -> Iterator[Entry]:
        at, offset, length, line, process, number = row
        where = f"{self.files[at]}:{line}"
        try:
            if at not in opened:
                if len(opened) >= _OPEN_FILES:
                    stack.close()
                    opened.clear()
                opened[at] = stack.enter_context(self.files[at].open("rb"))
            opened[at].seek(offset)
            text = opened[at].read(length)
            head = head_of(_whole(text))
            yield Entry(frame_of(head, payload_of(text)), process, number, time, where)
        except (OSError, ValueError) as error:
            self.damaged_processes.add(process)
            self.damaged(Damage(where, str(error)))


_TORN = "the line ends before its time: the process that wrote it was stopped"


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """The number of each line, where it begins, and the line itself, empty ones left out."""
    offset, number = 0, 0
    while text := file.readline(LONGEST_LINE):
        number += 1
        begin, offset = offset, offset + len(text)
        if len(text) >= LONGEST_LINE and not text.endswith(b"\n"):
            while text and not text.endswith(b"\n"):
                text = file.readline(1 << 20)
                offset += len(text)
            text = b"\n" if not text else b"too long\n"
        if text != b"\n":
            yield number, begin, text


def _whole(text: bytes) -> bytes:
    if not text.endswith(b"\n"):
        raise ValueError(_TORN)
    return text


def _header(text: bytes) -> str:
    """The process that a journal's first line names."""
    payload: Any = payload_of(text)
    match payload:
        case {"journal": int() as version} if version != _FORMAT:
            raise _OtherFormatError(
                f"a journal in format {version}; this version of pytest-statebase reads format {_FORMAT}"
            )
        case {"journal": _, "process": str() as process}:
            return process
    raise ValueError("a journal that does not say which process wrote it")
