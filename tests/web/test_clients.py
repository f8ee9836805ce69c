"""Every client is answered without a socket, and heard while it is live."""

from __future__ import annotations

import gc
import gzip
import json
import re
import socket
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp.compression_utils
import brotli
import pytest
import zstandard

from pytest_statebase.wire import guard
from pytest_statebase.wire.doors import Door, Live
from pytest_statebase.wire.exchange import Answer, Failure, Request, Response
from pytest_statebase.wire.intercept import intercepted
from pytest_statebase.wire.tee import UNREAD
from tests.web.http_clients import CLIENTS, EVERY, Client
from tests.web.http_server import chunks, plain, serving

AWAY = "https://api.example.invalid"
EVENTS = [b"data: one\n\n", b"event: x\r\ndata: two\r\n\r\n", b": ping\n\n", b"data: three\n\n"]
SSE = (("content-type", "text/event-stream; charset=utf-8"),)
every_client = pytest.mark.parametrize("client", EVERY, ids=repr)
# httpx leaves its own generators behind, of which trio warns, whoever is there.
early = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
each_client = pytest.mark.parametrize("client", CLIENTS, ids=repr)


class Heard:
    """A door that lets everything go live, and keeps what it is told."""

    def __init__(self, waits: list[float | None] | None = None) -> None:
        self.asked: list[Request] = []
        self.done: list[Answer] = []
        self.tries: list[tuple[Answer, int]] = []
        self._waits = iter(waits or [])

    def __call__(self, request: Request) -> Live:
        self.asked.append(request)
        return Live(self.done.append, self._again)

    def _again(self, answer: Answer, tries: int) -> float | None:
        self.tries.append((answer, tries))
        return next(self._waits, None)

    @property
    def response(self) -> Response:
        """The only answer that was told."""
        gc.collect()
        (found,) = self.done
        assert isinstance(found, Response)
        return found


def _refuse(attempt: guard.Attempt) -> bool:
    raise AssertionError(f"a socket was opened: {attempt}")


@contextmanager
def answered_by(door: Door) -> Iterator[None]:
    """Doors decide, and no socket may be opened."""
    with guard.guarded(_refuse), intercepted(lambda: door):
        yield


def answering(answer: Answer) -> Door:
    return lambda request: answer


@every_client
def test_an_answer_needs_no_socket(client: Client) -> None:
    asked = []

    def door(request: Request) -> Answer:
        asked.append(request)
        return Response(201, "Made", (("Content-Type", "application/json"), ("X-It", "ö")), b'{"a": 1}')

    with answered_by(door):
        reply = client.call(f"{AWAY}/v1/things?b=2&a=%20", "POST", b'{"x": 1}', {"X-Mine": "yes"}.items())

    assert (reply.status, json.loads(reply.body)) == (201, {"a": 1})
    assert reply.headers["content-length"] == "8"
    assert [(one.method, one.url, one.body) for one in asked] == [
        ("POST", f"{AWAY}/v1/things?b=2&a=%20", b'{"x": 1}'),
    ]
    assert asked[0].header("x-mine") == "yes"


@every_client
def test_nothing_stands_in_the_way_without_a_door(client: Client) -> None:
    with serving(lambda got: plain(b"here")) as server, intercepted(lambda: None):
        assert client.call(f"{server.url}/x").body == b"here"


@every_client
@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_a_body(client: Client, status: int) -> None:
    with answered_by(answering(Response(status, "", (("etag", '"1"'),)))):
        reply = client.call(f"{AWAY}/x")

    assert (reply.status, reply.headers["etag"], reply.body) == (status, '"1"', b"")


