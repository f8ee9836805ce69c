"""What is watched goes over the wire as it does unwatched, and is told with its answer."""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import brotli
import httpx
import pytest
import requests
import zstandard

from pytest_statebase.wire.exchange import Answer, Exchange, Failure, Request, Response
from pytest_statebase.wire.intercept import intercepted
from pytest_statebase.wire.tee import UNREAD
from pytest_statebase.wire.watch import Told, Watch, settled_exchange
from tests.web.http_clients import CLIENTS, EVERY, Client, _on_asyncio
from tests.web.http_server import chunks, plain, serving

every_client = pytest.mark.parametrize("client", EVERY, ids=repr)
each_client = pytest.mark.parametrize("client", CLIENTS, ids=repr)
# httpx leaves its own generators behind, of which trio warns, whoever is there.
early = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
EVENTS = [b"data: one\n\n", b"data: two\n\n", b"data: three\n\n"]


class Seen:
    """Keeps what it is told of."""

    def __init__(self, most: int = 1 << 20) -> None:
        self.begun: list[Request] = []
        self.told: list[Exchange] = []
        self.broken: list[BaseException] = []
        self.watch = Watch(self._begun, self.broken.append, most)

    def _begun(self, request: Request) -> Told:
        self.begun.append(request)
        return lambda request, answer: self.told.append(Exchange(request, answer))

    @property
    def only(self) -> Exchange:
        gc.collect()
        assert self.broken == []
        (found,) = self.told
        return settled_exchange(found)

    @property
    def answer(self) -> Response:
        found = self.only.answer
        assert isinstance(found, Response)
        return found


@contextmanager
def watched(most: int = 1 << 20) -> Iterator[Seen]:
    seen = Seen(most)
    with intercepted(lambda: seen.watch):
        yield seen


