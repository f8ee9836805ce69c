"""Copies cassettes into a directory, with all files that belong to them. Nothing is written over."""

from __future__ import annotations

import os
from pathlib import Path

from ..cassette import Cassette
from ..errors import FileError


def copy_cassette(cassette: Cassette, out: Path) -> tuple[int, int]:
    """Copy the plan, the record and, where they are there, the HTTP recording and the accepted baseline.

    Returns how many files were written, and how many were there with the same content.
    Raises FileError where one is there with other content, or cannot be read or written; then nothing was written.
    """
    from ..cassette.files import read_bytes, write_atomic

    files = {target: read_bytes(source) for source, target in _files(cassette, out)}
    new = [target for target in files if not target.exists()]
    for target, data in files.items():
        if target not in new and read_bytes(target) != data:
            remedy = "It is never written over: give another --out, or delete that file."
            raise FileError("the file is there already, with other content", where=str(target), remedy=remedy)
    for target in new:
        _make(target.parent)
        write_atomic(target, files[target])
    return len(new), len(files) - len(new)


def _files(cassette: Cassette, out: Path) -> list[tuple[Path, Path]]:
    """Each file with where it goes: as it stands to the plan, so that what the plan names is found."""
    own = cassette.path or cassette.record_path
    assert own is not None
    others = (cassette.http_path, cassette.accepted_path, cassette.accepted_http_path)
    files = [own, *([cassette.record_path] if cassette.record_path not in (None, own) else [])]
    files += [path for path in others if path is not None and path.exists()]
    return [(path, out / _beside(path, own)) for path in files]


def _beside(path: Path, own: Path) -> str:
    relative = os.path.relpath(path, own.parent)
    if relative.startswith(".."):
        remedy = "Copy it by hand, and correct the plan."
        raise FileError("the file is not below the directory of its plan", where=str(path), remedy=remedy)
    return relative


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the directory cannot be made: {error.strerror or error}"
        raise FileError(what, where=str(directory), remedy="Give another --out.") from None
