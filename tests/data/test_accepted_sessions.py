"""What another agent did in real sessions, accepted: replayed again it is accepted, all of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.data.accepted_sessions import accept_and_replay
from tests.data.real_sessions import DOMAINS


@pytest.mark.parametrize("mode", ["continuous", "isolated"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_what_was_accepted_is_accepted_and_what_was_recorded_reverted(domain: str, mode: str) -> None:
    found = os.environ.get("STATEBASE_DATA")
    if not found:
        pytest.skip("STATEBASE_DATA is not set: the recorded sessions of others are not here")
    verdicts, odd = accept_and_replay(Path(found), domain, mode=mode)
    assert odd == []
    assert verdicts["accepted"] >= 40
