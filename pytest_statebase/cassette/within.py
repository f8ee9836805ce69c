"""Files that plans name: relative to the plan, and inside of the project."""

from __future__ import annotations

import os
from pathlib import PurePosixPath, PureWindowsPath

_ROOT_MARKS = ("pyproject.toml", ".git", "pytest.ini", "tox.ini", "setup.cfg", "setup.py")


def why_not_relative(name: str) -> str | None:
    """Why a file's name in a plan means another place on another machine, or none; None where it is fine."""
    if not name.isprintable():
        return "it holds characters that cannot be seen"
    if "\\" in name:
        return "it has a backslash: write `/` between directories, on every system"
    windows = PureWindowsPath(name)
    if PurePosixPath(name).is_absolute() or windows.drive or name.startswith("~"):
        return "it is no path from the directory of the plan"
    return None


def is_within(root: str, path: str) -> bool:
    """Whether a file stands in a directory or below it, wherever links lead."""
    top, target = os.path.realpath(root), os.path.realpath(path)
    return target == top or target.startswith(os.path.join(top, ""))


def project_of(directory: str) -> str:
    """The nearest directory, from this one up, that holds what the root of a project does; else this one.

    directory: an absolute path.
    """
    level = directory
    while not any(os.path.exists(os.path.join(level, mark)) for mark in _ROOT_MARKS):
        parent = os.path.dirname(level)
        if parent == level:
            return directory
        level = parent
    return level
