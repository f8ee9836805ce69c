"""http.client, and with it urllib.request: a socket that takes a request in, and is asked for its answer."""

from __future__ import annotations

import contextlib
import errno
import functools
import http.client
import io
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..doors import Door, Live
from ..exchange import GAVE_UP, Answer, Failure, Headers, Request, origin
from ..framing import unchunked
from ..tee import Gathered, Tee
from ..watch import Sight, Watch
from .going import Tries, asked, going_out
from .reading import Recorded, failed, head_of, keep

Original = Callable[..., Any]
Find = Callable[[], Door | Watch | None]
_SENT = "Request-sent"
_UNDER_WAY = "_statebase_under_way"
_IN_SIGHT = "_statebase_in_sight"
_BEGUN = "_statebase_begun"
_HEAD = 1 << 16
"""Bytes that may be on the wire besides a body."""


def replacements(module: Any, find: Find) -> Iterator[tuple[Any, str, Any]]:
    """For `http.client`."""
    plain, secure = module.HTTPConnection, module.HTTPSConnection
    yield plain, "connect", _connect(plain.connect, find)
    yield secure, "connect", _connect(secure.connect, find)
    yield plain, "putrequest", _putrequest(plain.putrequest, find)
    yield plain, "send", _send(plain.send)
    yield plain, "_send_request", _send_request(plain._send_request)
    yield plain, "getresponse", _getresponse(plain.getresponse)


def _connect(original: Original, find: Find) -> Original:
    @functools.wraps(original)
    def connect(connection: Any) -> None:
        door = find()
        if door is None or isinstance(door, Watch):
            original(connection)
        else:
            connection.sock = _Asking(connection, None, door)

    return connect


def _putrequest(original: Original, find: Find) -> Original:
    @functools.wraps(original)
    def putrequest(connection: Any, *args: Any, **options: Any) -> None:
        connection.__dict__.pop(_UNDER_WAY, None)
        connection.__dict__.pop(_IN_SIGHT, None)
        door, sock = find(), connection.sock
        real = sock.real if isinstance(sock, _Asking) else sock
        connection.sock = real if door is None or isinstance(door, Watch) else _Asking(connection, real, door)
        original(connection, *args, **options)
        if isinstance(door, Watch):
            _look(connection, door, *args[:2])

    return putrequest


@contextlib.contextmanager
def handed_over(connection: Any, sight: Sight | None) -> Iterator[None]:
    """What `connection` sends inside is in sight already, or passes unseen."""
    connection.__dict__[_BEGUN] = sight
    try:
        yield
    finally:
        connection.__dict__.pop(_BEGUN, None)


def _look(connection: Any, watch: Watch, method: str = "", url: str = "") -> None:
    held = connection.__dict__
    sight = held[_BEGUN] if _BEGUN in held else watch.sight(lambda: (method, _address(connection, url), ()))
    if sight is not None:
        held[_IN_SIGHT] = _Seen(connection, sight)


def _send(original: Original) -> Original:
    @functools.wraps(original)
    def send(connection: Any, data: Any) -> None:
        seen = connection.__dict__.get(_IN_SIGHT)
        if seen is None:
            original(connection, data)
        else:
            seen.send(original, data)

    return send


def _send_request(original: Original) -> Original:
    @functools.wraps(original)
    def send_request(connection: Any, *args: Any, **options: Any) -> None:
        original(connection, *args, **options)
        if isinstance(connection.sock, _Asking):
            connection.sock.decide()

    return send_request


def _getresponse(original: Original) -> Original:
    @functools.wraps(original)
    def getresponse(connection: Any) -> Any:
        asking = connection.sock if isinstance(connection.sock, _Asking) else None
        if asking is not None and asking.sent:
            asking.decide()
        sending = connection.__dict__.pop(_UNDER_WAY, None)
        if sending is not None:
            return sending.response(original)
        seen = connection.__dict__.pop(_IN_SIGHT, None)
        if seen is not None:
            return seen.response(original)
        if asking is None:
            return original(connection)
        return asking.response(original)

    return getresponse


class _Asking:
    """Stands for the socket of a connection until its request is whole.

    real: the socket that the connection has open already.
    """

    def __init__(self, connection: Any, real: Any, door: Door) -> None:
        self.connection = connection
        self.real = real
        self.sent = bytearray()
        self._door = door
        self._answer: Answer | None = None

    def sendall(self, data: Any) -> None:
        self.sent += data

    def decide(self) -> None:
        """Ask the door, once. A request that goes live is sent."""
        if self._answer is not None:
            return
        connection = self.connection
        question = self._question()
        try:
            decision = self._door(question)
            if isinstance(decision, Live):
                connection.__dict__[_UNDER_WAY] = sending = _Sending(connection, self.real, bytes(self.sent), decision)
                sending.send()
                return
            self._answer = decision
            if isinstance(decision, Failure) and decision.kind == "connect":
                raise ConnectionRefusedError(errno.ECONNREFUSED, decision.message or "Connection refused")
        except BaseException:
            connection.close()
            raise

    def _question(self) -> Request:
        (method, target, headers), body = _parts(bytes(self.sent))
        return asked(method, _address(self.connection, target), headers, body)

    def response(self, original: Original) -> Any:
        """The recorded answer."""
        connection, answer = self.connection, self._answer
        if isinstance(answer, Failure):
            connection.close()
            raise TimeoutError(answer.message or "timed out") if answer.kind == "timeout" else _disconnected(answer)
        try:
            return original(connection)
        finally:
            if connection.sock is self:
                connection.sock = self.real

    def makefile(self, *args: Any, **options: Any) -> Any:
        if self._answer is None or isinstance(self._answer, Failure):
            raise http.client.ResponseNotReady(self._answer)
        return Recorded(self._answer, self.connection._method or "GET").makefile()

    def close(self) -> None:
        if self.real is not None:
            self.real.close()

    def settimeout(self, timeout: float | None) -> None:
        if self.real is not None:
            self.real.settimeout(timeout)

    def setsockopt(self, *args: Any) -> None:
        if self.real is not None:
            self.real.setsockopt(*args)


