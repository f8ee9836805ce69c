"""What single frameworks write in their own way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.tracing import event, graded, otlp, session, span, told, write

ASKED, ANSWER = "Where is order 7?", "It was delivered."
ARGUMENTS, RESULT = {"order": 7}, {"status": "delivered"}
SPOKEN = [(ASKED, [("look_up", ARGUMENTS, RESULT)], ANSWER)]


def test_events_that_hold_the_blocks_of_bedrock(tmp_path: Path) -> None:
    use = {"toolUse": {"toolUseId": "c1", "name": "look_up", "input": ARGUMENTS}}
    asked = event("gen_ai.user.message", {"content": json.dumps([{"text": ASKED}])})
    uses = json.dumps([use])
    result = {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"json": RESULT}]}}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop", "session.id": "s1"}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.system": "strands-agents"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up", "gen_ai.tool.call.id": "c1"}
    found = session(
        write(
            tmp_path / "trace.json",
            otlp(
                span(
                    "invoke_agent shop", 1, agent, lasts=9, events=[asked, event("gen_ai.choice", {"message": ANSWER})]
                ),
                span("chat", 2, chat, parent=1, at=1, events=[asked, event("gen_ai.choice", {"message": uses})]),
                span(
                    "execute_tool look_up",
                    3,
                    tool,
                    parent=1,
                    at=2,
                    events=[
                        event("gen_ai.tool.message", {"role": "tool", "content": json.dumps(ARGUMENTS), "id": "c1"}),
                        event("gen_ai.choice", {"message": json.dumps([{"json": RESULT}]), "id": "c1"}),
                    ],
                ),
                span(
                    "chat",
                    4,
                    chat,
                    parent=1,
                    at=3,
                    events=[
                        asked,
                        event("gen_ai.assistant.message", {"content": uses}),
                        event("gen_ai.tool.message", {"content": json.dumps([result])}),
                        event(
                            "gen_ai.choice", {"message": json.dumps([{"text": ANSWER}]), "finish_reason": "end_turn"}
                        ),
                    ],
                ),
            ),
        )
    )
    assert (found.name, told(found)) == ("s1", SPOKEN)
    assert graded(found) == ("replayable", {})


def test_requests_and_responses_of_gemini(tmp_path: Path) -> None:
    contents: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": ASKED}]},
        {"role": "model", "parts": [{"function_call": {"name": "look_up", "args": ARGUMENTS}}]},
        {"role": "user", "parts": [{"function_response": {"name": "look_up", "response": RESULT}}]},
    ]

    def chat(given: int, answer: dict[str, Any]) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "call_llm",
            "gen_ai.system": "gcp.vertex.agent",
            "gcp.vertex.agent.session_id": "s1",
            "gcp.vertex.agent.llm_request": json.dumps({"model": "m", "contents": contents[:given]}),
            "gcp.vertex.agent.llm_response": json.dumps({"content": answer, "finish_reason": "STOP"}),
        }

    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look_up",
        "gcp.vertex.agent.tool_call_args": json.dumps(ARGUMENTS),
        "gcp.vertex.agent.tool_response": json.dumps(RESULT),
    }
    found = session(
        write(
            tmp_path / "trace.json",
            otlp(
                span("invocation", 1, {}, lasts=9),
                span("call_llm", 2, chat(1, contents[1]), parent=1, at=1),
                span("execute_tool look_up", 3, tool, parent=2, at=1.1, lasts=0.1),
                span("call_llm", 4, chat(3, {"role": "model", "parts": [{"text": ANSWER}]}), parent=1, at=3),
            ),
        )
    )
    assert (found.name, told(found)) == ("s1", SPOKEN)


def test_steps_of_langchain_under_traceloop(tmp_path: Path) -> None:
    tool = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "look_up",
        "traceloop.entity.input": json.dumps({"input_str": str(ARGUMENTS), "tags": [], "inputs": ARGUMENTS}),
        "traceloop.entity.output": json.dumps(
            {
                "output": {"lc": 1, "kwargs": {"content": "delivered", "type": "tool", "tool_call_id": "c1"}},
                "kwargs": {},
            }
        ),
        "traceloop.association.properties.thread_id": "t-9",
    }
    chat = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": json.dumps([{"type": "text", "text": ASKED}]),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": ANSWER,
        "gen_ai.completion.1.role": "assistant",
        "gen_ai.completion.1.content": "Another one.",
    }
    found = session(
        write(
            tmp_path / "trace.json",
            otlp(
                span("LangGraph.workflow", 1, {"traceloop.span.kind": "workflow"}, lasts=9),
                span("look_up.tool", 2, tool, parent=1, at=1),
                span("ChatOpenAI.chat", 3, chat, parent=1, at=2),
            ),
        )
    )
    assert (found.name, told(found)) == ("t-9", [(ASKED, [("look_up", ARGUMENTS, "delivered")], ANSWER)])


def test_arguments_that_were_logged_as_python_prints_them(tmp_path: Path) -> None:
    tool = {"openinference.span.kind": "TOOL", "tool.name": "look_up", "input.value": "{'order': 7, 'all': True}"}
    tool |= {"output.value": "{'status'", "metadata": json.dumps({"thread_id": "t-9"})}
    agent = {"openinference.span.kind": "AGENT", "input.value": ASKED, "output.value": ANSWER}
    found = session(write(tmp_path / "t.json", otlp(span("a", 1, agent, lasts=9), span("b", 2, tool, parent=1, at=1))))
    assert (found.name, told(found)) == (
        "t-9",
        [(ASKED, [("look_up", {"order": 7, "all": True}, "{'status'")], ANSWER)],
    )


def test_logfires_requests_to_a_model(tmp_path: Path) -> None:
    chat = {
        "request_data": json.dumps({"model": "m", "messages": [{"role": "user", "content": ASKED}]}),
        "response_data": json.dumps({"message": {"role": "assistant", "content": ANSWER}, "usage": None}),
        "logfire.msg": "Chat Completion with 'm'",
    }
    found = session(write(tmp_path / "trace.json", otlp(span("Chat Completion", 1, chat))))
    assert told(found) == [(ASKED, [], ANSWER)]


def test_a_run_of_pydantic_ai_alone(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look_up", "arguments": ARGUMENTS}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "name": "look_up", "result": RESULT}]},
        {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]},
    ]
    run = {"agent_name": "shop", "pydantic_ai.all_messages": json.dumps(messages), "final_result": ANSWER}
    found = session(write(tmp_path / "trace.json", otlp(span("agent run", 1, run), scope="pydantic-ai")))
    assert told(found) == SPOKEN
    assert found.ledger.created.agent_id == "shop"


def test_images_and_reasoning_are_kept(tmp_path: Path) -> None:
    asked = [
        {"type": "text", "content": "What is this?"},
        {"type": "uri", "modality": "image", "uri": "https://x.test/a"},
    ]
    answered = [{"type": "reasoning", "content": "A cat, I think."}, {"type": "text", "content": "A cat."}]
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": asked}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": answered, "finish_reason": "stop"}]),
    }
    found = session(write(tmp_path / "trace.json", otlp(span("chat", 1, chat))))
    (turn,) = found.ledger.turns
    assert isinstance(turn.input, list)
    assert [part["type"] for part in turn.input] == ["text", "uri"]
    assert turn.output == {"type": "text", "content": "A cat."}
    assert turn.added is not None
    assert turn.added.reasoning == "A cat, I think."


def test_of_several_answers_the_first_was_taken(tmp_path: Path) -> None:
    answers = [
        {"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}
        for text in ("One.", "Two.")
    ]
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Count."}]}]),
        "gen_ai.output.messages": json.dumps(answers),
    }
    assert told(session(write(tmp_path / "trace.json", otlp(span("chat", 1, chat))))) == [("Count.", [], "One.")]


def test_an_exception_and_a_status(tmp_path: Path) -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up"}
    failed = {"status": {"code": 2, "message": "no such order"}}
    raised = event("exception", {"exception.type": "KeyError", "exception.message": "7"})
    agent = {"openinference.span.kind": "AGENT", "input.value": ASKED, "output.value": ANSWER}
    found = session(
        write(
            tmp_path / "trace.json",
            otlp(
                span("agent", 1, agent, lasts=9),
                span("tool", 2, tool, parent=1, at=1, events=[raised], **failed),
                span("tool", 3, tool, parent=1, at=2, **failed),
                span("tool", 4, {**tool, "error.type": "ToolError"}, parent=1, at=3, **failed),
                span("tool", 5, {**tool, "gen_ai.tool.call.result": "Error: none"}, parent=1, at=4, **failed),
                span("tool", 6, {**tool, "gen_ai.tool.call.result": "fine"}, parent=1, at=5, events=[raised]),
            ),
        )
    )
    calls = found.ledger.turns[0].calls
    assert [call.error for call in calls] == [
        {"type": "KeyError", "message": "7"},
        {"type": "Exception", "message": "no such order"},
        {"type": "ToolError", "message": "no such order"},
        None,
        None,
    ]
    assert [(call.result, call.is_error) for call in calls[3:]] == [("Error: none", True), ("fine", False)]


def test_a_trace_of_any_agent(tmp_path: Path) -> None:
    trace = 1 << 126

    def one(number: int, name: str, at: int, attributes: dict[str, Any]) -> dict[str, Any]:
        return {
            "name": name,
            "parent": {"trace_id": trace, "span_id": 1} if number > 1 else None,
            "context": {"trace_id": trace, "span_id": number},
            "start_time": 1_758_026_586_000_000_000 + at,
            "end_time": 1_758_026_586_000_000_000 + at + 1000,
            "status": {"status_code": "ok", "description": None},
            "attributes": attributes,
            "events": [],
        }

    model = {"gen_ai.operation.name": "call_llm", "gen_ai.request.model": "m"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.output.type": "json"}
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}]
    calls = [
        {"tool.name": "look_up", "tool.args": json.dumps(ARGUMENTS)},
        {"tool.name": "note", "tool.args": {"text": "seen"}},
    ]
    answer = {"answer": ANSWER}
    looked = {"gen_ai.tool.name": "look_up", "gen_ai.tool.args": json.dumps(ARGUMENTS)}
    noted = {"gen_ai.tool.name": "note", "gen_ai.tool.args": '{"text": "seen"}', "gen_ai.output": "{}"}
    document = {
        "spans": [
            one(
                2,
                "call_llm m",
                1,
                {**model, "gen_ai.input.messages": json.dumps(asked), "gen_ai.output": json.dumps(calls)},
            ),
            one(3, "execute_tool look_up", 2, {**tool, **looked, "gen_ai.output": json.dumps(RESULT)}),
            one(4, "execute_tool note", 3, {**tool, **noted}),
            one(5, "call_llm m", 4, {**model, "gen_ai.output": json.dumps(answer), "gen_ai.output.type": "json"}),
            one(1, "invoke_agent [shop]", 0, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}),
        ],
        "final_output": answer,
    }
    found = session(write(tmp_path / "trace.json", document))
    assert told(found) == [(ASKED, [("look_up", ARGUMENTS, RESULT), ("note", {"text": "seen"}, None)], answer)]
    assert found.ledger.turns[0].output["type"] == "data"
    assert found.ledger.created.metadata == {"tracer": "any-agent", "system": "Be brief."}
    assert [call.step for call in found.ledger.turns[0].calls] == [1, 1]


def test_what_was_retrieved_is_no_call(tmp_path: Path) -> None:
    agent = {"openinference.span.kind": "AGENT", "input.value": ASKED, "output.value": ANSWER}
    search = {"openinference.span.kind": "RETRIEVER", "input.value": ASKED, "output.value": "[]"}
    path = write(tmp_path / "t.json", otlp(span("a", 1, agent, lasts=9), span("search", 2, search, parent=1, at=1)))
    assert told(session(path)) == [(ASKED, [], ANSWER)]


def test_a_tool_of_an_mcp_server_seen_on_both_sides_is_one_call(tmp_path: Path) -> None:
    agent = {"openinference.span.kind": "AGENT", "input.value": ASKED, "output.value": ANSWER}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up"}
    client = {**tool, "mcp.method.name": "tools/call", "gen_ai.tool.call.arguments": json.dumps(ARGUMENTS)}
    server = {**client, "gen_ai.tool.call.result": json.dumps(RESULT)}
    spans = [
        span("agent", 1, agent, lasts=9),
        span("execute_tool look_up", 2, tool, parent=1, at=1),
        span("tools/call look_up", 3, client, parent=2, at=1.1),
        span("tools/call look_up", 4, server, parent=3, at=1.2),
    ]
    assert told(session(write(tmp_path / "t.json", otlp(*spans)))) == SPOKEN


def test_an_answer_that_is_json_is_text_where_the_agent_gave_back_text(tmp_path: Path) -> None:
    answer = json.dumps({"answer": ANSWER})
    chat = {"openinference.span.kind": "LLM", "input.value": ASKED, "output.value": answer}
    for mime, output in (("text/plain", answer), ("application/json", {"answer": ANSWER})):
        agent = {"openinference.span.kind": "AGENT", "output.value": answer, "output.mime_type": mime}
        path = write(tmp_path / "t.json", otlp(span("a", 1, agent, lasts=9), span("b", 2, chat, parent=1, at=1)))
        assert told(session(path)) == [(ASKED, [], output)]
