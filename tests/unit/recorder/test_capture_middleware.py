"""An ASGI application in the middleware: its requests are turns, and nothing else is another."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from capturing import Listed, listed

from pytest_statebase import CaptureMiddleware, asgi_agent, replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.errors import AgentError
from pytest_statebase.events import TurnAdded, TurnStarted
from pytest_statebase.ledger import Ledger, SessionCreated, SessionEnded
from pytest_statebase.recorder import middleware
from pytest_statebase.recorder.capture import Recording, capture
from pytest_statebase.values import ABSENT
from tests import toy

TOOLS = ["tests.toy:price"]


@pytest.fixture
def journal() -> Iterator[Listed]:
    found, recording = listed(TOOLS)
    with recording:
        yield found


async def _body(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def _send(send: Any, status: int, *parts: bytes, kind: bytes = b"application/json", more: Any = ()) -> None:
    headers = [(b"content-type", kind), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for number, part in enumerate(parts):
        await send({"type": "http.response.body", "body": part, "more_body": number + 1 < len(parts)})


async def shop(scope: Any, receive: Any, send: Any) -> None:
    """Says what things cost."""
    assert scope["type"] == "http"
    asked = json.loads(await _body(receive))
    if asked["input"] == "raise":
        raise KeyError("boom")
    if asked["input"] == "503":
        await _send(send, 503, b"sorry", kind=b"text/plain")
        return
    found = toy.price(asked["input"])
    await _send(send, 200, json.dumps({"reply": {"text": f"{found['price']} a piece"}}).encode())


def scope_of(path: str = "/", method: str = "POST", query: bytes = b"", headers: Any = ()) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


class Call:
    """One request with the messages that it exchanges."""

    def __init__(self, scope: dict[str, Any], *bodies: bytes) -> None:
        self.scope = scope
        self.messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": body, "more_body": number + 1 < len(bodies)}
            for number, body in enumerate(bodies or (b"",))
        ]
        self._left = iter(self.messages)
        self.sent: list[Any] = []

    async def receive(self) -> Any:
        return next(self._left, {"type": "http.disconnect"})

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    def through(self, app: Any) -> Call:
        asyncio.run(app(self.scope, self.receive, self.send))
        return self

    @property
    def body(self) -> bytes:
        return b"".join(one.get("body", b"") for one in self.sent)


def ask(app: Any, said: Any, session: str = "s", **how: Any) -> Call:
    return Call(scope_of(**how), json.dumps({"input": said, "session_id": session}).encode()).through(app)


def inputs(journal: Listed) -> list[Any]:
    started = [turn.events[0] for turn in journal.turns()]
    return [
        one.input and one.input["content"]
        for one in started
        if isinstance(one, TurnStarted) and isinstance(one.input, dict)
    ]


def test_a_request_is_a_turn_of_its_session(journal: Listed) -> None:
    app = CaptureMiddleware(shop, reply="reply.text")

    ask(app, "apple", "a")
    ask(app, "fig", "b")
    ask(app, "fig", "a")

    assert journal.outputs("a") == ["5 a piece", "3 a piece"]
    assert inputs(journal) == ["apple", "fig", "fig"]
    assert [call.arguments for call in journal.calls("b")] == [{"item": "fig"}]


def test_the_same_settings_replay_what_was_captured(journal: Listed) -> None:
    how: Any = {"reply": "reply.text"}
    app = CaptureMiddleware(shop, **how)
    for said in ("apple", "503"):
        ask(app, said)
    with pytest.raises(KeyError):
        ask(app, "raise")
    events: list[Any] = [event for turn in journal.turns() for event in turn.events]
    ledger = Ledger([SessionCreated("s"), *events, SessionEnded("completed")])

    result = replay(Cassette.from_ledger(ledger), asgi_agent(app, **how), tools=TOOLS)

    assert result.verdicts == {"unchanged": 3}
    assert [turn.error and turn.error["type"] for turn in ledger.turns] == [
        None,
        "pytest_statebase.engine.answer:ServiceError",
        "KeyError",
    ]


def test_the_application_gets_and_sends_the_very_messages(journal: Listed) -> None:
    got: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        got.append(scope)
        for _ in range(3):
            got.append(await receive())
        await _send(send, 200, b"{}", b"")

    call = Call(scope_of(), b'{"input": "x", ', b'"session_id": "s"}').through(CaptureMiddleware(app))
    assert got[0] is call.scope
    assert got[1] is call.messages[0]
    assert got[2] is call.messages[1]
    assert got[3] == {"type": "http.disconnect"}
    assert inputs(journal) == ["x"]


def test_chunks_pass_one_by_one(journal: Listed) -> None:
    passed: list[int] = []
    call = Call(scope_of(), b'{"input": "x", "session_id": "s"}')

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)

        async def noting(message: Any) -> None:
            await send(message)
            passed.append(len(call.sent))

        await _send(noting, 200, b"data: a\n\n", b"data: b\n\n", b"", kind=b"text/event-stream")

    call.through(CaptureMiddleware(app))
    assert passed == [1, 2, 3, 4]
    assert journal.outputs() == ["data: a\n\ndata: b\n\n"]


SSE = [
    b'data: {"delta": "Hel',
    b'lo "}\n\n: ping\n\ndata: {"delta": null}\n\nevent: x\r\ndata: {"delta": "you"}\r\n\r\n',
]


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (b"text/event-stream; charset=utf-8", [*SSE, b"data: [DONE]\n\n"]),
        (b"application/x-ndjson", [b'{"delta": "Hello "}\n{"other": 1}\n{"del', b'ta": "you"}\n']),
    ],
)
def test_the_texts_of_a_stream_are_one_reply_in_both(journal: Listed, kind: bytes, parts: list[bytes]) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await _send(send, 200, *parts, kind=kind)

    wrapped = CaptureMiddleware(app, reply="delta")
    ask(wrapped, "hi")
    assert journal.outputs() == ["Hello you"]
    events: list[Any] = list(journal.turns()[0].events)
    cassette = Cassette.from_ledger(Ledger([SessionCreated("s"), *events, SessionEnded("completed")]))
    assert replay(cassette, asgi_agent(app, reply="delta")).verdicts == {"unchanged": 1}


def test_encoded_answers_are_read(journal: Listed) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await _send(send, 200, gzip.compress(b'{"a": "b"}'), more=[(b"content-encoding", b"gzip")])

    assert gzip.decompress(ask(CaptureMiddleware(app, reply="a"), "hi").body) == b'{"a": "b"}'
    assert journal.outputs() == ["b"]


MULTIPART = (
    b'--xx\r\ncontent-disposition: form-data; name="message"\r\n\r\nhi\r\n'
    b'--xx\r\ncontent-disposition: form-data; name="sid"\r\n\r\ns1\r\n--xx--\r\n'
)
FORM = [(b"content-type", b"application/x-www-form-urlencoded")]
PLACES: dict[str, tuple[dict[str, Any], dict[str, Any], bytes]] = {
    "pointers": (
        {"session": "header.x-session-id", "input": "body.message"},
        {"headers": [(b"X-Session-Id", b"s1")]},
        b'{"message": "hi"}',
    ),
    "cookie and query": (
        {"session": "cookie.sid", "input": "query.q", "method": "GET"},
        {"headers": [(b"cookie", b'a=b; sid="s1"')], "query": b"q=hi", "method": "GET"},
        b"",
    ),
    "form": ({"session": "body.sid", "input": "body.message"}, {"headers": FORM}, b"message=hi&sid=s1"),
    "multipart": (
        {"session": "body.sid", "input": "body.message"},
        {"headers": [(b"content-type", b"multipart/form-data; boundary=xx")]},
        MULTIPART,
    ),
    "text": ({"session": "query.sid", "input": "body"}, {"query": b"sid=s1"}, b"hi"),
    "functions": (
        {"session": lambda request: request.header("x-s"), "input": lambda request: request.body.decode()},
        {"headers": [(b"x-s", b"s1")]},
        b"hi",
    ),
    "settings of asgi_agent": (
        {
            "path": "/v1/{session_id}/chat?n=1",
            "body": {"a": [{"b.c": "{input}"}], "n": 1},
        },
        {"path": "/v1/s1/chat", "query": b"n=1"},
        b'{"a": [{"b.c": "hi"}], "n": 1}',
    ),
    "its headers and query": (
        {"path": "/chat?q={input}", "body": None, "headers": {"X-S": "{session_id}"}, "method": "GET"},
        {"path": "/chat", "query": b"q=hi", "headers": [(b"x-s", b"s1")], "method": "GET"},
        b"",
    ),
    "messages": (
        {"body": {"messages": "{messages}", "thread": "{session_id}"}},
        {},
        b'{"thread": "s1", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]}',
    ),
    "any of several paths": (
        {"path": ["/a", "/v*/chat/*"]},
        {"path": "/v2/chat/x"},
        b'{"input": "hi", "session_id": "s1"}',
    ),
}


@pytest.mark.parametrize(("how", "request_", "body"), PLACES.values(), ids=PLACES)
def test_where_requests_have_it(journal: Listed, how: Any, request_: Any, body: bytes) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await _send(send, 200, b'"yes"')

    Call(scope_of(**request_), body).through(CaptureMiddleware(app, **how))

    assert [turn.session for turn in journal.turns()] == ["s1"]
    assert (inputs(journal), journal.outputs()) == (["hi"], ["yes"])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"session": "bdy.x"}, "'bdy.x' names no place in a request"),
        ({"input": "header"}, "'header' names no place in a request"),
        ({"input": "body.a..b"}, "'body.a..b' names no place in a request"),
        ({"path": "chat"}, "'chat' is no path of a service"),
        ({"reply": "a..b"}, "'a..b' is no path into the answer"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(how: dict[str, Any], said: str) -> None:
    with pytest.raises(AgentError, match=said):
        CaptureMiddleware(shop, **how)


@pytest.mark.parametrize(
    "scope", [{"type": "websocket", "path": "/"}, {"type": "lifespan"}, scope_of("/other"), scope_of(method="PUT")]
)
def test_everything_else_passes_untouched(journal: Listed, scope: Any) -> None:
    got: list[Any] = []

    async def app(*given: Any) -> None:
        got.extend(given)

    call = Call(scope)
    asyncio.run(CaptureMiddleware(app)(scope, call.receive, call.send))

    assert got == [scope, call.receive, call.send]
    assert journal.frames == []


def test_nothing_happens_without_a_recording() -> None:
    got: list[Any] = []

    async def app(*given: Any) -> None:
        got.extend(given)

    call = Call(scope_of())
    asyncio.run(CaptureMiddleware(app)(call.scope, call.receive, call.send))
    assert got == [call.scope, call.receive, call.send]


def test_a_request_without_the_users_words_is_no_turn(journal: Listed) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await _send(send, 200, b"{}")

    wrapped = CaptureMiddleware(app)
    for body in (b"", b"[1", b'{"session_id": "s"}', b"\xff\xfe", b'{"input": ' + b"[" * 100_000):
        assert Call(scope_of(), body).through(wrapped).body == b"{}"
    assert (journal.frames, journal.troubles) == ([], ["request"] * 5)


def test_an_answer_that_is_too_long_or_a_file(journal: Listed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MOST", 100)

    async def long(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await _send(send, 200, b"x" * 99, b"x" * 99, kind=b"text/plain")

    async def file(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.pathsend", "path": "/tmp/x"})

    assert ask(CaptureMiddleware(long), "hi").body == b"x" * 198
    assert ask(CaptureMiddleware(file), "hi").sent[-1]["type"] == "http.response.pathsend"
    assert (journal.outputs(), journal.troubles) == ([ABSENT, ABSENT], ["reply", "reply"])


def test_an_agent_that_speaks_first(journal: Listed) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await _send(send, 200, b'"welcome"')

    ask(CaptureMiddleware(app), None)
    assert journal.outputs() == ["welcome"]
    assert isinstance(journal.turns()[0].events[0], TurnStarted)
    assert journal.turns()[0].events[0].input is None


def test_what_goes_wrong_here_reaches_nobody(journal: Listed) -> None:
    def wrong(*_: Any) -> Any:
        raise RuntimeError("ours")

    places: Any = {"session": wrong}, {"input": wrong}, {"reply": wrong}
    for how in places:
        assert ask(CaptureMiddleware(shop, **how), "fig").body == b'{"reply": {"text": "3 a piece"}}'


def test_work_after_the_answer_belongs_to_the_turn(journal: Listed) -> None:
    call = Call(scope_of(), b'{"input": "x", "session_id": "s"}')

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await _send(send, 200, b'"ok"')
        assert len(call.sent) == 2
        toy.price("fig")

    call.through(CaptureMiddleware(app))
    assert [one.arguments for one in journal.calls()] == [{"item": "fig"}]


def test_a_request_that_is_cancelled_is_interrupted(journal: Listed) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await asyncio.sleep(60)

    async def main() -> None:
        call = Call(scope_of(), b'{"input": "x", "session_id": "s"}')
        task = asyncio.ensure_future(CaptureMiddleware(app)(call.scope, call.receive, call.send))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    added = journal.turns()[0].events[-1]
    assert isinstance(added, TurnAdded)
    assert added.interrupted


def test_an_entry_point_inside_is_no_turn_of_its_own(journal: Listed) -> None:
    @capture.agent
    def answer(session_id: str, user_input: str) -> str:
        return str(toy.price(user_input)["price"])

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked = json.loads(await _body(receive))
        found = await asyncio.to_thread(answer, "another", asked["input"])
        await _send(send, 200, json.dumps(found).encode())

    ask(CaptureMiddleware(app), "fig")
    assert [(turn.session, len(turn.events)) for turn in journal.turns()] == [("s", 3)]


def test_an_entry_point_is_a_turn_where_the_request_is_none(journal: Listed) -> None:
    @capture.agent
    def answer(session_id: str, user_input: str) -> str:
        return str(toy.price(user_input)["price"])

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await _body(receive)
        await _send(send, 200, json.dumps(answer("own", "fig")).encode())

    Call(scope_of(), b"nothing that is known").through(CaptureMiddleware(app))
    assert [(turn.session, len(turn.events)) for turn in journal.turns()] == [("own", 3)]


def _task(app: Any) -> Any:
    """A middleware of a framework, which runs what is inside in a task of its own."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.ensure_future(app(scope, receive, send))

    return wrapped


