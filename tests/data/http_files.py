"""Recordings that others made with vcrpy: what vcrpy itself makes of each file, and what is made of it here.

`python -m tests.data.http_files` prints the table.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_statebase.cassette.http import HttpRecording, read_http
from pytest_statebase.errors import HttpError


@dataclass(frozen=True)
class Seen:
    """One file: each side has either a reading or a refusal."""

    path: Path
    theirs: tuple[list[Any], list[Any]] | None
    their_refusal: str
    ours: HttpRecording | None
    our_refusal: str


def files(data: Path) -> list[Path]:
    return sorted([*data.glob("vcr/**/*.yaml"), *data.glob("vcr/**/*.json")])


def seen(path: Path) -> Seen:
    theirs, ours, their_refusal, our_refusal = None, None, "", ""
    try:
        theirs = _with_vcrpy(path)
    except Exception as error:
        their_refusal = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        ours = read_http(path)
    except HttpError as error:
        our_refusal = error.what
    return Seen(path, theirs, their_refusal, ours, our_refusal)


def _with_vcrpy(path: Path) -> tuple[list[Any], list[Any]]:
    from vcr.persisters.filesystem import FilesystemPersister
    from vcr.serializers import jsonserializer, yamlserializer

    serializer = jsonserializer if path.suffix == ".json" else yamlserializer
    requests, responses, *_ = FilesystemPersister.load_cassette(path, serializer)
    return requests, responses


def body_of(value: Any) -> Any:
    """A body of vcrpy's as bytes, or as the value where it is JSON."""
    data = value.encode() if isinstance(value, str) else value
    if isinstance(data, bytes) or data is None:
        try:
            return json.loads(data or b"")
        except ValueError:
            return data or b""
    return data


def main() -> None:
    for one in map(seen, files(Path(os.environ["STATEBASE_DATA"]))):
        theirs = f"{len(one.theirs[0])} loaded" if one.theirs else f"refused, {one.their_refusal}"
        ours = f"{len(one.ours.exchanges)} loaded" if one.ours else f"refused, {one.our_refusal}"
        sys.stdout.write(f"| {one.path.name:.52} | {theirs:.60} | {ours} |\n")


if __name__ == "__main__":
    main()
