"""Agents that are services: what is sent, what is read, how they fail."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pytest_statebase import (
    Cassette,
    Ledger,
    ServiceAnswer,
    asgi_agent,
    http_agent,
    record_session,
    replay,
    replay_async,
)
from pytest_statebase.errors import AgentError, ToolError

LIVE: list[str] = []
EVENTS: list[str] = []


def look_up(order: str) -> str:
    LIVE.append(order)
    return f"order {order}"


def look_up_more(order: str) -> str:
    return look_up(order)


TOOLS = [f"{__name__}:look_up"]


async def read_body(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message["body"]
        if not message["more_body"]:
            return body


async def respond(send: Any, status: int, *chunks: bytes, kind: bytes = b"application/json") -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
    for chunk in chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Sends back what it got. It knows no lifespan."""
    assert scope["type"] == "http"
    body = await read_body(receive)
    got = {
        "path": scope["path"],
        "query": scope["query_string"].decode(),
        "method": scope["method"],
        "headers": {name.decode(): value.decode() for name, value in scope["headers"]},
        "body": json.loads(body) if body else None,
    }
    whole = json.dumps(got).encode()
    await respond(send, 200, whole[:10], whole[10:])


def answered(agent: Any, said: str = "hi", **how: Any) -> Any:
    """What a service answers to one turn, its error if it has one."""
    turn = record_session(agent, [said], session_id="sess/1", **how).turns[0]
    return turn.error if turn.error is not None else turn.output["content"]


def test_placeholders_keep_their_type_where_they_stand_alone() -> None:
    body = {"said": "{input}", "deep": [{"state": "{state}", "turn": "{turn}"}], "text": "{turn}: {input} {x}", "n": 1}
    got = answered(asgi_agent(echo, body=body), state={"cart": [1]})
    assert got["body"] == {
        "said": "hi",
        "deep": [{"state": {"cart": [1]}, "turn": 1}],
        "text": "1: hi {x}",
        "n": 1,
    }
    assert got["headers"]["content-type"] == "application/json"
    assert got["headers"]["host"] == "agent.test"


def test_path_query_headers_and_method() -> None:
    agent = asgi_agent(
        echo,
        path="/größe/{session_id}?q={input}&n=1",
        body=None,
        headers={"X-Session": "{session_id}"},
        method="GET",
    )
    got = answered(agent, "a b&c")
    assert (got["path"], got["query"], got["method"]) == ("/größe/sess/1", "q=a%20b%26c&n=1", "GET")
    assert (got["headers"]["x-session"], got["body"]) == ("sess/1", None)


def test_messages_are_those_of_the_session() -> None:
    agent = asgi_agent(echo, body={"messages": "{messages}"}, reply="body.messages[0].content")
    ledger = record_session(agent, ["one", "two"], session_id="s")
    assert [turn.output["content"] for turn in ledger.turns] == ["one", "one"]


def test_body_and_reply_may_be_functions() -> None:
    def body(user_input: str, turn: int) -> dict[str, Any]:
        return {"q": f"{turn}:{user_input}"}

    def reply(answer: ServiceAnswer) -> str:
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        return str(answer.json()["body"]["q"] + answer.text[:1])

    assert answered(asgi_agent(echo, body=body, reply=reply)) == "1:hi{"
    raw = asgi_agent(echo, body=lambda user_input: json.dumps([user_input]), reply="body[0]")
    assert answered(raw) == "hi"