@pytest.mark.parametrize("around", [_task, lambda app: app])
def test_many_requests_at_once(journal: Listed, around: Callable[[Any], Any]) -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        asked = json.loads(await _body(receive))
        await asyncio.sleep(0.001)
        found = await asyncio.to_thread(toy.price, asked["input"])
        await _send(send, 200, json.dumps({"price": str(found["price"])}).encode())

    app = CaptureMiddleware(around(slow), reply="price")

    async def main() -> None:
        calls = [
            Call(scope_of(), json.dumps({"input": ("apple", "fig")[number % 2], "session_id": f"s{number}"}).encode())
            for number in range(40)
        ]
        await asyncio.gather(*(app(one.scope, one.receive, one.send) for one in calls))

    asyncio.run(main())
    found = {
        turn.session: (journal.calls(turn.session)[0].arguments["item"], journal.outputs(turn.session))
        for turn in journal.turns()
    }
    assert found == {f"s{number}": (("apple", ["5"]), ("fig", ["3"]))[number % 2] for number in range(40)}


def test_a_recording_that_is_named_is_the_one() -> None:
    first, recording = listed()
    second, other = listed()
    chosen: Recording = recording
    with recording, other:
        ask(CaptureMiddleware(shop, recording=chosen), "fig")
    ask(CaptureMiddleware(shop, recording=chosen), "fig")
    assert (len(first.turns()), len(second.turns())) == (1, 0)


