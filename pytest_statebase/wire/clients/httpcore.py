"""httpcore and httpcore2, and with them httpx and httpx2: at the pool of connections."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

from ..doors import Door, Live
from ..exchange import GAVE_UP, Answer, Failure, Headers, Request, Response, origin
from ..framing import framed_headers, has_body, wire_bytes
from ..streams import pieces
from ..tee import Tee
from ..watch import Sight, Watch
from .going import Tries, asked, going_out, sleep

_INCOMPLETE = "peer closed connection without sending complete message body (incomplete chunked read)"
_DISCONNECTED = "Server disconnected without sending a response."
Original = Callable[..., Any]
Find = Callable[[], Door | Watch | None]


def replacements(module: Any, find: Find) -> Iterator[tuple[Any, str, Any]]:
    """For `httpcore` or `httpcore2`."""
    sync, asynchronous = module.ConnectionPool, module.AsyncConnectionPool
    yield sync, "handle_request", _handle(module, sync.handle_request, find)
    yield asynchronous, "handle_async_request", _handle_async(module, asynchronous.handle_async_request, find)


def _handle(core: Any, original: Original, find: Find) -> Original:
    @functools.wraps(original)
    def handle_request(pool: Any, request: Any) -> Any:
        door = find()
        if door is None or not _is_http(request):
            return original(pool, request)
        if isinstance(door, Watch):
            return _watched(core, original, pool, request, door)
        body = b"".join(request.stream)
        request.stream = _Sent(body)
        question = _asked(request, body)
        decision = door(question)
        if not isinstance(decision, Live):
            return _answered(core, request, decision)
        return _send(core, original, pool, request, question, decision)

    return handle_request


def _handle_async(core: Any, original: Original, find: Find) -> Original:
    @functools.wraps(original)
    async def handle_async_request(pool: Any, request: Any) -> Any:
        door = find()
        if door is None or not _is_http(request):
            return await original(pool, request)
        if isinstance(door, Watch):
            return await _watched_async(core, original, pool, request, door)
        body = b"".join([chunk async for chunk in request.stream])
        request.stream = _Sent(body)
        question = _asked(request, body)
        decision = door(question)
        if not isinstance(decision, Live):
            return _answered(core, request, decision)
        return await _send_async(core, original, pool, request, question, decision)

    return handle_async_request


def _is_http(request: Any) -> bool:
    """No web socket, and nothing that httpcore refuses itself."""
    if request.url.scheme not in (b"http", b"https"):
        return False
    return not any(name.lower() == b"upgrade" and value.lower() == b"websocket" for name, value in request.headers)


def _asked(request: Any, body: bytes) -> Request:
    return asked(*_head_of(request), body)


def _head_of(request: Any) -> tuple[str, str, Headers]:
    """Method, address and headers."""
    url = request.url
    target = url.target.decode("ascii", "replace")
    whole = origin(url.scheme.decode("ascii"), url.host.decode("ascii"), url.port) + target
    address = target if "://" in target[:8] else whole
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers)
    return request.method.decode("ascii"), address, headers


def _watched(core: Any, original: Original, pool: Any, request: Any, watch: Watch) -> Any:
    sight = watch.sight(lambda: _head_of(request))
    if sight is None:
        return original(pool, request)
    stream, request.stream = request.stream, _Seen(request.stream, sight)
    try:
        response = original(pool, request)
    except BaseException as error:
        sight.failed(partial(_failed, core, error))
        raise
    finally:
        request.stream = stream
    return _kept(response, sight.answered(lambda: _head(response)))


async def _watched_async(core: Any, original: Original, pool: Any, request: Any, watch: Watch) -> Any:
    sight = watch.sight(lambda: _head_of(request))
    if sight is None:
        return await original(pool, request)
    stream, request.stream = request.stream, _Seen(request.stream, sight)
    try:
        response = await original(pool, request)
    except BaseException as error:
        sight.failed(partial(_failed, core, error))
        raise
    finally:
        request.stream = stream
    return _kept(response, sight.answered(lambda: _head(response)))


class _Seen:
    """The body of a request, which is seen while it is sent."""

    def __init__(self, stream: Any, sight: Sight) -> None:
        self._stream = stream
        self._sight = sight
        self._chunks: Any = None

    def __iter__(self) -> Iterator[bytes]:
        self._sight.begins()
        for chunk in self._stream:
            self._sight.sent(chunk)
            yield chunk

    def __aiter__(self) -> _Seen:
        self._sight.begins()
        self._chunks = self._stream.__aiter__()
        return self

    async def __anext__(self) -> bytes:
        chunk: bytes = await self._chunks.__anext__()
        self._sight.sent(chunk)
        return chunk


class _Sent:
    """A body that is there already."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body

    def __aiter__(self) -> _Awaited:
        return _Awaited(iter(self))

    def close(self) -> None:
        """Nothing to let go of."""

    async def aclose(self) -> None:
        """Nothing to let go of."""


