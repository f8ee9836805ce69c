"""What a row tells of HTTP requests and model calls: what was asked and answered, as messages where a model was."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Ledger, load_cassette, replay
from pytest_statebase.cassette import write_http, write_record
from pytest_statebase.engine.web.talk import Reply, ToolUse, answer_of
from pytest_statebase.ledger import SessionCreated, TurnAdded, TurnStarted
from pytest_statebase.report.modelcalls import MESSAGE_LIMIT, asked_by, said_by
from pytest_statebase.report.page.limits import cut_values
from pytest_statebase.report.results import result_to_row
from pytest_statebase.wire.exchange import Exchange, Failure, Request, Response

CHAT, RESPONSES = "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/responses"
MESSAGES = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
STREAMED = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent"
LOOK = ToolUse("c1", "look", '{"id": 1}')
TOLD = Reply("r1", "m", "I look, and say so at some length.", (LOOK, ToolUse("c2", "look", "{}")), "tool_calls", (3, 4))
SAID = {
    "role": "assistant",
    "content": "I look, and say so at some length.",
    "tool_calls": [{"name": "look", "arguments": {"id": 1}}, {"name": "look", "arguments": {}}],
}


def post(url: str, body: Any) -> Request:
    return Request("POST", url, (("content-type", "application/json"),), json.dumps(body).encode())


def exchange(url: str, body: Any, answer: Any = None, turn: int = 1) -> Exchange:
    data = json.dumps({"ok": True} if answer is None else answer).encode()
    return Exchange(post(url, body), Response(200, "OK", (("content-type", "application/json"),), data), turn)


def modelled(body: dict[str, Any], text: str = "Hello") -> Exchange:
    request = post(CHAT, body)
    answer = answer_of(Reply("r1", "m", text, usage=(3, 4), created=5), request)
    assert answer is not None
    return Exchange(request, answer, 1)


def chat(*said: str, system: str = "Be kind.") -> dict[str, Any]:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]
    return {"model": "m", "messages": [{"role": "system", "content": system}, *messages]}


def send(url: str, body: Any) -> None:
    one = post(url, body)
    try:
        urllib.request.urlopen(urllib.request.Request(one.url, one.body, dict(one.headers))).read()
    except Exception:
        return


def row_of(path: Path, agent: Callable[..., str], exchanges: Sequence[Exchange], said: str = "done") -> Any:
    started = TurnStarted(1, {"type": "text", "content": "Hi"}, "2026-03-01T12:00:00Z")
    answered = TurnAdded({"type": "text", "content": said})
    write_record(path / "s.record.yaml", Ledger([SessionCreated("sess_1"), started, answered]))
    write_http(path / "s.http.yaml", exchanges)
    (path / "s.session.yaml").write_text("cassette: 1\n", encoding="utf-8")
    return result_to_row(replay(load_cassette(path / "s.session.yaml"), agent))


def requests_of(path: Path, agent: Callable[..., str], exchanges: Sequence[Exchange]) -> Any:
    """Those of a turn that says other words than recorded, so that its row is whole."""
    return row_of(path, agent, exchanges, "other words")["turns"][0]["requests"]


def test_a_model_call_as_it_was_recorded(tmp_path: Path) -> None:
    def agent(user_input: str) -> str:
        send(CHAT, chat("Hi"))
        return "done"

    (one,) = requests_of(tmp_path, agent, [modelled(chat("Hi"))])
    assert one["asked"] == {"model": "m", "system": "Be kind.", "messages": [{"role": "user", "content": "Hi"}]}
    assert one["answer"] == {"status": 200, "message": {"role": "assistant", "content": "Hello"}}
    assert "recorded" not in one


def test_a_prompt_that_moved_stands_beside_the_recorded_one(tmp_path: Path) -> None:
    def agent(user_input: str) -> str:
        send(CHAT, chat("Hi", system="Be brief."))
        return "done"

    (one,) = requests_of(tmp_path, agent, [modelled(chat("Bye", system="x")), modelled(chat("Hi"))])
    assert (one["recorded"]["system"], one["asked"]["system"]) == ("Be kind.", "Be brief.")
    assert one["recorded"]["messages"] == one["asked"]["messages"]
    assert one["answer"]["message"]["content"] == "Hello"


def test_a_request_that_differs_stands_beside_the_nearest(tmp_path: Path) -> None:
    def agent(user_input: str) -> str:
        send("http://api.example.com/refunds?dry=1", {"amount": 7})
        return "done"

    recorded = [exchange("http://api.example.com/refunds?dry=1", {"amount": 5}, {"id": "rf_1"})]
    (one,) = requests_of(tmp_path, agent, recorded)
    assert one["asked"] == {"query": {"dry": "1"}, "body": {"amount": 7}}
    assert one["recorded"] == {"query": {"dry": "1"}, "body": {"amount": 5}}
    assert one["answer"] == {"status": 200, "body": {"id": "rf_1"}}


def test_a_request_like_none_has_what_it_asked_alone(tmp_path: Path) -> None:
    def agent(user_input: str) -> str:
        send("http://api.example.com/refunds", {"amount": 7})
        return "done"

    (one,) = requests_of(tmp_path, agent, [])
    assert one["asked"] == {"body": {"amount": 7}}
    assert not {"recorded", "answer"} & set(one)


def test_what_a_call_before_had_said_is_not_told_again(tmp_path: Path) -> None:
    talks = [chat("Hi"), chat("Hi", "Hello", "And now?"), chat("Other")]

    def agent(user_input: str) -> str:
        for body in talks:
            send(CHAT, body)
        return "done"

    found = requests_of(tmp_path, agent, list(map(modelled, talks)))
    assert [len(one["asked"]["messages"]) for one in found] == [1, 2, 1]
    assert [one["asked"].get("earlier") for one in found] == [None, 1, None]
    assert found[1]["asked"]["messages"][-1] == {"role": "user", "content": "And now?"}


def test_secrets_of_bodies_are_no_part_of_a_row(tmp_path: Path) -> None:
    key = "sk-proj-" + "Ab3" * 16

    def agent(user_input: str) -> str:
        send("http://api.example.com/login", {"api_key": key, "note": f"with {key}"})
        return "done"

    row = row_of(tmp_path, agent, [], "other words")
    assert row["turns"][0]["requests"][0]["asked"]["body"].keys() == {"api_key", "note"}
    assert key not in json.dumps(row)


def test_a_turn_as_recorded_tells_writes_without_what_was_said(tmp_path: Path) -> None:
    def agent(user_input: str) -> str:
        send("http://api.example.com/refunds", {"amount": 5})
        return "done"

    row = row_of(tmp_path, agent, [exchange("http://api.example.com/refunds", {"amount": 5})])
    assert row["turns"][0]["verdict"] == "unchanged"
    assert row["turns"][0]["requests"] == [
        {"method": "POST", "address": "http://api.example.com/refunds", "source": "record"}
    ]


# --- Talks


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("url", [CHAT, RESPONSES, MESSAGES, GEMINI, STREAMED])
def test_answers_of_each_api_are_one_message(url: str, stream: bool) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "input": "Hi", "contents": []}
    request = post(url, {**body, "stream": stream})
    answer = answer_of(TOLD, request)
    assert isinstance(answer, Response)
    assert said_by(answer, request) == SAID


@pytest.mark.parametrize(
    "body",
    [b"", b"data: [DONE]", b'data: {"choices": 1}', b'data: {"choices": [{"delta": {"content": 5}}]}', b"\xff\x00",
     b'data: {"type": "content_block_delta"}', b'data: {"candidates": [null]}', b"[" * 5_000],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_an_answer_that_is_none_has_no_message(body: bytes, kind: str) -> None:
    assert said_by(Response(200, headers=(("content-type", kind),), body=body), post(CHAT, {})) is None


def test_of_a_long_talk_the_last_messages_are_there() -> None:
    told = asked_by(post(CHAT, chat(*(f"{at}" for at in range(50)))))
    assert told is not None
    assert (told["left"], len(told["messages"])) == (10, 40)
    assert told["messages"][-1]["content"] == "49"


def test_a_long_message_is_cut_and_says_its_size() -> None:
    told = asked_by(post(CHAT, chat("x" * 10_000)))
    assert told is not None
    cut = told["messages"][0]["!cut"]
    assert len(cut["head"]) == MESSAGE_LIMIT
    assert cut["size"] > 10_000


def test_a_page_of_many_sessions_cuts_messages_one_by_one() -> None:
    asked = {"messages": [{"role": "user", "content": "a" * 500}, {"role": "user", "content": "b"}]}
    turn = {"turn": 1, "input": "", "recorded": {}, "replayed": {}, "calls": [], "divergences": []}
    row: Any = {"turns": [{**turn, "requests": [{"method": "POST", "asked": asked, "answer": {"status": 200}}]}]}
    found = cut_values(row, 300)["turns"][0]["requests"][0]
    first, second = found["asked"]["messages"]
    assert len(first["!cut"]["head"]) == 300
    assert second == {"role": "user", "content": "b"}
    assert found["answer"] == {"status": 200}


def test_what_never_came_back_says_how(tmp_path: Path) -> None:
    def agent(user_input: str) -> str:
        send("http://api.example.com/job", {})
        return "done"

    failed = Exchange(post("http://api.example.com/job", {}), Failure("timeout", "too slow"), 1)
    (one,) = requests_of(tmp_path, agent, [failed])
    assert one["answer"] == {"failed": "timeout", "message": "too slow"}