def test_frameworks() -> None:
    from starlette.applications import Starlette
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import JSONResponse, StreamingResponse
    from starlette.routing import Route
    from starlette.testclient import TestClient

    def chat(said: str) -> str:
        return str(toy.price(said)["price"])

    async def endpoint(request: Any) -> Any:
        asked = await request.json()
        if asked.get("stream"):

            async def pieces() -> Any:
                for letter in chat(asked["input"]) + "!":
                    yield f"data: {json.dumps({'text': letter})}\n\n"

            return StreamingResponse(pieces(), media_type="text/event-stream")
        return JSONResponse({"text": await asyncio.to_thread(chat, asked["input"])})

    async def through(request: Any, call_next: Any) -> Any:
        return await call_next(request)

    app = Starlette(routes=[Route("/chat", endpoint, methods=["POST"])])
    app.add_middleware(BaseHTTPMiddleware, dispatch=through)
    app.add_middleware(CaptureMiddleware, path="/chat", reply="text")
    journal, recording = listed(TOOLS)
    with recording, TestClient(app) as client:
        assert client.post("/chat", json={"input": "fig", "session_id": "s"}).json() == {"text": "3"}
        assert client.post("/chat", json={"input": "apple", "session_id": "s", "stream": 1}).text.count("data:") == 2

    assert journal.outputs("s") == ["3", "5!"]
    assert [one.arguments["item"] for one in journal.calls("s")] == ["fig", "apple"]
