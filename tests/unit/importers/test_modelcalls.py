"""Model calls that are written from the generations of traces."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.engine.web.models import ModelHosts
from pytest_statebase.engine.web.talk import answer_of, reply_of, talk_of
from pytest_statebase.importers.modelcalls import exchange_of, model_calls
from pytest_statebase.importers.modelcalls.bodies import BODIES, Ask, Said
from pytest_statebase.importers.modelcalls.providers import _CHAT, Api, place_of
from pytest_statebase.importers.spans import Span
from pytest_statebase.values import ABSENT
from pytest_statebase.wire.exchange import Exchange, Request, Response

PATHS: dict[Api, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/gpt-x:generateContent",
}
HEARD: list[Any] = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "Where is 1047?"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"id":"017"}'}},
            {"id": "b", "type": "function", "function": {"name": "find", "arguments": {"id": 1.0}}},
        ],
    },
    {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "two"}]},
    {"role": "tool", "tool_call_id": "a", "content": {"found": ["é", None]}},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "And this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "https://x.example/y.png"}},
        ],
    },
]
TOOLS = [
    {"type": "function", "function": {"name": "look", "description": "Look", "parameters": {"type": "object"}}},
    {"name": "find", "input_schema": '{"type": "object", "properties": {"id": {"type": "number"}}}'},
]


def span(**more: Any) -> Span:
    known: dict[str, Any] = {
        "began": "2026-03-01T10:00:00Z",
        "ended": "2026-03-01T10:00:01.5Z",
        "input": HEARD,
        "output": [{"role": "assistant", "content": "Here."}],
        "model": "gpt-x",
        "provider": "openai",
        "tools": TOOLS,
        **more,
    }
    return Span("g1", "t1", None, "chat", "generation", **known)


def made(**more: Any) -> Exchange:
    exchange = exchange_of(span(**more), turn=2)
    assert isinstance(exchange, Exchange), exchange
    return exchange


def said(exchange: Exchange) -> dict[str, Any]:
    assert isinstance(exchange.answer, Response)
    found: dict[str, Any] = json.loads(exchange.answer.body)
    return found


def test_an_exchange_is_what_the_client_would_have_sent() -> None:
    exchange = made(parameters={"temperature": "0.2", "max_tokens": "Infinity", "top_p": float("nan"), "own": 1})
    assert (exchange.turn, exchange.during, exchange.at, exchange.latency_ms) == (2, None, "2026-03-01T10:00:00Z", 1500)
    assert exchange.derived == ("parameters",)
    assert (exchange.request.method, exchange.request.url) == ("POST", "https://api.openai.com/v1/chat/completions")
    body = json.loads(exchange.request.body)
    assert {key: body[key] for key in body if key not in ("messages", "tools")} == {
        "model": "gpt-x",
        "temperature": 0.2,
    }
    assert body["messages"][0] == HEARD[0]
    assert body["messages"][2]["tool_calls"][1] == {
        "id": "b",
        "type": "function",
        "function": {"name": "find", "arguments": '{"id": 1.0}'},
    }
    assert body["messages"][4]["content"] == '{"found": ["é", null]}'
    assert [tool["function"]["name"] for tool in body["tools"]] == ["look", "find"]
    assert body["tools"][1]["function"]["parameters"]["properties"] == {"id": {"type": "number"}}
    answer = said(exchange)
    assert answer["choices"][0]["message"]["content"] == "Here."
    assert (answer["choices"][0]["finish_reason"], answer["usage"]) == ("stop", None)


@pytest.mark.parametrize("api", get_args(Api))
def test_every_api_says_the_same(api: Api) -> None:
    expected = talk_of(made().request)
    parameters = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "stop": ["x"], "seed": 1}
    source = made(parameters=parameters)
    assert talk_of(source.request).messages == expected.messages
    body = _written(api, source)
    request = Request("POST", f"https://api.example.com{PATHS[api]}", (), json.dumps(body).encode())
    talk = talk_of(request)
    told = talk_of(source.request)
    assert talk.messages == told.messages
    assert (talk.system, talk.model, talk.tools) == (told.system, told.model, told.tools)
    assert talk.parameters == parameters
    assert [message["role"] for piece in talk.messages for message in [piece.value]] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert talk.messages[-1].value == {"role": "user", "content": "And this?", "media": ["image", "image"]}
    assert [piece.value["call"] for piece in talk.messages[2:4]] == [0, 1]


def _written(api: Api, exchange: Exchange) -> dict[str, Any]:
    """The same in another API, by way of what was written for the first."""
    body = json.loads(exchange.request.body)
    messages = [
        Said(
            one["role"],
            one["content"],
            tuple(
                (call["id"], call["function"]["name"], call["function"]["arguments"])
                for call in one.get("tool_calls", ())
            ),
            one.get("tool_call_id"),
            {"a": "look", "b": "find"}.get(one.get("tool_call_id", "")),
        )
        for one in body["messages"]
    ]
    parameters = {name: body[name] for name in ("temperature", "top_p", "max_tokens", "stop", "seed") if name in body}
    return BODIES[api](Ask(body["model"], messages, [tool["function"] for tool in body["tools"]], parameters))


ANSWERS: list[Any] = [
    [{"role": "assistant", "content": "Hi"}],
    "Hi",
    {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]},
    [{"content": "Hi"}, {"role": "tool", "content": "no"}],
    [{"role": "assistant", "content": None, "refusal": "Hi"}],
]


@pytest.mark.parametrize("output", ANSWERS)
def test_answers_in_any_form(output: Any) -> None:
    assert said(made(output=output))["choices"][0]["message"]["content"] == "Hi"


def test_answers_of_several_messages_and_their_end() -> None:
    call = {"function": {"name": "look", "arguments": {"id": 1}}}
    output = [{"role": "assistant", "content": "One"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    choice = said(made(output=output))["choices"][0]
    assert choice["message"]["content"] == "One"
    # Two calls came before: without an id of its own this is the third.
    assert [(one["id"], one["function"]) for one in choice["message"]["tool_calls"]] == [
        ("call_3", {"name": "look", "arguments": '{"id": 1}'})
    ]
    assert choice["finish_reason"] == "tool_calls"
    cut = made(attributes={"gen_ai.response.finish_reasons": ["max_tokens"], "gen_ai.response.id": "r1"})
    assert (said(cut)["choices"][0]["finish_reason"], said(cut)["id"]) == ("length", "r1")
    counted = made(usage={"prompt_tokens": 3, "completion_tokens": 4.0})
    assert said(counted)["usage"] == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"input": ABSENT}, "no-messages"),
        ({"input": []}, "no-messages"),
        ({"input": [7, None]}, "no-messages"),
        ({"input": [HEARD[0]]}, "no-messages"),
        ({"output": ABSENT}, "no-answer"),
        ({"output": []}, "no-answer"),
        ({"output": [{"role": "assistant", "content": None}]}, "no-answer"),
        ({"output": [7]}, "no-answer"),
        ({"error": {"type": "X", "message": "y"}}, "model-failed"),
        ({"is_error": True}, "model-failed"),
        ({"flaws": ("truncated",)}, "cut-messages"),
        ({"provider": "aws.bedrock", "model": "anthropic.claude-3"}, "other-api"),
        ({"provider": "cohere", "model": "command-r"}, "other-api"),
        ({"provider": None, "model": "bedrock/anthropic.claude-3"}, "other-api"),
    ],
)
def test_what_cannot_be_written_is_told(more: dict[str, Any], kind: str) -> None:
    assert exchange_of(span(**more), turn=1) == kind
    all_made = model_calls([(span(), 1, None), (span(**more), 1, 0)])
    assert [exchange.turn for exchange in all_made.exchanges] == [1]
    (reason,) = all_made.reasons
    assert reason.kind == kind
    assert reason.text.startswith("1 of 2 model calls cannot be replayed: ")


def test_nothing_is_made_of_nothing() -> None:
    nothing = model_calls([])
    assert (nothing.exchanges, nothing.reasons, nothing.notes) == ((), (), ())


def test_what_the_trace_does_not_tell_is_named() -> None:
    assert made(tools=None).derived == ("parameters", "tools")
    assert made(tools=[]).derived == ("parameters",)
    unknown = model_calls([(span(input=HEARD[1:], tools=None), 1, None)])
    assert unknown.exchanges[0].derived == ("parameters", "system", "tools")
    assert unknown.notes[-1].startswith("1 of 1 of them tell no system text")
    assert made(input="Where is 1047?").derived == ("parameters", "system")


PLACES = [
    ("openai", "gpt-4o", "chat", "api.openai.com"),
    ("OpenAI", None, "chat", "api.openai.com"),
    ("openai.responses", "gpt-4o", "responses", "api.openai.com"),
    ("openai.chat", "gpt-4o", "chat", "api.openai.com"),
    ("az.ai.openai", "gpt-4o", "chat", "unknown.openai.azure.com"),
    ("azure.ai.openai", "gpt-4o", "chat", "unknown.openai.azure.com"),
    ("anthropic", "claude-x", "messages", "api.anthropic.com"),
    ("anthropic.messages", "claude-x", "messages", "api.anthropic.com"),
    ("gcp.gemini", "gemini-2", "gemini", "generativelanguage.googleapis.com"),
    ("google_genai", "models/gemini-2", "gemini", "generativelanguage.googleapis.com"),
    ("google-generative-ai", "gemini-2", "gemini", "generativelanguage.googleapis.com"),
    ("gcp.vertex_ai", "gemini-2", "gemini", "aiplatform.googleapis.com"),
    ("vertex_ai", "claude-x", "messages", "api.anthropic.com"),
    ("mistral_ai", "mistral-large", "chat", "api.mistral.ai"),
    ("groq", "llama", "chat", "api.groq.com"),
    ("litellm", "anthropic/claude-x", "messages", "api.anthropic.com"),
    (None, "openrouter/openai/gpt-4o", "chat", "openrouter.ai"),
    (None, "o3-mini", "chat", "api.openai.com"),
    ("langchain", "gemini-2", "gemini", "generativelanguage.googleapis.com"),
]


@pytest.mark.parametrize(("provider", "model", "api", "host"), PLACES)
def test_places(provider: str | None, model: str | None, api: str, host: str) -> None:
    place = place_of(provider, model, {})
    assert place is not None
    assert (place.api, Request("POST", place.url).host) == (api, host)


@pytest.mark.parametrize(("provider", "model"), [(None, None), ("unheard-of", "own-7b"), ("", "")])
def test_a_provider_that_is_not_known_is_said(provider: str | None, model: str | None) -> None:
    exchange = made(provider=provider, model=model)
    assert exchange.derived == ("parameters", "provider")
    assert exchange.request.url == "https://api.openai.com/v1/chat/completions"


@pytest.mark.parametrize("told", [{"openai.api.type": "responses"}, {"gen_ai.operation.name": "responses"}])
def test_the_responses_api_by_what_the_tracer_tells(told: dict[str, Any]) -> None:
    place = place_of("openai", "gpt-x", told)
    assert place is not None
    assert place.url == "https://api.openai.com/v1/responses"


def test_every_place_is_one_of_a_model() -> None:
    places = [place_of(provider, "m", {}) for provider in (*_CHAT, "anthropic", "gemini", "vertex")]
    for place in places:
        assert place is not None
        assert ModelHosts().is_model(Request("POST", place.url)), place


def test_the_same_trace_gives_the_same_bytes() -> None:
    assert made() == made()
    other = exchange_of(replace(span(), id="g2"), turn=2)
    assert isinstance(other, Exchange)
    assert said(other)["id"] != said(made())["id"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "x"])},
    optional={"content": JSON, "tool_calls": JSON, "tool_call_id": JSON, "name": JSON, "function_call": JSON},
)


@given(
    heard=JSON | st.lists(MESSAGE, max_size=4), spoken=JSON | st.lists(MESSAGE, max_size=2), tools=JSON, parameters=JSON
)
def test_whatever_stands_in_a_trace_does_not_break_it(heard: Any, spoken: Any, tools: Any, parameters: Any) -> None:
    more: dict[str, Any] = {"tools": tools if isinstance(tools, list) else None}
    more["parameters"] = parameters if isinstance(parameters, dict) else {}
    for provider in ("openai", "openai.responses", "anthropic", "gemini"):
        found = exchange_of(span(input=heard, output=spoken, provider=provider, **more), turn=1)
        if isinstance(found, Exchange):
            assert isinstance(found.answer, Response)
            reply = reply_of(found.answer, found.request)
            assert reply is not None
            assert answer_of(reply, found.request) == found.answer
            talk_of(found.request)
