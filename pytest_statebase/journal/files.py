"""The journals of a directory: appending to one's own, going on in a new one, removing old ones."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from .limits import Limits

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has none, and there nothing that is open can be removed
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".journal"
STATUS_SUFFIX = ".status"
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_write = os.write
_ABANDONED = 3600.0
"""Seconds after which the status of a process without a journal is removed."""


class Journal:
    """The files that one process appends to, one after the other. For one thread.

    name: begins their names.
    """

    def __init__(self, directory: Path, name: str, limits: Limits) -> None:
        self.directory = directory
        self.name = name
        self.limits = limits
        self.path: Path | None = None
        """The file that is open."""
        self._fd: int | None = None
        self._size = 0
        self._segment = 0
        self._is_torn = False
        """The file ends within a line, which could not be taken back."""

    def ready(self, header: bytes) -> None:
        """Make sure that a file is open that has room; a new one begins with the header.

        Raises OSError.
        """
        if self._fd is not None and (self._size >= self.limits.longest_file or not os.fstat(self._fd).st_nlink):
            self.close()
        if self._fd is None:
            self._open()
        if self._size == 0:
            try:
                self._write_all([header])
            except _ShortWrite as short:
                raise short.cause from None

    def append(self, lines: list[bytes]) -> tuple[int, OSError | None]:
        """Append lines; how many of them stand in the file now, and why no more."""
        try:
            self._write_all(lines)
            return len(lines), None
        except _ShortWrite as short:
            return short.whole, short.cause

    def _open(self) -> None:
        make_directory(self.directory)
        self._segment += 1
        path = self.directory / f"{self.name}.{self._segment:04}{SUFFIX}"
        self._fd = os.open(path, _FLAGS, 0o600)
        self.path, self._size, self._is_torn = path, 0, False
        if fcntl is not None:
            # Says to those who remove old journals that this one is written to.
            with contextlib.suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def _write_all(self, lines: list[bytes]) -> None:
        assert self._fd is not None
        data = b"".join(lines)
        ahead = b"\n" if self._is_torn else b""
        view, done = memoryview(ahead + data), 0
        try:
            while done < len(view):
                done += _write(self._fd, view[done:])
        except OSError as error:
            whole, length = _whole_lines(lines, done - len(ahead))
            self._take_back(length + len(ahead) if whole else 0, done)
            raise _ShortWrite(whole, error) from None
        self._size += len(view)
        self._is_torn = False

    def _take_back(self, good: int, done: int) -> None:
        """Shorten the file to its last whole line."""
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, self._size + good)
            self._size += good
        except OSError:
            self._size += done
            self._is_torn = done > good or self._is_torn

    def sync(self) -> None:
        """Have the disk hold what was appended.

        Raises OSError.
        """
        if self._fd is not None:
            os.fsync(self._fd)

    def close(self) -> None:
        """Have the disk hold the file, and close it; the next is another."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._fd)
            self.abandon()

    def abandon(self) -> None:
        """Let the file go, without a word to the process that it belongs to as well."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._fd)
        self._fd, self.path, self._size = None, None, 0


class _ShortWrite(Exception):
    def __init__(self, whole: int, cause: OSError) -> None:
        self.whole = whole
        self.cause = cause


def _whole_lines(lines: list[bytes], written: int) -> tuple[int, int]:
    """How many of the lines were written whole, and how long they are together."""
    length = 0
    for count, line in enumerate(lines):
        if length + len(line) > written:
            return count, length
        length += len(line)
    return len(lines), length


def make_directory(directory: Path) -> None:
    """Make the directory, for its owner alone and none of version control's, where there is none.

    Raises OSError.
    """
    if not directory.is_dir():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
            _ignored(directory)


def _ignored(directory: Path) -> None:
    handle = os.open(directory / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, b"*\n")
    finally:
        os.close(handle)


def new_name() -> tuple[str, str]:
    """How the names of a process's files begin, and the text in it that tells the process from all others."""
    process = os.urandom(6).hex()
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}-{process}", process


# --- Old ones


@dataclass(frozen=True, slots=True)
class _Old:
    path: Path
    size: int
    changed: float


def prune(directory: Path, limits: Limits, own: str) -> int:
    """Remove what is too old, and the oldest while there is too much; how many journals were removed.

    own: how the names of the caller's files begin.
    """
    found = sorted(_journals(directory), key=lambda old: old.changed)
    total = sum(old.size for old in found)
    oldest = None if limits.days is None else time.time() - limits.days * 86_400
    removed = 0
    for old in found:
        if total <= limits.total_bytes and (oldest is None or old.changed >= oldest):
            break
        if _remove(old.path):
            total -= old.size
            removed += 1
    _remove_status_files(directory, own)
    return removed


def _journals(directory: Path) -> Iterator[_Old]:
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield _Old(Path(entry.path), status.st_size, status.st_mtime)


def _remove(path: Path) -> bool:
    """Remove a journal that no process writes to."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


def _remove_status_files(directory: Path, own: str) -> None:
    """Remove what tells of processes that have no journal any more."""
    alive = {old.path.name.split(".")[0] for old in _journals(directory)} | {own}
    for path in directory.glob(f"*{STATUS_SUFFIX}"):
        with contextlib.suppress(OSError):
            if path.name.split(".")[0] not in alive and path.stat().st_mtime < time.time() - _ABANDONED:
                path.unlink()
