"""What a request to the StateBase API and its answer tell of a session, for whoever sees them pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from urllib.parse import unquote

from ..events import (
    Content,
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
)
from ..values import ABSENT
from ..wire.exchange import Request, Response
from . import routes
from .faults import ApiError
from .fields import Fields, Unprocessable
from .toolturns import logged_call


@dataclass(frozen=True, slots=True)
class StateRead:
    """The state of a session as it stood."""

    version: int | None
    value: Any


@dataclass(frozen=True, slots=True)
class TurnLogged:
    """A turn was added to a session, its work done."""

    input: Content
    output: Any
    reasoning: str | None
    metadata: Mapping[str, Any] | None
    state_after: Any
    """ABSENT where the turn tells of none."""
    at: str | None


@dataclass(frozen=True, slots=True)
class MemorySeen:
    """A memory that there is."""

    id: str
    content: str


Fact: TypeAlias = (
    SessionCreated
    | SessionEnded
    | StateRead
    | StateUpdated
    | StateRolledBack
    | TurnLogged
    | ToolCalled
    | MemoryAdded
    | MemoryUpdated
    | MemoryDeleted
    | MemorySearched
    | MemorySeen
)
"""Events have the service's numbers. `was` of a memory that changed is empty and its `number` 0: the service does not
tell them; its id stands under `id` in `extra`."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One thing that a request and its answer tell."""

    session: str | None
    """None where they name no session."""
    fact: Fact


def target_of(request: Request) -> str:
    """Path and query in the API, which a service of one's own may have below some path."""
    parts = request.parts
    path = parts.path[max(parts.path.find("/v1/"), 0) :]
    return f"{path}?{parts.query}" if parts.query else path


def session_named(request: Request) -> str | None:
    """The session that the path of a request names."""
    call = _call(request, b"")
    return call.ids[0] if call is not None and call.ids and call.route not in _BY_OTHER_IDS else None


def reads(request: Request) -> bool:
    """Whether a request asks for a session's context or state, as an agent does when its turn begins."""
    call = _call(request, b"")
    return call is not None and call.route in (routes.get_context, routes.get_state)


def observed(request: Request, response: Response) -> list[Observed]:
    """What both tell, in order; nothing where the service refused, or where this is no call of the API."""
    if not 200 <= response.status < 300:
        return []
    call = _call(request, request.body)
    tell = _TELLERS.get(call.route) if call is not None else None
    if call is None or tell is None:
        return []
    try:
        call.answer = json.loads(response.body) if response.body.strip() else {}
    except (ValueError, RecursionError):
        return []
    return list(tell(call)) if isinstance(call.answer, dict) else []


@dataclass(slots=True)
class _Call:
    route: routes.Route
    ids: tuple[str, ...]
    query: Mapping[str, Any]
    body: Mapping[str, Any]
    answer: dict[str, Any]

    @property
    def session(self) -> str | None:
        """The session of something that may belong to one."""
        return _text(self.body.get("session_id") or self.query.get("session_id") or self.answer.get("session_id"))

    def items(self, name: str = "data") -> list[Mapping[str, Any]]:
        """The objects of a list in the answer."""
        found = self.answer.get(name)
        return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _call(request: Request, body: bytes) -> _Call | None:
    where, _, query = target_of(request).partition("?")
    try:
        route, ids = routes.find(request.method.upper(), [unquote(part) for part in where.strip("/").split("/")])
        return _Call(route, ids, Fields.of_query(query).values, Fields.of_body(body).values, {})
    except (ApiError, Unprocessable, ValueError):
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _created(call: _Call) -> Iterator[Observed]:
    name = _text(call.answer.get("id"))
    if name is None:
        return
    state = call.body.get("initial_state")
    yield Observed(
        name,
        SessionCreated(
            name,
            _text(call.body.get("agent_id")),
            _text(call.body.get("user_id")),
            _text(call.answer.get("created_at")),
            {} if state is None else state,
            _mapping(call.body.get("metadata")),
            reasoning=_text(call.body.get("reasoning")),
        ),
    )


def _forked(call: _Call) -> Iterator[Observed]:
    name = _text(call.answer.get("id"))
    if name is not None:
        metadata = {"forked_from": call.ids[0], "forked_version": call.body.get("version")}
        told = {**metadata, **(_mapping(call.answer.get("metadata")) or {})}
        agent, user = _text(call.answer.get("agent_id")), _text(call.answer.get("user_id"))
        yield Observed(name, SessionCreated(name, agent, user, _text(call.answer.get("created_at")), metadata=told))


def _deleted(call: _Call) -> Iterator[Observed]:
    yield Observed(call.ids[0], SessionEnded("deleted"))


