"""The end of a run in which an agent's turn cannot be ended: said plainly, with what was found so far written."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import NoReturn

import pytest

from .report.ci.joblog import printable

RESULTS = "statebase-results"


def stop_when_stuck(config: pytest.Config) -> None:
    """From now on a turn that cannot be ended ends this run instead of hanging it."""
    from .engine.stop import on_stuck

    on_stuck(partial(_stop, config))


def _stop(config: pytest.Config, message: str) -> NoReturn:
    try:
        capture = config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture(in_=True)
        results = config.pluginmanager.getplugin(RESULTS)
        if results is not None:
            results.stop(message)
    finally:
        _say(config, message)
        # No exception reaches an agent that swallows all of them, and no thread can be ended from outside.
        os._exit(pytest.ExitCode.INTERNAL_ERROR)


def _say(config: pytest.Config, message: str) -> None:
    reporter = config.pluginmanager.getplugin("terminalreporter")
    text = printable(message)
    if reporter is not None and not hasattr(config, "workerinput"):
        reporter.ensure_newline()
        reporter.write_line(f"statebase: {text}", red=True)
        reporter.flush()
    elif sys.__stderr__ is not None:
        sys.__stderr__.write(f"\nstatebase: {text}\n")
        sys.__stderr__.flush()
