"""The capture of a program that knows nothing of it, from the settings of `pytest-statebase capture`."""

from __future__ import annotations

import functools
import importlib
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FunctionType, MethodType, ModuleType
from typing import Any

from ..cassette.redaction import set_secret_names
from ..engine.agents import ENTRY_POINTS
from ..engine.asked import Entry
from ..errors import AgentError
from ..wire.imports import listen
from ..wire.intercept import CLIENTS
from .capture import Recording, capture

_ALWAYS = (*CLIENTS, "pytest_statebase.recorder.capture")
"""Before these are imported a capture has to be there: HTTP clients, and what the code itself marks turns with."""
_DEADLY = {signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", None), getattr(signal, "SIGQUIT", None)}
OPTIONS = ("sample", "keep", "slow", "privacy", "keep_fields", "http", "api_hosts")
"""Settings that are options of `capture`."""


def modules_of(agents: list[str], tools: list[str]) -> list[str]:
    """The modules before whose import a capture has to begin."""
    named = [name for pattern in tools for name in _modules(pattern)]
    return [*_ALWAYS, *(agent.partition(":")[0] for agent in agents), *named]


def _modules(pattern: str) -> list[str]:
    """The modules that may hold what a pattern of tools names."""
    name, colon, _ = pattern.partition(":")
    parts = name.split(".")
    return [name] if colon else [".".join(parts[:size]) for size in range(1, len(parts))]


def begin(settings: Mapping[str, Any], tell: Callable[[Mapping[str, Any]], None]) -> None:
    """Capture from now on; the agent and the tools as soon as their modules are imported.

    tell: called where the process is about to end without `atexit`.
    Raises OptionError for settings that mean nothing.
    """
    # Loaded now: what is loaded while a program ends by Ctrl-C may change its exit code.
    importlib.import_module("..privacy.frames", __package__)
    options = {name: settings[name] for name in OPTIONS}
    set_secret_names(settings["secrets"])
    recording = capture(settings["out"], redact=_rules(settings["redact"]), **options).start()
    _end_before_signals(recording, lambda: tell(settings))
    for pattern in settings["tools"]:
        if not pattern.startswith("mcp:"):
            _when_imported(_modules(pattern), _watch(recording, pattern))
    for agent in settings["agents"]:
        attaching = _Attaching(recording, agent, Entry(**settings["places"]), is_strict=settings["strict"])
        _when_imported([agent.partition(":")[0]], attaching)


def _end_before_signals(recording: Recording, tell: Callable[[], None]) -> None:
    """Have the capture end where a server that has shut down raises the signal that told it to.

    By such a signal the process dies at once, and nothing that is registered for its end is done.
    """
    raise_signal = signal.raise_signal

    @functools.wraps(raise_signal)
    def raised(signalnum: int, /) -> None:
        if signalnum in _DEADLY and signal.getsignal(signalnum) is signal.SIG_DFL:
            with suppress(Exception):
                recording.stop()
                tell()
        raise_signal(signalnum)

    signal.raise_signal = raised


def _rules(lines: list[str]) -> Any:
    if not lines:
        return None
    from ..privacy import RedactionOptions, rules_from

    return RedactionOptions(rules=rules_from(lines))


def _when_imported(names: list[str], action: Callable[[ModuleType], None]) -> None:
    listen(action, frozenset(names))
    for name in names:
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            action(module)


def _watch(recording: Recording, pattern: str) -> Callable[[ModuleType], None]:
    def watch(module: ModuleType) -> None:
        rest = pattern.partition(":")[2] or pattern.removeprefix(f"{module.__name__}.").partition(".")[0]
        if ":" in pattern or not isinstance(vars(module).get(rest), (ModuleType, type(None))):
            recording.watch([pattern])

    return watch


class _Attaching:
    """Makes a function an entry point once its module is there."""

    def __init__(self, recording: Recording, name: str, entry: Entry, *, is_strict: bool) -> None:
        self._recording = recording
        self._name = name
        self._entry = entry
        self._is_strict = is_strict

    def __call__(self, module: ModuleType) -> None:
        """Told of the module. Raises AgentError where there is no entry point, if that is to end the program."""
        try:
            self._recording.attach(_function(self._name, module), self._entry)
        except AgentError as error:
            if self._is_strict:
                raise
            say(f"{error.line} The program runs without it.")
        except Exception as error:
            self._recording.failed("agent", error)


def _function(name: str, module: ModuleType) -> FunctionType:
    """The function that is the entry point: itself, or the method by which an object or a class is called."""
    value: Any = module
    for part in name.partition(":")[2].split("."):
        value = getattr(value, part, None)
    if isinstance(value, MethodType):
        value = value.__func__
    if isinstance(value, FunctionType):
        return value
    kind = value if isinstance(value, type) else type(value)
    for method in ("__call__", *ENTRY_POINTS):
        found = kind.__dict__.get(method) or getattr(kind, method, None)
        if isinstance(found, FunctionType):
            return found
    raise AgentError(f"{name} is no entry point of an agent", remedy="Name a function, or an object that is called.")


def say(text: str) -> None:
    """A line on stderr, which is the only thing that a capture says."""
    with suppress(OSError, ValueError, AttributeError):
        print(f"pytest-statebase capture: {' '.join(text.split())}", file=sys.stderr, flush=True)
