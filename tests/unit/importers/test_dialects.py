"""Each framework's own form of messages, as it is logged, becomes the same chat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_statebase.importers.dialects import chat_messages, tool_definitions, without_output_tools
from pytest_statebase.importers.messages import parse_message


def call(name: str, arguments: Any, id: str | None = None) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def gives(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, **more}


USER = {"role": "user", "content": "Weather in Paris?"}
REPLY = {"role": "assistant", "content": "Rainy."}
SYSTEM = {"role": "system", "content": "Be brief."}
ASKS = asks(call("weather", {"city": "Paris"}, "c1"))
ASKS_TEXT = asks(call("weather", '{"city": "Paris"}', "c1"))
GIVES = gives("rain", tool_call_id="c1")

OPENAI_CHAT = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Weather in Paris?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    {"role": "assistant", "content": "Rainy."},
]
RESPONSES = [
    {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Weather in Paris?"}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rainy.", "annotations": []}]},
]
ANTHROPIC = {
    "model": "claude-sonnet-4-5",
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": "Weather in Paris?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "rain"}]},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Rainy."}]},
    ],
}
BEDROCK = {
    "system": [{"text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"text": "Weather in Paris?"}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Paris"}}}],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "rain"}], "status": "success"}}],
        },
        {"role": "assistant", "content": [{"text": "Rainy."}]},
    ],
}
GEMINI = {
    "config": {"system_instruction": "Be brief."},
    "contents": [
        {"role": "user", "parts": [{"text": "Weather in Paris?"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Paris"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "weather", "response": "rain"}}]},
        {"role": "model", "parts": [{"text": "Rainy."}]},
    ],
}
GEMINI_SNAKE = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Weather in Paris?"}]},
        {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "weather", "args": {"city": "Paris"}}}]},
        {"role": "user", "parts": [{"function_response": {"id": "c1", "name": "weather", "response": "rain"}}]},
        {"role": "model", "parts": [{"text": "Rainy."}]},
    ],
}


def lc(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


LANGCHAIN_SERIALIZED = {
    "messages": [
        [
            lc("SystemMessage", content="Be brief.", type="system"),
            lc("HumanMessage", content="Weather in Paris?"),
            lc(
                "AIMessage",
                content="",
                additional_kwargs={
                    "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}]
                },
                tool_calls=[{"name": "weather", "args": {"city": "Paris"}, "id": "c1", "type": "tool_call"}],
            ),
            lc("ToolMessage", content="rain", tool_call_id="c1", type="tool"),
            lc("AIMessageChunk", content="Rainy."),
        ]
    ]
}
LANGCHAIN_DUMPED = [
    {"type": "system", "content": "Be brief.", "additional_kwargs": {}},
    {"type": "human", "content": "Weather in Paris?", "name": None},
    {
        "type": "ai",
        "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}}],
        "tool_calls": [{"name": "weather", "args": {"city": "Paris"}, "id": "c1", "type": "tool_call"}],
    },
    {"type": "tool", "content": "rain", "tool_call_id": "c1", "status": "success", "artifact": None},
    {"type": "ai", "content": "Rainy.", "tool_calls": [], "invalid_tool_calls": []},
]
LANGCHAIN_STORED = [
    {"type": "system", "data": {"content": "Be brief."}},
    {"type": "human", "data": {"content": "Weather in Paris?"}},
    {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "weather", "args": {"city": "Paris"}, "id": "c1"}]}},
    {"type": "tool", "data": {"content": "rain", "tool_call_id": "c1"}},
    {"type": "ai", "data": {"content": "Rainy."}},
]
VERCEL = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Weather in Paris?"}]},
    {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Paris"}}],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "c1",
                "toolName": "weather",
                "output": {"type": "text", "value": "rain"},
            }
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "Rainy."}]},
]
PYDANTIC_AI = [
    {
        "kind": "request",
        "parts": [
            {"part_kind": "system-prompt", "content": "Be brief.", "timestamp": "2026-01-01T00:00:00Z"},
            {"part_kind": "user-prompt", "content": "Weather in Paris?", "timestamp": "2026-01-01T00:00:00Z"},
        ],
    },
    {
        "kind": "response",
        "parts": [{"part_kind": "tool-call", "tool_name": "weather", "args": {"city": "Paris"}, "tool_call_id": "c1"}],
    },
    {
        "kind": "request",
        "parts": [{"part_kind": "tool-return", "tool_name": "weather", "content": "rain", "tool_call_id": "c1"}],
    },
    {"kind": "response", "parts": [{"part_kind": "text", "content": "Rainy."}]},
]
SEMANTIC_PARTS = [
    {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
    {"role": "user", "parts": [{"type": "text", "content": "Weather in Paris?"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Paris"}}],
        "finish_reason": "tool_call",
    },
    {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": "rain"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "Rainy."}], "finish_reason": "stop"},
]
AUTOGEN_MODEL = [
    {"type": "SystemMessage", "content": "Be brief."},
    {"type": "UserMessage", "source": "user", "content": "Weather in Paris?"},
    {
        "type": "AssistantMessage",
        "source": "assistant",
        "content": [{"id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'}],
        "thought": None,
    },
    {
        "type": "FunctionExecutionResultMessage",
        "content": [{"type": "tool_result", "call_id": "c1", "content": "rain"}],
    },
    {"type": "AssistantMessage", "source": "assistant", "content": "Rainy."},
]
OPENINFERENCE = [
    {"message": {"role": "system", "content": "Be brief."}},
    {"message": {"role": "user", "contents": [{"message_content": {"type": "text", "text": "Weather in Paris?"}}]}},
    {
        "message": {
            "role": "assistant",
            "tool_calls": [
                {"tool_call": {"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}}
            ],
        }
    },
    {"message": {"role": "tool", "content": "rain", "tool_call_id": "c1"}},
    {"message": {"role": "assistant", "content": "Rainy."}},
]
KOOG = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather in Paris?"},
    {
        "role": "tool",
        "content": json.dumps([{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}]),
    },
    {"role": "tool", "content": "rain", "tool_call_id": "c1"},
    {"role": "assistant", "content": "Rainy."},
]
AGNO = [
    "role='system' content='Be brief.' name=None tool_calls=None metrics=Metrics(a=0, b=[1, 2], c='(') created_at=1",
    "role='user' content='Weather in Paris?' name=None tool_call_id=None",
    "role='assistant' content=None tool_calls=[{'id': 'c1', 'function': {'name': 'weather', "
    "'arguments': '{\"city\": \"Paris\"}'}, 'type': 'function'}] audio=None",
    "role='tool' content='rain' tool_call_id='c1' tool_call_error=False",
    "role='assistant' content=\"Rainy.\" stop_after_tool_call=False",
]
TUPLES = [["system", "Be brief."], ["human", "Weather in Paris?"]]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        pytest.param(OPENAI_CHAT, [SYSTEM, USER, ASKS_TEXT, GIVES, REPLY], id="openai chat"),
        pytest.param(RESPONSES, [SYSTEM, USER, ASKS_TEXT, GIVES, REPLY], id="openai responses"),
        pytest.param(
            {"input": RESPONSES[1:], "instructions": "Be brief.", "model": "gpt-5"},
            [SYSTEM, USER, ASKS_TEXT, GIVES, REPLY],
            id="a request of responses",
        ),
        pytest.param(ANTHROPIC, [SYSTEM, USER, ASKS, GIVES, REPLY], id="anthropic"),
        pytest.param(BEDROCK, [SYSTEM, USER, ASKS, GIVES, REPLY], id="bedrock converse"),
        pytest.param(GEMINI, [SYSTEM, USER, ASKS, GIVES | {"name": "weather"}, REPLY], id="gemini"),
        pytest.param(GEMINI_SNAKE, [SYSTEM, USER, ASKS, GIVES | {"name": "weather"}, REPLY], id="gemini in Python"),
        pytest.param(LANGCHAIN_SERIALIZED, [SYSTEM, USER, ASKS, GIVES, REPLY], id="langchain constructors"),
        pytest.param(LANGCHAIN_DUMPED, [SYSTEM, USER, ASKS, GIVES, REPLY], id="langchain dumps"),
        pytest.param(LANGCHAIN_STORED, [SYSTEM, USER, ASKS, GIVES, REPLY], id="langchain stored"),
        pytest.param(VERCEL, [SYSTEM, USER, ASKS, GIVES | {"name": "weather"}, REPLY], id="vercel"),
        pytest.param(PYDANTIC_AI, [SYSTEM, USER, ASKS, GIVES | {"name": "weather"}, REPLY], id="pydantic-ai"),
        pytest.param(SEMANTIC_PARTS, [SYSTEM, USER, ASKS, GIVES, REPLY], id="gen_ai parts"),
        pytest.param(AUTOGEN_MODEL, [SYSTEM, USER, ASKS_TEXT, GIVES, REPLY], id="autogen"),
        pytest.param(OPENINFERENCE, [SYSTEM, USER, ASKS_TEXT, GIVES, REPLY], id="openinference"),
        pytest.param(KOOG, [SYSTEM, USER, ASKS_TEXT, GIVES, REPLY], id="koog"),
        pytest.param(AGNO, [SYSTEM, USER, ASKS_TEXT, GIVES, REPLY], id="agno"),
        pytest.param(TUPLES, [SYSTEM, USER], id="langchain tuples"),
        pytest.param([("human", "Weather in Paris?")], [USER], id="a tuple"),
    ],
)
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_conversations(value: Any, wanted: list[dict[str, Any]], layers: int) -> None:
    for _ in range(layers):
        value = json.dumps(value)
    found = chat_messages(value, role="user")
    assert _plain(found) == _plain(wanted)
    for message in found or ():
        parse_message(message, "x")


def _plain(messages: Any) -> Any:
    """An empty text beside calls says as much as none."""
    return [{**message, "content": message["content"] or None} for message in messages]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        pytest.param(
            {"id": "x", "choices": [{"message": {"role": "assistant", "content": "Rainy."}}]}, REPLY, id="completion"
        ),
        pytest.param({"choices": [{"index": 0, "text": "Rainy."}]}, REPLY, id="legacy completion"),
        pytest.param(
            {"object": "response", "output": [{"type": "reasoning", "summary": []}, RESPONSES[-1]]},
            None,
            id="reasoning",
        ),
        pytest.param({"object": "response", "output": [RESPONSES[-1]]}, REPLY, id="response"),
        pytest.param(
            {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Rainy."}]},
            REPLY,
            id="anthropic",
        ),
        pytest.param({"output": {"message": BEDROCK["messages"][-1]}, "stopReason": "end_turn"}, REPLY, id="bedrock"),
        pytest.param(
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "Rainy."}]}}]}, REPLY, id="gemini"
        ),
        pytest.param({"content": {"role": "model", "parts": [{"text": "Rainy."}]}, "id": "e"}, REPLY, id="adk event"),
        pytest.param(
            {"generations": [[{"text": "Rainy.", "message": lc("AIMessage", content="Rainy.")}]], "llm_output": {}},
            REPLY,
            id="langchain",
        ),
        pytest.param({"generations": [[{"text": "Rainy.", "type": "Generation"}]]}, REPLY, id="langchain llm"),
        pytest.param({"message": {"role": "assistant", "content": "Rainy."}, "done": True}, REPLY, id="ollama"),
        pytest.param({"text": "Rainy.", "finish_reason": "stop"}, REPLY, id="text"),
        pytest.param({"text": "Rainy.", "toolCalls": []}, REPLY, id="vercel"),
        pytest.param({"content": "Rainy.", "finish_reason": "stop", "usage": {}}, REPLY, id="autogen result"),
        pytest.param({"type": "TextMessage", "source": "weather_agent", "content": "Rainy."}, REPLY, id="autogen text"),
        pytest.param({"output": "Rainy."}, REPLY, id="chain"),
        pytest.param("Rainy.", REPLY, id="plain text"),
        pytest.param('"Rainy."', REPLY, id="text as JSON"),
        pytest.param(
            [{"toolCallId": "c1", "toolName": "weather", "input": '{"city": "Paris"}'}], ASKS_TEXT, id="vercel calls"
        ),
        pytest.param(
            [{"tool.name": "weather", "tool.args": {"city": "Paris"}}],
            asks(call("weather", {"city": "Paris"})),
            id="any-agent",
        ),
        pytest.param(
            {
                "type": "ToolCallRequestEvent",
                "source": "a",
                "content": [{"id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'}],
            },
            ASKS_TEXT,
            id="autogen request",
        ),
        pytest.param(
            {"role": "assistant", "content": "", "function_call": {"name": "weather", "arguments": "{}"}},
            asks(call("weather", "{}")),
            id="legacy call",
        ),
    ],
)
def test_answers(value: Any, wanted: dict[str, Any] | None) -> None:
    found = chat_messages(value, role="assistant")
    assert _plain(found) == _plain([REPLY if wanted is None else wanted])


def test_texts_of_an_answer_stay_what_the_model_said() -> None:
    for said in (
        '{"answer": "Rainy."}',
        '{"content": "Rainy."}',
        '{"text": "Rainy."}',
        "user: me",
        "[1, 2]",
        "{not json",
    ):
        assert chat_messages(said, role="assistant") == [{"role": "assistant", "content": said}]


def test_the_content_of_a_message_is_never_read_as_json() -> None:
    said = '{"role": "user", "content": "x"}'
    assert chat_messages([{"role": "user", "content": said}], role="user") == [{"role": "user", "content": said}]


def test_streamed_chunks_make_one_message() -> None:
    chunks = [
        {"choices": [{"delta": {"role": "assistant", "content": "Let me "}}]},
        {"choices": [{"delta": {"content": "look."}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "weather"}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"city": '}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"Paris"}'}}]}}]},
        {"choices": [], "usage": {}},
    ]
    assert chat_messages(chunks, role="assistant") == [ASKS_TEXT | {"content": "Let me look."}]


def test_reasoning_stands_apart() -> None:
    thinking = {"type": "thinking", "thinking": "It may rain.", "signature": "x"}
    said = {"role": "assistant", "content": [thinking, {"type": "text", "text": "Rainy."}]}
    assert chat_messages(said, role="assistant") == [REPLY | {"reasoning_content": "It may rain."}]
    summed = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look."}]}, RESPONSES[2]]
    assert chat_messages(summed, role="assistant") == [ASKS_TEXT | {"reasoning_content": "Look."}]
    thought = {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "Rainy."}]}
    assert chat_messages(thought, role="assistant") == [REPLY | {"reasoning_content": "Hm."}]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True},
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "no"}], "status": "error"}},
        {"type": "tool-result", "toolCallId": "c1", "output": {"type": "error-text", "value": "no"}},
        {"part_kind": "retry-prompt", "tool_name": "weather", "tool_call_id": "c1", "content": "no"},
    ],
)
def test_failed_results(block: dict[str, Any]) -> None:
    (found,) = chat_messages([block], role="user") or ()
    assert (found["role"], found["content"], found["tool_call_id"], found["is_error"]) == ("tool", "no", "c1", True)


def test_a_result_and_a_text_in_one_message_are_two() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": "c1", "content": "rain"}, {"type": "text", "text": "And now?"}]
    wanted = [GIVES, {"role": "user", "content": "And now?"}]
    assert chat_messages([{"role": "user", "content": blocks}], role="user") == wanted


def test_results_that_are_no_text_stay_what_they_are() -> None:
    response = {"functionResponse": {"name": "weather", "response": {"sky": "rain"}}}
    assert chat_messages({"parts": [response]}, role="user") == [gives({"sky": "rain"}, name="weather")]
    block = {"toolResult": {"toolUseId": "c1", "content": [{"json": {"sky": "rain"}}]}}
    assert chat_messages([block], role="user") == [gives({"sky": "rain"}, tool_call_id="c1")]


def test_other_parts_are_kept() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    inline = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    (found,) = (
        chat_messages([{"role": "user", "content": [{"type": "text", "text": "See"}, image, inline]}], role="user")
        or ()
    )
    assert found["content"] == [{"type": "text", "text": "See"}, image, {"type": "file", **inline}]
    parse_message(found, "x")


def test_a_transcript() -> None:
    text = "developer: Be brief.\nuser: Weather\nin Paris?\nassistant: None\ntool: rain"
    assert chat_messages(text, role="user") == [
        SYSTEM,
        {"role": "user", "content": "Weather\nin Paris?"},
        {"role": "assistant", "content": None},
        gives("rain"),
    ]
    printed = "Human: Weather in Paris?\nAI: [{'name': 'weather', 'args': {'city': 'Paris'}, 'id': 'c1'}]\nTool: rain"
    assert chat_messages(printed, role="user") == [USER, ASKS, gives("rain")]
    assert chat_messages("Human: Hi\nAI: Hello", role="user") == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
    ]
    assert chat_messages("A user: not a transcript", role="user") == [
        {"role": "user", "content": "A user: not a transcript"}
    ]


def test_prompts_of_chains() -> None:
    assert chat_messages({"prompts": ["System: Be brief.\nHuman: Weather in Paris?"]}, role="user") == [SYSTEM, USER]
    assert chat_messages({"prompt": "Weather in Paris?", "system": "Be brief."}, role="user") == [SYSTEM, USER]
    history = [["human", "Hi"], ["ai", "Hello"]]
    found = chat_messages({"chat_history": history, "input": "Weather in Paris?"}, role="user")
    assert found == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, USER]
    new = {"user_id": "u", "new_message": {"role": "user", "parts": [{"text": "Weather in Paris?"}]}}
    assert chat_messages(new, role="user") == [USER]


@pytest.mark.parametrize(
    "value", [None, 3, True, {}, {"city": "Paris"}, [1, 2], [{"title": "x", "href": "y"}], [[["x"]], 1]]
)
def test_what_holds_no_messages(value: Any) -> None:
    assert chat_messages(value, role="user") is None


def test_nothing_said_is_no_message() -> None:
    assert chat_messages([], role="user") == []
    assert chat_messages([{"role": "user", "content": None}], role="user") == []


@pytest.mark.parametrize("word", ["human", "HumanMessage", "HumanMessageChunk", "MessageRole.USER", "USER", "user"])
def test_words_for_the_user(word: str) -> None:
    assert chat_messages({"role": word, "content": "Hi"}, role="assistant") == [{"role": "user", "content": "Hi"}]


def test_a_role_that_nobody_knows_is_a_name() -> None:
    found = chat_messages({"role": "critic", "content": "Hi"}, role="assistant")
    assert found == [{"role": "assistant", "content": "Hi", "name": "critic"}]


TOOL = {"name": "weather", "description": "Says it.", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    "value",
    [
        {"tools": [{"type": "function", "function": TOOL}]},
        {"tools": [{"type": "function", **TOOL}]},
        {"tools": [{"name": "weather", "description": "Says it.", "input_schema": {"type": "object"}}]},
        {"config": {"tools": [{"function_declarations": [TOOL]}]}},
        {
            "toolConfig": {
                "tools": [
                    {
                        "toolSpec": {
                            "name": "weather",
                            "description": "Says it.",
                            "inputSchema": {"json": {"type": "object"}},
                        }
                    }
                ]
            }
        },
        {
            "model_request_parameters": {
                "function_tools": [
                    {"name": "weather", "description": "Says it.", "parameters_json_schema": {"type": "object"}}
                ]
            }
        },
        {"invocation_params": {"functions": [TOOL]}},
        [{"role": "user", "content": "Hi"}, {"role": "tool", "content": {"type": "function", "function": TOOL}}],
        {"tools": [json.dumps(TOOL)]},
        json.dumps({"tools": [TOOL, TOOL]}),
    ],
)
def test_tool_definitions(value: Any) -> None:
    assert tool_definitions(value) == (TOOL,)


def test_a_tool_that_is_only_offered_is_no_message() -> None:
    offered = {"role": "tool", "content": {"type": "function", "function": TOOL}}
    assert chat_messages([USER, offered], role="user") == [USER]


def test_output_tools_are_answers() -> None:
    answer = asks(call("final_result", {"city": "Paris"}, "c2"))
    messages = [USER, ASKS, GIVES, answer, gives("Final result processed.", tool_call_id="c2")]
    changed = without_output_tools(messages, {"final_result"})
    assert changed == [USER, ASKS, GIVES, {"role": "assistant", "content": '{"city": "Paris"}'}]
    assert without_output_tools(messages, set()) == messages
