"""Recordings that were made from traces: which requests they answer, and in which form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.cassette.http import http_from
from pytest_statebase.cassette.httpwrite import http_bytes
from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.web.models import ModelHosts
from pytest_statebase.engine.web.pool import Exchanges, Found, Missed
from pytest_statebase.engine.web.talk import Reply, ToolUse, answer_of, reply_of, talk_of
from pytest_statebase.errors import HttpError
from pytest_statebase.wire.exchange import Exchange, Request, Response

CHAT, RESPONSES = "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/responses"
MESSAGES = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
STREAMED = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent"
HI = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
REPLY = Reply("r1", "m", "Hello", usage=(3, 4), created=5)
LOOK = ToolUse("c1", "look", '{"id": 1}')
CALLS = Reply("r1", "m", None, (LOOK, ToolUse("c2", "look", "{}")), "tool_calls", (3, 4), 5)
TOLD = Reply("r1", "m", "I look.", (LOOK,), "tool_calls")
CUT = Reply("r1", "m", "Hel", finish="length")


def post(url: str, body: Any) -> Request:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Request("POST", url, (("content-type", "application/json"),), data)


def recording(
    body: Any = HI, reply: Reply = REPLY, *, unknown: tuple[str, ...] = ("parameters",), turn: int | None = 1
) -> Exchange:
    request = post(CHAT, body)
    answer = answer_of(reply, request)
    assert answer is not None
    return Exchange(request, answer, turn, derived=unknown)


def pool(*recorded: Exchange, ignore: tuple[str, ...] = ()) -> Exchanges:
    return Exchanges(recorded, rules=IgnoreRules.parse(ignore), is_model=ModelHosts().is_model)


def answered(request: Request, *recorded: Exchange) -> Response:
    found = pool(*recorded).answer(request, 1)
    assert isinstance(found, Found), found
    assert isinstance(found.answer, Response)
    return found.answer


def events(answer: Response) -> list[Any]:
    assert (answer.header("content-type") or "").startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in answer.body.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


SAME = [
    post(CHAT, HI),
    post("https://gateway.example.azure.com/v1/chat/completions", HI),
    post(CHAT, {**HI, "temperature": 0.1, "stream": False, "user": "x", "tools": [{"type": "function"}]}),
    post(CHAT, {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi\n"}]}]}),
    post(RESPONSES, {"model": "m", "input": "Hi"}),
    post(RESPONSES, {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]}),
    post(MESSAGES, {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}),
    post(GEMINI, {"contents": [{"parts": [{"text": "Hi"}]}]}),
]


@pytest.mark.parametrize("asked", SAME)
def test_what_says_the_same_is_answered(asked: Request) -> None:
    recorded = recording(unknown=("parameters", "tools"))
    hosts = ModelHosts.parse(["gateway.example.azure.com"])
    found = Exchanges([recorded], rules=IgnoreRules(), is_model=hosts.is_model).answer(asked, 1)
    assert isinstance(found, Found), found
    assert isinstance(found.answer, Response)
    reply = reply_of(found.answer, asked)
    assert reply is not None
    assert reply.text == "Hello"


@pytest.mark.parametrize(
    "asked",
    [
        post(CHAT, {**HI, "messages": [{"role": "user", "content": "Bye"}]}),
        post(CHAT, {**HI, "messages": [{"role": "assistant", "content": "Hi"}]}),
        post(CHAT, {**HI, "messages": [*HI["messages"], {"role": "assistant", "content": "Hello"}]}),
        post(CHAT, {**HI, "messages": [{"role": "system", "content": "Be rude."}, *HI["messages"]]}),
        post(CHAT, {**HI, "model": "n"}),
        post(CHAT, {**HI, "tools": [{"type": "function", "function": {"name": "look"}}]}),
        post(RESPONSES, {"model": "m", "input": "Hi", "previous_response_id": "r0"}),
        post(MESSAGES + "/count_tokens", HI),
        post("https://api.cohere.com/v2/chat", HI),
        post("https://api.example.com/v1/chat/completions", HI),
        post(CHAT, "no JSON"),
        post(CHAT, "[" * 100_000),
    ],
)
def test_what_says_something_else_is_not(asked: Request) -> None:
    assert isinstance(pool(recording()).answer(asked, 1), Missed)


def test_what_is_ignored_does_not_count() -> None:
    asked = post(CHAT, {**HI, "model": "n"})
    assert isinstance(pool(recording(), ignore=("http.body.model",)).answer(asked, 1), Found)


def test_each_answers_once_the_turns_own_first() -> None:
    first, second = recording(reply=REPLY, turn=1), recording(reply=TOLD, turn=2)
    known = pool(first, second)
    assert known.is_left(post(MESSAGES, HI), 2)
    texts = []
    for _ in range(2):
        found = known.answer(post(MESSAGES, HI), 2)
        assert isinstance(found, Found)
        texts.append(json.loads(found.answer.body)["content"][0]["text"])  # type: ignore[union-attr]
    assert texts == ["I look.", "Hello"]
    missed = known.answer(post(MESSAGES, HI), 2)
    assert isinstance(missed, Missed)
    assert (missed.reason, missed.used) == ("used up", 2)


def test_one_with_other_tools_is_not_used_up() -> None:
    known = pool(recording())
    assert isinstance(known.answer(post(CHAT, HI), 1), Found)
    missed = known.answer(post(CHAT, {**HI, "tools": [{"type": "function", "function": {"name": "look"}}]}), 1)
    assert isinstance(missed, Missed)
    assert missed.reason == "differs"


def test_results_of_calls_that_were_made_at_once_have_no_order() -> None:
    calls = [{"id": id_, "function": {"name": "look", "arguments": f'{{"id": "{id_}"}}'}} for id_ in "ab"]
    results = [{"role": "tool", "tool_call_id": id_, "content": f"result {id_}"} for id_ in "ab"]
    asked = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": calls}]
    one = talk_of(post(CHAT, {"messages": [*asked, *results]}))
    other = talk_of(post(CHAT, {"messages": [*asked, *reversed(results)]}))
    swapped = talk_of(post(CHAT, {"messages": [*asked, *({**r, "content": "same"} for r in results)]}))
    assert one.messages == other.messages
    assert one.messages != swapped.messages


@pytest.mark.parametrize("reply", [REPLY, CALLS, TOLD, CUT])
@pytest.mark.parametrize("url", [CHAT, RESPONSES, MESSAGES, GEMINI])
def test_an_answer_reads_back(url: str, reply: Reply) -> None:
    answer = answer_of(reply, post(url, {}))
    assert answer is not None
    read = reply_of(answer, post(url, {}))
    assert read is not None
    assert (read.id, read.model, read.text or "", read.finish) == ("r1", "m", reply.text or "", reply.finish)
    assert [(call.id, call.name, json.loads(call.arguments)) for call in read.calls] == [
        (call.id, call.name, json.loads(call.arguments)) for call in reply.calls
    ]
    assert read.usage == reply.usage


@pytest.mark.parametrize("url", [CHAT, RESPONSES, MESSAGES, GEMINI, MESSAGES + "/batches", "https://x.example/"])
@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"7", b'{"choices": [], "output": 1, "content": [{}]}', b"\xff"])
def test_an_answer_that_is_none_is_left_as_it_is(url: str, body: bytes) -> None:
    assert reply_of(Response(200, body=body), post(url, {})) is None
    assert reply_of(Response(500, body=body), post(url, {})) is None


def test_an_edited_answer_that_cannot_be_read_is_served_as_it_stands() -> None:
    own = Exchange(post(CHAT, HI), Response(200, body=b'{"own": 1}'), 1, derived=("parameters",))
    assert answered(post(MESSAGES, HI), own).body == b'{"own": 1}'


def test_a_stream_of_chat_completions() -> None:
    asked = post(CHAT, {**HI, "stream": True, "stream_options": {"include_usage": True}})
    told = events(answered(asked, recording(reply=TOLD)))
    assert "".join(one["choices"][0]["delta"].get("content") or "" for one in told[:-1]) == "I look."
    calls = [
        one["choices"][0]["delta"]["tool_calls"][0] for one in told[:-1] if "tool_calls" in one["choices"][0]["delta"]
    ]
    assert (calls[0]["id"], "".join(call["function"]["arguments"] for call in calls)) == ("c1", '{"id": 1}')
    assert told[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert told[-1]["choices"] == []
    assert answered(asked, recording()).body.endswith(b"data: [DONE]\n\n")


def test_a_stream_of_responses_that_is_cut() -> None:
    told = events(answered(post(RESPONSES, {"model": "m", "input": "Hi", "stream": True}), recording(reply=CUT)))
    assert [one["sequence_number"] for one in told] == list(range(len(told)))
    assert told[-1]["type"] == "response.incomplete"
    assert told[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_streams_of_gemini() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    (told,) = events(answered(post(f"{STREAMED}?alt=sse", body), recording(reply=CALLS)))
    assert [part["functionCall"]["args"] for part in told["candidates"][0]["content"]["parts"]] == [{"id": 1}, {}]
    plain = answered(post(STREAMED, body), recording())
    assert json.loads(plain.body)[0]["candidates"][0]["content"]["parts"] == [{"text": "Hello"}]


def test_the_mark_stands_in_the_file() -> None:
    exchanges = (
        recording(unknown=("parameters", "tools")),
        recording(unknown=()),
        Exchange(post(CHAT, HI), Response(200)),
    )
    data = http_bytes(exchanges)
    assert b"  derived: [parameters, tools]\n" in data
    assert http_from(data, where="x").exchanges == exchanges


@pytest.mark.parametrize("value", ["text", "7", "{a: 1}", "[1]"])
def test_a_mark_that_is_none_is_refused(value: str) -> None:
    data = http_bytes([recording()]).replace(b"[parameters]", value.encode())
    with pytest.raises(HttpError, match="`derived`"):
        http_from(data, where="x")


KEYS = st.sampled_from(["role", "content", "type", "text", "parts", "id", "name", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "parts", "id", "name", "x"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["messages", "input", "contents", "system", "instructions", "systemInstruction", "tools", "model", "stream"]
        ),
        JSON,
    )
)
def test_whatever_a_request_holds_it_is_looked_for(body: dict[str, Any]) -> None:
    for url in (CHAT, RESPONSES, MESSAGES, GEMINI):
        assert isinstance(pool(recording()).answer(post(url, body), 1), (Found, Missed))
