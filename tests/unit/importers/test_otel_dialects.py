"""One visit to a shop, told in every dialect of OpenTelemetry: the same session comes out each time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.testing import Reenact
from tests.tracing import event, graded, otlp, session, span, told, write

ASKED, ANSWER = "Where is order 7?", "It was delivered."
ARGUMENTS, RESULT = {"order": 7}, {"status": "delivered"}
SPOKEN = [(ASKED, [("look_up", ARGUMENTS, RESULT)], ANSWER)]
CHAT = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "look_up", "arguments": ARGUMENTS}]},
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(RESULT)},
    {"role": "assistant", "content": ANSWER},
]
PARTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look_up", "arguments": ARGUMENTS}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": RESULT}]},
    {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"},
]


def visit(model: Callable[[int, int], dict[str, Any]], tool: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """Agent, model, tool, model.

    model: the attributes of a call, of the messages before and with its answer. tool: those of the tool's span.
    """
    calls = [model(1, 2), model(3, 4)]
    events = [attributes.pop("events", []) for attributes in calls]
    spans = [
        span("agent", 1, more.pop("agent", {}), at=0, lasts=9),
        span("chat", 2, calls[0], parent=1, at=1, events=events[0]),
        span("chat", 4, calls[1], parent=1, at=3, events=events[1]),
    ]
    if tool is not None:
        spans.append(span("execute_tool look_up", 3, tool, parent=1, at=2))
    return otlp(*spans, **more)


def current(*, structure: bool, response: str = "response") -> dict[str, Any]:
    encode = (lambda value: value) if structure else json.dumps
    text = json.dumps(PARTS).replace('"response":', f'"{response}":')
    parts = json.loads(text)

    def model(given: int, until: int) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m-1",
            "gen_ai.system_instructions": encode([{"type": "text", "content": "Be brief."}]),
            "gen_ai.input.messages": encode(parts[:given]),
            "gen_ai.output.messages": encode(parts[given:until]),
        }

    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look_up",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": encode(ARGUMENTS),
        "gen_ai.tool.call.result": encode(RESULT),
    }
    return visit(model, tool)


def indexed() -> dict[str, Any]:
    def model(given: int, until: int) -> dict[str, Any]:
        found: dict[str, Any] = {"llm.request.type": "chat", "gen_ai.request.model": "m-1"}
        for prefix, messages in (("gen_ai.prompt", CHAT[:given]), ("gen_ai.completion", CHAT[given:until])):
            for index, message in enumerate(messages):
                found |= flat(f"{prefix}.{index}", {key: value for key, value in message.items() if value is not None})
        return found

    tool = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "look_up",
        "traceloop.entity.input": json.dumps({"args": [], "kwargs": ARGUMENTS}),
        "traceloop.entity.output": json.dumps(RESULT),
    }
    return visit(model, tool, agent={"traceloop.span.kind": "workflow", "traceloop.entity.name": "shop"})


def flat(prefix: str, value: Any) -> dict[str, Any]:
    """A structure spread over one attribute for each leaf; arguments as JSON."""
    if prefix.endswith("arguments"):
        return {prefix: json.dumps(value)}
    if isinstance(value, dict):
        return {key: item for name, inner in value.items() for key, item in flat(f"{prefix}.{name}", inner).items()}
    if isinstance(value, list):
        return {key: item for name, inner in enumerate(value) for key, item in flat(f"{prefix}.{name}", inner).items()}
    return {prefix: value}


def openinference() -> dict[str, Any]:
    def model(given: int, until: int) -> dict[str, Any]:
        found: dict[str, Any] = {"openinference.span.kind": "LLM", "llm.model_name": "m-1"}
        for prefix, messages in (("llm.input_messages", CHAT[:given]), ("llm.output_messages", CHAT[given:until])):
            for index, message in enumerate(messages):
                known = {key: value for key, value in message.items() if value is not None and key != "tool_calls"}
                found |= flat(f"{prefix}.{index}.message", known)
                for number, call in enumerate(message.get("tool_calls") or []):
                    at = f"{prefix}.{index}.message.tool_calls.{number}.tool_call"
                    found |= {f"{at}.id": call["id"], f"{at}.function.name": call["name"]}
                    found[f"{at}.function.arguments"] = json.dumps(call["arguments"])
        return found

    tool = {
        "openinference.span.kind": "TOOL",
        "tool.name": "look_up",
        "input.value": json.dumps(ARGUMENTS),
        "input.mime_type": "application/json",
        "output.value": json.dumps(RESULT),
        "output.mime_type": "application/json",
    }
    agent = {"openinference.span.kind": "AGENT", "input.value": ASKED, "output.value": ANSWER}
    return visit(model, tool, agent=agent)


def events(*, azure: bool) -> dict[str, Any]:
    def one(message: dict[str, Any], *, answer: bool) -> dict[str, Any]:
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])}}
            for call in message.get("tool_calls") or []
        ]
        body = {"role": message["role"], "content": message["content"], **({"tool_calls": calls} if calls else {})}
        body |= {"id": message["tool_call_id"]} if "tool_call_id" in message else {}
        name = "gen_ai.choice" if answer else f"gen_ai.{message['role']}.message"
        body = {"index": 0, "finish_reason": "stop", "message": body} if answer else body
        kept = {key: value for key, value in body.items() if value is not None}
        as_text = {key: json.dumps(value) if isinstance(value, (dict, list)) else value for key, value in kept.items()}
        return event(name, {"gen_ai.event.content": json.dumps(kept)} if azure else as_text)

    def model(given: int, until: int) -> dict[str, Any]:
        told = [one(message, answer=False) for message in CHAT[:given]]
        told += [one(message, answer=True) for message in CHAT[given:until]]
        return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "events": told}

    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up", "gen_ai.tool.call.id": "c1"}
    tool |= {"gen_ai.tool.call.result": json.dumps(RESULT)}
    return visit(model, tool)


def logged() -> dict[str, Any]:
    """Content in log records alone, beside the spans."""
    document = visit(lambda given, until: {"gen_ai.operation.name": "chat"}, None)
    records = []
    for number, given, until in ((2, 1, 2), (4, 3, 4)):
        body = {"gen_ai.input.messages": PARTS[:given], "gen_ai.output.messages": PARTS[given:until]}
        record = {"traceId": span("", 0, {})["traceId"], "spanId": f"{number:016x}", "attributes": []}
        name = "gen_ai.client.inference.operation.details"
        attributes = otlp(span("", 0, body))["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"]
        records.append({**record, "eventName": name, "attributes": attributes})
    return {**document, "resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


def pydantic() -> dict[str, Any]:
    def model(given: int, until: int) -> dict[str, Any]:
        told = [{"event.name": f"gen_ai.{one['role']}.message", **_event_form(one)} for one in CHAT[:given]]
        told += [{"event.name": "gen_ai.choice", "index": 0, "message": _event_form(one)} for one in CHAT[given:until]]
        return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "events": told_text(told)}

    def told_text(told: list[dict[str, Any]]) -> list[Any]:
        return [json.dumps(told)]

    def attributes(given: int, until: int) -> dict[str, Any]:
        found = model(given, until)
        found["logfire.msg"] = "chat m-1"
        text = found.pop("events")[0]
        return {**found, "events_text": text}

    document = visit(attributes, {"gen_ai.tool.name": "look_up", "gen_ai.tool.call.id": "c1", "logfire.msg": "x"})
    text = json.dumps(document).replace('"events_text"', '"events"')
    tool = [{"key": "tool_arguments", "value": {"stringValue": json.dumps(ARGUMENTS)}}]
    tool.append({"key": "tool_response", "value": {"stringValue": json.dumps(RESULT)}})
    document = json.loads(text)
    document["resourceSpans"][0]["scopeSpans"][0]["spans"][-1]["attributes"] += tool
    return document  # type: ignore[no-any-return]


def _event_form(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in message.get("tool_calls") or []
    ]
    found = {"role": message["role"], "content": message["content"], **({"tool_calls": calls} if calls else {})}
    return {**found, **({"id": message["tool_call_id"]} if "tool_call_id" in message else {})}


def vercel() -> dict[str, Any]:
    prompt: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look_up"}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "look_up"}]},
    ]
    prompt[1]["content"][0]["input"] = ARGUMENTS
    prompt[2]["content"][0]["output"] = {"type": "json", "value": RESULT}

    def model(given: int, until: int) -> dict[str, Any]:
        found = {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": json.dumps(prompt[:given])}
        if until == 2:
            call = {"toolCallId": "c1", "toolName": "look_up", "input": ARGUMENTS}
            return {**found, "ai.response.toolCalls": json.dumps([call])}
        return {**found, "ai.response.text": ANSWER}

    tool = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "look_up", "ai.toolCall.id": "c1"}
    tool |= {"ai.toolCall.args": json.dumps(ARGUMENTS), "ai.toolCall.result": json.dumps(RESULT)}
    agent = {
        "ai.operationId": "ai.generateText",
        "ai.prompt": json.dumps({"prompt": ASKED}),
        "ai.response.text": ANSWER,
    }
    return visit(model, tool, agent=agent)


DIALECTS: dict[str, Callable[[], dict[str, Any]]] = {
    "current": lambda: current(structure=False),
    "current as structure": lambda: current(structure=True),
    "current with result": lambda: current(structure=False, response="result"),
    "indexed (Traceloop)": indexed,
    "OpenInference": openinference,
    "events": lambda: events(azure=False),
    "events in one attribute": lambda: events(azure=True),
    "log records": logged,
    "pydantic-ai": pydantic,
    "Vercel": vercel,
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_tells_the_same_session(dialect: str, tmp_path: Path) -> None:
    found = session(write(tmp_path / "visit.json", DIALECTS[dialect]()))
    assert told(found) == SPOKEN
    assert graded(found) == ("replayable", {})
    assert found.ledger.versions == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_graded_replayable_replays_unchanged(dialect: str, tmp_path: Path) -> None:
    found = session(write(tmp_path / "visit.json", DIALECTS[dialect]()))
    cassette = Cassette.from_ledger(found.ledger)
    assert replay(cassette, Reenact(cassette)).verdicts == {"unchanged": 1}
