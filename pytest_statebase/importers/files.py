"""The JSON documents of a file, plain or gzipped, one or one a line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ImportFileError

_LINES = (".jsonl", ".ndjson")
_WANTED = "Give a .json or .jsonl file, plain or gzipped, with sessions in a format that is known (see --help)."


def stem_of(path: Path) -> str:
    """The file's name without .gz, .json or .jsonl."""
    name = path.name.removesuffix(".gz")
    for suffix in (".json", *_LINES):
        name = name.removesuffix(suffix)
    return name


def inside(where: str, key: str | int) -> str:
    """A place inside a document: `FILE: messages`, `FILE: simulations[3].messages[7]`.

    where: of the document (as `read_documents` tells it) or of a place in it.
    """
    if isinstance(key, int):
        return f"{where}[{key}]" if ": " in where else f"{where}: [{key}]"
    return f"{where}.{key}" if ": " in where else f"{where}: {key}"


def read_documents(path: Path) -> list[tuple[str, Any]]:
    """Where each JSON document of the file begins (`FILE` or `FILE:LINE`), and the document or its ImportFileError.

    Raises ImportFileError where nothing of the file can be read.
    """
    text = _read_text(path)
    if not text.strip():
        raise ImportFileError("the file is empty", where=str(path), remedy=_WANTED)
    if path.name.removesuffix(".gz").endswith(_LINES):
        return list(_read_lines(text, path))
    document = _parse(text, path)
    if isinstance(document, ImportFileError):
        lines = _first_lines(text, path)
        if lines is None:
            raise document
        return lines
    return [(str(path), document)]


def read_any(path: Path) -> Any:
    """What a file of whatever format holds: a JSON value, of JSON Lines a list of them, else its text, else bytes.

    Raises ImportFileError where it cannot be read, or is a damaged archive.
    """
    data = _read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data
    if not text.strip():
        return text
    whole = _parse(text, path)
    if not isinstance(whole, ImportFileError):
        return whole
    lines = _first_lines(text, path)
    values = [value for _, value in lines or () if not isinstance(value, ImportFileError)]
    return values if lines and len(values) == len(lines) else text


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ImportFileError(f"cannot be read: {error.strerror or error}", where=str(path)) from None
    return _unzip(data, path) if data[:2] == b"\x1f\x8b" else data


def _read_text(path: Path) -> str:
    data = _read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = "Save it as UTF-8."
        raise ImportFileError(f"is not UTF-8 text: byte {error.start}", where=str(path), remedy=remedy) from None


def _unzip(data: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        remedy = "The archive is cut off or damaged: fetch it again."
        raise ImportFileError(f"cannot be unzipped: {error}", where=str(path), remedy=remedy) from None


def _first_lines(text: str, path: Path) -> list[tuple[str, Any]] | None:
    """The lines of a file that is JSON Lines whatever its name says; None where its first line is no document."""
    first = next(line for line in text.split("\n") if line.strip())
    if isinstance(_parse(first, path), (dict, list)):
        return list(_read_lines(text, path))
    return None


def _read_lines(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    # Not splitlines(): JSON texts may hold U+2028 and the like unescaped.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{path}:{number}", _parse(line, path, number)


def _parse(text: str, path: Path, line: int = 1) -> Any:
    """The document, or the ImportFileError that says why there is none.

    line: on which the text begins in the file.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}:{line + error.lineno - 1}:{error.colno}"
        return ImportFileError(f"is not JSON: {error.msg}", where=where, remedy=_WANTED)
    except (RecursionError, ValueError) as error:
        return ImportFileError(f"is no JSON that can be read: {error}", where=f"{path}:{line}", remedy=_WANTED)