@every_client
def test_head_keeps_the_length_that_it_speaks_of(client: Client) -> None:
    heard = Heard()
    with serving(lambda got: [b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n"]) as server, intercepted(lambda: heard):
        live = client.call(f"{server.url}/x", "HEAD")
    with answered_by(answering(heard.response)):
        again = client.call(f"{server.url}/x", "HEAD")

    assert heard.response.cut is None
    assert (live.headers["content-length"], again.headers["content-length"]) == ("500", "500")
    assert again.body == b""


@each_client
def test_events_come_one_by_one(client: Client) -> None:
    got: list[bytes] = []
    with answered_by(answering(Response(200, "OK", SSE, b"".join(EVENTS)))):
        client.read("http://api.example.invalid/sse", lambda chunk: got.append(chunk) is None)

    assert b"".join(got) == b"".join(EVENTS)
    if not client.name.startswith(("aiohttp", "http.client", "urllib-")):
        assert got == EVENTS or len(got) == 1


@each_client
def test_a_stream_that_was_cut_stays_cut(client: Client) -> None:
    got: list[bytes] = []
    body = b"".join(EVENTS[:2]) + b"data: thr"
    with answered_by(answering(Response(200, "OK", SSE, body, cut="gone"))), pytest.raises(client.cut):
        client.read("http://api.example.invalid/sse", lambda chunk: got.append(chunk) is None)

    assert b"".join(got) == body


@each_client
def test_a_live_stream_comes_as_it_is_sent(client: Client) -> None:
    heard, seen = Heard(), threading.Event()
    got: list[bytes] = []

    def take(chunk: bytes) -> bool:
        got.append(chunk)
        if b"one" in chunk:
            seen.set()
        return True

    def wait() -> None:
        assert seen.wait(10)

    with serving(lambda _: chunks(EVENTS[0], wait, *EVENTS[1:])) as server, intercepted(lambda: heard):
        client.read(f"{server.url}/sse", take)

    assert got[0] == EVENTS[0]
    assert b"".join(got) == heard.response.body == b"".join(EVENTS)
    assert heard.response.cut is None
    assert heard.response.header("content-type") == "text/event-stream"
    assert heard.response.header("transfer-encoding") is None


@each_client
def test_a_live_stream_that_is_cut(client: Client) -> None:
    heard = Heard()
    got: list[bytes] = []
    with serving(lambda _: chunks(EVENTS[0], None)) as server, intercepted(lambda: heard), pytest.raises(client.cut):
        client.read(f"{server.url}/sse", lambda chunk: got.append(chunk) is None)

    assert heard.response.body == EVENTS[0]
    assert heard.response.cut not in (None, UNREAD)


@early
@each_client
def test_a_client_that_reads_no_further(client: Client) -> None:
    heard, over = Heard(), threading.Event()

    def wait() -> None:
        over.wait(10)

    with serving(lambda _: chunks(EVENTS[0], wait, EVENTS[1])) as server, intercepted(lambda: heard):
        client.read(f"{server.url}/sse", lambda chunk: False)
        over.set()

    assert (heard.response.body, heard.response.cut) == (EVENTS[0], UNREAD)


@early
@each_client
def test_a_client_that_stops_at_the_last_event_has_read_it_all(client: Client) -> None:
    heard, over = Heard(), threading.Event()

    def wait() -> None:
        over.wait(10)

    with serving(lambda _: chunks(b"data: [DONE]\n\n", wait)) as server, intercepted(lambda: heard):
        client.read(f"{server.url}/sse", lambda chunk: False)
        over.set()

    assert heard.response.cut is None


ENCODERS = {
    "identity": lambda body: body,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
HAS_ZSTD = aiohttp.compression_utils.HAS_ZSTD
LONG = json.dumps({"text": "täxt " * 5000}).encode()


@every_client
@pytest.mark.parametrize("encoding", ENCODERS)
def test_what_is_kept_is_decoded_and_answers_every_client(client: Client, encoding: str) -> None:
    if encoding == "zstd" and client.name == "aiohttp" and not HAS_ZSTD:
        pytest.skip("aiohttp needs backports.zstd for this")
    heard, sent = Heard(), ENCODERS[encoding](LONG)
    headers = {"Accept-Encoding": encoding}.items()
    with (
        serving(lambda _: plain(sent, f"content-encoding: {encoding}", "x-a: 1")) as server,
        intercepted(lambda: heard),
    ):
        client.call(f"{server.url}/x", headers=headers)

    kept = heard.response
    assert (kept.body, kept.cut, kept.header("content-encoding"), kept.header("x-a")) == (LONG, None, None, "1")
    assert kept.header("content-length") in (str(len(LONG)), None)
    with answered_by(answering(kept)):
        others = EVERY if encoding == "gzip" else [CLIENTS[0]]
        assert [other.call(f"{AWAY}/x").body == LONG for other in others] == [True] * len(others)


@each_client
def test_a_refused_connection_is_told_and_replays_as_one(client: Client) -> None:
    heard = Heard()
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with intercepted(lambda: heard), pytest.raises(client.refused) as live:
        client.call(f"http://127.0.0.1:{port}/x")

    (failure,) = heard.done
    assert isinstance(failure, Failure)
    assert failure.kind == "connect"
    with answered_by(answering(failure)), pytest.raises(client.refused) as again:
        client.call(f"http://127.0.0.1:{port}/x")
    assert type(again.value) is type(live.value)


@each_client
@pytest.mark.parametrize("kind", ["timeout", "closed"])
def test_other_failures_are_the_clients_own(client: Client, kind: Any) -> None:
    with answered_by(answering(Failure(kind, "so it was"))), pytest.raises(Exception) as caught:
        client.call(f"{AWAY}/x", "POST", b"x")

    assert not isinstance(caught.value, (AttributeError, TypeError, AssertionError))
    names = " ".join(one.__name__ for one in type(caught.value).__mro__)
    assert re.search("Timeout" if kind == "timeout" else "ProtocolError|ConnectionError|Disconnected", names)


@each_client
def test_a_server_that_answers_nothing_is_told(client: Client) -> None:
    heard = Heard()
    with serving(lambda _: [None]) as server, intercepted(lambda: heard), pytest.raises(Exception):  # noqa: B017
        client.call(f"{server.url}/x", "POST", b"x")

    assert [type(one) is Failure and one.kind for one in heard.done] == ["closed"]


@every_client
def test_once_more_where_the_door_says_so(client: Client) -> None:
    heard = Heard([0.01, 0.01])
    answers = iter([plain(b"slow", "retry-after: 1", status="429 Slow"), plain(b"", status="500 Oh"), plain(b"now")])
    with serving(lambda _: next(answers)) as server, intercepted(lambda: heard):
        reply = client.call(f"{server.url}/x", "POST", b"body")

    assert (reply.status, reply.body, heard.response.body) == (200, b"now", b"now")
    assert [(tries, answer.status) for answer, tries in heard.tries if isinstance(answer, Response)] == [
        (1, 429),
        (2, 500),
        (3, 200),
    ]
    assert [got.body for got in server.got] == [b"body"] * 3
    assert heard.tries[0][0] == Response(429, "Slow", heard.tries[0][0].headers)  # type: ignore[union-attr]


@each_client
def test_a_failure_is_tried_again_too(client: Client) -> None:
    heard = Heard([0.0])
    answers = iter([[None], plain(b"now")])
    with serving(lambda _: next(answers)) as server, intercepted(lambda: heard):
        assert client.call(f"{server.url}/x", "POST", b"body").body == b"now"

    assert [(type(answer), tries) for answer, tries in heard.tries] == [(Failure, 1), (Response, 2)]


class Stop(BaseException):
    """What a door raises."""


@every_client
def test_what_a_door_raises_passes_through(client: Client) -> None:
    def door(request: Request) -> Answer:
        raise Stop("no")

    with answered_by(door), pytest.raises(Stop):
        client.call(f"{AWAY}/x", "POST", b"x")
    gc.collect()  # what was left open warns


@every_client
def test_requests_bodies_are_seen_decoded(client: Client) -> None:
    asked: list[Request] = []

    def door(request: Request) -> Answer:
        asked.append(request)
        return Response(200)

    with answered_by(door):
        client.call(f"{AWAY}/x", "POST", gzip.compress(b"{}"), {"Content-Encoding": "gzip"}.items())

    assert [(one.body, one.header("content-encoding")) for one in asked] == [(b"{}", None)]


@every_client
def test_large_answers(client: Client) -> None:
    body = bytes(range(256)) * 20_000
    with answered_by(answering(Response(200, "OK", (), body))):
        assert client.call(f"{AWAY}/x").body == body


@every_client
def test_a_live_answer_without_a_length(client: Client) -> None:
    heard = Heard()
    script = [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nto the end", None]
    with serving(lambda _: script) as server, intercepted(lambda: heard):
        assert client.call(f"{server.url}/x").body == b"to the end"

    assert (heard.response.body, heard.response.cut) == (b"to the end", None)


@each_client
def test_a_live_answer_shorter_than_its_length(client: Client) -> None:
    heard = Heard()
    script = [b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf", None]
    with serving(lambda _: script) as server, intercepted(lambda: heard), pytest.raises(Exception):  # noqa: B017
        client.call(f"{server.url}/x")

    assert heard.response.body == b"half"
    assert heard.response.cut not in (None, UNREAD)


@every_client
def test_threads_at_once(client: Client) -> None:
    def door(request: Request) -> Answer:
        return Response(200, "OK", (), request.url.encode())

    found: dict[int, bytes] = {}

    def call(number: int) -> None:
        for _ in range(2):
            found[number] = client.call(f"{AWAY}/q?i={number}").body

    with answered_by(door):
        threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    assert found == {number: f"{AWAY}/q?i={number}".encode() for number in range(8)}


@every_client
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_live_request_passes_the_guard(client: Client, host: str) -> None:
    heard = Heard([0.0])
    with serving(lambda _: plain(b"ok")) as server:

        def check(attempt: guard.Attempt) -> bool:
            assert attempt.port != server.port, attempt
            return True

        with guard.guarded(check), intercepted(lambda: heard):
            assert client.call(f"http://{host}:{server.port}/x", "POST", b"body").body == b"ok"
        assert len(server.got) == 2
