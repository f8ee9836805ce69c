"""The records that a command line means."""

from __future__ import annotations

from pathlib import Path

from ..errors import FileError

_RECORD, _PLAN = ".record.yaml", ".session.yaml"


def find_records(paths: tuple[Path, ...]) -> list[Path]:
    """The records among and below the paths, each once, in order.

    A plan stands for its record.
    Raises FileError where a file is neither, a plan has no record, or there is no record at all.
    """
    found: dict[Path, None] = {}
    for path in paths:
        found.update(dict.fromkeys(sorted(path.rglob(f"*{_RECORD}")) if path.is_dir() else [_record(path)]))
    if not found:
        where = ", ".join(map(str, paths))
        raise FileError("there is no record here", where=where, remedy=f"Records are files named NAME{_RECORD}.")
    return list(found)


def _record(path: Path) -> Path:
    if path.name.endswith(_RECORD):
        return path
    if not path.name.endswith(_PLAN):
        remedy = f"Give a directory, a record (NAME{_RECORD}) or a plan (NAME{_PLAN})."
        raise FileError("is no record and no plan", where=str(path), remedy=remedy)
    from ..cassette import load_cassette

    record = load_cassette(path).record_path
    if record is None or not record.exists():
        raise FileError("the plan has no record", where=str(path), remedy=f"It should be {record}." if record else None)
    return record
