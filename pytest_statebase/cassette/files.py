"""Bytes from and to disk: whole files, atomic replacement, and errors that say what to do."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path

from ..errors import FileError

MAX_BYTES = 256 * 1024 * 1024
"""A file beyond this is refused unread: no session is that long, and reading it would take the machine down."""

CONFLICT = re.compile(rb"^(<{7}|\|{7}|={7}|>{7})(?: .*)?\r?$", re.MULTILINE)
"""A line that a merge left to be resolved."""

TEMPORARY = ".tmp"
"""How the names end of files that are not whole yet."""
MAX_NAME = 80
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a UTF-8 text file, without a byte order mark.

    Raises FileError for a file that is missing, unreadable, empty, enormous or not UTF-8.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_BYTES:
                raise _too_large(name, size)
            data = file.read()
    except OSError as error:
        raise _unreadable(name, error) from None
    return as_utf8(data, where=name)


def as_utf8(data: bytes, *, where: str) -> bytes:
    """`data` without a byte order mark.

    Raises FileError where it is empty or not UTF-8, naming line and column.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(data, where, error) from None
    if not data.strip():
        found = "is empty (0 bytes)" if not data else "holds nothing but blank space"
        raise FileError(f"the file {found}", where=where, remedy="Restore it from version control, or record it again.")
    return data


def _too_large(name: str, size: int) -> FileError:
    return FileError(
        f"the file has {size / 1e6:,.0f} MB; at most {MAX_BYTES / 1e6:,.0f} MB are read",
        where=name,
        remedy="Split the session, or leave out what no replay needs.",
    )


def _unreadable(name: str, error: OSError) -> FileError:
    if isinstance(error, FileNotFoundError):
        return FileError("there is no such file", where=name, remedy="Check the path.")
    if isinstance(error, IsADirectoryError):
        return FileError("this is a directory, not a file", where=name, remedy="Name a file in it.")
    return FileError(f"the file cannot be read: {error.strerror or error}", where=name, remedy="Check its permissions.")


def _not_utf8(data: bytes, where: str, error: UnicodeDecodeError) -> FileError:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return FileError("the file is UTF-16, not UTF-8", where=where, remedy="Save it as UTF-8.")
    before = data[: error.start]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8")) + 1
    return FileError(
        f"the file is not UTF-8: byte 0x{data[error.start]:02x} cannot stand here",
        where=f"{where}:{line}:{column}",
        remedy="Save it as UTF-8, or restore it from version control.",
    )


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file's content in one step: a reader sees the old bytes or the new ones, also after a crash.

    Raises FileError where the directory or the file cannot be written.
    """
    target = Path(path)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=temporary_prefix(target.name), suffix=TEMPORARY, dir=target.parent)
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_of(target))
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        reason = error.strerror or str(error)
        remedy = "Check that the directory exists and can be written."
        raise FileError(f"the file cannot be written: {reason}", where=str(target), remedy=remedy) from None


def temporary_prefix(name: str) -> str:
    """How the names begin under which `write_atomic` writes a file before it has its own."""
    return f".{name[:40]}."


def _mode_of(target: Path) -> int:
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        return 0o644


def is_safe_name(stem: str) -> bool:
    """Whether a cassette may be called so: letters, digits, `.`, `_` and `-`, at most 80 characters."""
    return len(stem) <= MAX_NAME and _NAME.fullmatch(stem) is not None
