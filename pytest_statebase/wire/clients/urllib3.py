"""urllib3, and with it requests and botocore: where its pool of connections makes a request."""

from __future__ import annotations

import functools
import http.client
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..doors import Door, Live
from ..exchange import GAVE_UP, Answer, Failure, Headers, Request, origin
from ..tee import Tee
from ..watch import Watch
from .going import Tries, asked, going_out
from .reading import Recorded, failed, head_of, keep
from .stdlib import handed_over

Original = Callable[..., Any]
Find = Callable[[], Door | Watch | None]


def replacements(module: Any, find: Find) -> Iterator[tuple[Any, str, Any]]:
    """For `urllib3`."""
    pool, secure = module.connectionpool.HTTPConnectionPool, module.connectionpool.HTTPSConnectionPool
    tunnel = secure._prepare_proxy
    yield pool, "_make_request", _make_request(module, pool._make_request, tunnel, find)
    yield secure, "_prepare_proxy", _prepare_proxy(tunnel, find)


def _prepare_proxy(original: Original, find: Find) -> Original:
    """The tunnel of a proxy is opened by whoever sends the request live."""

    @functools.wraps(original)
    def prepare(pool: Any, connection: Any) -> None:
        door = find()
        if door is None or isinstance(door, Watch):
            original(pool, connection)

    return prepare


def _make_request(urllib3: Any, original: Original, tunnel: Original, find: Find) -> Original:
    @functools.wraps(original)
    def make_request(
        pool: Any, connection: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any
    ) -> Any:
        door = find()
        if door is None:
            return original(pool, connection, method, url, body=body, headers=headers, **options)
        if isinstance(door, Watch):
            options.update(body=body, headers=headers)
            return _watched(urllib3, original, pool, connection, door, method, url, options)
        whole = _bytes_of(body)
        question = asked(method, _address(pool, url), _headers(pool, headers), whole or b"")
        decision = door(question)
        if not isinstance(decision, Live):
            return _answered(urllib3, pool, connection, decision, method, url, options)
        options.update(body=whole, headers=headers)
        return _Sending(urllib3, original, tunnel, pool, question, decision).send(connection, method, url, options)

    return make_request


def _watched(
    urllib3: Any,
    original: Original,
    pool: Any,
    connection: Any,
    watch: Watch,
    method: str,
    url: str,
    options: dict[str, Any],
) -> Any:
    """Have http.client, which sends it, see the request; what fails before is seen here."""
    sight = watch.sight(lambda: (method, _address(pool, url), _headers(pool, options["headers"])))
    with handed_over(connection, sight):
        try:
            return original(pool, connection, method, url, **options)
        except BaseException as error:
            if sight is not None:
                sight.failed(partial(_failed, urllib3.exceptions, error))
            raise


def _address(pool: Any, url: str) -> str:
    if "://" in url[:8]:
        return url
    return origin(pool.scheme, pool.host.strip("[]"), pool.port) + url


def _headers(pool: Any, headers: Any) -> Headers:
    found = pool.headers if headers is None else headers
    items = found.iteritems() if hasattr(found, "iteritems") else found.items()
    return tuple((_text(name), _text(value)) for name, value in items)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _bytes_of(body: Any) -> bytes | None:
    """A body in one piece, whatever it was given as."""
    if body is None or isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode("utf-8")
    if hasattr(body, "read"):
        return _encoded(body.read())
    try:
        return bytes(memoryview(body))
    except TypeError:
        return b"".join(map(_encoded, body))


def _encoded(part: Any) -> bytes:
    return part.encode("utf-8") if isinstance(part, str) else bytes(part)


def _answered(
    urllib3: Any, pool: Any, connection: Any, answer: Answer, method: str, url: str, options: dict[str, Any]
) -> Any:
    if isinstance(answer, Failure):
        raise _failure(urllib3, pool, connection, url, answer)
    plain = http.client.HTTPResponse(Recorded(answer, method), method=method)  # type: ignore[arg-type]
    plain.begin()
    response = urllib3.response.HTTPResponse(
        body=plain,
        headers=urllib3.HTTPHeaderDict(plain.headers.items()),
        status=plain.status,
        reason=plain.reason,
        version=plain.version,
        version_string="HTTP/1.1",
        preload_content=options.get("preload_content", True),
        decode_content=options.get("decode_content", True),
        original_response=plain,
        enforce_content_length=options.get("enforce_content_length", True),
        request_method=method,
        request_url=url,
    )
    return _owned(response, pool, options)


def _owned(response: Any, pool: Any, options: dict[str, Any]) -> Any:
    response.retries = options.get("retries")
    response._connection = options.get("response_conn")
    response._pool = pool
    return response


def _failure(urllib3: Any, pool: Any, connection: Any, url: str, failure: Failure) -> Exception:
    errors = urllib3.exceptions
    if failure.kind == "timeout":
        return errors.ReadTimeoutError(pool, url, failure.message or "Read timed out.")  # type: ignore[no-any-return]
    if failure.kind != "connect":
        return http.client.RemoteDisconnected(failure.message or "Remote end closed connection without response")
    message = failure.message or "Connection refused"
    return errors.NewConnectionError(connection, message)  # type: ignore[no-any-return]


class _Sending:
    """One request on its way to its server."""

    def __init__(
        self, urllib3: Any, original: Original, tunnel: Original, pool: Any, question: Request, live: Live
    ) -> None:
        self.errors = urllib3.exceptions
        self.original = original
        self.tunnel = tunnel
        self.pool = pool
        self.live = live
        self.targets = [(question.host, question.port)]
        if pool.proxy is not None:
            self.targets.append((pool.proxy.host, pool.proxy.port))

    def send(self, connection: Any, method: str, url: str, options: dict[str, Any]) -> Any:
        """The answer, kept while it is read; once more where the door says so."""
        tries = Tries(self.live)
        while True:
            try:
                response = self._once(connection, method, url, options)
            except BaseException as error:
                failure = _failed(self.errors, error)
                wait = tries.wait(failure) if isinstance(error, Exception) else None
                if wait is None:
                    tries.tell(failure)
                    raise
            else:
                plain = response._original_response
                wait = tries.wait(head_of(plain))
                if wait is None:
                    keep(plain, Tee(head_of(plain), self.live.done))
                    return self._read(response, options)
                response.close()
            connection.close()
            time.sleep(wait)

    def _once(self, connection: Any, method: str, url: str, options: dict[str, Any]) -> Any:
        with going_out(*self.targets):
            is_tunnelled = self.pool.proxy is not None and self.pool.scheme == "https"
            if is_tunnelled and connection.is_closed and not self._forwards():
                self.tunnel(self.pool, connection)
            return self.original(self.pool, connection, method, url, **{**options, "preload_content": False})

    def _forwards(self) -> bool:
        config = self.pool.proxy_config
        return bool(self.pool.proxy.scheme == "https" and config and config.use_forwarding_for_https)

    def _read(self, response: Any, options: dict[str, Any]) -> Any:
        if options.get("preload_content", True):
            response._body = response.read(decode_content=options.get("decode_content", True))
        return response


def _failed(errors: Any, error: BaseException) -> Failure:
    """What an error of the client says of the answer."""
    if not isinstance(error, Exception):
        return GAVE_UP
    # Which is one of its timeouts, too.
    is_connect = isinstance(error, (errors.NewConnectionError, errors.ProxyError, errors.SSLError))
    if isinstance(error, errors.TimeoutError) and not is_connect:
        return Failure("timeout", str(error))
    return failed(error, is_connect)
