"""Two agents over `openai-agents`, one of which hands over to the other; and one with tools of an MCP server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from agents import Agent, ModelProvider, OpenAIProvider, RunConfig, RunContextWrapper, Runner, function_tool
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

from pytest_statebase import AgentReply

from . import shop

SHOP_SERVER = [sys.executable, str(Path(__file__).parents[1] / "mcp" / "shop_server.py")]


@function_tool
def lookup_order(context: RunContextWrapper[Any], order_id: str) -> dict[str, Any]:
    """Look an order up."""
    return shop.lookup_order(order_id)


async def pay_back(order_id: str, reason: str) -> str:
    """Refund an order."""
    return shop.refund(order_id, reason)


refund = function_tool(pay_back, name_override="refund")
TOOLS = [lookup_order, refund]


class Desk:
    """Keeps the items of the talk and who had it last in the state."""

    system = shop.SYSTEM
    tools = TOOLS
    api = "responses"

    def agents(self) -> dict[str, Agent[Any]]:
        billing = Agent[Any]("billing", instructions=self.system, tools=list(self.tools), model="gpt-test")
        triage = Agent[Any](
            "triage", instructions=self.system, tools=[self.tools[0]], handoffs=[billing], model="gpt-test"
        )
        return {"triage": triage, "billing": billing}

    async def __call__(self, user_input: str, state: dict[str, Any]) -> AgentReply:
        asked = [*state.get("items", []), {"role": "user", "content": user_input}]
        async with AsyncOpenAI() as client:
            provider = OpenAIProvider(openai_client=client, use_responses=self.api == "responses")
            result = await self.run(self.agents()[state.get("agent", "triage")], asked, provider)
        said = {"items": result.to_input_list(), "agent": result.last_agent.name}
        return AgentReply(result.final_output, state=said)

    async def run(self, agent: Agent[Any], asked: list[Any], provider: ModelProvider) -> Any:
        return await Runner.run(agent, asked, run_config=RunConfig(model_provider=provider, tracing_disabled=True))


class Chat(Desk):
    """The same over chat completions."""

    api = "chat"


class Streamed(Desk):
    """The same, event by event."""

    async def run(self, agent: Agent[Any], asked: list[Any], provider: ModelProvider) -> Any:
        config = RunConfig(model_provider=provider, tracing_disabled=True)
        result = Runner.run_streamed(agent, asked, run_config=config)
        async for _ in result.stream_events():
            pass
        return result


class Stock:
    """Asks an MCP server, which it starts for each turn."""

    system = shop.SYSTEM

    async def __call__(self, user_input: str) -> str:
        command, *args = SHOP_SERVER
        async with (
            MCPServerStdio({"command": command, "args": args}, client_session_timeout_seconds=20) as server,
            AsyncOpenAI() as client,
        ):
            agent = Agent[Any]("stock", instructions=self.system, mcp_servers=[server], model="gpt-test")
            provider = OpenAIProvider(openai_client=client)
            config = RunConfig(model_provider=provider, tracing_disabled=True)
            return str((await Runner.run(agent, user_input, run_config=config)).final_output)
