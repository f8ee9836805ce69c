"""Sees the HTTP requests of captured turns, and those to StateBase, where clients send them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from ..engine.handlers import Watcher, active_handlers, own_handler
from ..events import SessionCreated
from ..frames import Between, Frame, TurnClosed
from ..wire.exchange import Request
from ..wire.hosts import Hosts
from ..wire.intercept import intercepted
from ..wire.watch import Told, Watch, settled_exchange
from .traffic import timed
from .turns import turn_here

if TYPE_CHECKING:
    from .service import Service
    from .sessions import Session


class Tap:
    """Has every request that a captured turn makes kept in it with its answer, from `begin` to `end`.

    session, end: open and end sessions that requests to StateBase tell of. failed: told of what goes wrong in here; it
    never reaches a client. http: whether other requests than those to StateBase are kept. api_hosts: where StateBase
    is; None where requests to it are like any others.
    """

    def __init__(
        self,
        session: Callable[[SessionCreated], Session],
        end: Callable[[str, str], None],
        failed: Callable[[str, Exception], None],
        *,
        http: bool = True,
        api_hosts: Hosts | None = None,
    ) -> None:
        self._session = session
        self._end = end
        self._failed = failed
        self._http = http
        self._hosts = api_hosts
        self._service: Service | None = None
        self._watch = Watch(self._begun, lambda error: failed("http", error))
        self._stack = ExitStack()

    def begin(self) -> None:
        """From now on."""
        if self._hosts is not None:
            from .service import Service

            self._service = Service(self._session, self._end, self._failed)
        if self._http or self._service is not None:
            self._stack.enter_context(intercepted(self._find))

    def end(self) -> None:
        """Clients are as they were; answers that are being read are read to their end."""
        self._stack.close()
        if self._service is not None:
            self._service.end()

    def forked(self) -> None:
        """In a child of fork: what goes on is the parent's."""
        if self._service is not None:
            self._service.forked()

    def _find(self) -> Watch | None:
        """Nobody watches what a replay or a recording by itself decides of."""
        handler = own_handler()
        is_ours = not active_handlers() if handler is None else isinstance(handler, Watcher)
        return self._watch if is_ours else None

    def _begun(self, request: Request) -> Told | None:
        service = self._service
        if service is not None and self._hosts is not None and self._hosts.matches(request.host, request.port):
            return service.begun(request)
        turn = turn_here() if self._http else None
        return None if turn is None else timed(None, turn.inside(), turn.exchange)


def settled_frame(frame: Frame) -> Frame:
    """A frame with the bodies of its exchanges as they are without an encoding."""
    if isinstance(frame, (TurnClosed, Between)) and frame.exchanges:
        return replace(frame, exchanges=tuple(map(settled_exchange, frame.exchanges)))
    return frame
