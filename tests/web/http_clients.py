"""Python's HTTP clients, all called alike."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import botocore.awsrequest
import botocore.httpsession
import httpcore
import httpcore2
import httpx
import httpx2
import requests
import trio
import urllib3


@dataclass(frozen=True)
class Reply:
    """An answer as its client gave it, the body decoded."""

    status: int
    headers: Any
    body: bytes


Stream = Iterator[bytes]


@dataclass(frozen=True)
class Client:
    """A client: to call, and to read a stream with (which hands over the chunks)."""

    name: str
    call: Callable[..., Reply]
    read: Callable[[str, Callable[[bytes], bool]], None]
    """Reads a stream, and hands over each part as it comes, until told False."""
    refused: type[Exception]
    cut: type[Exception]

    def __repr__(self) -> str:
        return self.name


def _httpx(module: Any) -> Client:
    def call(url: str, method: str = "GET", body: bytes | None = None, headers: Any = ()) -> Reply:
        with module.Client() as client:
            found = client.request(method, url, content=body, headers=dict(headers))
        return Reply(found.status_code, found.headers, found.content)

    def read(url: str, take: Callable[[bytes], bool]) -> None:
        with module.Client() as client, client.stream("GET", url) as found:
            _hand_over(found.iter_bytes(), take)

    return Client(module.__name__, call, read, module.ConnectError, module.RemoteProtocolError)


def _httpx_async(module: Any, run: Callable[..., Any], name: str) -> Client:
    def call(url: str, method: str = "GET", body: bytes | None = None, headers: Any = ()) -> Reply:
        async def main() -> Reply:
            async with module.AsyncClient() as client:
                found = await client.request(method, url, content=body, headers=dict(headers))
            return Reply(found.status_code, found.headers, found.content)

        return run(main)  # type: ignore[no-any-return]

    def read(url: str, take: Callable[[bytes], bool]) -> None:
        async def main() -> None:
            async with (
                module.AsyncClient() as client,
                client.stream("GET", url) as found,
                contextlib.aclosing(found.aiter_bytes()) as chunks,
            ):
                await _hand_over_async(chunks, take)

        run(main)

    return Client(f"{module.__name__}-{name}", call, read, module.ConnectError, module.RemoteProtocolError)


def _httpcore(module: Any) -> Client:
    def call(url: str, method: str = "GET", body: bytes | None = None, headers: Any = ()) -> Reply:
        with module.ConnectionPool() as pool:
            found = pool.request(method, url, content=body, headers=dict(headers))
        names = {name.decode().lower(): value.decode("latin-1") for name, value in found.headers}
        return Reply(found.status, names, found.content)

    def read(url: str, take: Callable[[bytes], bool]) -> None:
        with module.ConnectionPool() as pool, pool.stream("GET", url) as found:
            _hand_over(found.iter_stream(), take)

    return Client(module.__name__, call, read, module.ConnectError, module.RemoteProtocolError)


def _hand_over(chunks: Stream, take: Callable[[bytes], bool]) -> None:
    for chunk in chunks:
        if not take(chunk):
            break


async def _hand_over_async(chunks: AsyncIterator[bytes], take: Callable[[bytes], bool]) -> None:
    async for chunk in chunks:
        if not await asyncio.to_thread(take, chunk) if _in_asyncio() else not take(chunk):
            break


def _in_asyncio() -> bool:
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        return True
    return False


def _requests(url: str, method: str = "GET", body: bytes | None = None, headers: Any = ()) -> Reply:
    with requests.Session() as session:
        found = session.request(method, url, data=body, headers=dict(headers))
    return Reply(found.status_code, found.headers, found.content)


def _requests_read(url: str, take: Callable[[bytes], bool]) -> None:
    with requests.Session() as session, session.get(url, stream=True) as found:
        _hand_over(found.iter_content(None), take)


def _urllib3(url: str, method: str = "GET", body: bytes | None = None, headers: Any = ()) -> Reply:
    with urllib3.PoolManager(retries=False) as pool:
        found = pool.request(method, url, body=body, headers=dict(headers))
    return Reply(found.status, found.headers, found.data)


def _urllib3_read(url: str, take: Callable[[bytes], bool]) -> None:
    with urllib3.PoolManager(retries=False) as pool:
        found = pool.request("GET", url, preload_content=False)
        try:
            _hand_over(found.stream(), take)
        finally:
            found.close()


def _stdlib(url: str, method: str = "GET", body: bytes | None = None, headers: Any = ()) -> Reply:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target or "/", body=body, headers=dict(headers))
        found = connection.getresponse()
        return Reply(found.status, found.headers, found.read())
    finally:
        connection.close()


def _stdlib_read(url: str, take: Callable[[bytes], bool]) -> None:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    try:
        connection.request("GET", parts.path)
        with connection.getresponse() as found:
            _hand_over(iter(lambda: found.read1(65536), b""), take)
    finally:
        connection.close()


def _urllib(url: str, method: str = "GET", body: bytes | None = None, headers: Any = ()) -> Reply:
    request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)
    try:
        with urllib.request.urlopen(request) as found:
            return Reply(found.status, found.headers, found.read())
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, error.headers, error.read())


def _urllib_read(url: str, take: Callable[[bytes], bool]) -> None:
    with urllib.request.urlopen(url) as found:
        _hand_over(iter(lambda: found.read1(65536), b""), take)


def _aiohttp(url: str, method: str = "GET", body: bytes | None = None, headers: Any = ()) -> Reply:
    async def main() -> Reply:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, data=body, headers=dict(headers)) as found,
        ):
            return Reply(found.status, found.headers, await found.read())

    return asyncio.run(main())


def _aiohttp_read(url: str, take: Callable[[bytes], bool]) -> None:
    async def main() -> None:
        async with aiohttp.ClientSession() as session, session.get(url) as found:
            await _hand_over_async(found.content.iter_any(), take)

    asyncio.run(main())


def _botocore(url: str, method: str = "GET", body: bytes | None = None, headers: Any = ()) -> Reply:
    session = botocore.httpsession.URLLib3Session()
    try:
        found = session.send(botocore.awsrequest.AWSRequest(method, url, dict(headers), body or b"").prepare())
        return Reply(found.status_code, found.headers, found.content)
    finally:
        session.close()


def _on_asyncio(main: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(main())  # type: ignore[arg-type]


CLIENTS = [
    _httpx(httpx),
    _httpx(httpx2),
    _httpx_async(httpx, _on_asyncio, "asyncio"),
    _httpx_async(httpx, trio.run, "trio"),
    _httpx_async(httpx2, _on_asyncio, "asyncio"),
    _httpx_async(httpx2, trio.run, "trio"),
    _httpcore(httpcore),
    _httpcore(httpcore2),
    Client("requests", _requests, _requests_read, requests.ConnectionError, requests.exceptions.ChunkedEncodingError),
    Client("urllib3", _urllib3, _urllib3_read, urllib3.exceptions.NewConnectionError, urllib3.exceptions.ProtocolError),
    Client("http.client", _stdlib, _stdlib_read, ConnectionRefusedError, http.client.IncompleteRead),
    Client("urllib", _urllib, _urllib_read, urllib.error.URLError, http.client.IncompleteRead),
    Client("aiohttp", _aiohttp, _aiohttp_read, aiohttp.ClientConnectorError, aiohttp.ClientPayloadError),
]
BOTOCORE = Client("botocore", _botocore, _requests_read, Exception, Exception)
EVERY = [*CLIENTS, BOTOCORE]
