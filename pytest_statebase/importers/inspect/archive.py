"""Logs in inspect_ai's `.eval` format: a zip archive with a header and a file for each sample."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

from ...errors import ImportFileError
from ..files import inside

_MAGIC = b"PK\x03\x04"
_MOST_BYTES = 1 << 30
"""Of all members together, unpacked."""
_REMEDY = "Convert it with `inspect log convert --to json`, and import that."


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_archive(path: Path) -> list[tuple[str, Any]]:
    """The header, with the samples in it as the JSON form of a log has them, and where it stands.

    A sample that cannot be read is an ImportFileError of its own after it.
    Raises ImportFileError for an archive that is damaged, too large, or no log.
    """
    where = str(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > _MOST_BYTES:
                raise ImportFileError("holds more than 1 GiB", where=where, remedy=_REMEDY)
            names = {member.filename for member in members}
            head = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
            if head is None:
                raise ImportFileError("is an archive, but no log of inspect_ai", where=where, remedy=_REMEDY)
            header = _json(archive, head, where)
            if isinstance(header, ImportFileError):
                raise header
            samples = [_json(archive, name, where) for name in sorted(names) if _is_sample(name)]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ImportFileError(f"the archive cannot be read: {error}", where=where, remedy=_REMEDY) from None
    errors = [sample for sample in samples if isinstance(sample, ImportFileError)]
    read = [sample for sample in samples if not isinstance(sample, ImportFileError)]
    log = {**(header if isinstance(header, dict) else {}), "samples": read}
    return [(where, log), *((where, error) for error in errors)]


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _json(archive: zipfile.ZipFile, name: str, where: str) -> Any:
    place = inside(where, name)
    try:
        return json.loads(archive.read(name))
    except (ValueError, RecursionError) as error:
        return ImportFileError(f"is not JSON: {error}", where=place, remedy=_REMEDY)
