"""Which requests are calls of models, and what they are made of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.web.models import ModelHosts, ModelRequest, model_request
from pytest_statebase.errors import OptionError
from pytest_statebase.wire.exchange import Request

OPENAI = "https://api.openai.com/v1"


def post(url: str, body: Any = None) -> Request:
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return Request("POST", url, (("content-type", "application/json"),), data)


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        (f"{OPENAI}/chat/completions", "chat"),
        (f"{OPENAI}/responses", "responses"),
        (f"{OPENAI}/embeddings", "other"),
        (f"{OPENAI}/completions", "other"),
        (f"{OPENAI}/audio/transcriptions", "other"),
        ("https://eu.api.openai.com/v1/responses", "responses"),
        ("https://mine.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2025-01-01", "chat"),
        ("https://mine.services.ai.azure.com/anthropic/v1/messages", "messages"),
        ("https://api.anthropic.com/v1/messages?beta=true", "messages"),
        ("https://api.anthropic.com/v1/messages/count_tokens", "messages"),
        ("https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent", "gemini"),
        ("https://generativelanguage.googleapis.com/v1beta/models/gemini-3:streamGenerateContent?alt=sse", "gemini"),
        ("https://us-east5-aiplatform.googleapis.com/v1/publishers/anthropic/models/claude:rawPredict", "messages"),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.amazon.nova-v1%3A0/converse-stream", "bedrock"),
        ("https://bedrock-runtime-fips.us-east-1.amazonaws.com/model/anthropic.claude/invoke", "messages"),
        ("https://bedrock-mantle.us-east-1.api.aws/openai/v1/responses", "responses"),
        ("https://api.groq.com/openai/v1/chat/completions", "chat"),
        ("https://api.mistral.ai/v1/fim/completions", "other"),
        ("https://api.cohere.com/v2/chat", "chat"),
        ("https://openrouter.ai/api/v1/chat/completions", "chat"),
        ("https://API.X.AI:443/v1/chat/completions/", "chat"),
        ("https://router.huggingface.co/hf-inference/models/org/name", "other"),
    ],
)  # fmt: skip
def test_known_providers(url: str, dialect: str) -> None:
    request = post(url, {})
    assert ModelHosts().is_model(request)
    assert model_request(request).dialect == dialect


@pytest.mark.parametrize(
    "url",
    [
        f"{OPENAI}/files",
        f"{OPENAI}/conversations",
        f"{OPENAI}/threads/thread_1/messages",
        f"{OPENAI}/vector_stores/vs_1/search",
        "https://api.anthropic.com/v1/messages/batches",
        "https://api.example.com/v1/chat/completions",
        "https://evil-api.openai.com.example.com/v1/responses",
        "https://slack.example.com/api/messages",
        "http://127.0.0.1:11434/api/generate",
        "https://openai.azure.com.evil.test/openai/deployments/gpt/chat/completions",
    ],
)
def test_what_is_no_model(url: str) -> None:
    assert not ModelHosts().is_model(post(url, {}))


def test_only_what_is_posted() -> None:
    assert not ModelHosts().is_model(Request("GET", f"{OPENAI}/responses"))


def test_hosts_that_are_named() -> None:
    hosts = ModelHosts.parse(["127.0.0.1:11434", "*.llm.example.com"])
    assert hosts.is_model(post("http://localhost:11434/api/chat"))
    assert hosts.is_model(post("https://eu.llm.example.com/generate_stream"))
    assert not hosts.is_model(post("http://localhost:11435/api/chat"))
    assert not hosts.is_model(post("http://127.0.0.1:11434/api/pull")), "loads a model, and asks none"


def test_a_host_that_is_none() -> None:
    with pytest.raises(OptionError, match="no pattern of hosts"):
        ModelHosts.parse(["http://127.0.0.1:11434/v1"])


# --- The parts


def texts(found: ModelRequest) -> list[Any]:
    return [piece.value for piece in found.system]


def messages(found: ModelRequest) -> list[Any]:
    return [piece.value for piece in found.messages]


USER = {"role": "user", "content": "Where is order 1047?"}
SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}}
BARE = {"name": "lookup", "description": "Look an order up.", "parameters": SCHEMA}


def test_chat() -> None:
    asked = [
        {"role": "system", "content": "Be kind."},
        USER,
        {"role": "developer", "content": [{"type": "text", "text": "Now."}]},
    ]
    body = {"model": "gpt-5", "messages": asked, "tools": [{"type": "function", "function": BARE}], "temperature": 0}
    found = model_request(post(f"{OPENAI}/chat/completions", body))
    assert (found.model, found.parameters) == ("gpt-5", {"temperature": 0})
    assert texts(found) == ["Be kind.", "Now."]
    assert [piece.path for piece in found.system] == [("messages", 0, "content"), ("messages", 2, "content", 0, "text")]
    assert messages(found) == [USER]
    assert found.tools == {"lookup": {"type": "function", **BARE}}


def test_responses() -> None:
    body = {
        "model": "gpt-5",
        "instructions": "Be kind.",
        "input": [{"role": "developer", "content": "Now."}, USER, {"type": "function_call_output", "output": "lost"}],
        "previous_response_id": "resp_1",
        "tools": [{"type": "function", **BARE}, {"type": "web_search"}],
        "text": {"format": {"type": "text"}},
    }
    found = model_request(post(f"{OPENAI}/responses", body))
    assert texts(found) == ["Be kind.", "Now."]
    assert messages(found) == ["resp_1", USER, {"type": "function_call_output", "output": "lost"}]
    assert list(found.tools) == ["lookup", "web_search"]
    assert found.parameters == {"text": {"format": {"type": "text"}}}
    assert messages(model_request(post(f"{OPENAI}/responses", {"input": "Hello"}))) == ["Hello"]


def test_a_prompt_that_the_provider_keeps_is_a_parameter() -> None:
    found = model_request(post(f"{OPENAI}/responses", {"prompt": {"id": "pmpt_1"}, "input": "Hello"}))
    assert found.parameters == {"prompt": {"id": "pmpt_1"}}


def test_anthropic_with_marks_of_what_to_cache() -> None:
    mark = {"type": "ephemeral"}
    block = {"type": "text", "text": "Where is order 1047?"}
    body = {
        "model": "claude",
        "system": [{"type": "text", "text": "Be kind.", "cache_control": mark}],
        "messages": [{"role": "user", "content": [{**block, "cache_control": mark}]}],
        "tools": [{"name": "lookup", "input_schema": SCHEMA, "cache_control": mark}],
        "max_tokens": 100,
    }
    found = model_request(post("https://api.anthropic.com/v1/messages?beta=true", body))
    assert texts(found) == ["Be kind."]
    assert messages(found) == [{"role": "user", "content": [block]}]
    assert found.tools == {"lookup": {"name": "lookup", "input_schema": SCHEMA}}
    assert found.parameters == {"max_tokens": 100, "query.beta": "true", "cache": [mark, mark, mark]}


def test_gemini() -> None:
    body = {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "tools": [{"functionDeclarations": [BARE, {"name": "refund"}]}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    }
    found = model_request(
        post("https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent", body)
    )
    assert (found.model, found.endpoint.rpartition("/")[2]) == ("gemini-3", "{model}:generateContent")
    assert texts(found) == ["Be kind."]
    assert list(found.tools) == ["lookup", "refund", "googleSearch"]
    assert found.parameters == {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}


def test_bedrock() -> None:
    body = {
        "system": [{"text": "Be kind."}, {"cachePoint": {"type": "default"}}],
        "messages": [{"role": "user", "content": [{"text": "Hello"}, {"cachePoint": {"type": "default"}}]}],
        "toolConfig": {"tools": [{"toolSpec": BARE}, {"cachePoint": {"type": "default"}}], "toolChoice": {"auto": {}}},
    }
    url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-v1%3A0/converse"
    found = model_request(post(url, body))
    assert found.model == "us.amazon.nova-v1:0"
    assert texts(found) == ["Be kind."]
    assert messages(found) == [{"role": "user", "content": [{"text": "Hello"}]}]
    assert found.tools == {"lookup": BARE}
    assert found.parameters["toolConfig"] == {"toolChoice": {"auto": {}}}


def test_models_named_in_the_address() -> None:
    url = "https://mine.openai.azure.com/openai/deployments/gpt-5/chat/completions?api-version=1"
    found = model_request(post(url, {"messages": [USER]}))
    assert (found.model, found.parameters) == ("gpt-5", {"query.api-version": "1"})
    assert found.endpoint == "https://mine.openai.azure.com/openai/deployments/{model}/chat/completions"
    plain = model_request(post("https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1:0/invoke", {}))
    assert plain.model == "a.b-v1:0"


def test_old_functions_and_tools_of_one_name() -> None:
    found = model_request(post(f"{OPENAI}/chat/completions", {"functions": [BARE, BARE, "odd"]}))
    assert list(found.tools) == ["lookup", "lookup#2", "odd"]


@pytest.mark.parametrize("body", [b"", b"--boundary\r\nfile", b"\xff\xfe", b"[1, 2]", b'"text"', b"null"])
def test_bodies_of_other_forms(body: bytes) -> None:
    found = model_request(post(f"{OPENAI}/audio/transcriptions", body))
    assert found.parameters == {}
    assert len(found.messages) == (body not in (b"", b"null"))


@pytest.mark.parametrize("odd", [None, 1, "x", [], {}, [None, 1, "x", []], {"role": None, "content": None}])
def test_odd_values_raise_nothing(odd: Any) -> None:
    for key in ("messages", "input", "system", "instructions", "tools", "toolConfig", "contents", "model", "prompt"):
        model_request(post(f"{OPENAI}/chat/completions", {key: odd}))


def test_what_is_ignored_is_left_out() -> None:
    rules = IgnoreRules.parse(["http.body.metadata", "http.query.trace"])
    body = {"messages": [USER], "metadata": {"run": "1"}, "user": "u"}
    found = model_request(post(f"{OPENAI}/chat/completions?trace=1&v=2", body), rules)
    assert found.parameters == {"user": "u", "query.v": "2"}
