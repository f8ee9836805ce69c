"""Agents over `langgraph` with models of `langchain-openai`: their state is what their checkpointer keeps."""

from __future__ import annotations

import warnings
from typing import Annotated, Any

from langchain_core.messages import SystemMessage, messages_from_dict, messages_to_dict
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, create_react_agent, tools_condition

from pytest_statebase import AgentReply

from . import shop

IGNORE = ["state.messages[*].data.id"]
"""langchain makes up an id for each message."""


@tool
def lookup_order(order_id: str, config: RunnableConfig) -> dict[str, Any]:
    """Look an order up."""
    if order_id not in shop.ORDERS:
        raise ToolException(f"there is no order {order_id} in {config['configurable']['thread_id']}")
    return shop.lookup_order(order_id)


lookup_order.handle_tool_error = True


async def _pay_back(order_id: str, reason: str, said: Annotated[list[Any], InjectedState("messages")]) -> str:
    assert said
    return shop.refund(order_id, reason)


def _pay_back_now(order_id: str, reason: str, said: Annotated[list[Any], InjectedState("messages")]) -> str:
    assert said
    return shop.refund(order_id, reason)


refund = StructuredTool.from_function(_pay_back_now, _pay_back, "refund", description="Refund an order.")
TOOLS = [lookup_order, refund]


class Graph:
    """A graph of its own, with a checkpointer."""

    system = shop.SYSTEM
    tools = TOOLS

    def __init__(self) -> None:
        self.graph = self.build()
        self.config: Any = {"configurable": {"thread_id": "shop"}}

    def build(self) -> Any:
        model = ChatOpenAI(model="gpt-test").bind_tools(self.tools)

        def think(state: MessagesState) -> dict[str, Any]:
            return {"messages": [model.invoke([SystemMessage(self.system), *state["messages"]])]}

        graph = StateGraph(MessagesState)
        graph.add_node("think", think)
        graph.add_node("tools", ToolNode(self.tools))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", tools_condition)
        graph.add_edge("tools", "think")
        return graph.compile(checkpointer=InMemorySaver())

    def restore(self, history: Any, state: dict[str, Any]) -> None:
        """Before a fork at a later turn: what the checkpointer held then."""
        self.graph.update_state(self.config, {"messages": messages_from_dict(state["messages"])}, as_node="think")

    def __call__(self, user_input: str) -> AgentReply:
        self.graph.invoke({"messages": [("user", user_input)]}, self.config)
        return self.reply()

    def reply(self) -> AgentReply:
        messages = self.graph.get_state(self.config).values["messages"]
        return AgentReply(messages[-1].content, state={"messages": messages_to_dict(messages)})


class React(Graph):
    """The ready-made agent."""

    def build(self) -> Any:
        model = ChatOpenAI(model="gpt-test")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="create_react_agent has been moved")
            return create_react_agent(model, self.tools, prompt=self.system, checkpointer=InMemorySaver())

    def restore(self, history: Any, state: dict[str, Any]) -> None:
        self.graph.update_state(self.config, {"messages": messages_from_dict(state["messages"])}, as_node="agent")


class Async(Graph):
    """The same, awaited and streamed."""

    def build(self) -> Any:
        model = ChatOpenAI(model="gpt-test", streaming=True).bind_tools(self.tools)

        async def think(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await model.ainvoke([SystemMessage(self.system), *state["messages"]])]}

        graph = StateGraph(MessagesState)
        graph.add_node("think", think)
        graph.add_node("tools", ToolNode(self.tools))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", tools_condition)
        graph.add_edge("tools", "think")
        return graph.compile(checkpointer=InMemorySaver())

    async def __call__(self, user_input: str) -> AgentReply:  # type: ignore[override]
        async for _ in self.graph.astream({"messages": [("user", user_input)]}, self.config, stream_mode="messages"):
            pass
        return self.reply()
