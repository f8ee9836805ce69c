"""The pytest project around the current directory: what its ini keys say of the agent, its tools and the cassettes.

Read from the files themselves, as pytest finds and reads them: loading pytest would import conftests and plugins.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import OptionError

_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""In the order in which pytest looks for them in a directory."""
_REMEDY = "Correct the file; pytest would not read it either."


@dataclass(frozen=True, slots=True)
class Project:
    """Where a project is, and its ini keys."""

    root: Path
    """The directory from which the paths of ini keys go."""
    ini: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    def text(self, key: str) -> str | None:
        """One text; None where the key is missing or empty."""
        return str(self.values.get(key) or "").strip() or None

    def lines(self, key: str) -> list[str]:
        """A list written one a line."""
        value = self.values.get(key) or ""
        items = value if isinstance(value, list) else str(value).split("\n")
        return [text for item in items if (text := str(item).strip())]

    def words(self, key: str) -> list[str]:
        """A list written with blanks between."""
        value = self.values.get(key) or ""
        return [str(item) for item in value] if isinstance(value, list) else shlex.split(str(value))

    @property
    def cassettes(self) -> list[Path]:
        """Files and directories with cassettes."""
        return [self.root / name for name in self.words("statebase_cassettes") or ["fixtures"]]

    @property
    def import_path(self) -> list[str]:
        """What pytest would put in front of `sys.path`."""
        return [str(self.root / name) for name in self.words("pythonpath")] + [str(self.root)]


def find_project(start: Path | None = None) -> Project:
    """The project whose ini file is in `start` (default: the current directory) or the nearest one above it.

    Raises OptionError for an ini file that cannot be read.
    """
    here = (start or Path.cwd()).resolve()
    for directory in (here, *here.parents):
        for name in _FILES:
            path = directory / name
            values = _read(path) if path.is_file() else None
            if values is not None:
                return Project(directory, path, values)
    return Project(here)


def _read(path: Path) -> Mapping[str, Any] | None:
    """The ini keys in a file; None where it is not about pytest."""
    try:
        return _read_toml(path) if path.suffix == ".toml" else _read_ini(path)
    except (OSError, ValueError) as error:
        raise OptionError(f"the file cannot be read: {error}", where=str(path), remedy=_REMEDY) from None


def _read_toml(path: Path) -> Mapping[str, Any] | None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    if path.name != "pyproject.toml":
        return _table(document, "pytest") or {}
    table = _table(_table(document, "tool") or {}, "pytest")
    if not table:
        return None
    return _table(table, "ini_options") if "ini_options" in table else table


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    found = document.get(key)
    return found if isinstance(found, dict) else None


def _read_ini(path: Path) -> Mapping[str, Any] | None:
    from iniconfig import IniConfig, ParseError

    try:
        config = IniConfig(str(path))
    except ParseError as error:
        raise ValueError(f"line {error.lineno + 1}: {error.msg}") from None
    section = "tool:pytest" if path.name == "setup.cfg" else "pytest"
    if section in config.sections:
        return dict(config.sections[section])
    return {} if path.name.endswith("pytest.ini") else None
