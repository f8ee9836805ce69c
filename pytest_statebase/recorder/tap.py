"""Sees the HTTP requests of captured turns, and those to StateBase, where clients send them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol

from ..frames import Between, Frame, TurnClosed
from ..wire.exchange import Request
from ..wire.hosts import Hosts
from ..wire.intercept import intercepted
from ..wire.watch import MOST, Told, Watch, settled_exchange
from .traffic import timed
from .turns import turn_here


class Service(Protocol):
    """Makes something of requests to StateBase."""

    hosts: Hosts

    def begun(self, request: Request) -> Told | None:
        """Who is to be told of a request that begins here and now."""


class Tap:
    """Has every request that a captured turn makes kept in it with its answer, from `begin` to `end`.

    http: whether other requests than those to StateBase are kept. service: None where those to StateBase are requests
    like any others. failed: told of what goes wrong in here; it never reaches a client. most: bytes of a body.
    """

    def __init__(
        self,
        failed: Callable[[str, Exception], None],
        *,
        http: bool = True,
        service: Service | None = None,
        most: int = MOST,
    ) -> None:
        self._http = http
        self._service = service
        self._watch = Watch(self._begun, lambda error: failed("http", error), most)
        self._stack = ExitStack()

    def begin(self) -> None:
        """From now on."""
        if self._http or self._service is not None:
            self._stack.enter_context(intercepted(lambda: self._watch))

    def end(self) -> None:
        """Clients are as they were; answers that are being read are read to their end."""
        self._stack.close()

    def _begun(self, request: Request) -> Told | None:
        service = self._service
        if service is not None and service.hosts.matches(request.host, request.port):
            return service.begun(request)
        turn = turn_here() if self._http else None
        return None if turn is None else timed(None, turn.inside(), turn.exchange)


def decoding(clean: Callable[[Frame], Frame]) -> Callable[[Frame], Frame]:
    """Has exchanges decoded before `clean` looks for secrets in them: in the thread that writes, not in the agent's."""
    return lambda frame: clean(settled_frame(frame))


def settled_frame(frame: Frame) -> Frame:
    """A frame with the bodies of its exchanges as they are without an encoding."""
    if isinstance(frame, (TurnClosed, Between)) and frame.exchanges:
        return replace(frame, exchanges=tuple(map(settled_exchange, frame.exchanges)))
    return frame