def _context(call: _Call) -> Iterator[Observed]:
    session = call.ids[0]
    if "state" in call.answer:
        yield Observed(session, StateRead(None, call.answer["state"]))
    query = _text(call.body.get("query"))
    if query is not None and call.body.get("memory_limit") != 0:
        yield Observed(session, MemorySearched(query, call.items("memories")))
    yield from _seen(call.items("memories"), session)


def _state_read(call: _Call) -> Iterator[Observed]:
    if "state" in call.answer:
        yield Observed(call.ids[0], StateRead(_whole(call.answer.get("version")), call.answer["state"]))


def _updated(call: _Call) -> Iterator[Observed]:
    version = _whole(call.answer.get("version"))
    if version is not None and "state" in call.answer:
        reasoning, at = _text(call.body.get("reasoning")), _text(call.answer.get("updated_at"))
        yield Observed(call.ids[0], StateUpdated(version, call.answer["state"], reasoning, at=at))


def _rolled_back(call: _Call) -> Iterator[Observed]:
    version, wanted = _whole(call.answer.get("version")), _whole(call.body.get("version"))
    if version is None or wanted is None or "state" not in call.answer:
        return
    # -1 is the version before the one that was current.
    target = wanted if wanted >= 0 else version - 1 + wanted
    reason, at = _text(call.body.get("reason")), _text(call.answer.get("updated_at"))
    yield Observed(call.ids[0], StateRolledBack(version, target, call.answer["state"], reason, at=at))


def _turn_added(call: _Call) -> Iterator[Observed]:
    body, at = call.body, _text(call.answer.get("created_at"))
    started, ended = _content(body.get("input")), body.get("output")
    told: dict[str, Any] = {"reasoning": _text(body.get("reasoning")), "metadata": _mapping(body.get("metadata"))}
    logged = logged_call(started, ended, at)
    if logged is not None:
        extra = {key: value for key, value in told.items() if value is not None}
        yield Observed(call.ids[0], replace(logged, extra={**logged.extra, **extra}))
        return
    after = body.get("state_after")
    changed = ABSENT if after is None or after == body.get("state_before") else after
    output = ABSENT if ended is None else _content(ended)
    yield Observed(call.ids[0], TurnLogged(started, output, **told, state_after=changed, at=at))


def _content(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"type": "text", "content": value}


def _memory_added(call: _Call) -> Iterator[Observed]:
    body, answer = call.body, call.answer
    content, name = _text(body.get("content")), _text(answer.get("id"))
    if content is None:
        return
    metadata, tags = _mapping(body.get("metadata")), body.get("tags")
    yield Observed(
        call.session,
        MemoryAdded(
            content,
            _text(body.get("type")) or _text(answer.get("type")) or "general",
            tags if isinstance(tags, list) else None,
            name,
            at=_text(answer.get("created_at")),
            extra={"metadata": metadata} if metadata else {},
        ),
    )


def _memory_updated(call: _Call) -> Iterator[Observed]:
    body = call.body
    new: dict[str, Any] = {
        "content": _text(body.get("content")),
        "type": _text(body.get("type")),
        "tags": body["tags"] if isinstance(body.get("tags"), list) else None,
        "metadata": _mapping(body.get("metadata")),
    }
    if any(value is not None for value in new.values()):
        yield Observed(call.session, MemoryUpdated(0, "", **new, extra={"id": call.ids[0]}))


def _memory_deleted(call: _Call) -> Iterator[Observed]:
    yield Observed(call.session, MemoryDeleted(0, "", extra={"id": call.ids[0]}))


def _memory_read(call: _Call) -> Iterator[Observed]:
    yield from _seen([call.answer], call.session)


def _memories(call: _Call) -> Iterator[Observed]:
    query = _text(call.query.get("query")) or _text(call.body.get("query"))
    if query is not None:
        yield Observed(call.session, MemorySearched(query, call.items()))
    yield from _seen(call.items(), call.session)


def _seen(items: list[Mapping[str, Any]], session: str | None) -> Iterator[Observed]:
    for item in items:
        name, content = _text(item.get("id")), _text(item.get("content"))
        if name is not None and content is not None:
            yield Observed(_text(item.get("session_id")) or session, MemorySeen(name, content))


_TELLERS: Mapping[routes.Route, Callable[[_Call], Iterator[Observed]]] = {
    routes.create_session: _created,
    routes.fork: _forked,
    routes.delete_session: _deleted,
    routes.get_context: _context,
    routes.get_state: _state_read,
    routes.merge_state: _updated,
    routes.replace_state: _updated,
    routes.roll_back: _rolled_back,
    routes.add_turn: _turn_added,
    routes.add_memory: _memory_added,
    routes.update_memory: _memory_updated,
    routes.delete_memory: _memory_deleted,
    routes.get_memory: _memory_read,
    routes.list_memories: _memories,
    routes.search_memories: _memories,
}
_BY_OTHER_IDS = frozenset({routes.get_memory, routes.update_memory, routes.delete_memory, routes.get_trace})
