"""The records and cassettes that a command line means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FileError, StatebaseError
from .project import Project, find_project

if TYPE_CHECKING:
    from ..cassette import Cassette

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


def shown(path: Path | str) -> str:
    """A path as people would type it: from the current directory where it is below."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def cassette_files(paths: Iterable[Path]) -> list[Path]:
    """The plans among and below the paths, and the records that have no plan of their name, each once, by name.

    Raises FileError for a path that is not there, and where there is none at all.
    """
    places = list(paths)
    found = _cassettes(places)
    if not found:
        remedy = f"Cassettes are files named NAME{_PLAN} or NAME{_RECORD}; check the path."
        raise FileError("there is no cassette here", where=", ".join(map(shown, places)), remedy=remedy)
    return found


def _cassettes(paths: Iterable[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise FileError("there is no such file or directory", where=shown(path), remedy="Check the path.")
        inside = [file for suffix in (_PLAN, _RECORD) for file in path.rglob(f"*{suffix}")] if path.is_dir() else [path]
        found.update(dict.fromkeys(sorted(inside)))
    return [file for file in found if not _has_plan(file, found)]


def _has_plan(file: Path, found: dict[Path, None]) -> bool:
    return file.name.endswith(_RECORD) and file.with_name(file.name.removesuffix(_RECORD) + _PLAN) in found


def find_cassette(target: str, *, project: Project | None = None) -> Cassette:
    """The cassette that a path, or the id of a session or name of a cassette in the project, means.

    Raises FileError where it means none or several, naming those that come near; and what reading it raises.
    """
    from ..cassette import load_cassette

    path = Path(target)
    if path.is_file():
        return load_cassette(shown(path))
    if path.is_dir():
        remedy = f"Name one of its cassettes: NAME{_PLAN} or a session's id. `pytest-statebase status` lists them."
        raise FileError("this is a directory", where=target, remedy=remedy)
    if "/" in target or target.endswith((_PLAN, _RECORD)):
        raise FileError("there is no such file", where=target, remedy="Check the path, or give a session's id.")
    return load_cassette(shown(_search(target, project or find_project())))


def _search(wanted: str, project: Project) -> Path:
    """The cassette of a session in the project."""
    places = [path for path in project.cassettes if path.exists()]
    known: dict[Path, tuple[str, ...]] = {}
    unread: list[StatebaseError] = []
    for file in _cassettes(places):
        try:
            known[file] = tuple(_names(file))
        except StatebaseError as error:
            unread.append(error)
    found = [file for file, names in known.items() if wanted in names]
    if len(found) == 1:
        return found[0]
    if found:
        remedy = "Give the file: " + ", ".join(map(shown, found)) + "."
        raise FileError(f"{len(found)} cassettes are of session {wanted}", remedy=remedy)
    where = ", ".join(map(shown, project.cassettes))
    raise FileError(f"there is no session {wanted} in {where}", remedy=_nearest(wanted, known, unread))


def _names(file: Path) -> Iterator[str]:
    """What a cassette may be called: its stem, its plan's session, else its record's."""
    from ..cassette import load_cassette
    from ..cassette.files import read_bytes
    from ..cassette.yamlread import parse

    cassette = load_cassette(shown(file))
    yield cassette.name
    if cassette.plan.session is not None:
        yield cassette.plan.session
    elif cassette.record_path is not None and cassette.record_path.exists():
        name = str(cassette.record_path)
        first = next(iter(parse(read_bytes(name), where=name)), None)
        if first is not None and isinstance(first.value, dict) and "id" in first.value:
            yield str(first.value["id"])


def _nearest(wanted: str, known: dict[Path, tuple[str, ...]], unread: list[StatebaseError]) -> str:
    """What to do instead: the names that are like it, the number of them, what could not be read."""
    names = sorted(own[0] for own in known.values())
    every = sorted({name for own in known.values() for name in own})
    near = [name for name in every if wanted.lower() in name.lower()] or get_close_matches(wanted, every, 5, 0.5)
    if near:
        told = "Did you mean " + ", ".join(near[:5]) + (f" or {len(near) - 5:,} more" if len(near) > 5 else "") + "?"
    elif names:
        more = f" and {len(names) - 8:,} more" if len(names) > 8 else ""
        told = f"There are {', '.join(names[:8])}{more}."
    else:
        told = "There is no cassette; give the path of one, or set the ini key statebase_cassettes."
    return told + (f"\n  {len(unread):,} could not be read, the first: {unread[0].where}" if unread else "")
