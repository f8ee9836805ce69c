"""Captures an agent that is a web service, from the requests that its users send: pure ASGI, of no framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, TypeAlias

from ..engine.answer import ServiceAnswer
from ..engine.handlers import watching
from ..engine.replies import Reading, Where
from ..engine.service import DEFAULT_BODY
from ..engine.strands import recording_strands
from ..values import ABSENT
from ..wire.exchange import Request, Response, origin
from ..wire.tee import Gathered, settled
from ..wire.watch import MOST
from .capture import Recording, running
from .entry import Asked, last_words
from .places import Path, Place, Pointer, place_of, places_in
from .turns import Slot, Turn, is_at_a_turn

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE"})
_NO_WORDS = "a request holds no words of a user where they are said to be"
_NO_REPLY = "what an agent answered could not be kept: too long, or sent as a file"


class CaptureMiddleware:
    """Makes a turn of each request to an agent that is an ASGI application, and passes all messages as they are.

    path, body, headers, method, reply, state: as `asgi_agent` takes them, so that the same settings replay what was
    captured: `body={"message": "{input}", "thread": "{session_id}"}, reply="reply.text"`. Of several paths each is
    one; `*` in a path is any text between slashes.
    session, input, user: where a request has them, when those settings do not tell: `body.session_id`,
    `header.x-session-id`, `query.session`, `cookie.sid`, or a function of the request.
    agent_id: of sessions. recording: the one that captures; left out, it is the one that runs, and where none runs
    nothing is captured.

    Web sockets, the lifespan and all other requests pass untouched; nothing that goes wrong in here reaches a request.
    Raises AgentError for settings that cannot be meant.
    """

    def __init__(
        self,
        app: App,
        *,
        path: str | Iterable[str] = "/",
        body: Any = DEFAULT_BODY,
        reply: Where = None,
        state: Where = None,
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
        session: Pointer | None = None,
        input: Pointer | None = None,
        user: Pointer | None = None,
        agent_id: str | None = None,
        recording: Recording | None = None,
    ) -> None:
        self._app = app
        self._method = method.upper()
        self._paths = [Path(one) for one in ([path] if isinstance(path, str) else path)]
        self._asking = _Asking(self._paths, body, headers or {}, {"session_id": session, "input": input, "user": user})
        self._asking.agent_id = agent_id
        self._reading = Reading(reply, state)
        self._recording = recording

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        recording = self._chosen(scope)
        if recording is None:
            await self._app(scope, receive, send)
            return
        visit = _Visit(recording, self._asking, self._reading, scope)
        with watching(visit.slot), recording_strands():
            visit.begin_without_body()
            try:
                await self._app(scope, visit.receiving(receive), visit.sending(send))
            except BaseException as error:
                visit.close(error)
                raise
            visit.close(None)

    def _chosen(self, scope: Scope) -> Recording | None:
        """What captures a request; None where it passes untouched."""
        if scope["type"] != "http":
            return None
        try:
            recording = self._recording or running()
            if recording is None or not recording.is_running or is_at_a_turn():
                return None
            fits = scope["method"].upper() == self._method and any(one.fits(scope["path"]) for one in self._paths)
            return recording if fits else None
        except Exception:  # a server that says less than ASGI demands
            return None


class _Asking:
    """Reads what an agent is asked from a request."""

    agent_id: str | None = None

    def __init__(
        self, paths: list[Path], body: Any, headers: Mapping[str, str], told: Mapping[str, Pointer | None]
    ) -> None:
        found = places_in(paths, body, headers)
        given = {name: place_of(pointer) for name, pointer in told.items() if pointer is not None}
        self._places: dict[str, Place] = {**found, **given}

    def asked(self, request: Request) -> Asked | None:
        """What the agent is asked; None where the request holds no words of a user."""
        said = self._input(request)
        if said is ABSENT:
            return None
        session, user = self._text("session_id", request), self._text("user", request)
        return Asked(session, said, self._value("state", request), user, self.agent_id)

    def _input(self, request: Request) -> Any:
        if "input" in self._places:
            return self._value("input", request)
        messages = self._value("messages", request)
        return last_words(messages) if isinstance(messages, list) else ABSENT

    def _value(self, name: str, request: Request) -> Any:
        place = self._places.get(name)
        return ABSENT if place is None else place(request)

    def _text(self, name: str, request: Request) -> str | None:
        value = self._value(name, request)
        return None if value is ABSENT or value is None else str(value)


class _Visit:
    """One request on its way through the application."""

    def __init__(self, recording: Recording, asking: _Asking, reading: Reading, scope: Scope) -> None:
        self.slot = Slot()
        self._recording = recording
        self._asking = asking
        self._reading = reading
        self._scope = scope
        self._sent = Gathered(MOST)
        self._is_asked = False
        self._status: int | None = None
        self._headers: tuple[tuple[str, str], ...] = ()
        self._got = Gathered(MOST)
        self._is_readable = True

    def begin_without_body(self) -> None:
        """Of a request that has none by its kind, an application asks for none."""
        if self._scope["method"].upper() in _WITHOUT_BODY:
            self._guarded(lambda: self._receive({"type": "http.request"}))

    def receiving(self, receive: Receive) -> Receive:
        """`receive` as it is. The turn begins when the application has got the whole request."""

        async def received() -> Message:
            message = await receive()
            if not self._is_asked:
                self._guarded(lambda: self._receive(message))
            return message

        return received

    def sending(self, send: Send) -> Send:
        """`send` as it is."""

        async def sent(message: Message) -> None:
            if self.slot.turn is not None:
                self._guarded(lambda: self._send(message))
            await send(message)

        return sent

    def _receive(self, message: Message) -> None:
        if message["type"] != "http.request":
            return
        self._sent.add(message.get("body", b""))
        if not message.get("more_body", False):
            self._is_asked = True
            asked = self._asking.asked(self._request())
            if asked is None:
                self._recording.trouble("request", _NO_WORDS)
            else:
                self.slot.turn = self._recording.begin(asked)

    def _request(self) -> Request:
        scope = self._scope
        host, port = scope.get("server") or ("localhost", None)
        address = origin(scope.get("scheme", "http"), str(host), port)
        return Request(self._scope["method"], address + self._target(), _text_of(scope["headers"]), self._sent.taken())

    def _target(self) -> str:
        raw = self._scope.get("raw_path") or self._scope["path"].encode()
        query = self._scope.get("query_string", b"")
        return str((raw.partition(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1"))

    def _send(self, message: Message) -> None:
        kind = message["type"]
        if kind == "http.response.start":
            self._status, self._headers = message["status"], _text_of(message.get("headers", ()))
        elif kind == "http.response.body":
            self._got.add(message.get("body", b""))
            if not message.get("more_body", False) and self.slot.turn is not None:
                self.slot.turn.is_answered()
        elif kind in ("http.response.pathsend", "http.response.zerocopysend"):
            self._is_readable = False

    def close(self, error: BaseException | None) -> None:
        """The application is done with the request. error: what it raised."""
        turn = self.slot.turn
        if turn is not None:
            failure = error
            try:
                if error is None:
                    self._answered(turn)
            except Exception as refusal:
                failure = refusal
            turn.close(failure)

    def _answered(self, turn: Turn) -> None:
        """Raises ServiceError where what was sent is no reply, as the agent does when it is replayed."""
        answer: ServiceAnswer | None = None
        request = ""
        try:
            answer, request = self._answer(), f"{self._scope['method']} {self._target()}"
        except Exception as error:
            self._recording.failed("reply", error)
        if answer is not None:
            turn.reply(self._reading.reply(request, answer))

    def _answer(self) -> ServiceAnswer | None:
        if self._status is None:
            return None
        if not self._is_readable or self._got.is_cut:
            self._recording.trouble("reply", _NO_REPLY)
            return None
        found = settled(Response(self._status, "", self._headers, self._got.taken()), MOST)
        return ServiceAnswer(found.status, {name.lower(): value for name, value in found.headers}, found.body)

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            self._recording.failed("request", error)


def _text_of(headers: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    return tuple((bytes(name).decode("latin-1"), bytes(value).decode("latin-1")) for name, value in headers)
