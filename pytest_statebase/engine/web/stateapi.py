"""Requests to the StateBase service, which are answered in this process: the session is here."""

from __future__ import annotations

import re
from http import HTTPStatus

from ...statebase import LocalClient
from ...statebase.observed import target_of
from ...statebase.router import Router
from ...wire.exchange import Request, Response
from ...wire.hosts import Hosts

_CREATED = (
    "the agent created a session of its own in StateBase: what it keeps there is no part of this session; "
    "let it take session_id"
)
_TELLS = re.compile(r"GET /v1/sessions/[^/]+/(?:state|turns|history)(?:/.*)?|POST /v1/sessions/[^/]+/context/?")
"""Requests whose answer tells what happened in a session."""


class StateApi:
    """Answers the requests to StateBase that belong to one session; what was asked before is remembered."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._router: Router | None = None
        self._created = False
        self._read = False

    @property
    def was_read(self) -> bool:
        """The agent asked for the session's context, state, turns or history, and got them."""
        return self._read

    @property
    def warnings(self) -> list[str]:
        """What whoever replays or records should know of the agent."""
        return [_CREATED] if self._created else []

    def knows(self, request: Request) -> bool:
        """Whether a request is one to StateBase."""
        return self._hosts.matches(request.host, request.port)

    def answer(self, request: Request, client: LocalClient) -> Response:
        """The answer, given by `client`, which is always the same.

        Raises UnrecordedCall where the turn that is ongoing may write no more.
        """
        if self._router is None:
            self._router = Router(client)
        target = target_of(request)
        path = target.partition("?")[0]
        reply = self._router.answer(request.method, target, dict(request.headers), request.body)
        reason = HTTPStatus(reply.status).phrase
        self._created |= path.rstrip("/") == "/v1/sessions" and reply.status == HTTPStatus.CREATED
        self._read |= _TELLS.fullmatch(f"{request.method} {path}") is not None and reply.status == HTTPStatus.OK
        return Response(reply.status, reason, tuple(reply.headers.items()), reply.body)
