"""Agents on the real `statebase` package: recorded and replayed unchanged, without a key and without the service."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from .harness import framework

framework("statebase", "requests")

import requests

from pytest_statebase import Cassette, Ledger, UnrecordedCall, record_session, replay
from pytest_statebase.cassette import load_cassette, write_record
from pytest_statebase.compare.model import Facet, ReplayResult
from pytest_statebase.events import MemoryAdded, StateRolledBack, StateUpdated, ToolCalled
from pytest_statebase.wire.exchange import Exchange
from tests import toy
from tests.frameworks.with_statebase import INPUTS, KEY, AsyncSdkAgent, SdkAgent

AGENTS = [SdkAgent, AsyncSdkAgent]


def recorded(agent: Any = SdkAgent, **options: Any) -> Ledger:
    return record_session(
        agent, INPUTS, session_id="sess_sdk", tools=toy.TOOLS, state={"asked": []}, agent_id="shop", **options
    )


def replayed(agent: Any, ledger: Ledger | None = None, **options: Any) -> ReplayResult:
    return replay(Cassette.from_ledger(ledger or recorded()), agent, tools=toy.TOOLS, **options)


@pytest.mark.parametrize("agent", AGENTS)
def test_what_an_agent_does_through_the_package_is_recorded(agent: Any, tmp_path: Path) -> None:
    http: list[Exchange] = []
    ledger = recorded(agent, http=http)
    kinds = [[type(event) for event in turn.events] for turn in ledger.turns]
    assert kinds == [
        [MemoryAdded],
        [StateUpdated, ToolCalled, StateUpdated],
        [StateUpdated, ToolCalled, StateRolledBack],
        [StateUpdated, ToolCalled, StateUpdated],
    ]
    assert [turn.output["content"] for turn in ledger.turns] == [
        "Noted.",
        "5 after 1 turns, ['Likes tea']",
        "Sorry: no unicorn here",
        "3 after 3 turns, ['Likes tea']",
    ]
    assert [turn.added and turn.added.reasoning for turn in ledger.turns] == [
        f"asked for {item}" for item in ("like", "apple", "unicorn", "fig")
    ]
    assert ledger.state["asked"] == ["apple", "fig"]
    assert http == []
    write_record(tmp_path / "sdk.record.yaml", ledger)
    assert KEY not in (tmp_path / "sdk.record.yaml").read_text("utf-8")
    assert load_cassette(tmp_path / "sdk.record.yaml").ledger.events == ledger.events


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("mode", ["continuous", "isolated"])
def test_the_same_agent_is_unchanged(agent: Any, mode: str) -> None:
    toy.LIVE.clear()
    ledger = recorded(agent)
    ran = list(toy.LIVE)
    result = replayed(agent, ledger, mode=mode)
    assert result.verdicts == {"unchanged": 4}, [turn.divergences for turn in result.turns]
    assert ran == toy.LIVE


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(("fork", "turns"), [("turn 2", 3), ("turn 4", 1), ("version 0", 4), ("version 2", 2)])
def test_from_forks_too(agent: Any, fork: str, turns: int) -> None:
    result = replayed(agent, recorded(agent), fork=fork)
    assert result.verdicts == {"unchanged": turns}, [turn.divergences for turn in result.turns]


class NoCheckpoint(SdkAgent):
    before = False


class OtherState(SdkAgent):
    after = "finished"


class OtherMemory(SdkAgent):
    taste = "Likes tea and cake"


@pytest.mark.parametrize(
    ("agent", "turn", "facet", "path"),
    [
        (NoCheckpoint, 2, Facet.STATE, "state.asked[0]"),
        (OtherState, 2, Facet.STATE, "state.step"),
        (OtherMemory, 1, Facet.MEMORY, "memory[0].content"),
    ],
)
def test_what_an_agent_does_otherwise_is_named(agent: Any, turn: int, facet: Facet, path: str) -> None:
    found = replayed(agent).turn(turn)
    assert found.verdict == "changed"
    assert (facet, path) in [(one.facet, one.path) for one in found.divergences]


class Raw(SdkAgent):
    """Speaks to a service of its own with another client, under the recorded session's id."""

    base = "http://state.internal:8080/base"

    def __call__(self, session_id: str, user_input: str) -> str:
        state = {"state": {"asked": [user_input]}, "reasoning": "seen"}
        got = requests.post(f"{self.base}/v1/sessions/sess_raw/state", json=state, timeout=5)
        assert got.json()["session_id"] == session_id
        return f"{got.status_code} {got.headers['x-ratelimit-limit']} {got.json()['version']}"


def test_hosts_and_clients_of_ones_own() -> None:
    hosts = ["state.internal:8080"]
    ledger = record_session(Raw, ["hello", "you"], session_id="sess_raw", state={}, api_hosts=hosts)
    assert [turn.output["content"] for turn in ledger.turns] == ["200 100 1", "200 100 2"]
    result = replay(Cassette.from_ledger(ledger), Raw, api_hosts=hosts)
    assert result.verdicts == {"unchanged": 2}, [turn.divergences for turn in result.turns]
    refused = replay(Cassette.from_ledger(ledger), Raw)
    assert refused.turn(1).verdict == "unrecorded"


class Region(SdkAgent):
    base = "https://eu.api.statebase.org"


def test_regions_are_the_service_too() -> None:
    assert replayed(Region).verdicts == {"unchanged": 4}


class Stubborn(SdkAgent):
    """Goes on after a call without an answer."""

    def buy(self, session_id: str, item: str, context: dict[str, Any]) -> str:
        with contextlib.suppress(UnrecordedCall):
            toy.price("melon")
        with pytest.raises(UnrecordedCall):
            self.sb.sessions.update_state(session_id, {"melon": True})
        return super().buy(session_id, item, context)


def test_after_a_call_without_an_answer_nothing_is_written() -> None:
    turn = replayed(Stubborn).turn(2)
    assert turn.verdict == "unrecorded"
    assert turn.replayed is not None
    assert "melon" not in turn.replayed.state


class Silent(SdkAgent):
    """Replies through the service alone."""

    def __call__(self, session_id: str, user_input: str) -> None:  # type: ignore[override]
        super().__call__(session_id, user_input)


def test_an_agent_may_reply_through_the_service() -> None:
    ledger = recorded(Silent)
    assert ledger.turns[0].output == {"type": "text", "content": "Noted."}
    assert replayed(Silent, ledger).verdicts == {"unchanged": 4}


def test_hosts_that_may_be_reached_are_not_where_state_is_written() -> None:
    result = replayed(SdkAgent, allowed_hosts=["*"])
    assert result.verdicts == {"unchanged": 4}
    assert result.warnings == []