class _Awaited:
    """What is there already, for who awaits it. No generator: of one that is not read to its end trio warns."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> _Awaited:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration


def _answered(core: Any, request: Any, answer: Answer) -> Any:
    if isinstance(answer, Failure):
        raise _failure(core, answer)
    method = request.method.decode("ascii")
    headers = [(wire_bytes(name), wire_bytes(value)) for name, value in framed_headers(answer, method)]
    content = _Answered(core, answer if has_body(method, answer.status) else Response(answer.status))
    extensions = {"http_version": b"HTTP/1.1", "reason_phrase": answer.reason.encode("ascii", "replace")}
    return core.Response(answer.status, headers=headers, content=content, extensions=extensions)


class _Answered(_Sent):
    """The body of a recorded answer."""

    def __init__(self, core: Any, answer: Response) -> None:
        self._core = core
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from pieces(self._answer)
        if self._answer.cut is not None:
            raise self._core.RemoteProtocolError(_INCOMPLETE)


def _failure(core: Any, failure: Failure) -> BaseException:
    kinds = {"connect": core.ConnectError, "timeout": core.ReadTimeout}
    message = failure.message or (_DISCONNECTED if failure.kind == "closed" else failure.kind)
    return kinds.get(failure.kind, core.RemoteProtocolError)(message)  # type: ignore[no-any-return]


def _failed(core: Any, error: BaseException) -> Failure:
    """What an error of the client says of the answer."""
    if not isinstance(error, Exception):
        return GAVE_UP
    message = str(error) or type(error).__name__
    if isinstance(error, core.TimeoutException):
        return Failure("timeout", message)
    is_connect = isinstance(error, (core.ConnectError, core.ProxyError, core.UnsupportedProtocol))
    return Failure("connect" if is_connect else "closed", message)


def _targets(pool: Any, question: Request) -> list[tuple[str, int]]:
    """Whom a request reaches: its host, or the proxy before it."""
    proxy = getattr(pool, "_proxy_url", None) or getattr(getattr(pool, "_proxy", None), "url", None)
    targets = [(question.host, question.port)]
    if proxy is not None:
        scheme = proxy.scheme.decode("ascii")
        targets.append((proxy.host.decode("ascii"), proxy.port or {"https": 443, "socks5": 1080}.get(scheme, 80)))
    return targets


def _send(core: Any, original: Original, pool: Any, request: Any, question: Request, live: Live) -> Any:
    tries, targets = Tries(live), _targets(pool, question)
    while True:
        try:
            with going_out(*targets):
                response = original(pool, request)
        except BaseException as error:
            wait = _wait(tries, _failed(core, error), error)
            if wait is None:
                raise
        else:
            wait = tries.wait(_head(response))
            if wait is None:
                return _kept(response, Tee(_head(response), live.done))
            response.close()
        time.sleep(wait)


async def _send_async(core: Any, original: Original, pool: Any, request: Any, question: Request, live: Live) -> Any:
    tries, targets = Tries(live), _targets(pool, question)
    _leave_other_loop(pool)
    while True:
        try:
            with going_out(*targets):
                response = await original(pool, request)
        except BaseException as error:
            wait = _wait(tries, _failed(core, error), error)
            if wait is None:
                raise
        else:
            wait = tries.wait(_head(response))
            if wait is None:
                return _kept(response, Tee(_head(response), live.done))
            await response.aclose()
        await sleep(wait)


_loops: WeakKeyDictionary[Any, ReferenceType[asyncio.AbstractEventLoop]] = WeakKeyDictionary()
"""By pool: the event loop in which it sent its last live request."""


def _leave_other_loop(pool: Any) -> None:
    """Forget the connections of a loop that runs no more: a request sent on one reaches its server, and fails here."""
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:  # trio's connections belong to no loop
        return
    reference = _loops.get(pool)
    last = reference() if reference is not None else here
    if last is not here and not (last is not None and last.is_running()):
        pool._connections.clear()
    _loops[pool] = ref(here)


def _wait(tries: Tries, failure: Failure, error: BaseException) -> float | None:
    """Seconds until a failed request is tried again; None where its failure is the client's, which is told."""
    wait = tries.wait(failure) if isinstance(error, Exception) else None
    if wait is None:
        tries.tell(failure)
    return wait


def _head(response: Any) -> Response:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
    reason = response.extensions.get("reason_phrase", b"").decode("ascii", "replace")
    return Response(response.status, reason, headers)


def _kept(response: Any, tee: Tee | None) -> Any:
    if tee is not None:
        response.stream = _Teed(response.stream, tee)
    return response


class _Teed:
    """A live body that is kept while the client reads it."""

    def __init__(self, stream: Any, tee: Tee) -> None:
        self._stream = stream
        self._chunks: Any = None
        self._tee = tee

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._stream:
                self._tee.add(chunk)
                yield chunk
        except Exception as error:
            self._tee.cut(error)
            raise
        self._tee.end()

    def __aiter__(self) -> _Teed:
        self._chunks = self._stream.__aiter__()
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk: bytes = await self._chunks.__anext__()
        except StopAsyncIteration:
            self._tee.end()
            raise
        except Exception as error:
            self._tee.cut(error)
            raise
        self._tee.add(chunk)
        return chunk

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._tee.dropped()

    async def aclose(self) -> None:
        try:
            if hasattr(self._chunks, "aclose"):
                await self._chunks.aclose()
            await self._stream.aclose()
        finally:
            self._tee.dropped()
