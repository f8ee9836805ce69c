"""Tools as the frameworks have them, each in every form that there is."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import agents
import pydantic_ai
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.prebuilt import InjectedState, ToolNode
from pydantic import BaseModel

from pytest_statebase import tool as marked

LIVE: list[str] = []


class Query(BaseModel):
    """What to look for."""

    text: str
    limit: int = 3


# --- langchain ---------------------------------------------------------------------------------------------------


@tool
def chain_plain(city: str) -> str:
    """Plain."""
    LIVE.append("chain_plain")
    return f"rain in {city}"


@tool("chain_named")
async def _chain_named(city: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Under a name of its own, with the graph's state."""
    LIVE.append("chain_named")
    return f"sun in {city}"


chain_named = _chain_named


@tool(args_schema=Query)
def chain_schema(text: str, limit: int = 3) -> list[str]:
    """With a model for its arguments."""
    LIVE.append("chain_schema")
    return [text] * limit


def _search(text: str) -> str:
    LIVE.append("chain_search")
    time.sleep(0.02)
    return f"found {text}"


chain_search = StructuredTool.from_function(_search, name="chain_search", description="Searches.")


class ChainTool(BaseTool):
    """A class of one's own."""

    name: str = "chain_class"
    description: str = "Does."
    tools: tuple[str, ...] = ()

    def _run(self, text: str, run_manager: Any = None) -> str:
        LIVE.append("chain_class")
        return f"did {text}"


chain_class = ChainTool()
chain_node = ToolNode([chain_plain, chain_search])

# --- pydantic-ai -------------------------------------------------------------------------------------------------

toolset: pydantic_ai.FunctionToolset[Any] = pydantic_ai.FunctionToolset()


@toolset.tool_plain
def typed_plain(city: str) -> str:
    """Plain."""
    LIVE.append("typed_plain")
    return f"rain in {city}"


def _typed(context_of_mine, city: str, query: Query) -> str:  # type: ignore[no-untyped-def]
    """With the run's context, under any name, and without an annotation."""
    LIVE.append("typed_object")
    return f"{query.text} in {city}"


typed_object: pydantic_ai.Tool[Any] = pydantic_ai.Tool(_typed, takes_ctx=True, name="typed_object")
typed_agent: pydantic_ai.Agent[Any, str] = pydantic_ai.Agent(
    "test", tools=[typed_object], toolsets=[toolset.prefixed("x")]
)


@typed_agent.tool(name="typed_named")
async def _typed_named(ctx: pydantic_ai.RunContext[Any], city: str) -> str:
    """Under a name of its own."""
    LIVE.append("typed_named")
    return f"sun in {city}"


# --- openai-agents -----------------------------------------------------------------------------------------------


@agents.function_tool
def run_plain(city: str) -> str:
    """Plain."""
    LIVE.append("run_plain")
    return f"rain in {city}"


@agents.function_tool(name_override="run_named")
async def _run_named(wrapper: agents.RunContextWrapper[Any], city: str) -> str:
    """Under a name of its own, with the run's context."""
    LIVE.append("run_named")
    return f"sun in {city}"


run_named = _run_named


async def _by_hand(ctx: Any, arguments: str) -> str:
    LIVE.append("run_by_hand")
    return f"did {json.loads(arguments)['text']}"


run_by_hand = agents.FunctionTool(
    name="run_by_hand", description="Does.", params_json_schema={"type": "object"}, on_invoke_tool=_by_hand
)
run_agent = agents.Agent(name="runner", tools=[run_plain, agents.WebSearchTool()])
run_empty = agents.Agent(name="empty", tools=[agents.WebSearchTool()])
run_sub = agents.Agent(name="sub").as_tool("run_sub", "asks another agent")

# --- registries and marks ----------------------------------------------------------------------------------------

REGISTRY = {"first": chain_plain, "second": run_plain, "third": typed_object}
LIST = [chain_search, run_named, typed_plain]


@marked(reads=True)
@tool
def chain_marked(city: str) -> str:
    """Marked."""
    LIVE.append("chain_marked")
    return f"marked {city}"
