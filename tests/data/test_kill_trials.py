"""Processes that are killed while they capture: nothing that they reported as kept is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from .kill_trials import Victims, one_trial


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    with Victims() as found:
        yield found


@pytest.mark.parametrize("seed", range(20))
def test_a_killed_process_has_kept_what_it_reported(tmp_path: Path, seed: int, victims: Victims) -> None:
    trial = one_trial(tmp_path, random.Random(seed), victims)
    assert trial.faults == []
    assert trial.reported > 0
