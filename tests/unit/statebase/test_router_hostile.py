"""Whatever is sent to the REST API, it is answered, and the answer is JSON."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

from hypothesis import given, settings, strategies
from statebase_sessions import production

from pytest_statebase.statebase import LocalClient
from pytest_statebase.statebase.router import Router
from pytest_statebase.statebase.routes import ROUTES

TEXTS = strategies.text(max_size=12) | strategies.sampled_from(
    [
        "sess_1",
        "version_1",
        "turn_sess_1_1",
        "2024-03-15T10:00:09Z",
        "f(a=1)",
        "f(*a)",
        "tool_call",
        "error",
        '{"a": 1}',
    ]
)
VALUES: Any = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.floats() | TEXTS,
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
NAMES = strategies.sampled_from(
    [
        "action",
        "agent_id",
        "arguments",
        "content",
        "created_after",
        "details",
        "include_state",
        "initial_state",
        "input",
        "limit",
        "memory_limit",
        "metadata",
        "order",
        "output",
        "query",
        "reason",
        "reasoning",
        "session_id",
        "since_version",
        "starting_after",
        "state",
        "state_after",
        "state_before",
        "tags",
        "threshold",
        "ttl_seconds",
        "turn_limit",
        "type",
        "types",
        "user_id",
        "version",
    ]
)
CALLS = strategies.fixed_dictionaries(
    {"type": strategies.just("tool_call") | VALUES, "content": VALUES},
    optional={"tool": VALUES, "arguments": VALUES, "tool_metadata": strategies.dictionaries(TEXTS, VALUES) | VALUES},
)
BODIES = strategies.dictionaries(NAMES, VALUES, max_size=5).flatmap(
    lambda body: strategies.just(body) | CALLS.map(lambda call: {**body, "input": call})
)


@given(
    route=strategies.sampled_from(sorted(ROUTES)),
    ids=strategies.lists(TEXTS, min_size=2, max_size=2),
    query=strategies.dictionaries(NAMES, TEXTS, max_size=4),
    body=BODIES | VALUES,
    raw=strategies.none() | strategies.binary(max_size=20),
)
@settings(max_examples=400, deadline=None)
def test_everything_is_answered(
    route: tuple[str, str], ids: list[str], query: dict[str, str], body: Any, raw: bytes | None
) -> None:
    method, pattern = route
    router = Router(LocalClient({"sess_1": production("sess_1", 2)}), tool_turns=True)
    words = iter(["sess_1" if "sessions" in pattern else ids[0], ids[1]])
    path = "/".join(
        quote(next(words), safe="", errors="replace") if part == "*" else part for part in pattern.split("/")
    )
    target = f"{path}?{urlencode(query, errors='replace')}"
    content = json.dumps(body).encode() if raw is None else raw
    reply = router.answer(method, target, {}, content)
    assert reply.status < 500
    json.loads(reply.body, parse_constant=lambda word: 1 / 0)
    for again in ("/v1/sessions/sess_1/turns", "/v1/traces", "/v1/sessions/sess_1/history", "/v1/memories"):
        after = router.answer("GET", again, {}, b"")
        assert after.status == 200 or method == "DELETE"
        json.loads(after.body, parse_constant=lambda word: 1 / 0)
