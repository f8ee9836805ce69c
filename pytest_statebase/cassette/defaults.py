"""`statebase.yaml`: defaults for the plans in and below its directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .planread import merged, read_defaults

FILE = "statebase.yaml"
_ROOT_MARKS = ("pyproject.toml", ".git")

_cache: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {}


def defaults_for(directory: str, *, root: str | None = None) -> Mapping[str, Any]:
    """What the `statebase.yaml` files from `root` down to `directory` say together; the nearest wins key by key.

    directory, root: absolute paths. Without a root, the nearest directory above that holds pyproject.toml or .git is
    one; where there is none, only `directory` itself counts.
    Raises FileError or PlanError for a file that cannot be read.
    """
    found: dict[str, Any] = {}
    for level in _levels(directory, root):
        own = _read(os.path.join(level, FILE))
        if own is not None:
            found = merged(own, found) if found else own
    return found


def default_files(directory: str, *, root: str | None = None) -> list[str]:
    """The `statebase.yaml` files that count for the plans in `directory`, the nearest last (see `defaults_for`)."""
    paths = [os.path.join(level, FILE) for level in reversed(_levels(directory, root))]
    return [path for path in paths if os.path.isfile(path)]


def _levels(directory: str, root: str | None) -> list[str]:
    """From `directory` up to the root."""
    levels = [directory]
    while not _is_root(levels[-1], root):
        parent = os.path.dirname(levels[-1])
        if parent == levels[-1]:
            return levels[:1]
        levels.append(parent)
    return levels


def _is_root(directory: str, root: str | None) -> bool:
    if root is not None:
        return directory == root
    return any(os.path.exists(os.path.join(directory, mark)) for mark in _ROOT_MARKS)


def _read(path: str) -> dict[str, Any] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    stamp = (status.st_mtime_ns, status.st_size)
    known = _cache.get(path)
    if known is None or known[0] != stamp:
        known = (stamp, read_defaults(path))
        _cache[path] = known
    return known[1]
