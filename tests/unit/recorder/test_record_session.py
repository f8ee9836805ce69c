"""What `record_session` keeps of a session, and where it refuses to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support_agent import shop, tools
from support_agent.dialogue import START
from support_agent.fixed import SupportAgent as Fixed
from support_agent.production import SupportAgent as Production

from pytest_statebase import ABSENT, AgentReply, Cassette, record_session, replay
from pytest_statebase.errors import AgentError
from pytest_statebase.ledger import ToolCalled

TOOLS = ["support_agent.tools:*"]


@pytest.fixture(autouse=True)
def _fresh_shop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "SHOP", shop.open_shop())


def record(agent: Any, *inputs: str | None) -> Any:
    return record_session(agent, inputs, session_id="s", tools=TOOLS, state=START)


def test_tools_run_live_and_are_kept_with_their_steps() -> None:
    turn = record(Production, "My order 1047 is broken, a refund please.").turns[0]
    calls = [(call.tool, call.step, call.arguments) for call in turn.calls]
    assert calls == [
        ("look_up_order", 1, {"order_id": "1047"}),
        ("search_policies", 1, {"topic": "refund"}),
        ("refund", 2, {"order_id": "1047", "amount_cents": 8990}),
    ]
    assert turn.calls[0].result["refunds"] == []
    assert tools.SHOP.orders["1047"].refunds == ["R-1047-1"]


def test_what_a_tool_raised_is_kept_and_so_is_the_agents_error() -> None:
    turn = record(Production, "Please send it to Lindenweg 4, 10115 Berlin (order 1052).").turns[0]
    raised = {
        "type": "support_agent.tools:AddressLockedError",
        "message": "order 1052 is already with North Parcel",
        "attributes": {"order_id": "1052", "carrier": "North Parcel"},
    }
    assert turn.calls[0].error == raised
    assert turn.calls[0].result is ABSENT
    assert turn.error == raised


def test_state_and_reasoning_become_versions() -> None:
    ledger = record(Fixed, "Where is order 1061?", "Thanks!", "And where is order 1047?")
    assert [version.state["order"] for version in ledger.versions] == [None, "1061", "1047"]
    assert ledger.turns[0].added is not None
    assert ledger.turns[0].added.reasoning == "The order's status is packed."


def test_an_agent_that_speaks_first() -> None:
    ledger = record_session(lambda user_input: AgentReply(f"got {user_input}"), [None, "x"], session_id="s")
    assert ledger.turns[0].input is None
    assert ledger.turns[0].output == {"type": "text", "content": "got None"}


def test_a_result_is_the_value_at_that_moment() -> None:
    def agent(user_input: str) -> str:
        result = asyncio.run(tools.look_up_order("1047"))
        result["item"] = "changed later"
        return "ok"

    (call,) = record(agent, "x").turns[0].calls
    assert isinstance(call, ToolCalled)
    assert call.result["item"] == "headphones"


def test_inside_a_running_loop_a_sync_agent_records_and_an_async_one_is_refused() -> None:
    async def later(user_input: str) -> str:
        return "later"

    async def main() -> None:
        assert record(lambda user_input: "now", "x").turns[0].output["content"] == "now"
        with pytest.raises(AgentError, match="an event loop is running here already"):
            record(later, "x")
        ledger = await asyncio.to_thread(record, later, "x")
        assert ledger.turns[0].output["content"] == "later"

    asyncio.run(main())


def test_the_shipped_records_are_what_the_production_version_does(tmp_path: Path) -> None:
    """Recording again gives the same events but for times: nobody wrote them by hand."""
    import record as recorder

    from pytest_statebase.cassette import read_record

    for name in recorder.SESSIONS:
        again, shipped = recorder.record(name), read_record(recorder.HERE / f"{name}.record.yaml")
        assert [shape(turn) for turn in again.turns] == [shape(turn) for turn in shipped.turns]
    assert recorder.main([str(tmp_path)]) == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert recorder.main([str(tmp_path)]) == 0
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def shape(turn: Any) -> Any:
    calls = [(call.tool, call.arguments, call.result, call.error, call.step) for call in turn.calls]
    return (turn.number, turn.input, calls, turn.output, turn.error, turn.version_after)


def test_a_session_that_begins_without_a_state_is_replayed_from_its_first_turn() -> None:
    def agent(user_input: str, state: Any) -> AgentReply:
        said = [*((state or {}).get("said", [])), user_input]
        return AgentReply(f"{len(said)} so far", state={"said": said})

    cassette = Cassette.from_ledger(record_session(agent, ["a", "b"], session_id="s"))
    assert [version.version for version in cassette.ledger.versions] == [1, 2]
    result = replay(cassette, agent)
    assert [turn.turn for turn in result.turns] == [1, 2]
    assert result.verdicts == {"unchanged": 2}
    assert replay(cassette, lambda user_input: "BROKEN").turn(1).verdict == "changed"


def test_what_an_agent_made_of_its_state_before_it_raised_is_no_version() -> None:
    """A replay knows it neither: the same agent replays unchanged."""

    def agent(user_input: str, state: Any) -> str:
        state["n"] = state.get("n", 0) + 1
        if user_input == "fail":
            raise ValueError("no")
        return str(state["n"])

    ledger = record_session(agent, ["a", "fail", "b"], session_id="s", state={})
    assert [version.state for version in ledger.versions] == [{}, {"n": 1}, {"n": 2}]
    assert replay(Cassette.from_ledger(ledger), agent).verdicts == {"unchanged": 3}
