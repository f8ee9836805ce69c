"""The recorded sessions of a directory, for a client that reads each when it is first asked for."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from ..cassette import load_cassette
from ..cassette.files import read_bytes
from ..cassette.model import PLAN_SUFFIX, RECORD_SUFFIX, Cassette
from ..cassette.yamlread import parse
from ..errors import FileError
from ..ledger import Ledger
from .held import Loader


def sessions_in(place: str | os.PathLike[str]) -> dict[str, Loader]:
    """The sessions of a cassette, or of every cassette and record below a directory, by id.

    Raises FileError where there is none, where two recordings have the same id, or where one has no id to be read.
    """
    where = Path(place)
    found: dict[str, Loader] = {}
    records: dict[str, Path] = {}
    for file in _files(where):
        cassette = load_cassette(file)
        record = cassette.record_path
        if record is None or (records and record.resolve() in records.values()):
            continue
        name = cassette.plan.session or _id_of(record)
        if name in records:
            remedy = "Keep one of them there."
            raise FileError(f"two recordings are of session {name}: {records[name]}, {record}", remedy=remedy)
        found[name] = partial(_ledger, cassette)
        records[name] = record.resolve()
    if not found:
        remedy = f"Cassettes are files named NAME{PLAN_SUFFIX}, records NAME{RECORD_SUFFIX}."
        raise FileError("there is no cassette here", where=str(where), remedy=remedy)
    return found


def _files(where: Path) -> list[Path]:
    """Plans before records, so that a record is read as its plan says."""
    if not where.exists():
        raise FileError("there is no such file or directory", where=str(where), remedy="Check the path.")
    if where.is_file():
        return [where]
    return [file for suffix in (PLAN_SUFFIX, RECORD_SUFFIX) for file in sorted(where.rglob(f"*{suffix}"))]


def _id_of(record: Path) -> str:
    name = str(record)
    first = next(iter(parse(read_bytes(name), where=name)), None)
    if first is None or not isinstance(first.value, dict) or "id" not in first.value:
        remedy = "Run `pytest-statebase verify` on it."
        raise FileError("this is no record: its first document names no session", where=name, remedy=remedy)
    return str(first.value["id"])


def _ledger(cassette: Cassette) -> Ledger:
    return cassette.ledger