def test_the_state_comes_from_the_answer() -> None:
    agent = asgi_agent(echo, body={"s": {"n": "{turn}"}}, reply="path", state="body.s")
    ledger = record_session(agent, ["a", "b"], session_id="s", state={})
    assert ledger.state == {"n": 2}
    assert replay(Cassette.from_ledger(ledger), agent).verdicts == {"unchanged": 2}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"body": {"a": "{sesion_id}"}}, "'{sesion_id}' stands for nothing"),
        ({"path": "chat"}, "'chat' is no path of a service"),
        ({"reply": "a..b"}, "'a..b' is no path into the answer"),
        ({"body": lambda text: text}, "asks for text"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(how: dict[str, Any], said: str) -> None:
    with pytest.raises(AgentError, match=said.replace("{", "[{]")):
        asgi_agent(echo, **how)


def test_an_address_must_be_one() -> None:
    with pytest.raises(AgentError, match="no address of a service"):
        http_agent("localhost:8000/chat")


async def moody(scope: Any, receive: Any, send: Any) -> None:
    assert scope["type"] == "http"
    said = json.loads(await read_body(receive))["input"]
    if said == "raise":
        raise KeyError("boom")
    if said == "nothing":
        return
    await respond(send, int(said), b"sorry\n" * 100, kind=b"text/plain")


def test_failures_are_failures_of_the_turn() -> None:
    agent = asgi_agent(moody, path="/chat")
    error = answered(agent, "503")
    assert error["message"].startswith("POST /chat answered 503: sorry sorry")
    assert len(error["message"]) < 350
    assert answered(agent, "raise")["type"] == "KeyError"
    assert answered(agent, "nothing")["message"] == "POST /chat had no answer: the application returned without one"
    assert answered(agent, "200") == "sorry\n" * 100
    missing = answered(asgi_agent(echo, reply="body.text"))
    assert missing["message"].startswith("POST / answered without reply at `body.text`: {")


def test_a_recorded_failure_is_no_divergence_and_a_new_one_is_an_error() -> None:
    agent = asgi_agent(moody)
    cassette = Cassette.from_ledger(record_session(agent, ["503", "200"], session_id="s"))
    assert replay(cassette, agent).verdicts == {"unchanged": 2}
    worse = asgi_agent(moody, body={"input": "500"})
    assert [turn.verdict for turn in replay(cassette, worse, mode="isolated").turns] == ["changed", "error"]


class Shop:
    """With a lifespan, state, a tool in the loop and one in a thread."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.live(scope, receive, send)
            return
        order = json.loads(await read_body(receive))["input"]
        found = [look_up(order), await asyncio.to_thread(look_up_more, order)]
        await respond(send, 200, json.dumps({"found": found, "since": scope["state"]["since"]}).encode())

    async def live(self, scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "lifespan.startup"
        scope["state"]["since"] = "start"
        EVENTS.append("start")
        await send({"type": "lifespan.startup.complete"})
        assert (await receive())["type"] == "lifespan.shutdown"
        await asyncio.sleep(0.01)
        EVENTS.append("stop")
        await send({"type": "lifespan.shutdown.complete"})


@pytest.fixture
def recorded() -> Ledger:
    ledger = record_session(asgi_agent(Shop()), ["1047", "2093"], session_id="s", tools=TOOLS)
    LIVE.clear()
    EVENTS.clear()
    return ledger


def test_tools_in_the_service_are_stubbed_and_its_lifespan_is_kept(recorded: Ledger) -> None:
    assert [call.arguments for call in recorded.turns[0].calls] == [{"order": "1047"}] * 2
    agent = asgi_agent(Shop())
    assert replay(Cassette.from_ledger(recorded), agent, tools=TOOLS).verdicts == {"unchanged": 2}
    assert (LIVE, EVENTS) == ([], ["start", "stop"])
    replay(Cassette.from_ledger(recorded), agent, tools=TOOLS)
    assert EVENTS == ["start", "stop"] * 2


def test_a_tool_that_nobody_named_is_not_run_live(recorded: Ledger) -> None:
    with pytest.raises(ToolError, match="look_up is a tool of the recording"):
        replay(Cassette.from_ledger(recorded), asgi_agent(Shop()))


def test_a_service_hides_no_miss(recorded: Ledger) -> None:
    class Careful(Shop):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            try:
                if scope["type"] == "http":
                    look_up("9999")
                await super().__call__(scope, receive, send)
            except BaseException:
                await respond(send, 200, b'{"found": []}')

    result = replay(Cassette.from_ledger(recorded), asgi_agent(Careful()), tools=TOOLS)
    assert result.turns[0].verdict == "unrecorded"
    assert LIVE == []


@pytest.mark.asyncio
async def test_within_a_running_loop(recorded: Ledger) -> None:
    result = await replay_async(Cassette.from_ledger(recorded), asgi_agent(Shop()), tools=TOOLS)
    assert result.verdicts == {"unchanged": 2}


def test_a_start_that_fails_ends_the_recording() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        raise RuntimeError("no database")

    with pytest.raises(AgentError, match="did not start: RuntimeError: no database"):
        record_session(asgi_agent(broken), ["hi"], session_id="s")


# --- at an address -----------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None: ...

    def handle(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # a client that was tired of waiting
            super().handle()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked["input"] == "slow":
            self.server.over.wait(5)  # type: ignore[attr-defined]
        self.send_response(500 if asked["input"] == "500" else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"path": self.path, **asked}).encode())


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.over = threading.Event()  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.over.set()  # type: ignore[attr-defined]
        server.shutdown()


def test_a_service_at_an_address_is_reached_in_replays(address: str) -> None:
    agent = http_agent(f"{address}/chat/{{turn}}?a=1", reply="path")
    ledger = record_session(agent, ["hi", "you"], session_id="s")
    assert [turn.output["content"] for turn in ledger.turns] == ["/chat/1?a=1", "/chat/2?a=1"]
    assert replay(Cassette.from_ledger(ledger), agent).verdicts == {"unchanged": 2}


def test_its_failures(address: str) -> None:
    assert answered(http_agent(f"{address}/chat"), "500")["message"].startswith(f"POST {address}/chat answered 500: {{")
    assert "had no answer: TimeoutError" in answered(http_agent(f"{address}/chat", timeout=0.2), "slow")["message"]
    gone = http_agent("http://127.0.0.1:1/chat")
    assert "had no answer: ConnectionRefusedError" in answered(gone)["message"]
