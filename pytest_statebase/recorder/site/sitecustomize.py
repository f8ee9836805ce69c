"""Python runs this at its start where `pytest-statebase capture` has put this directory on the path.

It has a capture begin once something is imported that one has to do with, and is else as if it were not there: the
`sitecustomize` that would have been run is run, and the path is as it would have been.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import sys
from importlib.machinery import ModuleSpec
from typing import Any

_VARIABLE = "PYTEST_STATEBASE_CAPTURE"
_BOOT = "pytest_statebase.recorder.boot"


def _boot(settings: dict[str, Any]) -> Any:
    """The module of the package that does the rest, wherever the package is."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Trigger)]
    before = list(sys.path)
    sys.path.append(settings["home"])
    try:
        return importlib.import_module(_BOOT)
    finally:
        sys.path[:] = before


def _failed(settings: dict[str, Any], error: BaseException) -> None:
    strict = settings.get("strict")
    told = f"pytest-statebase capture: {type(error).__name__}: {error}".replace("\n", " ")
    print(f"{told}{'' if strict else '; the program runs without it'}", file=sys.stderr)
    if strict:
        raise SystemExit(2)


class _Trigger:
    """A finder of nothing: it has the capture begin before the first of some modules is imported."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._names = frozenset(settings["modules"])

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._names or self not in sys.meta_path:
            return None
        try:
            _boot(self._settings).begin(self._settings, _tell)
        except Exception as error:
            _failed(self._settings, error)
        if name in sys.modules:  # it was needed on the way
            there: Any = _There()
            return ModuleSpec(name, there)
        # Finders that have come in the meantime are not asked by whoever asks this one.
        found = (finder.find_spec(name, path, target) for finder in list(sys.meta_path))
        return next((spec for spec in found if spec is not None), None)


class _There:
    """Loads what is there."""

    def create_module(self, spec: ModuleSpec) -> Any:
        return sys.modules[spec.name]

    def exec_module(self, module: Any) -> None:
        """It has been executed."""


def _tell(settings: dict[str, Any]) -> None:
    """At the end of the program itself, not of its children: what was captured, or what to give.

    It loads nothing: what is loaded while a program ends by Ctrl-C may change its exit code.
    """
    if os.getpid() != settings["pid"]:
        return
    try:
        turns, lost = _counted(settings["out"], settings["began"])
        told = f"{turns:,} turn{'' if turns == 1 else 's'} in {settings['out']}" + (f", {lost:,} lost" if lost else "")
        if not turns and not lost:
            told = f"nothing was captured: {_why(settings['agents'])}."
        print(f"pytest-statebase capture: {told}", file=sys.stderr, flush=True)
    except Exception:  # whatever it is, the program is over
        return


def _counted(directory: str, began: str) -> tuple[int, int]:
    """The turns that the processes of this program have kept and lost."""
    kept = lost = 0
    for name in sorted(os.listdir(directory)):
        if name.endswith(".status") and not name.startswith("."):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                status = json.load(file)
            if str(status.get("started")) >= began:
                kept += int(status["kept"].get("turns", 0))
                lost += int(status["lost"]["turns"])
    return kept, lost


def _why(agents: list[str]) -> str:
    if not agents:
        return "no agent was named, and no request to StateBase told of a turn; give --agent module:function"
    named = " or ".join(agents)
    missing = [agent.partition(":")[0] for agent in agents if agent.partition(":")[0] not in sys.modules]
    if len(missing) < len(agents):
        return f"{named} was not called, or none of its sessions is of the sample"
    return f"{' or '.join(missing)} was not imported in this process; give --agent as the program imports it"


def _begin() -> None:
    try:
        settings = json.loads(os.environ[_VARIABLE])
    except (KeyError, ValueError):
        return
    if os.getpid() == settings["pid"]:
        atexit.register(_tell, settings)
    sys.meta_path.insert(0, _Trigger(settings))


def _chain() -> None:
    """Run the one that would have been run."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    own = sys.modules.pop(__name__)
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault(__name__, own)


if __name__ == "sitecustomize":
    _begin()
    _chain()