class Wire:
    """A server that keeps the bytes of every request as they come, and answers `ok`."""

    def __init__(self, port: int = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self.got: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                self._serve(client)

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            raw = b""
            while not _is_whole(raw) and (part := client.recv(65536)):
                raw += part
            self.got.append(raw)
            client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _is_whole(raw: bytes) -> bool:
    head, blank, body = raw.partition(b"\r\n\r\n")
    if not blank:
        return False
    if b"chunked" in head.lower():
        return body.endswith(b"0\r\n\r\n")
    length = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    return len(body) >= int(length[0] if length else 0)


@pytest.fixture
def wire() -> Iterator[Wire]:
    server = Wire()
    yield server
    server.close()


def alike(wire: Wire, send: Callable[[str], Any]) -> tuple[bytes, Seen]:
    """What goes over the wire, watched and unwatched the same."""
    url = f"http://127.0.0.1:{wire.port}/v1/x?b=2&a=%20"
    send(url)
    with watched() as seen:
        send(url)
    plain_bytes, watched_bytes = wire.got
    assert watched_bytes == plain_bytes
    return plain_bytes, seen


@every_client
def test_a_request_goes_over_the_wire_as_it_does_unwatched(client: Client, wire: Wire) -> None:
    _, seen = alike(wire, lambda url: client.call(url, "POST", b'{"x": "\xc3\xb6"}', {"X-Mine": "yes"}.items()))

    request, answer = seen.only.request, seen.answer
    assert (request.method, request.url) == ("POST", f"http://127.0.0.1:{wire.port}/v1/x?b=2&a=%20")
    assert (request.body, request.header("x-mine"), request.header("content-length")) == (
        b'{"x": "\xc3\xb6"}',
        "yes",
        "11",
    )
    assert (answer.status, answer.reason, answer.body, answer.cut) == (200, "OK", b"ok", None)
    assert [(one.method, one.url) for one in seen.begun] == [(request.method, request.url)]
    texts = [request.method, request.url, *(text for header in request.headers + answer.headers for text in header)]
    assert {type(text) for text in texts} == {str}


def _parts() -> Iterator[bytes]:
    yield b"one "
    yield b"two " * 10_000
    yield b"three"


async def _parts_async() -> Any:
    for part in _parts():
        yield part


def _httpx_async(url: str) -> None:
    async def main() -> None:
        async with httpx.AsyncClient() as client:
            await client.post(url, content=_parts_async())

    _on_asyncio(main)


def _aiohttp(**options: Any) -> Callable[[str], None]:
    def send(url: str) -> None:
        async def main() -> None:
            given = {name: make() for name, make in options.items()}
            async with aiohttp.ClientSession() as session, session.post(url, **given) as found:
                await found.read()

        _on_asyncio(main)

    return send


WHOLE = b"".join(_parts())
STREAMED: dict[str, Callable[[str], Any]] = {
    "httpx": lambda url: httpx.post(url, content=_parts()),
    "httpx, async": _httpx_async,
    "requests, generator": lambda url: requests.post(url, data=_parts()),
    "requests, file": lambda url: requests.post(url, data=io.BytesIO(WHOLE)),
    "aiohttp, generator": _aiohttp(data=_parts_async),
    "aiohttp, file": _aiohttp(data=lambda: io.BytesIO(WHOLE)),
}


@pytest.mark.parametrize("send", STREAMED.values(), ids=STREAMED)
def test_a_body_that_is_streamed_stays_so(send: Callable[[str], Any], wire: Wire) -> None:
    _, seen = alike(wire, send)

    assert seen.only.request.body == WHOLE
    assert seen.answer.body == b"ok"


@pytest.mark.parametrize("kind", ["file", "iterable", "chunked", "array"])
def test_what_http_client_sends_as_it_is_given(kind: str, wire: Wire) -> None:
    import array
    import http.client

    def send(url: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", wire.port)
        bodies: dict[str, Any] = {
            "file": io.BytesIO(WHOLE),
            "iterable": _parts(),
            "chunked": _parts(),
            "array": array.array("B", WHOLE),
        }
        headers = {} if kind == "chunked" else {"Content-Length": str(len(WHOLE))}
        connection.request("POST", "/v1/x?b=2&a=%20", bodies[kind], headers, encode_chunked=False)
        assert connection.getresponse().read() == b"ok"
        connection.close()

    _, seen = alike(wire, send)
    assert seen.only.request.body == WHOLE


def test_forms_of_aiohttp(wire: Wire) -> None:
    raw, seen = alike(wire, _aiohttp(data=lambda: {"a": "1", "b": "ö"}))

    assert raw.endswith(seen.only.request.body)
    assert seen.only.request.body == b"a=1&b=%C3%B6"


def test_requests_of_urllib3_are_told_once(wire: Wire) -> None:
    with watched() as seen:
        requests.get(f"http://127.0.0.1:{wire.port}/a")
    assert [one.url for one in seen.begun] == [seen.only.request.url]


@each_client
def test_a_stream_reaches_the_client_as_it_comes(client: Client) -> None:
    got: list[bytes] = []
    first = threading.Event()

    def take(chunk: bytes) -> bool:
        got.append(chunk)
        first.set()
        return True

    def wait() -> None:
        assert first.wait(10)

    with serving(lambda _: chunks(EVENTS[0], wait, *EVENTS[1:])) as server, watched() as seen:
        client.read(f"{server.url}/sse", take)

    assert got[0] == EVENTS[0]
    assert b"".join(got) == seen.answer.body == b"".join(EVENTS)
    assert (seen.answer.cut, seen.answer.header("transfer-encoding")) == (None, None)


@each_client
def test_a_stream_that_is_lost(client: Client) -> None:
    with serving(lambda _: chunks(EVENTS[0], None)) as server, watched() as seen, pytest.raises(client.cut):
        client.read(f"{server.url}/sse", lambda chunk: True)

    assert seen.answer.body == EVENTS[0]
    assert seen.answer.cut not in (None, UNREAD)


@early
@each_client
def test_a_client_that_reads_no_further(client: Client) -> None:
    over = threading.Event()

    def wait() -> None:
        over.wait(10)

    with serving(lambda _: chunks(EVENTS[0], wait, EVENTS[1])) as server, watched() as seen:
        client.read(f"{server.url}/sse", lambda chunk: False)
        over.set()

    assert (seen.answer.body, seen.answer.cut) == (EVENTS[0], UNREAD)


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
BOMB = b"0" * 3_000_000


@every_client
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_what_is_told_is_decoded_later(client: Client, encoding: str) -> None:
    sent = ENCODERS[encoding](WHOLE)
    with serving(lambda _: plain(sent, f"content-encoding: {encoding}")) as server, watched() as seen:
        reply = client.call(f"{server.url}/x", headers={"Accept-Encoding": encoding}.items())

    assert reply.body == WHOLE or client.name in ("httpcore", "httpcore2", "http.client", "urllib", "botocore")
    told = seen.told[0].answer
    assert isinstance(told, Response)
    assert told.body == (WHOLE if client.name == "aiohttp" else sent)
    assert (seen.answer.body, seen.answer.is_encoded, seen.answer.header("content-encoding")) == (WHOLE, False, None)
    assert settled_exchange(seen.only) == seen.only


@pytest.mark.parametrize("encoding", ENCODERS)
def test_a_body_that_grows_without_bounds_is_decoded_up_to_the_limit(encoding: str) -> None:
    headers = (("content-encoding", encoding),)
    told = Exchange(
        Request("POST", "http://x/", headers, ENCODERS[encoding](BOMB)),
        Response(200, "OK", headers, ENCODERS[encoding](BOMB), is_encoded=True),
    )

    found = settled_exchange(told, 1000)

    assert isinstance(found.answer, Response)
    assert (found.request.body, found.answer.body) == (b"0" * 1000, b"0" * 1000)
    assert found.answer.cut == "of the request only the first 1,000 bytes were kept"
    alone = settled_exchange(Exchange(Request("GET", "http://x/"), told.answer), 1000).answer
    assert isinstance(alone, Response)
    assert alone.cut == "only the first 1,000 bytes were kept"


@each_client
def test_of_a_long_body_the_beginning_is_kept_and_the_client_gets_it_all(client: Client) -> None:
    sent = bytes(range(256)) * 2000
    with serving(lambda _: plain(sent)) as server, watched(most=1000) as seen:
        assert client.call(f"{server.url}/x", "POST", sent).body == sent
    assert server.got[0].body == sent

    assert (seen.only.request.body, seen.answer.body) == (sent[:1000], sent[:1000])
    assert seen.answer.cut is not None
    assert seen.answer.cut.startswith("only the first 1,000 bytes of 512,000 were kept; of the request only the first")


@each_client
def test_of_a_long_stream_the_beginning_is_kept(client: Client) -> None:
    got: list[bytes] = []
    parts = [b"data: %d\n\n" % number + b":" * 3000 + b"\n\n" for number in range(60)]
    with serving(lambda _: chunks(*parts)) as server, watched(most=1000) as seen:
        client.read(f"{server.url}/sse", lambda chunk: got.append(chunk) is None)

    assert b"".join(got) == b"".join(parts)
    assert seen.answer.body == b"".join(parts)[:1000]
    assert "only the first 1,000 bytes" in str(seen.answer.cut)


@each_client
def test_a_refused_connection_is_told(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with watched() as seen, pytest.raises(client.refused):
        client.call(f"http://127.0.0.1:{port}/x", "POST", b"x")

    assert isinstance(seen.only.answer, Failure)
    assert seen.only.answer.kind == "connect"
    assert seen.only.request.url == f"http://127.0.0.1:{port}/x"


def test_a_refused_connection_by_tls_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with watched() as seen, pytest.raises(requests.ConnectionError):
        requests.post(f"https://127.0.0.1:{port}/x", json={"a": 1})

    assert isinstance(seen.only.answer, Failure)
    assert (seen.only.answer.kind, seen.only.request.url) == ("connect", f"https://127.0.0.1:{port}/x")


def _timed(url: str) -> dict[str, Callable[[], Any]]:
    import urllib.request

    return {
        "httpx": lambda: httpx.get(url, timeout=0.5),
        "requests": lambda: requests.get(url, timeout=0.5),
        "urllib": lambda: urllib.request.urlopen(url, timeout=0.5),
        "aiohttp": lambda: _aiohttp(timeout=lambda: aiohttp.ClientTimeout(total=0.5))(url),
    }


@pytest.mark.parametrize("name", ["httpx", "requests", "urllib", "aiohttp"])
def test_a_server_that_takes_too_long(name: str) -> None:
    over = threading.Event()

    def wait() -> None:
        over.wait(10)

    with serving(lambda _: [wait]) as server, watched() as seen:
        with pytest.raises(Exception, match=r"(?i)time|^$"):
            _timed(f"{server.url}/x")[name]()
        over.set()

    assert isinstance(seen.only.answer, Failure)
    assert seen.only.answer.kind == "timeout"


@each_client
def test_a_server_that_answers_nothing_is_told(client: Client) -> None:
    with serving(lambda _: [None]) as server, watched() as seen, pytest.raises(Exception):  # noqa: B017
        client.call(f"{server.url}/x", "POST", b"x")

    assert {one.answer.kind for one in seen.told if isinstance(one.answer, Failure)} == {"closed"}
    assert len(seen.told) == len(seen.begun) == len(server.got)


def _raises(*_: Any) -> Any:
    raise RuntimeError("whoever watches is wrong")


@every_client
@pytest.mark.parametrize("where", ["begun", "told", "broken", "nobody"])
def test_whoever_watches_has_no_say(client: Client, where: str) -> None:
    broken: list[BaseException] = []
    begun: Any = {"begun": _raises, "broken": _raises, "told": lambda _: _raises, "nobody": lambda _: None}[where]
    watch = Watch(begun, _raises if where == "broken" else broken.append)
    with serving(lambda _: plain(b"here")) as server, intercepted(lambda: watch):
        assert client.call(f"{server.url}/x", "POST", b"x").body == b"here"

    assert [str(error) for error in broken] == ["whoever watches is wrong"] * (where in ("begun", "told"))


@every_client
def test_many_threads_at_once(client: Client) -> None:
    def call(number: int) -> None:
        client.call(f"{server.url}/{number}", "POST", b"%d" % number)

    with serving(lambda got: plain(got.body)) as server, watched() as seen:
        threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    assert seen.broken == []
    told = {one.request.url.rpartition("/")[2]: (one.request.body, _body(one.answer)) for one in seen.told}
    assert told == {str(number): (b"%d" % number,) * 2 for number in range(8)}


def _body(answer: Answer) -> bytes:
    assert isinstance(answer, Response)
    return answer.body


def test_a_response_of_http_client_is_read_into_a_buffer() -> None:
    import http.client

    parts = [b"x" * 700, b"y" * 900]
    with serving(lambda _: chunks(*parts)) as server, watched() as seen:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", "/")
        response = connection.getresponse()
        buffer = bytearray(2000)
        size = 0
        while got := response.readinto(memoryview(buffer)[size : size + 500]):
            size += got
        connection.close()

    assert bytes(buffer[:size]) == seen.answer.body == b"".join(parts)


def test_a_connection_that_is_used_again_tells_each_request() -> None:
    import http.client

    with serving(lambda got: plain(got.target.encode())) as server, watched() as seen:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        for target in ("/a", "/b"):
            connection.request("POST", target, b"body")
            assert connection.getresponse().read() == target.encode()
        connection.request("GET", "/given-up")
        connection.close()
        del connection
        assert server.connections == 1

    gc.collect()
    assert [(one.request.url.rpartition("/")[2], type(one.answer)) for one in seen.told] == [
        ("a", Response),
        ("b", Response),
        ("given-up", Failure),
    ]


def test_a_socket_is_the_connections_own() -> None:
    import http.client

    with serving(lambda _: plain(b"ok")) as server, watched():
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.connect()
        assert connection.sock.getpeername() == ("127.0.0.1", server.port)
        connection.close()
