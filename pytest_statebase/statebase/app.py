"""The REST API of StateBase as a server: an ASGI application, and what runs it."""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import OptionError, StatebaseError
from ..wire.hosts import is_loopback, plain_host
from .client import LocalClient
from .router import MAX_BODY, Reply, Router, error_body
from .shelf import sessions_in

if TYPE_CHECKING:
    import uvicorn

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
_JSON = {"content-type": "application/json"}


def asgi_app(router: Router, *, key: str | None = None, only_loopback: bool = False) -> AsgiApp:
    """An ASGI application that answers as the StateBase service does.

    key: what the header `X-API-Key` has to hold; without one every request is answered. `/health` needs none.
    only_loopback: refuse requests for any host but this machine's loopback, such as a page in a browser makes that has
    its own name lead here.
    A recording that cannot be read is answered with 500, `internal_error`, and what is wrong with it.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
            refusal = _refusal(headers, _path(scope), key, only_loopback)
            reply = refusal or await _reply(router, scope, headers, receive)
            sent = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
            sent.append((b"content-length", str(len(reply.body)).encode()))
            await send({"type": "http.response.start", "status": reply.status, "headers": sent})
            await send({"type": "http.response.body", "body": reply.body})

    return app


async def _lifespan(receive: Receive, send: Send) -> None:
    for _ in range(2):
        message = await receive()
        await send({"type": f"{message['type']}.complete"})


def _path(scope: Scope) -> str:
    return str((scope.get("raw_path") or scope["path"].encode()).decode("latin-1"))


def _refusal(headers: Mapping[str, str], path: str, key: str | None, only_loopback: bool) -> Reply | None:
    """What is answered to who may not ask; None to everybody else."""
    host = headers.get("host", "")
    name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
    if only_loopback and not is_loopback(plain_host(name)):
        told = f"requests are answered for this machine alone, not for {host!r}"
        return Reply(403, _JSON, error_body(403, "permission_denied", told))
    if key is None or path == "/health":
        return None
    given = headers.get("x-api-key", "")
    if hmac.compare_digest(given.encode(), key.encode()):
        return None
    told = "the key in X-API-Key is not known" if given else "the header X-API-Key is missing"
    return Reply(401, _JSON, error_body(401, "authentication_failed", told))


async def _reply(router: Router, scope: Scope, headers: Mapping[str, str], receive: Receive) -> Reply:
    body = await _body(receive)
    target = f"{_path(scope)}?{scope.get('query_string', b'').decode('latin-1')}"
    try:
        # Reading a recording takes a while, in which connections are taken all the same.
        return await asyncio.to_thread(router.answer, scope["method"], target, headers, body)
    except StatebaseError as error:
        return Reply(500, _JSON, error_body(500, "internal_error", str(error)))


async def _body(receive: Receive) -> bytes:
    """The request's body; of one that is too long, one byte too many."""
    body = bytearray()
    while True:
        message = await receive()
        if len(body) <= MAX_BODY:
            body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body"):
            return bytes(body[: MAX_BODY + 1])


def client_of(sessions: LocalClient | str | os.PathLike[str]) -> LocalClient:
    """The client itself, or one over the cassettes of a directory."""
    return sessions if isinstance(sessions, LocalClient) else LocalClient(sessions_in(sessions))


def server_of(app: AsgiApp) -> uvicorn.Server:
    """A server for an application.

    Raises OptionError where uvicorn is not installed.
    """
    try:
        import uvicorn
    except ImportError:
        raise OptionError(
            "serving needs uvicorn, which is not installed", remedy="pip install 'pytest-statebase[serve]'"
        ) from None
    config = uvicorn.Config(
        app,
        lifespan="on",
        ws="none",
        log_config=None,  # logging is whoever's program this is
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=3,
    )
    return uvicorn.Server(config)


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections; port 0 is any free one.

    Raises OptionError where the address cannot be had.
    """
    sock = None
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # With the protocol named, asyncio sends small packets at once.
        sock = socket.socket(family, kind, socket.IPPROTO_TCP)
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(128)
        return sock
    except (OSError, OverflowError, UnicodeError) as error:
        if sock is not None:
            sock.close()
        raise OptionError(
            f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}",
            remedy="Give another --host or --port; port 0 is any free one.",
        ) from None


def address_of(sock: socket.socket) -> str:
    """`http://127.0.0.1:8042`."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Served:
    """Serves sessions on a loopback port from a thread: `with Served(client) as url:`.

    sessions: a client, or a directory with cassettes. The keyword arguments are those of `Router` and `asgi_app`;
    app: what stands between the server and the application, handed the application and returning another.
    """

    def __init__(
        self,
        sessions: LocalClient | str | os.PathLike[str],
        *,
        key: str | None = None,
        tool_turns: bool = True,
        rate_limit: int | None = None,
        app: Callable[[AsgiApp], AsgiApp] | None = None,
    ) -> None:
        self.client = client_of(sessions)
        self.router = Router(self.client, tool_turns=tool_turns, rate_limit=rate_limit)
        whole = asgi_app(self.router, key=key)
        self._server = server_of(whole if app is None else app(whole))
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> str:
        self._socket = listening("127.0.0.1", 0)
        self._thread = threading.Thread(target=self._run, args=(self._socket,), name="statebase-served", daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                self._socket.close()
                raise OptionError("the server did not start", remedy="Look at what `app` does with a lifespan.")
            self._thread.join(0.005)
        return address_of(self._socket)

    def _run(self, sock: socket.socket) -> None:
        with suppress(SystemExit):  # the way in which uvicorn tells that it cannot start
            self._server.run(sockets=[sock])

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        if self._socket is not None:
            self._socket.close()
