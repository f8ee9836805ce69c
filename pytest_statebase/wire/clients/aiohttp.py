"""aiohttp, from 3.12: as the innermost middleware of a session, with aiohttp's own parser behind."""

from __future__ import annotations

import asyncio
import errno
import functools
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from ..doors import Door, Live
from ..exchange import GAVE_UP, Answer, Failure, Headers, Request, Response
from ..framing import has_body, rendered
from ..tee import Tee
from ..watch import Sight, Watch
from .going import Tries, asked, going_out

Find = Callable[[], Door | Watch | None]
Handler = Callable[[Any], Awaitable[Any]]
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def replacements(module: Any, find: Find) -> Iterator[tuple[Any, str, Any]]:
    """For `aiohttp`. Earlier ones know no middleware and are left to the guard."""
    if hasattr(module, "ClientMiddlewareType"):
        yield module.ClientSession, "_request", _request(module, module.ClientSession._request, find)
        yield module.StreamReader, "feed_data", _feed_data(module.StreamReader.feed_data)


_tees: dict[int, tuple[Any, Tee]] = {}
"""By the identity of the stream that a live body comes through: that stream, and what keeps the body."""


def _feed_data(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def feed_data(stream: Any, data: bytes, *args: Any) -> Any:
        if _tees and (kept := _tees.get(id(stream))) is not None:
            kept[1].add(data)
        return original(stream, data, *args)

    return feed_data


def _request(aiohttp: Any, original: Callable[..., Any], find: Find) -> Callable[..., Any]:
    @functools.wraps(original)
    async def request(session: Any, *args: Any, **options: Any) -> Any:
        if find() is None or not isinstance(session.connector, aiohttp.TCPConnector):
            return await original(session, *args, **options)
        given = options.pop("middlewares", None)
        chain = session._middlewares if given is None else given
        innermost = _Middleware(aiohttp, session, options, find)
        return await original(session, *args, **options, middlewares=(*chain, innermost))

    return request


class _Middleware:
    """Decides of each request of a call: the first, and those that redirects lead to."""

    def __init__(self, aiohttp: Any, session: Any, options: dict[str, Any], find: Find) -> None:
        self.aiohttp = aiohttp
        self.session = session
        self.options = options
        self.find = find

    async def __call__(self, request: Any, handler: Handler) -> Any:
        door = self.find()
        if door is None or request.headers.get("Upgrade", "").lower() == "websocket":
            return await handler(request)
        if isinstance(door, Watch):
            return await self._watched(request, handler, door)
        body = await self._body(request)
        question = _asked(request, body)
        decision = door(question)
        if isinstance(decision, Live):
            return await self._live(request, handler, question, decision)
        return await self._answered(request, decision)

    async def _watched(self, request: Any, handler: Handler, watch: Watch) -> Any:
        sight = watch.sight(lambda: _head_of(request))
        if sight is None:
            return await handler(request)
        request._traces = [*request._traces, _Seen(request, sight)]
        try:
            response = await handler(request)
        except BaseException as error:
            sight.failed(functools.partial(self._failed, error))
            raise
        tee = sight.answered(lambda: self._head(response))
        if tee is not None:
            self._keep(response, tee)
        return response

    async def _body(self, request: Any) -> bytes:
        """The body, which can be sent all the same, now and after a redirect."""
        payload = request.body
        if not isinstance(payload, self.aiohttp.Payload):
            return bytes(payload or b"")
        body: bytes = await payload.as_bytes()
        if payload.consumed:
            request._body = self.aiohttp.BytesPayload(body, headers=payload.headers)
        return body

    def _option(self, name: str) -> Any:
        given = self.options.get(name)
        return getattr(self.session, f"_{name}") if given is None else given

    async def _answered(self, request: Any, answer: Answer) -> Any:
        if isinstance(answer, Failure) and answer.kind == "connect":
            error = ConnectionRefusedError(errno.ECONNREFUSED, answer.message or "Connection refused")
            raise self.aiohttp.ClientConnectorError(request.connection_key, error)
        loop = asyncio.get_running_loop()
        protocol = self.aiohttp.client_proto.ResponseHandler(loop)
        protocol.connection_made(_Transport())
        connection = self.aiohttp.connector.Connection(_Connector(), request.connection_key, protocol, loop)
        try:
            self._prepare(protocol, request)
            response = await self._send_head(request, connection)
            self._feed(protocol, request, answer)
            return await response.start(connection)
        except BaseException:
            connection.close()
            raise

    def _prepare(self, protocol: Any, request: Any) -> None:
        protocol.set_response_params(
            timer=request._timer,
            skip_payload=request.method == "HEAD",
            read_until_eof=True,
            auto_decompress=self._option("auto_decompress"),
            read_bufsize=self._option("read_bufsize"),
            max_line_size=1 << 24,
            max_field_size=1 << 24,
        )

    async def _send_head(self, request: Any, connection: Any) -> Any:
        """Nobody is there to read the body, nor to ask for it."""
        body, request._body, request._continue = request._body, None, None
        try:
            return await request.send(connection)
        finally:
            request._body = body

    def _feed(self, protocol: Any, request: Any, answer: Answer) -> None:
        if isinstance(answer, Failure):
            protocol.set_exception(self._failure(answer))
            return
        protocol.data_received(rendered(answer, request.method))
        if answer.cut is not None and has_body(request.method, answer.status):
            _lose_when_read(protocol, protocol._payload)

    def _failure(self, failure: Failure) -> Exception:
        if failure.kind == "timeout":
            return self.aiohttp.SocketTimeoutError(failure.message or "Timeout on reading data from socket")  # type: ignore[no-any-return]
        if failure.kind == "unreadable":
            # Not tried again, as a lost connection is: the client makes a ClientResponseError of it.
            return self.aiohttp.http.HttpProcessingError(code=400, message=failure.message)  # type: ignore[no-any-return]
        return self.aiohttp.ServerDisconnectedError(failure.message or None)  # type: ignore[no-any-return]

    async def _live(self, request: Any, handler: Handler, question: Request, live: Live) -> Any:
        targets = [(question.host, question.port)]
        if request.proxy is not None:
            targets.append((request.proxy.host, request.proxy.port))
        tries = Tries(live)
        while True:
            try:
                with going_out(*targets):
                    response = await handler(request)
            except BaseException as error:
                failure = self._failed(error)
                wait = tries.wait(failure) if isinstance(error, Exception) else None
                if wait is None:
                    tries.tell(failure)
                    raise
            else:
                wait = tries.wait(_head(response))
                if wait is None:
                    self._keep(response, Tee(self._head(response), live.done))
                    return response
                response.close()
            await asyncio.sleep(wait)

    def _failed(self, error: BaseException) -> Failure:
        if not isinstance(error, Exception):
            return GAVE_UP
        if isinstance(error, self.aiohttp.ClientResponseError):
            return Failure("unreadable", error.message)
        message = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            return Failure("timeout", message)
        return Failure("connect" if isinstance(error, self.aiohttp.ClientConnectorError) else "closed", message)

    def _head(self, response: Any) -> Response:
        """The head of an answer as it fits the body that is read, which may be decoded by then."""
        head = _head(response)
        if not self._option("auto_decompress") or not response.headers.get("Content-Encoding"):
            return head
        dropped = ("content-encoding", "content-length")
        return Response(head.status, head.reason, tuple(h for h in head.headers if h[0].lower() not in dropped))

    def _keep(self, response: Any, tee: Tee) -> None:
        """Keep the body of a live answer while it comes."""
        stream = response.content
        if not has_body(response.method, response.status):
            tee.end()
            return
        for chunk in stream._buffer:
            tee.add(chunk)
        _tees[id(stream)] = stream, tee
        over = functools.partial(_over, stream)
        stream.on_eof(over)
        if response.connection is not None:
            response.connection.add_callback(over)


class _Seen:
    """Sees what is sent of a request, as traces of aiohttp do."""

    def __init__(self, request: Any, sight: Sight) -> None:
        self._request = request
        self._sight = sight

    async def send_request_headers(self, method: str, url: Any, headers: Any) -> None:
        self._sight.begins()
        self._sight.head(lambda: _head_of(self._request))

    async def send_request_chunk_sent(self, method: str, url: Any, chunk: bytes) -> None:
        self._sight.sent(chunk)

    async def send_response_chunk_received(self, method: str, url: Any, chunk: bytes) -> None:
        """It is seen where it comes."""


def _over(stream: Any) -> None:
    """A live body is complete, was cut, or is read no further."""
    kept = _tees.pop(id(stream), None)
    if kept is None:
        return
    tee = kept[1]
    error = stream.exception()
    if stream.is_eof() and error is None:
        tee.end()
    elif error is None or str(error) == "Connection closed":  # what aiohttp sets when its caller closes
        tee.dropped()
    else:
        tee.cut(error)


def _asked(request: Any, body: bytes) -> Request:
    return asked(*_head_of(request), body)


def _head_of(request: Any) -> tuple[str, str, Headers]:
    """Method, address and headers."""
    headers: Headers = tuple(request.headers.items())
    if request.compress:
        # It is not yet what the header says.
        headers = tuple(header for header in headers if header[0].lower() != "content-encoding")
    return request.method, str(request.url.with_fragment(None)), headers


def _head(response: Any) -> Response:
    headers = tuple(
        (name.decode("utf-8", "replace"), value.decode("utf-8", "replace")) for name, value in response.raw_headers
    )
    return Response(response.status, response.reason or "", headers)


def _lose_when_read(protocol: Any, stream: Any, seconds: float = 0.0) -> None:
    """End the connection once the client has read what came: an error would take the place of what it has not."""
    if protocol.transport is None:
        return
    if stream._buffer or protocol._reading_paused:
        later = min(seconds + 0.0005, 0.01)
        protocol._loop.call_later(seconds, _lose_when_read, protocol, stream, later)
    else:
        protocol.connection_lost(None)


class _Connector:
    """Takes back the connection of a recorded answer."""

    force_close = False

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        protocol.close()


class _Transport(asyncio.Transport):
    """Takes a request in, and nothing becomes of it."""

    def __init__(self) -> None:
        super().__init__()
        self._is_closing = False

    def write(self, data: Any) -> None:
        """Nobody reads it."""

    def writelines(self, list_of_data: Any) -> None:
        """Nobody reads it."""

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True

    abort = close

    def pause_reading(self) -> None:
        """What there is has been handed over."""

    def resume_reading(self) -> None:
        """What there is has been handed over."""
