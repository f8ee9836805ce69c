"""Hooks of a project that commands ask, from its conftests and installed plugins, without running pytest.

Only a file that names the hook is imported: any other conftest or plugin stays untouched.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from ..errors import OptionError
from .project import Project, find_project

_PROJECT = "pytest"
_spec = pluggy.HookspecMarker(_PROJECT)
_PLAIN = pluggy.HookimplOpts(
    wrapper=False, hookwrapper=False, optionalhook=False, tryfirst=False, trylast=False, specname=None
)


class _Specs:
    @_spec(firstresult=True)
    def pytest_statebase_import(self, path: Path, data: Any) -> Any: ...

    @_spec
    def pytest_statebase_redact(self) -> Any: ...


class _Manager(pluggy.PluginManager):
    """Takes functions with the hook's name without a mark, as pytest does."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> pluggy.HookimplOpts | None:
        if not name.startswith("pytest_statebase_"):
            return None
        found = getattr(plugin, name, None)
        if not callable(found):
            return None
        marked: pluggy.HookimplOpts | None = getattr(found, f"{_PROJECT}_impl", None)
        return _PLAIN if marked is None else marked


def project_hooks(name: str, start: Path | None = None) -> Any | None:
    """The hook of that name, to be called with keywords; None where nobody implements it.

    Asked are the `conftest.py` of the directories from `start` (default: the current one) up to the project's root, of
    those below `start` called `test…` and of those with cassettes, and what installed packages register for pytest.
    Raises OptionError, naming the file, for one that does not import.
    """
    project = find_project(start)
    manager = _Manager(_PROJECT)
    manager.add_hookspecs(_Specs)
    for module in (*_plugins(name), *_conftests(name, project, start or Path.cwd())):
        if not manager.is_registered(module):
            manager.register(module)
    hook = getattr(manager.hook, name)
    return hook if hook.get_hookimpls() else None


def _conftests(name: str, project: Project, start: Path) -> Iterator[ModuleType]:
    here = start.resolve()
    up = [here, *here.parents]
    above = up[: up.index(project.root) + 1] if project.root in up else [here]
    below = [path for path in sorted(here.glob("test*")) if path.is_dir()]
    beside = [path if path.is_dir() else path.parent for path in project.cassettes]
    for directory in dict.fromkeys(path.resolve() for path in (*reversed(above), *below, *beside)):
        path = directory / "conftest.py"
        if path.is_file() and name.encode() in path.read_bytes():
            yield _imported(path, project)


def _imported(path: Path, project: Project) -> ModuleType:
    for entry in (str(path.parent), *reversed(project.import_path)):
        if entry not in sys.path:
            sys.path.insert(0, entry)
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"_statebase_conftest_{digest}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _broken(str(path), error) from error
    return module


def _plugins(name: str) -> Iterator[Any]:
    for entry in entry_points(group="pytest11"):
        if _names_it(entry, name):
            try:
                yield entry.load()
            except Exception as error:
                raise _broken(f"{entry.name} ({entry.value})", error) from error


def _names_it(entry: EntryPoint, name: str) -> bool:
    """Whether the module of a plugin names the hook in its text. This package's own only specify it."""
    if entry.module.partition(".")[0] == __name__.partition(".")[0]:
        return False
    try:
        spec = importlib.util.find_spec(entry.module)
        return spec is not None and spec.origin is not None and name.encode() in Path(spec.origin).read_bytes()
    except (ImportError, OSError, ValueError):
        return False


def _broken(where: str, error: Exception) -> OptionError:
    what = f"does not import: {type(error).__name__}: {error}"
    return OptionError(what, where=where, remedy="It names a hook that this command asks: mend it.")
