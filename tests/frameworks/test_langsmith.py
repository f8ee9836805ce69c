"""What the LangSmith SDK itself sends of an agent on langgraph is imported as the session that it was."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_statebase import Cassette, replay
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.testing import Reenact

from .harness import framework

framework("langgraph", "langsmith", "langchain_core")

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langchain_core.tracers.langchain import LangChainTracer
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langsmith import Client


@tool
def order(id: int) -> dict[str, Any]:
    """Find an order."""
    return {"id": id, "status": "sent"}


@tool
def refund(id: int, why: str) -> str:
    """Refund an order."""
    raise ValueError(f"{id} may not be refunded: {why}")


def calls(*wanted: tuple[str, dict[str, Any], str]) -> list[Any]:
    return [{"name": name, "args": args, "id": id, "type": "tool_call"} for name, args, id in wanted]  # noqa: A001


ANSWERS = [
    AIMessage("", tool_calls=calls(("order", {"id": 7}, "c1"), ("order", {"id": 8}, "c2"))),
    AIMessage("Both are on their way."),
    AIMessage("I will try.", tool_calls=calls(("refund", {"id": 7, "why": "late"}, "c3"))),
    AIMessage("I may not."),
]


class Sent:
    """Stands for the connection of the SDK's client: keeps what is sent."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.batch: dict[str, list[Any]] = {"post": [], "patch": []}

    def request(self, method: str, url: str, *, data: Any = None, **_: Any) -> Any:
        if data:
            body = json.loads(data)
            self.batch[method.lower()].append({"id": url.rpartition("/")[2], **body})
        return SimpleNamespace(status_code=202, text="{}", json=dict, raise_for_status=lambda: None, headers={})

    def mount(self, *_: Any) -> None:
        return None

    def close(self) -> None:
        return None


@pytest.fixture(scope="module")
def batch() -> dict[str, list[Any]]:
    sent = Sent()
    client = Client("http://127.0.0.1:9", api_key="none", session=sent, auto_batch_tracing=False, info={})  # type: ignore[arg-type]
    model = FakeMessagesListChatModel(responses=list(ANSWERS))
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([order, refund], handle_tool_errors=True))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    agent = graph.compile(checkpointer=InMemorySaver())
    for said in ("Where are 7 and 8?", "Refund 7!"):
        tracer = LangChainTracer(client=client, project_name="shop")
        agent.invoke(
            {"messages": [("user", said)]},
            {"configurable": {"thread_id": "thread-1"}, "callbacks": [tracer]},
        )
        tracer.wait_for_futures()
    return sent.batch


def imported(path: Path, *documents: Any) -> ImportedSession:
    path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    (session,) = import_file(path)
    assert isinstance(session, ImportedSession), str(session)
    return session


def roots(batch: dict[str, list[Any]]) -> list[Any]:
    outputs = {run["id"]: run["outputs"] for run in batch["patch"] if not run.get("parent_run_id")}
    return [{**run, "outputs": outputs[run["id"]]} for run in batch["post"] if not run.get("parent_run_id")]


def text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def test_the_session_is_what_it_was(batch: dict[str, list[Any]], tmp_path: Path) -> None:
    session = imported(tmp_path / "runs.jsonl", batch)
    assert session.name == "thread-1"
    assert session.grade is not None
    assert session.grade.reasons == ()
    first, second = session.ledger.turns
    assert (first.input, first.output) == (text("Where are 7 and 8?"), text("Both are on their way."))
    found = [(call.tool, call.arguments, call.result, call.id) for call in first.calls]
    assert found == [
        ("order", {"id": 7}, '{"id": 7, "status": "sent"}', "c1"),
        ("order", {"id": 8}, '{"id": 8, "status": "sent"}', "c2"),
    ]
    assert (second.input, second.output) == (text("Refund 7!"), text("I may not."))
    (failed,) = second.calls
    assert failed.error == {"type": "ValueError", "message": "7 may not be refunded: late"}


def test_it_replays_unchanged_against_itself(batch: dict[str, list[Any]], tmp_path: Path) -> None:
    ledger = imported(tmp_path / "runs.jsonl", batch).ledger
    assert replay(Cassette.from_ledger(ledger), Reenact(ledger)).verdicts == {"unchanged": 2}


def test_the_roots_alone_tell_turns_and_calls(batch: dict[str, list[Any]], tmp_path: Path) -> None:
    """The state of a graph, which its root gives back, is the whole conversation so far."""
    first, second = imported(tmp_path / "runs.jsonl", *roots(batch)).ledger.turns
    assert (first.input, first.output) == (text("Where are 7 and 8?"), text("Both are on their way."))
    assert [call.tool for call in first.calls] == ["order", "order"]
    assert (second.input, second.output) == (text("Refund 7!"), text("I may not."))
    assert [(call.tool, call.is_error) for call in second.calls] == [("refund", True)]
