"""What clients do besides: redirects, cookies, bodies of every kind, proxies, connections that are kept."""

from __future__ import annotations

import asyncio
import gc
import gzip
import http.client
import io
import subprocess
import sys
import threading
import urllib.request
import xmlrpc.client
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import boto3
import botocore.config
import httpcore
import httpx
import httpx2
import pytest
import requests
import urllib3

from pytest_statebase.wire.doors import Live, passing
from pytest_statebase.wire.exchange import Answer, Failure, Request, Response
from pytest_statebase.wire.intercept import intercepted
from tests.web.http_clients import CLIENTS, Client
from tests.web.http_server import chunks, plain, serving
from tests.web.test_clients import AWAY, EVENTS, SSE, Heard, answered_by, answering

LINES = (("content-type", "application/x-ndjson"),)


class Keeping:
    """A door that answers by path, and keeps what it was asked."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Answer:
        self.asked.append(request)
        return self.answers[request.parts.path]


def moved(status: int = 302) -> Keeping:
    found = (("location", "/there"), ("set-cookie", "seen=1; Path=/"), ("set-cookie", "other=2; Path=/"))
    return Keeping({"/here": Response(status, "", found), "/there": Response(200, "", (), b"arrived")})


REDIRECTS = {
    "httpx": lambda: httpx.post(f"{AWAY}/here", content=b"x", follow_redirects=True).content,
    "httpx2": lambda: httpx2.post(f"{AWAY}/here", content=b"x", follow_redirects=True).content,
    "requests": lambda: requests.post(f"{AWAY}/here", data=b"x").content,
    "requests-file": lambda: requests.post(f"{AWAY}/here", data=io.BytesIO(b"x")).content,
    "urllib3": lambda: urllib3.PoolManager().request("POST", f"{AWAY}/here", body=b"x").data,
    "aiohttp": lambda: asyncio.run(aiohttp_post(b"x")),
    "aiohttp-file": lambda: asyncio.run(aiohttp_post(io.BytesIO(b"x"))),
}


async def aiohttp_post(data: Any, path: str = "/here") -> bytes:
    async with aiohttp.ClientSession() as session, session.post(f"{AWAY}{path}", data=data) as response:
        return await response.read()


@pytest.mark.parametrize("name", REDIRECTS)
@pytest.mark.parametrize("status", [303, 307])
def test_clients_follow_redirects_themselves(name: str, status: int) -> None:
    door = moved(status)
    with answered_by(door):
        assert REDIRECTS[name]() == b"arrived"

    methods = ["POST", "GET"] if status == 303 else ["POST", "POST"]
    assert [(one.method, one.parts.path) for one in door.asked] == list(zip(methods, ["/here", "/there"], strict=True))
    assert [one.body for one in door.asked] == [b"x", b"" if status == 303 else b"x"]
    if not name.startswith("urllib3"):
        assert [one.header("cookie") is not None for one in door.asked] == [False, True]


def test_urllib_follows_redirects() -> None:
    with answered_by(moved()), urllib.request.urlopen(f"{AWAY}/here") as response:
        assert response.read() == b"arrived"
        assert response.geturl() == f"{AWAY}/there"


def test_cookies_are_kept_by_sessions() -> None:
    with answered_by(moved()):
        with httpx.Client(base_url=AWAY, follow_redirects=True) as client:
            client.get("/here")
            assert dict(client.cookies) == {"seen": "1", "other": "2"}
        with requests.Session() as session:
            session.get(f"{AWAY}/here")
            assert session.cookies.get_dict() == {"seen": "1", "other": "2"}

        async def main() -> None:
            async with aiohttp.ClientSession() as session, session.get(f"{AWAY}/here"):
                assert {cookie.key for cookie in session.cookie_jar} == {"seen", "other"}

        asyncio.run(main())


def parts() -> Iterator[bytes]:
    yield b"one,"
    yield b"two"


async def parts_async() -> AsyncIterator[bytes]:
    for part in parts():
        yield part


async def _httpx_async(data: Any) -> None:
    async with httpx.AsyncClient() as client:
        await client.post(f"{AWAY}/x", content=data)


def _stdlib(data: Any, **options: Any) -> None:
    connection = http.client.HTTPSConnection("api.example.invalid")
    connection.request("POST", "/x", body=data, **options)
    connection.getresponse().read()
    connection.close()


def _by_hand() -> None:
    connection = http.client.HTTPSConnection("api.example.invalid")
    connection.connect()
    connection.putrequest("POST", "/x")
    connection.putheader("Content-Length", "7")
    connection.endheaders()
    connection.send(b"one,")
    connection.send(b"two")
    connection.getresponse().read()
    connection.close()


def _urllib_file() -> None:
    request = urllib.request.Request(f"{AWAY}/x", data=io.BytesIO(b"one,two"), headers={"Content-Length": "7"})
    with urllib.request.urlopen(request) as response:
        response.read()


BODIES = {
    "httpx-generator": lambda: httpx.post(f"{AWAY}/x", content=parts()),
    "httpx-file": lambda: httpx.post(f"{AWAY}/x", content=io.BytesIO(b"one,two")),
    "httpx-async-generator": lambda: asyncio.run(_httpx_async(parts_async())),
    "requests-generator": lambda: requests.post(f"{AWAY}/x", data=parts()),
    "requests-file": lambda: requests.post(f"{AWAY}/x", data=io.BytesIO(b"one,two")),
    "requests-text": lambda: requests.post(f"{AWAY}/x", data="one,two"),
    "urllib3-file": lambda: urllib3.request("POST", f"{AWAY}/x", body=io.StringIO("one,two")),
    "urllib3-bytearray": lambda: urllib3.request("POST", f"{AWAY}/x", body=bytearray(b"one,two")),
    "urllib3-chunked": lambda: urllib3.PoolManager().request("POST", f"{AWAY}/x", body=parts(), chunked=True),
    "http.client-generator": lambda: _stdlib(parts()),
    "http.client-chunked": lambda: _stdlib(parts(), headers={"Transfer-Encoding": "chunked"}, encode_chunked=True),
    "http.client-file": lambda: _stdlib(io.BytesIO(b"one,two")),
    "http.client-by-hand": _by_hand,
    "urllib-file": lambda: _urllib_file(),
    "aiohttp-generator": lambda: asyncio.run(aiohttp_post(parts_async(), "/x")),
    "aiohttp-file": lambda: asyncio.run(aiohttp_post(io.BytesIO(b"one,two"), "/x")),
    "aiohttp-text": lambda: asyncio.run(aiohttp_post("one,two", "/x")),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_are_seen_whole_however_they_are_given(name: str) -> None:
    door = Keeping({"/x": Response(200)})
    with answered_by(door):
        BODIES[name]()

    assert [one.body for one in door.asked] == [b"one,two"]


@pytest.mark.parametrize("name", BODIES)
def test_bodies_go_live_whole_however_they_are_given(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    with serving(lambda _: plain(b"ok")) as server, intercepted(lambda: heard):
        monkeypatch.setattr(sys.modules[__name__], "AWAY", server.url)
        monkeypatch.setattr(http.client, "HTTPSConnection", lambda _: http.client.HTTPConnection(server.url[7:]))
        BODIES[name]()

    assert [got.body for got in server.got] == [b"one,two"]
    assert heard.response.body == b"ok"


async def _aiohttp_form() -> None:
    form = aiohttp.FormData()
    form.add_field("name", "value")
    form.add_field("file", io.BytesIO(b"content"), filename="a.txt")
    await aiohttp_post(form, "/x")


async def _httpx_form() -> None:
    async with httpx.AsyncClient() as client:
        await client.post(f"{AWAY}/x", data={"name": "value"}, files={"file": ("a.txt", io.BytesIO(b"content"))})


FORMS = {
    "httpx": lambda: httpx.post(f"{AWAY}/x", data={"name": "value"}, files={"file": ("a.txt", b"content")}),
    "httpx-async": lambda: asyncio.run(_httpx_form()),
    "requests": lambda: requests.post(f"{AWAY}/x", data={"name": "value"}, files={"file": ("a.txt", b"content")}),
    "urllib3": lambda: urllib3.request("POST", f"{AWAY}/x", fields={"name": "value", "file": ("a.txt", b"content")}),
    "aiohttp": lambda: asyncio.run(_aiohttp_form()),
}


@pytest.mark.parametrize("name", FORMS)
def test_multipart_bodies(name: str) -> None:
    door = Keeping({"/x": Response(200)})
    with answered_by(door):
        FORMS[name]()

    (asked,) = door.asked
    assert (asked.header("content-type") or "").startswith("multipart/form-data; boundary=")
    assert b'filename="a.txt"' in asked.body
    assert b"content" in asked.body
    assert b"value" in asked.body


async def _aiohttp_expecting(url: str) -> bytes:
    async with aiohttp.ClientSession() as session, session.post(f"{url}/x", data=b"body", expect100=True) as response:
        return await response.read()


async def _aiohttp_compressing(url: str) -> bytes:
    async with aiohttp.ClientSession() as session, session.post(f"{url}/x", data=b"body", compress="gzip") as response:
        return await response.read()


def test_aiohttp_expecting_and_compressing() -> None:
    door = Keeping({"/x": Response(200, "", (), b"ok")})
    heard = Heard()
    with answered_by(door):
        assert asyncio.run(_aiohttp_expecting(AWAY)) == b"ok"
        assert asyncio.run(_aiohttp_compressing(AWAY)) == b"ok"
    with serving(lambda _: plain(b"ok")) as server, intercepted(lambda: heard):
        assert asyncio.run(_aiohttp_expecting(server.url)) == b"ok"
        assert asyncio.run(_aiohttp_compressing(server.url)) == b"ok"

    assert [one.body for one in [*door.asked, *heard.asked]] == [b"body"] * 4
    assert [got.body for got in server.got] == [b"body", server.got[1].body]
    assert gzip.decompress(server.got[1].body) == b"body"


def test_expect_100_of_requests_and_boto() -> None:
    door = Keeping({"/bucket/key": Response(200, "", (("etag", '"1"'),))})
    with answered_by(door):
        requests.put(f"{AWAY}/bucket/key", data=b"x", headers={"Expect": "100-continue"})
        client = boto3.client(
            "s3",
            endpoint_url=AWAY,
            region_name="eu-west-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=botocore.config.Config(s3={"addressing_style": "path"}),
        )
        assert client.put_object(Bucket="bucket", Key="key", Body=b"content")["ETag"] == '"1"'
        client.close()

    assert door.asked[0].body == b"x"
    assert b"content" in door.asked[1].body


PROXIED = {
    "httpx": lambda proxy: httpx.get(f"{AWAY}/x", proxy=proxy).content,
    "httpx2": lambda proxy: httpx2.get(f"{AWAY}/x", proxy=proxy).content,
    "requests": lambda proxy: requests.get(f"{AWAY}/x", proxies={"https": proxy, "http": proxy}).content,
    "urllib3": lambda proxy: urllib3.ProxyManager(proxy).request("GET", f"{AWAY}/x").data,
    "urllib": lambda proxy: _urllib_proxied(proxy),
    "aiohttp": lambda proxy: asyncio.run(_aiohttp_proxied(proxy)),
}


def _urllib_proxied(proxy: str) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"https": proxy, "http": proxy}))
    with opener.open(f"{AWAY}/x") as response:
        return response.read()  # type: ignore[no-any-return]


async def _aiohttp_proxied(proxy: str) -> bytes:
    async with aiohttp.ClientSession() as session, session.get(f"{AWAY}/x", proxy=proxy) as response:
        return await response.read()


@pytest.mark.parametrize("name", PROXIED)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_is_not_reached_for_an_answer(name: str, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{scheme}://api.example.invalid"
    monkeypatch.setattr(sys.modules[__name__], "AWAY", url)
    door = Keeping({"/x": Response(200, "", (), b"ok")})
    with answered_by(door):
        assert PROXIED[name]("http://127.0.0.1:1") == b"ok"
        gc.collect()

    assert [one.url for one in door.asked] == [f"{url}/x"]


@pytest.mark.parametrize("name", PROXIED)
def test_a_live_request_goes_through_its_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "AWAY", "http://api.example.invalid")
    heard = Heard()
    with serving(lambda _: plain(b"ok")) as proxy, intercepted(lambda: heard):
        assert PROXIED[name](proxy.url) == b"ok"
        gc.collect()

    assert [got.target for got in proxy.got] == ["http://api.example.invalid/x"]
    assert [one.url for one in heard.asked] == ["http://api.example.invalid/x"]
    assert heard.response.body == b"ok"


@pytest.mark.parametrize("name", PROXIED)
def test_a_live_request_asks_its_proxy_for_a_tunnel(name: str) -> None:
    heard = Heard()
    with serving(lambda _: plain(b"", status="403 No")) as proxy, intercepted(lambda: heard):
        with pytest.raises(Exception):  # noqa: B017
            PROXIED[name](proxy.url)
        gc.collect()

    assert {got.method for got in proxy.got} == {"CONNECT"}
    assert all(isinstance(answer, Failure) for answer in heard.done)
    assert len(heard.done) == len(heard.asked) == len(proxy.got)


class Turns:
    """Every other request is answered, the rest go live."""

    def __init__(self) -> None:
        self.heard = Heard()

    def __call__(self, request: Request) -> Any:
        return Response(200, "", (), b"recorded") if "recorded" in request.url else self.heard(request)


def _turns(get: Any) -> list[bytes]:
    return [get(path) for path in ("/live", "/recorded", "/live", "/recorded", "/live")]


def test_connections_are_kept_between_live_requests() -> None:
    async def httpx_async(url: str) -> list[bytes]:
        async with httpx.AsyncClient() as client:
            return [(await client.get(url + path)).content for path in ("/live", "/recorded", "/live", "/recorded")]

    async def with_aiohttp(url: str) -> list[bytes]:
        found = []
        async with aiohttp.ClientSession() as session:
            for path in ("/live", "/recorded", "/live", "/recorded"):
                async with session.get(url + path) as response:
                    found.append(await response.read())
        return found

    def with_stdlib(url: str) -> list[bytes]:
        connection = http.client.HTTPConnection(url[7:])

        def get(path: str) -> bytes:
            connection.request("GET", path)
            return connection.getresponse().read()

        try:
            return _turns(get)
        finally:
            connection.close()

    def with_requests(url: str) -> list[bytes]:
        with requests.Session() as session:
            return _turns(lambda path: session.get(url + path).content)

    def with_httpx(url: str) -> list[bytes]:
        with httpx.Client() as client:
            return _turns(lambda path: client.get(url + path).content)

    ways = [
        with_requests,
        with_httpx,
        with_stdlib,
        lambda url: asyncio.run(httpx_async(url)),
        lambda url: asyncio.run(with_aiohttp(url)),
    ]
    for way in ways:
        with serving(lambda _: plain(b"live")) as server, intercepted(Turns):
            assert way(server.url)[:4] == [b"live", b"recorded", b"live", b"recorded"]
        assert server.connections == 1


def test_what_requests_offers_of_a_body() -> None:
    with answered_by(answering(Response(200, "OK", SSE, b"".join(EVENTS)))):
        lines = list(requests.get(AWAY, stream=True).iter_lines())
        raw = requests.get(AWAY, stream=True).raw
        assert raw.read(9) + raw.read() == b"".join(EVENTS)
        assert list(requests.get(AWAY, stream=True).iter_content(None)) == EVENTS
        assert b"".join(requests.get(AWAY, stream=True).iter_content(3)) == b"".join(EVENTS)
        assert requests.get(AWAY, stream=True).raw.version == 11
    assert [line for line in lines if line] == [line for line in b"".join(EVENTS).splitlines() if line]


def test_what_aiohttp_offers_of_a_body() -> None:
    async def main() -> None:
        async with aiohttp.ClientSession() as session:
            async with session.get(AWAY) as response:
                assert [line async for line in response.content] == b"".join(EVENTS).splitlines(keepends=True)
            async with session.get(AWAY) as response:
                assert b"".join([part async for part, _ in response.content.iter_chunks()]) == b"".join(EVENTS)
            async with session.get(AWAY) as response:
                assert b"".join([part async for part in response.content.iter_chunked(5)]) == b"".join(EVENTS)
            async with session.get(AWAY) as response:
                assert await response.text() == b"".join(EVENTS).decode()
            async with session.get(AWAY):
                pass  # nothing is read

    with answered_by(answering(Response(200, "OK", SSE, b"".join(EVENTS)))):
        asyncio.run(main(), debug=True)


def test_lines_of_json_come_one_by_one() -> None:
    body = '{"a": "\u2028"}\n{"a": 2}\n'.encode()
    with answered_by(answering(Response(200, "OK", LINES, body))), httpx.stream("GET", AWAY) as response:
        assert list(response.iter_raw()) == body.splitlines(keepends=True)


def test_a_cut_large_body_in_aiohttp_comes_up_to_the_cut() -> None:
    body = b"x" * 3_000_000

    size = 0

    async def main() -> None:
        nonlocal size
        async with aiohttp.ClientSession() as session, session.get(AWAY) as response:
            async for chunk in response.content.iter_any():
                await asyncio.sleep(0.001)
                size += len(chunk)

    with (
        answered_by(answering(Response(200, "OK", (), body, cut="gone"))),
        pytest.raises(aiohttp.ClientPayloadError),
    ):
        asyncio.run(main())
    assert size == len(body)


def test_a_live_request_passes_and_says_so() -> None:
    seen = []

    class Backend(httpcore.SyncBackend):
        def connect_tcp(self, *args: Any, **options: Any) -> Any:
            seen.append(passing.get())
            return super().connect_tcp(*args, **options)

    with serving(lambda _: plain(b"ok")) as server, intercepted(Heard):
        with httpcore.ConnectionPool(network_backend=Backend()) as pool:
            pool.request("GET", server.url)
        assert passing.get() is False
    assert seen == [True]


def test_a_cancelled_request_is_told() -> None:
    heard, over = Heard(), threading.Event()

    async def main(url: str) -> None:
        async with httpx.AsyncClient(timeout=None) as client, aiohttp.ClientSession() as session:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.get(url), 0.2)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(session.get(url), 0.2)

    with serving(lambda _: [lambda: over.wait(10)]) as server, intercepted(lambda: heard):
        asyncio.run(main(server.url))
        over.set()

    assert [answer.kind for answer in heard.done if isinstance(answer, Failure)] == ["closed", "closed"]


def test_in_process_transports_are_left_alone() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in process"})

    async def main() -> bytes:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=AWAY) as client:
            return (await client.get("/x")).content

    door = Keeping({})
    mock = httpx.MockTransport(lambda request: httpx.Response(200, content=b"mocked"))
    with answered_by(door):
        assert asyncio.run(main()) == b"in process"
        assert httpx.Client(transport=mock).get(AWAY).content == b"mocked"
    assert door.asked == []


def test_xmlrpc_goes_through_http_client() -> None:
    body = xmlrpc.client.dumps((42,), methodresponse=True).encode()
    door = answering(Response(200, "OK", (("content-type", "text/xml"),), body))
    with answered_by(door), xmlrpc.client.ServerProxy(f"{AWAY}/rpc") as proxy:
        assert [proxy.answer(), proxy.answer()] == [42, 42]


PATCHED = [
    (urllib3.HTTPConnectionPool, "_make_request"),
    (urllib3.HTTPSConnectionPool, "_prepare_proxy"),
    (httpcore.ConnectionPool, "handle_request"),
    (httpcore.AsyncConnectionPool, "handle_async_request"),
    (http.client.HTTPConnection, "connect"),
    (http.client.HTTPConnection, "putrequest"),
    (http.client.HTTPConnection, "getresponse"),
    (http.client.HTTPSConnection, "connect"),
    (aiohttp.ClientSession, "_request"),
    (aiohttp.StreamReader, "feed_data"),
]


def test_everything_is_as_it_was_when_the_last_one_leaves() -> None:
    before = [owner.__dict__[name] for owner, name in PATCHED]
    finders = list(sys.meta_path)
    first, second = intercepted(lambda: None), intercepted(lambda: answering(Response(204)))
    first.__enter__()
    second.__enter__()
    assert all(owner.__dict__[name] is not was for (owner, name), was in zip(PATCHED, before, strict=True))
    assert requests.get(AWAY).status_code == 204
    first.__exit__(None, None, None)
    assert requests.get(AWAY).status_code == 204
    second.__exit__(None, None, None)

    assert [owner.__dict__[name] for owner, name in PATCHED] == before
    assert sys.meta_path == finders


LATE = """
import sys
from pytest_statebase.wire.intercept import intercepted
from pytest_statebase.wire.exchange import Response
assert not {"httpcore", "httpcore2", "aiohttp", "urllib3"} & set(sys.modules)
asked = []
def door(request):
    asked.append(request.url)
    return Response(200, "OK", (), b"late")
