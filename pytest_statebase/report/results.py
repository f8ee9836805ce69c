"""Rows of results as JSON Lines.

The first line of a file is `{"format": 1, "run": {…}, "replays": N}`, each further line one replay (see
`rows.result_to_row`).
The report, the terminal, shards and what crosses pytest-xdist's wire are all made of these.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeAlias

from ..errors import FileError, FormatVersionError
from .checkrow import checked_row
from .grouping import plural
from .incomplete import count_of, missing_of
from .joining import joined
from .rows import Row, error_row, result_to_row

__all__ = [
    "FORMAT",
    "ResultsWriter",
    "Row",
    "dump_row",
    "error_row",
    "header",
    "load_row",
    "read_results",
    "read_runs",
    "replace_file",
    "replay_key",
    "result_to_row",
    "write_results",
]

FORMAT = 1
"""The version of the format that is written, and the only one that is read."""

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    """JSON has no limit for numbers; one beyond those of Python would be infinite, and could not be written again."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("it holds a number that is too large")
    return number


_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse).decode


def dump_row(row: Mapping[str, Any]) -> str:
    """One line of ASCII without its line end. Lone surrogates are escaped, so that it can go anywhere."""
    return _encode(row)


def load_row(line: str) -> Row:
    """What `dump_row` made, back.

    Raises ValueError where it is no JSON mapping, or holds a number that is not finite.
    """
    try:
        row = _decode(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(row, dict):
        raise ValueError("not a JSON mapping")
    return row


def header(run: Mapping[str, Any], replays: int | None = None) -> Row:
    """The first line of a results file: the format's version and what is known of the run.

    replays: how many lines follow, by which a file that was cut off is known; None where nobody knows yet.
    """
    return {"format": FORMAT, "run": dict(run)} | ({} if replays is None else {"replays": replays})


class ResultsWriter:
    """Writes a results file replay by replay, each line flushed, so that a crash loses nothing that was finished.

    path: made anew; its directory is made where it is missing.
    run: `started_at`, `python`, `pytest`, `pytest_statebase`, `agent`, …; JSON-safe.
    """

    def __init__(self, path: str | Path, run: Mapping[str, Any]) -> None:
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = target.open("w", encoding="ascii", newline="\n")
        self._line(header(run))

    def append(self, row: Row) -> None:
        """Write one replay."""
        self._line(row)

    def _line(self, row: Row) -> None:
        self._file.write(dump_row(row) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; appending afterwards is an error."""
        self._file.close()

    def __enter__(self) -> ResultsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def write_results(path: str | Path, rows: Iterable[Row], run: Mapping[str, Any]) -> None:
    """Write a whole results file, atomically."""
    lines = [dump_row(row) for row in rows]
    replace_file(path, ("\n".join([dump_row(header(run, len(lines))), *lines]) + "\n").encode("ascii"))


def replace_file(path: str | Path, data: bytes) -> None:
    """Put `data` in the place of `path` at once: a reader sees the old file or the new one, never half of one."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_Results: TypeAlias = tuple[dict[str, Any], list[Row]]
"""A run and its rows."""


def read_results(path: str | Path) -> _Results:
    """The run and the rows of one results file; of a file with several runs, what they come to together.

    Raises FormatVersionError for another version of the format, FileError for what is no results file, and for a line
    that is no result of a replay.
    """
    runs = read_runs(path)
    return runs[0] if len(runs) == 1 else joined(runs)


def read_runs(path: str | Path, *, left_out: list[FileError] | None = None) -> list[_Results]:
    """The runs of one results file, each with its rows: several where files were put one behind the other.

    left_out: lines that are no result of a replay are left out, and why each is none is added here; without it
    such a line is a FileError.

    A last line that was cut off (the run was killed) is left out, and `run["warnings"]` says so. What a run lacks that
    was cut off, there or between lines, is in `run["missing"]`, see `incomplete.missing_of`.
    Raises FormatVersionError for another version of the format, FileError for what is no results file.
    """
    lines = _lines(path)
    starts = [0, *(at for at, line in enumerate(lines) if at and _FIRST.match(line))]
    ends = [*starts[1:], len(lines)]
    return [_read_run(path, begin, lines[begin:end], left_out) for begin, end in zip(starts, ends, strict=True)]


_FIRST = re.compile(r'\s*\{\s*"format"\s*:')
"""How the first line of a run begins, and no row."""


def _read_run(path: str | Path, begin: int, lines: list[str], left_out: list[FileError] | None) -> _Results:
    """One run of a file. begin: how many lines stand before it."""
    run = _run_of(path, lines[0], begin + 1)
    rows: list[Row] = []
    filled = [(number, line) for number, line in enumerate(lines[1:], begin + 2) if line.strip()]
    is_cut = False
    for number, line in filled:
        try:
            rows.append(checked_row(load_row(line)))
        except ValueError as error:
            is_cut = number == filled[-1][0] and isinstance(error, json.JSONDecodeError)
            if is_cut:
                run.setdefault("warnings", []).append(f"{path}:{number}: the last line was cut off and is left out")
                continue
            wrong = _no_result(path, number, error)
            if left_out is None:
                raise wrong from None
            left_out.append(wrong)
    _tell_cut(path, run, lines[0], len(filled) - is_cut, is_cut=is_cut)
    return run, rows


def _tell_cut(path: str | Path, run: dict[str, Any], first: str, there: int, *, is_cut: bool) -> None:
    """Add to `run` what the file lacks. is_cut: a line was cut off, whatever the first one says of their number."""
    wanted = count_of(load_row(first).get("replays")) or 0
    if there < wanted:
        run.setdefault("warnings", []).append(f"{path}: cut off: {there:,} of {plural(wanted, 'replay')} are there")
    if there < wanted or is_cut:
        known = missing_of(run)
        run |= replace(known, cut=known.cut + 1, replays=known.replays + max(wanted - there, 1)).in_run()


def _no_result(path: str | Path, number: int, error: ValueError) -> FileError:
    return FileError(f"this line is no result of a replay: {error}", where=f"{path}:{number}", remedy=_REMEDY)


_REMEDY = "Give the file that `--statebase-results PATH` wrote."


def _lines(path: str | Path) -> list[str]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror or error}", where=str(path), remedy=_REMEDY) from None
    except UnicodeDecodeError:
        raise FileError("not UTF-8 text, so no results file", where=str(path), remedy=_REMEDY) from None
    lines = text.rstrip("\n").split("\n")
    if not lines[0].strip():
        raise FileError("the file is empty", where=str(path), remedy=_REMEDY)
    return lines


def _run_of(path: str | Path, line: str, number: int) -> dict[str, Any]:
    try:
        first = load_row(line)
        version = first["format"]
    except (ValueError, KeyError):
        raise FileError(
            "no results file: its first line has no `format`", where=f"{path}:{number}", remedy=_REMEDY
        ) from None
    if version != FORMAT or isinstance(version, bool):
        raise FormatVersionError(
            f"results in format {version!r}, and this version of pytest-statebase reads format {FORMAT}",
            where=f"{path}:{number}",
            remedy="Use the version that wrote the file, or run the replays again.",
        )
    found = first.get("run")
    run = dict(found) if isinstance(found, dict) else {}
    warnings = run.pop("warnings", None)
    return {**run, "warnings": list(map(str, warnings))} if isinstance(warnings, list) else run


def replay_key(row: Row) -> tuple[str, ...]:
    """What names a replay in any run: cassette, fork, until, mode, agent."""
    return tuple(str(row.get(key)) for key in ("cassette", "fork", "until", "mode", "agent"))
