"""Where in the files of a cassette a turn stands."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ...cassette.files import read_bytes
from ...cassette.model import PLAN_SUFFIX, RECORD_SUFFIX
from ...cassette.planread import read_plan
from ...cassette.yamlread import parse
from ...errors import StatebaseError
from ..rows import Row

Place = tuple[str, int]
"""A file, and a line of it, from 1."""

_WHERE = re.compile(r"(.+?\.yaml):(\d{1,9}):\d+: ")


def place_of(row: Row, turn: Row | None, root: Path) -> Place | None:
    """What the plan expects of a turn, its beginning in the record, or the plan; of a replay without a turn the line
    that its error names.

    Files are named from the top of the repository (GITHUB_WORKSPACE), or from `root` where that is not known. None for
    what is not below `root`: a results file of strangers may name any file.
    """
    plan = _below(root, str(row["cassette"]), PLAN_SUFFIX)
    if plan is None:
        return None
    try:
        path, line = next(_places(plan, row, turn, root))
    except (StatebaseError, OSError, ValueError):
        path, line = plan, 1
    return _shown(path, root), line


def _below(root: Path, name: str, suffix: str) -> Path | None:
    try:
        path = (root / name).resolve()
        is_there = path.name.endswith(suffix) and path.is_relative_to(root.resolve()) and path.is_file()
    except (OSError, ValueError):
        return None
    return path if is_there else None


def _places(plan: Path, row: Row, turn: Row | None, root: Path) -> Iterator[tuple[Path, int]]:
    """The best one first."""
    if turn is not None:
        yield from _of_turn(plan, turn["turn"], root)
    else:
        named = _WHERE.match(str(row.get("failure") or ""))
        path = _below(root, named[1], ".yaml") if named else None
        if named and path:
            yield path, int(named[2])
    yield plan, 1


def _of_turn(file: Path, number: int, root: Path) -> Iterator[tuple[Path, int]]:
    plan = read_plan(file)
    where = plan.where.get(f"expect.{number}")
    if where is not None:
        yield file, int(where.rsplit(":", 2)[1])
    name = plan.record or file.name.removesuffix(PLAN_SUFFIX) + RECORD_SUFFIX
    record = _below(root, str(file.parent / name), RECORD_SUFFIX)
    for document in parse(read_bytes(record), where=record.name) if record else ():
        if document.value.get("kind") == "turn" and document.value.get("number") == number:
            yield record or file, document.line


def _shown(path: Path, root: Path) -> str:
    workspace = os.environ.get("GITHUB_WORKSPACE")
    tops = [Path(workspace).resolve()] if workspace else []
    top = next(one for one in [*tops, root.resolve()] if path.is_relative_to(one))
    return path.relative_to(top).as_posix()
