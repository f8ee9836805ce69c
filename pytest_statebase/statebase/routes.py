"""What each call of the REST API does, on a local client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..events import timestamp
from .client import LocalClient
from .faults import ApiError
from .fields import Fields
from .items import Item, Page
from .toolturns import logged_call
from .wireform import forms, listed_trace, page_form, session_form, state_form, timed_form, trace_form, turn_form

MOST = 100
"""Items of one page."""


@dataclass(slots=True)
class Call:
    """One request, taken apart."""

    client: LocalClient
    ids: tuple[str, ...]
    query: Fields
    body: Fields
    tool_turns: bool

    @property
    def id(self) -> str:
        """The first id in the path."""
        return self.ids[0]

    def check(self) -> None:
        """Raises Unprocessable where a field that was read is wrong."""
        self.query.errors += self.body.errors
        self.query.check()

    def paging(self, default: int = 20) -> dict[str, Any]:
        """How a list is cut: newest first, unless it is asked for otherwise."""
        return {
            "limit": self.query.number("limit", default, least=1, most=MOST),
            "starting_after": self.query.text("starting_after", None),
            "order": self.query.choice("order", "desc", "asc"),
        }

    def filters(self, *names: str) -> dict[str, Any]:
        """What a list is to hold only."""
        return {name: self.query.text(name, None) for name in names}


Answered: TypeAlias = tuple[int, Any]
Route: TypeAlias = Callable[[Call], Answered]


def _session(call: Call, item: Item) -> Item:
    shown = session_form(item)
    if call.tool_turns:
        shown["turn_count"] = len(call.client.sessions.list_turns(item.id, tool_turns=True))
    return shown


def create_session(call: Call) -> Answered:
    body = call.body
    given = {
        "agent_id": body.text("agent_id"),
        "user_id": body.text("user_id", None),
        "metadata": body.mapping("metadata", None),
        "initial_state": body.mapping("initial_state", None),
        "ttl_seconds": body.number("ttl_seconds", None, least=1, most=30 * 24 * 3600),
        "reasoning": body.text("reasoning", None),
    }
    call.check()
    return 201, _session(call, call.client.sessions.create(**given))


def list_sessions(call: Call) -> Answered:
    given = {**call.paging(), **call.filters("agent_id", "user_id", "created_after")}
    call.check()
    found = call.client.sessions.list(**given)
    return 200, page_form(found, data=[_session(call, item) for item in found])


def get_session(call: Call) -> Answered:
    return 200, _session(call, call.client.sessions.get(call.id))


def update_session(call: Call) -> Answered:
    metadata = call.body.mapping("metadata", None)
    call.check()
    sessions = call.client.sessions
    return 200, _session(call, sessions.get(call.id) if metadata is None else sessions.update(call.id, metadata))


def delete_session(call: Call) -> Answered:
    call.client.sessions.delete(call.id)
    return 200, {"object": "session", "id": call.id, "deleted": True}


def get_context(call: Call) -> Answered:
    body = call.body
    given = {
        "query": body.text("query", None),
        "memory_limit": body.number("memory_limit", 5, least=0, most=MOST),
        "turn_limit": body.number("turn_limit", 10, least=0, most=MOST),
    }
    call.check()
    found = call.client.sessions.get_context(call.id, **given, tool_turns=call.tool_turns)
    memories = [timed_form(item) if "created_at" in item else item for item in found.memories]
    return 200, Item({**found, "memories": memories, "recent_turns": forms(found.recent_turns, turn_form)})


# --- state -----------------------------------------------------------------------------------------------------------


def get_state(call: Call) -> Answered:
    return 200, state_form(call.client.sessions.get_state(call.id))


def merge_state(call: Call) -> Answered:
    return _state(call, replace=False)


def replace_state(call: Call) -> Answered:
    return _state(call, replace=True)


def _state(call: Call, *, replace: bool) -> Answered:
    state, reasoning = call.body.mapping("state"), call.body.text("reasoning", None)
    call.check()
    return 200, state_form(call.client.sessions.update_state(call.id, state, reasoning, replace=replace))


def list_versions(call: Call) -> Answered:
    given = {**call.paging(50), "since_version": call.query.number("since_version", None)}
    call.check()
    found = call.client.sessions.list_state_versions(call.id, **given)
    return 200, page_form(found, data=forms(found, timed_form))


def roll_back(call: Call) -> Answered:
    version, reason = call.body.number("version"), call.body.text("reason", None)
    call.check()
    return 200, state_form(call.client.sessions.rollback(call.id, version, reason))


def fork(call: Call) -> Answered:
    version = call.body.number("version", None)
    call.check()
    return 201, _session(call, call.client.sessions.fork(call.id, version))


# --- turns -----------------------------------------------------------------------------------------------------------


def add_turn(call: Call) -> Answered:
    body, sessions = call.body, call.client.sessions
    started, ended = body.any("input"), body.any("output", None)
    told = {"reasoning": body.text("reasoning", None), "metadata": body.mapping("metadata", None)}
    states = {name: body.mapping(name, None) for name in ("state_before", "state_after")}
    call.check()
    logged = logged_call(started, ended, timestamp())
    if logged is None:
        made = sessions.add_turn(call.id, started, ended, **told, **states)
    else:
        made = sessions.log_call(call.id, logged, **told)
        made |= {"input": Item(started), "output": Item(ended) if isinstance(ended, Mapping) else made.output}
    if call.tool_turns:
        made["turn_number"] = len(sessions.list_turns(call.id, tool_turns=True))
    return 201, turn_form(made)


def list_turns(call: Call) -> Answered:
    given = call.paging()
    call.check()
    found = call.client.sessions.list_turns(call.id, **given, tool_turns=call.tool_turns)
    return 200, page_form(found, data=forms(found, turn_form))


def get_turn(call: Call) -> Answered:
    session, turn = call.ids
    return 200, turn_form(call.client.sessions.get_turn(turn, session, tool_turns=call.tool_turns))


def history(call: Call) -> Answered:
    """Everything of a session at once, its newest turns first: the service has published no form for it."""
    query, session = call.query, call.id
    given = call.paging(50)
    states, traces = query.flag("include_state", True), query.flag("include_traces", True)
    call.check()
    sessions = call.client.sessions
    found = sessions.list_turns(session, **given, tool_turns=call.tool_turns)
    more: dict[str, Any] = {"session": _session(call, sessions.get(session))}
    if states:
        versions = sessions.list_state_versions(session, order=given["order"])
        more |= {"state_versions": forms(versions, timed_form), "current_version": versions.current_version}
    if traces:
        more["traces"] = forms(call.client.traces.list(session, order=given["order"]), trace_form)
    return 200, page_form(found, data=forms(found, turn_form), **more)


# --- memory ----------------------------------------------------------------------------------------------------------


def add_memory(call: Call) -> Answered:
    body = call.body
    given = {
        "content": body.text("content"),
        "type": body.text("type", "fact"),
        "session_id": body.text("session_id", None),
        "tags": body.texts("tags"),
        "metadata": body.mapping("metadata", None),
    }
    call.check()
    return 201, timed_form(call.client.memory.add(**given))


def list_memories(call: Call) -> Answered:
    """A search where there is a `query`, else a list."""
    if "query" in call.query.values:
        return _search(call, call.query)
    given = {**call.paging(), **call.filters("session_id", "type")}
    call.check()
    found = call.client.memory.list(**given)
    return 200, page_form(found, data=forms(found, timed_form))


def search_memories(call: Call) -> Answered:
    return _search(call, call.body)


def _search(call: Call, fields: Fields) -> Answered:
    given = {
        "query": fields.text("query"),
        "session_id": fields.text("session_id", None),
        "types": fields.texts("types"),
        "tags": fields.texts("tags"),
        "limit": fields.number("limit", 10, least=1, most=MOST),
        "threshold": fields.decimal("threshold", 0.0),
    }
    call.check()
    return 200, page_form(call.client.memory.search(**given))


def get_memory(call: Call) -> Answered:
    return 200, timed_form(call.client.memory.get(call.id))


def update_memory(call: Call) -> Answered:
    body = call.body
    given = {
        "content": body.text("content", None),
        "type": body.text("type", None),
        "tags": body.texts("tags"),
        "metadata": body.mapping("metadata", None),
    }
    call.check()
    return 200, timed_form(call.client.memory.update(call.id, **given))


def delete_memory(call: Call) -> Answered:
    call.client.memory.delete(call.id)
    return 200, {"object": "memory", "id": call.id, "deleted": True}


# --- traces ----------------------------------------------------------------------------------------------------------

_TRACE_FILTERS = ("action", "resource_type", "resource_id", "user_id")
_TRACE_TIMES = ("start_time", "end_time", "created_after", "created_before")


def list_traces(call: Call) -> Answered:
    """Without details, which a single trace has."""
    session = call.ids[0] if call.ids else call.query.text("session_id", None)
    given = {**call.paging(), **call.filters(*_TRACE_FILTERS, *_TRACE_TIMES)}
    call.check()
    found: Page = call.client.traces.list(session, **given)
    return 200, page_form(found, data=forms(found, listed_trace))


def get_trace(call: Call) -> Answered:
    return 200, trace_form(call.client.traces.get(call.id))


def create_trace(call: Call) -> Answered:
    body = call.body
    given = {
        "action": body.text("action"),
        "session_id": body.text("session_id", None),
        "details": body.mapping("details", None),
        "reasoning": body.text("reasoning", None),
        "actor": body.text("actor", None),
    }
    call.check()
    return 201, trace_form(call.client.traces.create(**given))


def health(call: Call) -> Answered:
    return 200, {"status": "ok"}


_MEMORY: dict[tuple[str, str], Route] = {
    ("POST", ""): add_memory,
    ("GET", ""): list_memories,
    ("POST", "/search"): search_memories,
    ("GET", "/search"): list_memories,
    ("GET", "/*"): get_memory,
    ("PATCH", "/*"): update_memory,
    ("DELETE", "/*"): delete_memory,
}
ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/health"): health,
    ("POST", "/v1/sessions"): create_session,
    ("GET", "/v1/sessions"): list_sessions,
    ("GET", "/v1/sessions/*"): get_session,
    ("PATCH", "/v1/sessions/*"): update_session,
    ("DELETE", "/v1/sessions/*"): delete_session,
    ("POST", "/v1/sessions/*/context"): get_context,
    ("GET", "/v1/sessions/*/state"): get_state,
    ("PATCH", "/v1/sessions/*/state"): merge_state,
    ("POST", "/v1/sessions/*/state"): replace_state,
    ("PUT", "/v1/sessions/*/state"): replace_state,
    ("GET", "/v1/sessions/*/state/history"): list_versions,
    ("POST", "/v1/sessions/*/state/rollback"): roll_back,
    ("POST", "/v1/sessions/*/rollback"): roll_back,
    ("POST", "/v1/sessions/*/fork"): fork,
    ("POST", "/v1/sessions/*/turns"): add_turn,
    ("GET", "/v1/sessions/*/turns"): list_turns,
    ("GET", "/v1/sessions/*/turns/*"): get_turn,
    ("GET", "/v1/sessions/*/history"): history,
    ("GET", "/v1/traces"): list_traces,
    ("POST", "/v1/traces"): create_trace,
    ("GET", "/v1/traces/*"): get_trace,
    ("GET", "/v1/traces/sessions/*/traces"): list_traces,
    **{(method, f"/v1/{name}{rest}"): it for name in ("memory", "memories") for (method, rest), it in _MEMORY.items()},
}


def find(method: str, path: list[str]) -> tuple[Route, tuple[str, ...]]:
    """The route of a path in its (decoded) segments, and the ids in it.

    Raises ApiError: 404 for no path of the API, 405 for a method that it has not.
    """
    methods = []
    for pattern, ids in _patterns(path):
        route = ROUTES.get((method, pattern))
        if route is not None:
            return route, ids
        methods += [known for known, one in ROUTES if one == pattern]
    shown = "/" + "/".join(path)
    if methods:
        message = f"{shown} has no {method}: it has {', '.join(methods)}"
        raise ApiError(405, "method_not_allowed", message, type="invalid_request_error")
    raise ApiError(404, "path_not_found", f"no path {shown[:200]!r} in this API", type="not_found_error")


def _patterns(path: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The patterns that a path may be of, those with more words first."""
    if len(path) > _LONGEST:
        return []
    found: list[tuple[str, tuple[str, ...]]] = [("", ())]
    for index, segment in enumerate(path):
        words = [(f"{pattern}/{segment}", ids) for pattern, ids in found if segment in _WORDS]
        free = [(f"{pattern}/*", (*ids, segment)) for pattern, ids in found if index > 1 and segment]
        found = words + free
    return found


_WORDS = frozenset(word for _, pattern in ROUTES for word in pattern.split("/") if word not in ("", "*"))
_LONGEST = max(pattern.count("/") for _, pattern in ROUTES)
