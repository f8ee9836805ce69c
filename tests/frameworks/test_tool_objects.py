"""Tool objects of frameworks are found by name and pattern, told apart by their own names, recorded and answered."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pytest_statebase import Cassette, marks, record_session, replay
from pytest_statebase.engine.finding import find_tools, marked_tools
from pytest_statebase.errors import ToolError

from .harness import framework

framework("langchain_core", "langgraph", "pydantic_ai", "agents")

from agents.tool_context import ToolContext
from pydantic_ai.models.test import TestModel

from . import tool_objects as objects

HERE = objects.__name__
MARKED = {key: mark for key, mark in marks._marks.items() if mark.target() is objects.chain_marked}
for _key in MARKED:
    # Marks hold for the whole program: those of this module must not reach the replays of other tests.
    del marks._marks[_key]


def names(*patterns: str) -> list[str]:
    """What the patterns find, without the ways to them."""
    return sorted({tool.name for tool in find_tools([f"{HERE}:{one}" for one in patterns]) if tool.adapter is None})


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("chain_plain", ["chain_plain"]),
        ("chain_named", ["chain_named"]),
        ("chain_search", ["chain_search"]),
        ("chain_class", ["chain_class"]),
        ("ChainTool", ["chain_class"]),
        ("chain_node", ["chain_plain", "chain_search"]),
        ("toolset", ["typed_plain"]),
        ("typed_object", ["typed_object"]),
        ("typed_agent", ["typed_named", "typed_object", "typed_plain"]),
        ("run_plain", ["run_plain"]),
        ("run_named", ["run_named"]),
        ("run_by_hand", ["run_by_hand"]),
        ("run_agent", ["run_plain"]),
        ("REGISTRY", ["chain_plain", "run_plain", "typed_object"]),
        ("LIST", ["chain_search", "run_named", "typed_plain"]),
        ("run_*", ["run_by_hand", "run_named", "run_plain"]),
        (
            "*",
            [
                "chain_class", "chain_marked", "chain_named", "chain_plain", "chain_schema", "chain_search",
                "run_by_hand", "run_named", "run_plain", "typed_object", "typed_plain",
            ],
        ),
    ],
)  # fmt: skip
def test_they_are_found_under_their_own_names(pattern: str, found: list[str]) -> None:
    assert names(pattern) == found


@pytest.mark.parametrize("pattern", ["run_empty", "run_sub"])
def test_what_runs_elsewhere_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError, match=r"can(not)? be stubbed"):
        find_tools([f"{HERE}:{pattern}"])


def test_a_marked_tool_object_is_a_tool() -> None:
    (mark,) = MARKED.values()
    assert [(tool.name, tool.reads) for tool in marked_tools(mark)] == [("chain_marked", True)]


def run_tool(tool: Any, name: str, **arguments: Any) -> Any:
    """As the runner of openai-agents does it."""
    text = json.dumps(arguments)
    return asyncio.run(
        tool.on_invoke_tool(ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=text), text)
    )


def typed(name: str) -> Any:
    """As the model of an agent of pydantic-ai asks for it."""
    asyncio.run(objects.typed_agent.run("go", model=TestModel(call_tools=[name])))


CALLS: dict[str, tuple[str, Callable[[], Any], Any]] = {
    "chain_plain": ("chain_plain", lambda: objects.chain_plain.invoke({"city": "Rome"}), {"city": "Rome"}),
    "chain_named": (
        "chain_named",
        lambda: asyncio.run(objects.chain_named.ainvoke({"city": "Rome", "state": {"messages": []}})),
        {"city": "Rome"},
    ),
    "chain_schema": (
        "chain_schema",
        lambda: objects.chain_schema.invoke({"text": "x", "limit": 1}),
        {"text": "x", "limit": 1},
    ),
    "chain_search": ("chain_search", lambda: objects.chain_search.invoke({"text": "x"}), {"text": "x"}),
    "chain_class": ("chain_class", lambda: objects.chain_class.invoke({"text": "x"}), {"text": "x"}),
    "chain_node": ("chain_search", lambda: objects.chain_search.invoke({"text": "x"}), {"text": "x"}),
    "typed_agent": ("typed_named", lambda: typed("typed_named"), {"city": "a"}),
    "toolset": ("typed_plain", lambda: typed("x_typed_plain"), {"city": "a"}),
    "run_plain": ("run_plain", lambda: run_tool(objects.run_plain, "run_plain", city="Rome"), {"city": "Rome"}),
    "run_named": ("run_named", lambda: run_tool(objects.run_named, "run_named", city="Rome"), {"city": "Rome"}),
    "run_by_hand": (
        "run_by_hand",
        lambda: run_tool(objects.run_by_hand, "run_by_hand", text="x"),
        {"arguments": '{"text": "x"}'},
    ),
}


@pytest.mark.parametrize("pattern", CALLS)
def test_they_are_recorded_and_answered(pattern: str) -> None:
    name, call, arguments = CALLS[pattern]
    tools = [f"{HERE}:{pattern}"]

    def agent(user_input: str) -> dict[str, Any]:
        return {"got": call()}

    objects.LIVE.clear()
    recorded = record_session(agent, ["go"], session_id="s", tools=tools)
    assert recorded.turns[0].error is None
    assert [(call.tool, call.arguments) for call in recorded.turns[0].calls] == [(name, arguments)]
    assert [*objects.LIVE] == [name]
    objects.LIVE.clear()
    result = replay(Cassette.from_ledger(recorded), agent, tools=tools)
    assert result.verdicts == {"unchanged": 1}, result.turns[0].divergences
    assert objects.LIVE == []


def test_a_context_under_any_name_and_objects_as_arguments() -> None:
    def agent(user_input: str) -> str:
        typed("typed_object")
        return "done"

    recorded = record_session(agent, ["go"], session_id="s", tools=[f"{HERE}:typed_agent"])
    (call,) = recorded.turns[0].calls
    assert set(call.arguments) == {"city", "query"}
    assert replay(Cassette.from_ledger(recorded), agent, tools=[f"{HERE}:typed_agent"]).passed


HIDING: dict[str, Callable[[], Any]] = {
    "chain_plain": lambda: objects.chain_plain.model_copy(update={"handle_tool_error": True}).invoke({"city": "Oslo"}),
    "chain_class": lambda: objects.chain_class.invoke({"text": "y"}),
    "run_plain": lambda: run_tool(objects.run_plain, "run_plain", city="Oslo"),
    "run_by_hand": lambda: run_tool(objects.run_by_hand, "run_by_hand", text="y"),
}


@pytest.mark.parametrize("pattern", HIDING)
def test_their_ways_with_errors_hide_no_miss(pattern: str) -> None:
    tools = [f"{HERE}:{pattern}"]

    def agent(call: Callable[[], Any]) -> Callable[[str], str]:
        def answer(user_input: str) -> str:
            with contextlib.suppress(BaseException):
                call()
            return "all good"

        return answer

    recorded = record_session(agent(CALLS[pattern][1]), ["go"], session_id="s", tools=tools)
    (turn,) = replay(Cassette.from_ledger(recorded), agent(HIDING[pattern]), tools=tools).turns
    assert turn.verdict == "unrecorded"


def test_async_calls_belong_to_their_replay() -> None:
    async def agent(user_input: str) -> dict[str, Any]:
        calls: list[Awaitable[Any]] = [objects.chain_search.ainvoke({"text": str(n)}) for n in range(5)]
        return {"got": await asyncio.gather(*calls)}

    tools = [f"{HERE}:chain_search"]
    recorded = record_session(agent, ["go"], session_id="s", tools=tools)
    (turn,) = replay(Cassette.from_ledger(recorded), agent, tools=tools).turns
    assert turn.verdict == "unchanged", (turn.reason, turn.divergences, recorded.turns)
