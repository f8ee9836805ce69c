"""Added arguments, calls that no longer bind, live tools and agents, by the engine alone."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from pytest_statebase import ABSENT, Cassette, ReplayResult, acting_as, record_session, replay
from pytest_statebase.cassette import Answer, Plan, ToolRules
from pytest_statebase.compare.model import Source, Unbound
from pytest_statebase.engine.acting import acting_agent
from pytest_statebase.engine.binding import unbound_calls
from pytest_statebase.engine.tools import find_tools
from pytest_statebase.errors import OptionError, PlanError
from pytest_statebase.ledger import Ledger, SessionCreated, SessionEnded, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.testing import Reenact

RAN: list[str] = []


class Broken(Exception):
    pass


def fetch(order_id: str, region: str = "EU", *, ctx: Any = None) -> str:
    RAN.append(order_id)
    if order_id == "broken":
        raise Broken(order_id)
    return f"live {order_id}"


def need(order_id: str, region: str) -> str:
    raise AssertionError


async def later(order_id: str) -> Any:
    RAN.append(order_id)
    await asyncio.sleep(0)
    return threading.Lock() if order_id == "lock" else f"live {order_id}"


def anything(**arguments: Any) -> None:
    raise AssertionError


TOOLS = [f"{__name__}:fetch", f"{__name__}:need", f"{__name__}:later", f"{__name__}:anything"]


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


def ledger(*calls: ToolCalled) -> Ledger:
    start = [SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "x"})]
    return Ledger([*start, *calls, TurnAdded({"type": "text", "content": "y"}), SessionEnded()])


def call(tool: str, result: Any = "recorded", **arguments: Any) -> ToolCalled:
    return ToolCalled(tool, arguments, result=result)


def run(agent: Any, *calls: ToolCalled, plan: Plan | None = None, **options: Any) -> ReplayResult:
    return replay(Cassette.from_ledger(ledger(*calls), plan), agent, tools=TOOLS, **options)


ANY = ToolRules(added={"region": "any"})


# --- added arguments ---------------------------------------------------------------------------------------------


def test_an_added_argument_does_not_count_against_old_recordings() -> None:
    def agent(user_input: str) -> str:
        assert need("1", region="US") == "recorded"
        return "y"

    result = run(agent, call("need", order_id="1"), plan=Plan(tools={"need": ANY}))
    assert result.verdicts == {"unchanged": 1}


def test_a_recording_that_has_it_counts_first() -> None:
    def agent(user_input: str) -> str:
        assert need("1", region="US") == "new"
        assert need("1", region="EU") == "old"
        return "y"

    calls = (call("need", "old", order_id="1"), call("need", "new", order_id="1", region="US"))
    result = run(agent, *calls, plan=Plan(tools={"need": ANY}))
    assert [one.recorded_index for one in result.turn(1).calls] == [1, 0]


def test_another_value_of_it_is_no_answer_from_a_new_recording() -> None:
    def agent(user_input: str) -> str:
        need("1", region="EU")
        return "y"

    result = run(agent, call("need", order_id="1", region="US"), plan=Plan(tools={"need": ANY}))
    (found,) = result.turn(1).divergences
    assert (found.path, found.recorded, found.replayed) == ("tools.need.arguments.region", "US", "EU")


def test_it_is_no_difference_in_a_miss() -> None:
    def agent(user_input: str) -> str:
        need("2", region="EU")
        return "y"

    result = run(agent, call("need", order_id="1"), plan=Plan(tools={"need": ANY}))
    (found,) = result.turn(1).divergences
    assert found.path == "tools.need.arguments.order_id"
    explanation = result.turn(1).calls[0].explanation
    assert explanation is not None
    assert "order_id: recorded '1', replayed '2'" in explanation
    assert "region: recorded" not in explanation


def test_authored_answers_are_old_too() -> None:
    def agent(user_input: str) -> str:
        assert need("2", region="EU") == "authored"
        return "y"

    plan = Plan(tools={"need": ANY}, answers=(Answer("need", {"order_id": "2"}, result="authored"),))
    assert run(agent, plan=plan).counts()["authored"] == 1


# --- calls that no longer bind -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "rules", "wanted"),
    [
        (call("fetch", order_id="1"), {}, None),
        (call("fetch", order_id="1", region="US"), {}, None),
        (call("fetch", order="1"), {}, Unbound("fetch", 1, ("order_id",), ("order",))),
        (call("need", order_id="1"), {}, Unbound("need", 1, ("region",))),
        (call("need", order_id="1"), {"need": ANY}, None),
        (call("need", order_id="1", region="x", more=1), {}, Unbound("need", 1, (), ("more",))),
        (call("need", order_id="1", region="x", more=1), {"need": ToolRules(ignore=("more",))}, None),
        (call("need", more=1), {"need": ToolRules(ignore=("arguments",))}, None),
        (call("anything", x=1), {}, None),
        (call("unknown", x=1), {}, None),
        (ToolCalled("need", "not JSON"), {}, None),
    ],
)
def test_calls_that_do_not_bind(recorded: ToolCalled, rules: dict[str, ToolRules], wanted: Unbound | None) -> None:
    found = unbound_calls(ledger(recorded), find_tools(TOOLS), rules)
    assert found == (() if wanted is None else (wanted,))


def test_they_are_counted_by_tool() -> None:
    calls = [call("need", order_id="1"), call("need", order_id="2"), call("need", region="x", y=1), call("fetch")]
    found = unbound_calls(ledger(*calls), find_tools(TOOLS), {})
    assert found == (Unbound("need", 3, ("order_id", "region"), ("y",)), Unbound("fetch", 1, ("order_id",)))
    assert run(lambda user_input: "y", *calls).unbound == found


# --- results of another shape --------------------------------------------------------------------------------------


def doubled(result: Any) -> Any:
    result.append(2)
    return result


def test_results_are_made_anew() -> None:
    def agent(user_input: str) -> str:
        assert fetch("1") == [1, 2]
        return "y"

    source = ledger(call("fetch", [1], order_id="1"), ToolCalled("fetch", {"order_id": "2"}, result=ABSENT))
    plan = Plan(tools={"fetch": ToolRules(result=f"{__name__}:doubled")})
    cassette = Cassette.from_ledger(source, plan)
    for _ in range(2):
        assert replay(cassette, agent, tools=TOOLS).turn(1).recorded.calls[0].result == [1, 2]
    assert source.turns[0].calls[0].result == [1]


@pytest.mark.parametrize("name", ["nowhere:f", f"{__name__}:nothing", f"{__name__}:TOOLS", f"{__name__}:doubled"])
def test_a_function_that_does_not_do(name: str) -> None:
    plan = Plan(tools={"fetch": ToolRules(result=name, where="statebase.yaml:1:1")})
    with pytest.raises(PlanError, match=r"^statebase.yaml:1:1: `result` of `fetch`"):
        run(lambda user_input: "y", call("fetch", 1, order_id="1"), plan=plan)


# --- live ------------------------------------------------------------------------------------------------------------

LIVE = Plan(tools={"fetch": ToolRules(live=True, reads=True), "later": ToolRules(live=True)})


def test_a_miss_runs_the_tool() -> None:
    def agent(user_input: str) -> str:
        assert fetch("1") == "recorded"
        assert fetch("2", ctx=object()) == "live 2"
        return "y"

    result = run(agent, call("fetch", order_id="1"), plan=LIVE, unrecorded="call")
    first, second = result.turn(1).calls
    assert (first.source, second.source, second.result) == (Source.RECORD, Source.LIVE, "live 2")
    assert result.counts()["live"] == 1
    assert RAN == ["2"]
    assert result.turn(1).verdict == "changed"
    assert result.turn(1).divergences[0].detail == "answered by the tool itself"


def test_its_exceptions_come_back_as_they_are() -> None:
    def agent(user_input: str) -> str:
        with pytest.raises(Broken) as caught:
            fetch("broken")
        assert caught.value.args == ("broken",)
        return "y"

    (made,) = run(agent, plan=LIVE, unrecorded="call").turn(1).calls
    assert made.error is not None
    assert made.error["message"] == "broken"


def test_async_tools_run_at_once() -> None:
    async def agent(user_input: str) -> str:
        assert await asyncio.gather(later("1"), later("2")) == ["live 1", "live 2"]
        # What cannot be copied is handed over all the same.
        assert (await later("lock")).locked() is False
        return "y"

    result = run(agent, plan=LIVE, unrecorded="call")
    assert [one.source for one in result.turn(1).calls] == [Source.LIVE] * 3


@pytest.mark.parametrize("policy", ["fail", "call"])
def test_what_is_not_marked_does_not_run(policy: str) -> None:
    def agent(user_input: str) -> str:
        need("1", region="x")
        return "y"

    result = run(agent, plan=LIVE, unrecorded=policy)
    assert result.turn(1).verdict == "unrecorded"
    explanation = result.turn(1).calls[0].explanation or ""
    assert ("is not marked `live: true`" in explanation) is (policy == "call")


def test_marked_tools_do_not_run_unless_it_is_asked_for() -> None:
    def agent(user_input: str) -> str:
        fetch("1")
        return "y"

    assert run(agent, plan=LIVE).turn(1).verdict == "unrecorded"
    assert RAN == []


def test_a_name_alone_has_no_function() -> None:
    def agent(tools: Any) -> str:
        tools.fetch(order_id="1")
        return "y"

    result = run(agent, plan=LIVE, unrecorded="call")
    assert "called by its name alone" in (result.turn(1).calls[0].explanation or "")


def test_a_policy_that_there_is_not() -> None:
    with pytest.raises(OptionError, match="no policy"):
        run(lambda user_input: "y", unrecorded="guess")


# --- agents ----------------------------------------------------------------------------------------------------------


def test_acting_as_is_nested_and_ends() -> None:
    assert acting_agent() is None
    with acting_as("outer"):
        with acting_as("inner"):
            assert acting_agent() == "inner"
        assert acting_agent() == "outer"
    assert acting_agent() is None


def handing_off(second: str) -> Any:
    async def agent(user_input: str) -> str:
        with acting_as("triage"):
            fetch("1")
            with acting_as(second):
                fetch("1")
        return "y"

    return agent


RECORDED = record_session(handing_off("billing"), ["x"], session_id="s", tools=TOOLS)
READS = Plan(tools={"fetch": ToolRules(reads=True)})


def test_calls_carry_their_agent() -> None:
    assert [one.agent for one in RECORDED.turns[0].calls] == ["triage", "billing"]
    result = replay(Cassette.from_ledger(RECORDED, READS), handing_off("billing"), tools=TOOLS)
    assert [one.agent for one in result.turn(1).calls] == ["triage", "billing"]
    assert result.verdicts == {"unchanged": 1}


def test_a_call_made_by_another_agent() -> None:
    result = replay(Cassette.from_ledger(RECORDED, READS), handing_off("triage"), tools=TOOLS)
    (found,) = result.turn(1).divergences
    assert (found.path, found.kind, found.recorded, found.replayed) == (
        "tools.fetch#2.agent",
        "value",
        "billing",
        "triage",
    )
    assert found.detail == "made by triage, recorded billing"


def test_agents_at_once_are_answered_by_their_own_recordings() -> None:
    async def work(name: str, pause: int) -> str:
        with acting_as(name):
            for _ in range(pause):
                await asyncio.sleep(0)
            return await later("1")

    def together(first: int, second: int) -> Any:
        async def agent(user_input: str) -> str:
            return " ".join(await asyncio.gather(work("a", first), work("b", second)))

        return agent

    recorded = record_session(together(0, 3), ["x"], session_id="s", tools=TOOLS)
    plan = Plan(tools={"later": ToolRules(reads=True)})
    result = replay(Cassette.from_ledger(recorded, plan), together(3, 0), tools=TOOLS)
    assert [found for found in result.turn(1).divergences if found.path.endswith(".agent")] == []


def test_a_side_that_names_nobody_is_not_compared() -> None:
    def agent(user_input: str) -> str:
        fetch("1")
        fetch("1")
        return "y"

    assert replay(Cassette.from_ledger(RECORDED, READS), agent, tools=TOOLS).verdicts == {"unchanged": 1}
    recorded = record_session(agent, ["x"], session_id="s", tools=TOOLS)
    result = replay(Cassette.from_ledger(recorded, READS), handing_off("billing"), tools=TOOLS)
    assert result.verdicts == {"unchanged": 1}


def test_what_is_re_enacted_has_its_agents() -> None:
    result = replay(Cassette.from_ledger(RECORDED, READS), Reenact(RECORDED), tools=TOOLS)
    assert [one.agent for one in result.turn(1).calls] == ["triage", "billing"]
