"""An agent over `pydantic-ai`: tools with and without the run's context, dependencies, its messages as the state."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from pytest_statebase import AgentReply

from . import shop

IGNORE = [
    *("**.timestamp", "**.run_id", "**.conversation_id"),
    *("state.messages[*].instructions", "state.messages[*].usage", "state.messages[*].provider_response_id"),
    "state.messages[*].parts[*].tool_call_id",
]
"""What pydantic-ai makes up for each message of its history, and what it keeps of the prompt and of the provider."""


@dataclass
class Desk:
    """What the tools depend on."""

    system: str
    clerk: str = "kim"


assistant = Agent(deps_type=Desk, retries=2)


@assistant.instructions
def system(ctx: RunContext[Desk]) -> str:
    return ctx.deps.system


@assistant.tool
def lookup_order(c: RunContext[Desk], order_id: str) -> dict[str, Any]:
    """Look an order up."""
    if order_id not in shop.ORDERS:
        raise ModelRetry(f"there is no order {order_id}")
    return {**shop.lookup_order(order_id), "clerk": c.deps.clerk}


@assistant.tool_plain(name="refund")
async def pay_back(order_id: str, reason: str) -> str:
    """Refund an order."""
    return shop.refund(order_id, reason)


class Assistant:
    """Keeps its messages in the state, as they are stored between requests in production."""

    system = shop.SYSTEM
    agent = assistant

    async def __call__(self, user_input: str, state: dict[str, Any]) -> AgentReply:
        async with AsyncOpenAI() as client:
            result = await self.agent.run(
                user_input,
                model=OpenAIChatModel("gpt-test", provider=OpenAIProvider(openai_client=client)),
                deps=Desk(self.system),
                message_history=ModelMessagesTypeAdapter.validate_python(state.get("messages", [])),
            )
        messages = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
        return AgentReply(result.output, state={"messages": messages})


class Streamed(Assistant):
    """Reads the answer as it comes."""

    async def __call__(self, user_input: str, state: dict[str, Any]) -> AgentReply:
        async with AsyncOpenAI() as client:
            model = OpenAIChatModel("gpt-test", provider=OpenAIProvider(openai_client=client))
            past = ModelMessagesTypeAdapter.validate_python(state.get("messages", []))
            async with self.agent.run_stream(
                user_input, model=model, deps=Desk(self.system), message_history=past
            ) as result:
                pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        messages = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
        return AgentReply("".join(pieces), state={"messages": messages})


class Sync(Assistant):
    """From code that is not async."""

    def __call__(self, user_input: str, state: dict[str, Any]) -> AgentReply:  # type: ignore[override]
        past = ModelMessagesTypeAdapter.validate_python(state.get("messages", []))
        model = OpenAIChatModel("gpt-test")
        try:
            result = self.agent.run_sync(user_input, model=model, deps=Desk(self.system), message_history=past)
        finally:
            asyncio.get_event_loop().run_until_complete(model.client.close())
        messages = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
        return AgentReply(result.output, state={"messages": messages})
