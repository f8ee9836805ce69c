"""The key of a directory of journals, with which all its writers make their tokens."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

_NAME = ".key"
_BYTES = 32


def key_of(directory: Path) -> bytes:
    """The key of a directory, made where there is none; for its owner alone to read.

    Raises OSError where it can be neither read nor made. The directory must exist.
    """
    path = directory / _NAME
    found = _read(path)
    if found is None:
        _make(path)
        found = _read(path)
    if found is None:
        raise OSError(f"{path} holds no key of {_BYTES} bytes")
    return found


def _read(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return data if len(data) == _BYTES else None


def _make(path: Path) -> None:
    """Whole from the first moment on: of several processes that make one at once, one wins and all read that."""
    own = path.with_name(f"{_NAME}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    handle = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(own, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.replace(own, path)
            return
    finally:
        own.unlink(missing_ok=True)
