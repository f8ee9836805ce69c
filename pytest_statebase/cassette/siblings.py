"""The sessions that `stubs_from` names: siblings, whose recordings may answer what a session's own record does not."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import PlanError, StatebaseError
from .model import PLAN_SUFFIX, RECORD_SUFFIX, Cassette, load_cassette
from .plan import DIRECTORY, StubsFrom

_cache: dict[str, tuple[tuple[tuple[int, int], ...], Cassette]] = {}


def siblings_of(cassette: Cassette) -> list[Cassette]:
    """The cassettes that the plan's `stubs_from` names, their records read, without the cassette itself.

    Raises PlanError with the place in the plan where one is missing or cannot be read.
    """
    own = _identity(cassette)
    found: dict[str, Cassette] = {}
    for named in cassette.plan.stubs_from:
        for path in _paths(named):
            name = os.path.realpath(path)
            if name not in found:
                sibling = _read(path, named)
                if own is None or _identity(sibling) != own:
                    found[name] = sibling
    return list(found.values())


def _identity(cassette: Cassette) -> str | None:
    return None if cassette.record_path is None else os.path.realpath(cassette.record_path)


def _paths(named: StubsFrom) -> Iterator[str]:
    if named.name == DIRECTORY:
        yield from sorted(map(str, Path(named.directory).rglob(f"*{PLAN_SUFFIX}")))
        return
    path = os.path.join(named.directory, named.name)
    if glob.has_magic(named.name):
        matching = [
            one for one in sorted(glob.glob(path, recursive=True)) if one.endswith((PLAN_SUFFIX, RECORD_SUFFIX))
        ]
        if not matching:
            remedy = f"Name cassettes (NAME{PLAN_SUFFIX}), from the directory of this file."
            raise PlanError(f"`stubs_from` names {named.name!r}, and nothing matches", where=named.where, remedy=remedy)
        yield from matching
        return
    if not os.path.isfile(path):
        remedy = "Correct the name, or take it out. It is read from the directory of this file."
        raise PlanError(f"`stubs_from` names {named.name}, which is not there", where=named.where, remedy=remedy)
    yield path


def _read(path: str, named: StubsFrom) -> Cassette:
    known = _cache.get(path)
    if known is not None and known[0] == _stamps(known[1], path):
        return known[1]
    try:
        cassette = load_cassette(path)
        cassette.ledger  # noqa: B018
    except StatebaseError as error:
        place = f" ({error.where})" if error.where else ""
        what = f"`stubs_from` names {os.path.basename(path)}, which cannot be read: {error.what}{place}"
        raise PlanError(what, where=named.where, remedy=error.remedy) from error
    _cache[path] = (_stamps(cassette, path), cassette)
    return cassette


def _stamps(cassette: Cassette, path: str) -> tuple[tuple[int, int], ...]:
    stamps = []
    for file in (path, str(cassette.record_path)):
        try:
            status = os.stat(file)
            stamps.append((status.st_mtime_ns, status.st_size))
        except OSError:
            stamps.append((-1, -1))
    return tuple(stamps)