def _parts(sent: bytes) -> tuple[tuple[str, str, Headers], bytes]:
    """Method, target and headers of a request as it is on the wire, and its body."""
    head, _, body = sent.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = line.split(" ", 2)
    headers: Headers = tuple((name, value.strip()) for name, _, value in (one.partition(":") for one in lines))
    if any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in headers):
        body = unchunked(body)[0]
    return (method, target, headers), body


def _disconnected(failure: Failure) -> Exception:
    return http.client.RemoteDisconnected(failure.message or "Remote end closed connection without response")


def _address(connection: Any, target: str) -> str:
    return target if "://" in target[:8] else _origin(connection) + target


def _origin(connection: Any) -> str:
    host, port = _target(connection)
    default = connection.default_port
    return origin("https" if default == 443 else "http", host, None if port == default else port)


def _target(connection: Any) -> tuple[str, int]:
    """Whom a request is for, be it through the tunnel of a proxy."""
    host = connection._tunnel_host or connection.host
    port = connection._tunnel_port if connection._tunnel_host else connection.port
    if isinstance(host, bytes):
        host = host.decode("ascii")
    return host.strip("[]"), port or connection.default_port


class _Sending:
    """One request on its way to its server."""

    def __init__(self, connection: Any, real: Any, sent: bytes, live: Live) -> None:
        self.connection = connection
        self.real = real
        self.sent = sent
        self.live = live
        self.tries = Tries(live)
        self.targets = [_target(connection), (connection.host.strip("[]"), connection.port)]

    def send(self) -> None:
        """Connect where that is due, and send; once more where the door says so."""
        connection = self.connection
        while True:
            connection.sock, self.real = self.real, None
            is_connected = connection.sock is not None
            try:
                with going_out(*self.targets):
                    if not is_connected:
                        connection.connect()
                        is_connected = True
                    connection.sock.sendall(self.sent)
                return
            except BaseException as error:
                self._wait(error, not is_connected)

    def response(self, original: Original) -> Any:
        """The live answer, kept while it is read."""
        while True:
            try:
                with going_out(*self.targets):
                    response = original(self.connection)
            except BaseException as error:
                self._wait(error, False)
            else:
                wait = self.tries.wait(head_of(response))
                if wait is None:
                    keep(response, Tee(head_of(response), self.live.done))
                    return response
                response.close()
                self.connection.close()
                time.sleep(wait)
            self.send()
            self.connection._HTTPConnection__state = _SENT

    def _wait(self, error: BaseException, is_connect: bool) -> None:
        """Wait for the next try, or raise what is the client's."""
        failure = failed(error, is_connect) if isinstance(error, Exception) else GAVE_UP
        wait = self.tries.wait(failure) if isinstance(error, Exception) else None
        if wait is None:
            self.tries.tell(failure)
            raise error
        self.connection.close()
        time.sleep(wait)


class _Seen:
    """One request that is seen while it is sent, and its answer."""

    def __init__(self, connection: Any, sight: Sight) -> None:
        self._connection = connection
        self._sight = sight
        self._wire = Gathered(sight.most + _HEAD)
        self._is_sending = False

    def send(self, original: Original, data: Any) -> None:
        """Send a part of it. What a connection sends to be there at all is none."""
        connection = self._connection
        if self._is_sending:
            original(connection, data)
            return
        self._is_sending = True
        try:
            original(connection, _seen(data, self._wire))
        except BrokenPipeError:  # its answer may have come before
            raise
        except BaseException as error:
            self._failed(error, connection.sock is None)
            raise
        finally:
            self._is_sending = False

    def response(self, original: Original) -> Any:
        """The answer, kept while it is read."""
        try:
            response = original(self._connection)
        except BaseException as error:
            self._failed(error, False)
            raise
        self._tell_request()
        keep(response, self._sight.answered(lambda: head_of(response)), self._sight.most)
        return response

    def _failed(self, error: BaseException, is_connect: bool) -> None:
        self._tell_request()
        self._sight.failed(lambda: failed(error, is_connect) if isinstance(error, Exception) else GAVE_UP)

    def _tell_request(self) -> None:
        size, sent = self._wire.size, self._wire.taken()
        if b"\r\n\r\n" not in sent:
            return
        is_cut = size > len(sent)

        def head() -> tuple[str, str, Headers]:
            (method, target, headers), body = _parts(sent)
            self._sight.begins()
            self._sight.sent(body, size if is_cut else None)
            return method, _address(self._connection, target), headers

        self._sight.head(head)


def _seen(data: Any, wire: Gathered) -> Any:
    """What is sent for `data`: itself, or a reader or an iterator of the same that is seen."""
    if isinstance(data, (str, io.TextIOBase)):
        return data
    if hasattr(data, "read"):
        return _Reader(data, wire)
    try:
        memoryview(data)
    except TypeError:
        return map(functools.partial(_passed, wire), data) if isinstance(data, Iterable) else data
    wire.add(data)
    return data


def _passed(wire: Gathered, part: Any) -> Any:
    with contextlib.suppress(TypeError):
        wire.add(part)
    return part


class _Reader:
    """A file that is seen while it is read."""

    def __init__(self, file: Any, wire: Gathered) -> None:
        self._file = file
        self._wire = wire

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, *args: Any) -> Any:
        return _passed(self._wire, self._file.read(*args))
