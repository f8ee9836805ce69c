"""Agents on the real `statebase` package: recorded and replayed unchanged, without a key and without the service."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from .harness import framework

framework("statebase", "requests")

import requests
from statebase import StateBase

from pytest_statebase import Cassette, Ledger, UnrecordedCall, record_session, replay
from pytest_statebase.cassette import Plan, load_cassette, write_http, write_plan, write_record
from pytest_statebase.compare.model import Facet, ReplayResult
from pytest_statebase.engine.handlers import active_handlers
from pytest_statebase.events import MemoryAdded, MemorySearched, StateRolledBack, StateUpdated, ToolCalled
from pytest_statebase.wire.exchange import Exchange, Request, Response
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
        [MemorySearched, MemoryAdded],
        [MemorySearched, StateUpdated, ToolCalled, StateUpdated],
        [MemorySearched, StateUpdated, ToolCalled, StateRolledBack],
        [MemorySearched, StateUpdated, ToolCalled, StateUpdated],
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
        assert self.sb.sessions.list_turns(session_id)[0].input.content == user_input


def test_an_agent_may_reply_through_the_service() -> None:
    ledger = recorded(Silent)
    assert ledger.turns[0].output == {"type": "text", "content": "Noted."}
    assert replayed(Silent, ledger).verdicts == {"unchanged": 4}


def test_hosts_that_may_be_reached_are_not_where_state_is_written() -> None:
    result = replayed(SdkAgent, allowed_hosts=["*"])
    assert result.verdicts == {"unchanged": 4}
    assert result.warnings == []


class Threaded(SdkAgent):
    """Works in a thread that it did not start, which knows nothing of replays."""

    work: SimpleQueue[Any] = SimpleQueue()
    done: SimpleQueue[Any] = SimpleQueue()

    @classmethod
    def serve(cls) -> None:
        while (given := cls.work.get()) is not None:
            try:
                cls.done.put(SdkAgent.__call__(*given))
            except BaseException as error:
                cls.done.put(error)

    def __call__(self, session_id: str, user_input: str) -> str:
        self.work.put((self, session_id, user_input))
        answer = self.done.get()
        if isinstance(answer, BaseException):
            raise answer
        return str(answer)


def test_from_a_thread_that_was_there_before() -> None:
    # Its requests belong to a replay only where there is no other one: what earlier tests left has to end first.
    deadline = time.monotonic() + 60
    while active_handlers():
        assert time.monotonic() < deadline, active_handlers()
        time.sleep(0.01)
    thread = threading.Thread(target=Threaded.serve)
    thread.start()
    try:
        ledger = recorded(Threaded)
        assert [turn.error for turn in ledger.turns] == [None] * 4
        assert ledger.state["asked"] == ["apple", "fig"]
        result = replayed(Threaded, ledger)
        assert result.verdicts == {"unchanged": 4}, [(turn.reason, turn.divergences) for turn in result.turns]
    finally:
        Threaded.work.put(None)
        thread.join()


def remember(session_id: str, item: str) -> str:
    """A tool that keeps what it did in StateBase itself."""
    with StateBase(KEY) as sb:
        sb.sessions.update_state(session_id, {"kept": item}, "kept by the tool")
        sb.memory.add(f"Asked for {item}", session_id=session_id)
    return "kept"


class Delegating:
    def __call__(self, session_id: str, user_input: str) -> str:
        return remember(session_id, user_input)


def test_what_a_tool_writes_happens_again_when_its_call_is_answered() -> None:
    tools = [f"{__name__}:remember"]
    ledger = record_session(Delegating, ["tea"], session_id="sess_tool", tools=tools, state={})
    state, memory = (event for event in ledger.turns[0].events if not isinstance(event, ToolCalled))
    assert isinstance(state, StateUpdated)
    assert isinstance(memory, MemoryAdded)
    assert (state.during, memory.during) == (0, 0)
    result = replay(Cassette.from_ledger(ledger), Delegating, tools=tools)
    assert result.verdicts == {"unchanged": 1}, [turn.divergences for turn in result.turns]
    assert result.turns[0].replayed is not None
    assert result.turns[0].replayed.state == {"kept": "tea"}


def test_recorded_traffic_with_the_service_is_not_missed(tmp_path: Path) -> None:
    """Another tool may have recorded it."""
    write_record(tmp_path / "sdk.record.yaml", recorded())
    asked = Request("GET", "https://api.statebase.org/v1/sessions/sess_sdk/state", (("Accept", "*/*"),))
    state = Response(200, "OK", (("Content-Type", "application/json"),), b'{"version": 99}')
    write_http(tmp_path / "sdk.http.yaml", [Exchange(asked, state, turn=2)])
    write_plan(tmp_path / "sdk.session.yaml", Plan())
    cassette = load_cassette(tmp_path / "sdk.session.yaml")
    assert cassette.http is not None
    result = replay(cassette, SdkAgent, tools=toy.TOOLS)
    assert result.verdicts == {"unchanged": 4}, [turn.divergences for turn in result.turns]


class Founding:
    """Begins a session of its own."""

    def __init__(self) -> None:
        self.sb = StateBase(KEY)
        self.session: str | None = None

    def __call__(self, user_input: str) -> str:
        self.session = self.session or self.sb.sessions.create("shop").id
        return str(self.sb.sessions.update_state(self.session, {"said": user_input}).version)


def test_a_session_of_its_own_is_told() -> None:
    with pytest.warns(UserWarning, match="the agent created a session of its own in StateBase.*let it take session_id"):
        ledger = record_session(Founding, ["a", "b"], session_id="sess_own", state={})
    result = replay(Cassette.from_ledger(ledger), Founding)
    assert result.verdicts == {"unchanged": 2}
    (warning,) = result.warnings
    assert "the agent created a session of its own" in warning


PAGE = (Path(__file__).parents[2] / "docs" / "statebase.md").read_text(encoding="utf-8")


def test_the_sample_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sample,) = re.findall(r"<!-- framework: statebase -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "support.py").write_text(sample, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "support", raising=False)
    monkeypatch.delenv("STATEBASE_API_KEY", raising=False)
    support = importlib.import_module("support")
    tools = ["support:lookup_order"]
    said = ["Where is order 1047?", "And order 9?", "And order 2093?"]
    ledger = record_session(support.agent, said, session_id="sess_orders", tools=tools, state={})
    assert [turn.error for turn in ledger.turns] == [None] * 3
    assert [turn.output["content"] for turn in ledger.turns] == [
        "It was delivered.",
        "I could not find order 9.",
        "It was lost.",
    ]
    kinds = [type(event) for event in ledger.turns[1].events]
    assert kinds == [MemorySearched, StateUpdated, ToolCalled, StateRolledBack]
    assert [turn.added and turn.added.reasoning for turn in ledger.turns] == [
        "Looked order 1047 up",
        None,
        "Looked order 2093 up",
    ]
    for how, count in (({}, 3), ({"mode": "isolated"}, 3), ({"fork": "turn 3"}, 1)):
        result = replay(Cassette.from_ledger(ledger), support.agent, tools=tools, **how)
        assert result.verdicts == {"unchanged": count}, [turn.divergences for turn in result.turns]
