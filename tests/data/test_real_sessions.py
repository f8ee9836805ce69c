"""The figures that recorded sessions of others must reach; see `real_sessions.py`, which prints them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.data.real_sessions import DOMAINS, borrow, cross, self_replay, table


@pytest.fixture(scope="module")
def data() -> Path:
    found = os.environ.get("STATEBASE_DATA")
    if not found:
        pytest.skip("STATEBASE_DATA is not set: the recorded sessions of others are not here")
    return Path(found)


def test_every_session_replayed_against_itself_is_unchanged(data: Path, tmp_path: Path) -> None:
    total = self_replay(data, tmp_path)
    assert total.odd == []
    assert total.sessions == 400
    # 120 more turns are greetings, which nobody asked for and no agent is asked again.
    assert total.turns == {"unchanged": 2177}
    assert {name: count for name, count in total.calls.items() if count} == {"answered": 3265}


LEAST = {"airline": (104, 9), "retail": (226, 24), "telecom-solo": (423, 3)}
"""Calls answered with a simulator for the misses, and sessions that come past their last turn without one."""


@pytest.mark.parametrize("domain", DOMAINS)
def test_another_agent_on_the_same_tasks(data: Path, domain: str) -> None:
    row = cross(data, domain)
    print(table({domain: row}))
    answered, finished = LEAST[domain]
    assert row.answered >= answered
    assert row.finished >= finished
    assert row.wrong_unflagged == 0


BORROWED = {"airline": 0, "retail": 10, "telecom-solo": 0}
"""Misses that the domain's other recordings answer. In telecom each session has a telephone of its own."""


@pytest.mark.parametrize("domain", DOMAINS)
def test_other_sessions_answer_nothing_wrong(data: Path, tmp_path: Path, domain: str) -> None:
    found = borrow(data, tmp_path, domain)
    print(found)
    assert found.wrong == 0
    assert found.answered >= BORROWED[domain]
