"""Many sessions from a server that fails in every way: nothing lost, nothing twice, also after a run was stopped."""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from pytest_statebase.cassette import files
from pytest_statebase.statebase.app import AsgiApp, Served

from .pull_many import KEY, Faults, client, digest, faults_of, pull_all

SESSIONS, TURNS = 30, 50


def test_everything_comes_once_whatever_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[Faults] = []

    def failing(app: AsgiApp) -> AsgiApp:
        made.append(Faults(app, slow=30.0))
        return made[0]

    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    with Served(client(SESSIONS, TURNS), key=KEY, app=failing) as url:
        # Each answer that is broken off would be told.
        caplog.set_level(logging.CRITICAL, "uvicorn.error")
        pulled = partial(pull_all, url, timeout=1.5)
        outcomes, api = pulled(whole)
        assert outcomes == Counter(pulled=SESSIONS)
        assert faults_of(whole, SESSIONS, TURNS) == []
        assert made[0].made.keys() == {"ok", "429", "500", "reset", "slow"}
        assert api.repeated >= made[0].made.total() - made[0].made["ok"] > 0
        before = digest(whole)

        outcomes, again = pulled(whole)
        assert (outcomes, again.requests - again.repeated) == (Counter(unchanged=SESSIONS), 1)
        assert digest(whole) == before

        _stop_after(50, monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            pulled(stopped)
        monkeypatch.undo()
        assert 0 < len(list(stopped.glob("*.record.yaml"))) < SESSIONS
        outcomes, _ = pulled(stopped)
        assert outcomes.keys() == {"unchanged", "completed", "pulled"}
        assert digest(stopped) == before


def _stop_after(writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so many files be written and the next one not, as when the process is ended there."""
    real = files.os.replace
    left = iter(range(writes))

    def replace(source: str, target: Path) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr("pytest_statebase.cassette.files.os.replace", replace)
