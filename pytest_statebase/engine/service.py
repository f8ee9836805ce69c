"""Agents that are services: in this process (ASGI) or at an address."""

from __future__ import annotations

import http.client
import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from ..errors import AgentError
from ..wire.doors import let_pass
from .agents import PARAMETERS, AgentReply
from .answer import ServiceAnswer, ServiceError
from .asgi import Application
from .replies import Reading

PLACES = {"input": "user_input", "session_id": "session_id", "state": "state", "messages": "messages", "turn": "turn"}
PLACE = re.compile(r"\{(" + "|".join(PLACES) + r")\}")
_WORD = re.compile(r"\{(\w+)\}\Z")
_IN_A_PATH = "/%?&={}:@!$'()*+,;~-._[]"
DEFAULT_BODY = {"input": "{input}", "session_id": "{session_id}"}


def asgi_agent(
    app: Any,
    *,
    path: str = "/",
    body: Any = DEFAULT_BODY,
    reply: str | Callable[[ServiceAnswer], Any] | None = None,
    state: str | Callable[[ServiceAnswer], Any] | None = None,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> type[ServiceAgent]:
    """An agent that is an ASGI application (Starlette, FastAPI, …), called in this process: its tools are stubbed.

    path, body, headers: what each turn sends. `{input}`, `{session_id}`, `{state}`, `{messages}` and `{turn}` stand for
    what the agent is handed; a value that is one of them alone keeps its type. body may be a function that takes any
    of an agent's parameters by name and returns what to send (JSON, text or bytes); None sends nothing.
    reply: where the reply is in the JSON that comes back, such as `reply.text`, or a function of a `ServiceAnswer`;
    left out, it is the whole body. In a stream (server-sent events, JSON lines) it is where each event has a part of
    its text. state: where the new state is, likewise; left out, the service keeps it to itself.
    A status that is not 2xx fails the turn with a ServiceError. Raises AgentError for what cannot be meant.
    """
    request = _Request(method, path, body, headers or {})
    answer = Reading(reply, state)
    name = getattr(app, "__name__", None) or type(app).__name__

    class AsgiAgent(ServiceAgent):
        """One for each replay, so that each has a lifespan of its own."""

        def __init__(self) -> None:
            self.__signature__ = request.signature
            self._application = Application(app)

        async def __call__(self, **offered: Any) -> AgentReply:
            target, sent, content = request.filled(offered)
            got = await self._application.request(method, target, sent, content)
            return answer.reply(f"{method} {target}", got)

    return _named(AsgiAgent, f"asgi_agent({name})", sys._getframe(1).f_globals.get("__name__"))


def http_agent(
    url: str,
    *,
    body: Any = DEFAULT_BODY,
    reply: str | Callable[[ServiceAnswer], Any] | None = None,
    state: str | Callable[[ServiceAnswer], Any] | None = None,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
    timeout: float = 60.0,
) -> type[ServiceAgent]:
    """An agent that runs as a service at `url`, which may be on this machine; replays reach that address.

    Its tools run in its own process, where nothing stubs them. timeout: seconds without a sign of life.
    Everything else is as for `asgi_agent`; `url` takes placeholders in its path and query.
    """
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise AgentError(f"{url!r} is no address of a service", remedy="Write http://host:port/path or https://….")
    query = f"?{address.query}" if address.query else ""
    request = _Request(method, (address.path or "/") + query, body, headers or {})
    answer = Reading(reply, state)
    place = f"{address.scheme}://{address.netloc.rpartition('@')[2]}"

    class HttpAgent(ServiceAgent):
        def __init__(self) -> None:
            self.__signature__ = request.signature

        def __call__(self, **offered: Any) -> AgentReply:
            target, sent, content = request.filled(offered)
            kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
            connection = kind(address.hostname or "", address.port, timeout=timeout)
            got = _exchanged(connection, f"{method} {place}{target}", (method, target, content, sent))
            return answer.reply(f"{method} {place}{target}", got)

    return _named(HttpAgent, f"http_agent({place})", sys._getframe(1).f_globals.get("__name__"))


class ServiceAgent:
    """What `asgi_agent` and `http_agent` make: one is instantiated for every replay."""

    __signature__: inspect.Signature


def _named(kind: type[ServiceAgent], name: str, module: str | None) -> type[ServiceAgent]:
    """The class as one of the module that asked for it, from where unstubbed tools are looked for."""
    kind.__name__ = kind.__qualname__ = name
    kind.__module__ = module or kind.__module__
    return kind


def _exchanged(connection: http.client.HTTPConnection, told: str, request: tuple[Any, ...]) -> ServiceAnswer:
    # What reaches the agent is no request of the agent: neither recorded nor answered from a recording.
    try:
        with let_pass():
            connection.request(*request)
            got = connection.getresponse()
            return ServiceAnswer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
    except (OSError, http.client.HTTPException) as error:
        raise ServiceError(f"{told} had no answer: {type(error).__name__}: {error}") from error
    finally:
        connection.close()


class _Request:
    """What a turn sends, with places to fill in."""

    def __init__(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> None:
        if not path.startswith("/"):
            raise AgentError(f"{path!r} is no path of a service", remedy="A path begins with `/`.")
        self._path = quote(path, safe=_IN_A_PATH)
        self._body = body
        self._headers = {str(name): str(value) for name, value in headers.items()}
        names = _names_in([path, self._headers])
        names |= _parameters(body) if callable(body) else _names_in(body)
        wanted = [name for name in PARAMETERS if name in names]
        self.signature = inspect.Signature([inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in wanted])

    def filled(self, offered: Mapping[str, Any]) -> tuple[str, dict[str, str], bytes]:
        """Path with query, headers and body for one turn."""
        path = PLACE.sub(lambda found: quote(_text(offered[PLACES[found[1]]]), safe=""), self._path)
        headers = {name: _filled(value, offered, text=True) for name, value in self._headers.items()}
        if callable(self._body):
            body = self._body(**{name: offered[name] for name in _parameters(self._body)})
        else:
            body = _filled(self._body, offered)
        if body is None or isinstance(body, (bytes, str)):
            return path, headers, body.encode() if isinstance(body, str) else body or b""
        if not any(name.lower() == "content-type" for name in headers):
            headers["content-type"] = "application/json"
        return path, headers, json.dumps(body, ensure_ascii=False).encode()


def _parameters(body: Callable[..., Any]) -> set[str]:
    names = set(inspect.signature(body).parameters)
    if unknown := names - set(PARAMETERS):
        raise AgentError(
            f"the body of the service asks for {', '.join(sorted(unknown))}, which nobody can hand it",
            remedy=f"It can ask for {', '.join(PARAMETERS)} by name.",
        )
    return names


def _names_in(value: Any) -> set[str]:
    if isinstance(value, Mapping):
        return {name for item in value.values() for name in _names_in(item)}
    if isinstance(value, (list, tuple)):
        return {name for item in value for name in _names_in(item)}
    if not isinstance(value, str):
        return set()
    alone = _WORD.match(value)
    if alone and alone[1] not in PLACES:
        known = ", ".join(f"{{{name}}}" for name in PLACES)
        raise AgentError(f"{value!r} stands for nothing in the request of a service", remedy=f"There are {known}.")
    return {PLACES[name] for name in PLACE.findall(value)}


def _filled(value: Any, offered: Mapping[str, Any], *, text: bool = False) -> Any:
    if isinstance(value, Mapping):
        return {key: _filled(item, offered) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_filled(item, offered) for item in value]
    if not isinstance(value, str):
        return value
    alone = PLACE.fullmatch(value)
    if alone and not text:
        return offered[PLACES[alone[1]]]
    return PLACE.sub(lambda found: _text(offered[PLACES[found[1]]]), value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
