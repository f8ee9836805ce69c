"""From a file of traces to a green replay of a streaming agent, without key and network; then with another prompt."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from .harness import framework

framework("openai")

AGENT = """
import json
from openai import OpenAI

SYSTEM = "You help the customers of a shop."

def lookup_order(order_id: str) -> dict:
    raise SystemExit("a tool ran")

def agent(messages: list) -> str:
    talk = [{"role": "system", "content": SYSTEM}, *messages]
    while True:
        with OpenAI(api_key="none").chat.completions.stream(model="gpt-5", messages=talk, temperature=0.3) as stream:
            answer = stream.get_final_completion().choices[0].message
        if not answer.tool_calls:
            return answer.content
        talk.append(answer.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        for call in answer.tool_calls:
            found = lookup_order(**json.loads(call.function.arguments))
            talk.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)})
"""
INI = "[pytest]\npythonpath = .\nstatebase_agent = support:agent\nstatebase_tools = support:lookup_order\n"
ASKED = {"role": "user", "parts": [{"type": "text", "content": "Where is 1047?"}]}
CALLED = {"type": "tool_call", "id": "c1", "name": "lookup_order", "arguments": {"order_id": "1047"}}
CALLS = {"role": "assistant", "parts": [CALLED], "finish_reason": "tool_call"}
GIVES = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"status": "delivered"}}]}
SAYS = {"role": "assistant", "parts": [{"type": "text", "content": "It was delivered."}], "finish_reason": "stop"}


def span(number: int, name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    told = {"gen_ai.conversation.id": "conv_1", **attributes}
    start = 1_760_000_000 + number
    return {
        "traceId": "a" * 32,
        "spanId": str(number) * 16,
        "name": name,
        "startTimeUnixNano": f"{start}000000000",
        "endTimeUnixNano": f"{start + 1}000000000",
        "attributes": [
            {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}
            for key, value in told.items()
        ],
    }


def chat(number: int, heard: list[Any], said: Any) -> dict[str, Any]:
    known = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5"}
    system = [{"type": "text", "content": "You help the customers of a shop."}]
    talk = {"gen_ai.input.messages": heard, "gen_ai.output.messages": [said], "gen_ai.system_instructions": system}
    return span(number, "chat gpt-5", {**known, **talk})


def traces() -> dict[str, Any]:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup_order", "gen_ai.tool.call.id": "c1"}
    told = {"gen_ai.tool.call.arguments": {"order_id": "1047"}, "gen_ai.tool.call.result": {"status": "delivered"}}
    spans = [
        chat(1, [ASKED], CALLS),
        span(2, "execute_tool lookup_order", {**tool, **told}),
        chat(3, [ASKED, CALLS, GIVES], SAYS),
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def test_a_file_of_traces_replays_offline(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(support=AGENT)
    (pytester.path / "pytest.ini").write_text(INI, encoding="utf-8")
    (pytester.path / "traces.json").write_text(json.dumps(traces()), encoding="utf-8")
    run = pytester.run(sys.executable, "-m", "pytest_statebase.cli", "import", "traces.json")
    run.stdout.fnmatch_lines(["replayable  conv_1  1 turn, 1 call"])
    pytester.runpytest_subprocess("--statebase-replay", "-p", "no:asyncio").assert_outcomes(passed=1)
    pytester.makepyfile(support=AGENT.replace("You help the customers of a shop.", "You are rude."))
    moved = pytester.runpytest_subprocess("--statebase-replay", "-p", "no:asyncio", "-v")
    moved.stdout.fnmatch_lines(["*1 model call in 1 cassette no recording answers*"])
    assert moved.ret == 1