with intercepted(lambda: door):
    import asyncio, httpx, httpx2, requests, aiohttp, urllib.request
    url = "https://api.example.invalid/x"
    async def main():
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return await response.read()
    found = [httpx.get(url).content, httpx2.get(url).content, requests.get(url).content, asyncio.run(main())]
    found.append(urllib.request.urlopen(url).read())
assert found == [b"late"] * 5, found
assert len(asked) == 5
import httpcore
assert not hasattr(httpcore.ConnectionPool.handle_request, "__wrapped__")
assert type(httpcore.__spec__.loader).__module__ != "pytest_statebase.wire.imports"
"""


def test_clients_that_are_imported_later(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", LATE], check=True, cwd=tmp_path, timeout=60)


@pytest.mark.parametrize("client", CLIENTS, ids=repr)
def test_events_are_the_same_in_every_client_whatever_the_chunks(client: Client) -> None:
    heard = Heard()
    body = b"".join(EVENTS)
    pieces = [body[at : at + 7] for at in range(0, len(body), 7)]
    with serving(lambda _: chunks(*pieces)) as server, intercepted(lambda: heard):
        httpx.get(server.url)
    got: list[bytes] = []
    with answered_by(answering(heard.response)):
        client.read("http://api.example.invalid/x", lambda chunk: got.append(chunk) is None)

    assert b"".join(got) == body


def test_a_retry_waits_without_holding_the_loop() -> None:
    heard = Heard([0.3])
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async def main(url: str) -> bytes:
        ticking = asyncio.create_task(tick())
        async with httpx.AsyncClient() as client:
            found = (await client.get(url)).content
        ticking.cancel()
        return found

    answers = iter([plain(b"", status="503 Busy"), plain(b"ok")])
    with serving(lambda _: next(answers)) as server, intercepted(lambda: heard):
        assert asyncio.run(main(server.url)) == b"ok"
    assert ticks >= 10


def test_live_is_told_nothing_where_nobody_listens() -> None:
    with serving(lambda _: plain(b"ok")) as server, intercepted(lambda: lambda request: Live()):
        assert httpx.get(server.url).content == b"ok"
        assert requests.get(server.url).content == b"ok"
