"""The REST API without a socket: dialects, refusals, repeated requests, limits."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from statebase_sessions import production

from pytest_statebase.ledger import Ledger, SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.statebase import LocalClient
from pytest_statebase.statebase.router import MAX_BODY, Reply, Router
from pytest_statebase.values import TypedData


@pytest.fixture
def router() -> Router:
    return Router(LocalClient({"sess_1": production("sess_1", 3)}))


def ask(router: Router, method: str, target: str, body: Any = None, **headers: str) -> Reply:
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return router.answer(method, target, {name.replace("_", "-"): value for name, value in headers.items()}, content)


def read(router: Router, method: str, target: str, body: Any = None, **headers: str) -> Any:
    return json.loads(ask(router, method, target, body, **headers).body)


STATE = "/v1/sessions/sess_1/state"


def test_patch_merges_and_the_others_replace(router: Router) -> None:
    assert read(router, "PATCH", STATE, {"state": {"a": 1}})["state"] == {"step": 3, "a": 1}
    assert read(router, "POST", STATE, {"state": {"b": 2}})["state"] == {"b": 2}
    put = read(router, "PUT", STATE, {"state": {"c": 3}, "reasoning": "why"})
    assert (put["version"], put["state"]) == (6, {"c": 3})
    history = read(router, "GET", f"{STATE}/history?since_version=3")
    assert history["current_version"] == 6
    assert [(one["version"], one["reasoning"]) for one in history["data"]] == [(6, "why"), (5, None), (4, None)]


@pytest.mark.parametrize("path", ["/v1/sessions/sess_1/state/rollback", "/v1/sessions/sess_1/rollback/"])
def test_both_paths_of_a_rollback(router: Router, path: str) -> None:
    back = read(router, "POST", path, {"version": -1, "reason": "wrong"})
    assert (back["version"], back["state"]) == (4, {"step": 2})


def test_lists_come_newest_first_and_twenty_at_a_time() -> None:
    router = Router(LocalClient({"sess_1": production("sess_1", 45)}))
    turns = "/v1/sessions/sess_1/turns"
    found: list[int] = []
    after, pages = "", []
    while True:
        page = read(router, "GET", f"{turns}{after}")
        pages.append(len(page["data"]))
        found += [turn["turn_number"] for turn in page["data"]]
        assert (page["first_id"], page["last_id"]) == (page["data"][0]["id"], page["data"][-1]["id"])
        after = f"?starting_after={page['last_id']}"
        if not page["has_more"]:
            break
    assert (found, pages) == (list(range(45, 0, -1)), [20, 20, 5])
    oldest = read(router, "GET", f"{turns}?order=asc&limit=2")
    assert [turn["turn_number"] for turn in oldest["data"]] == [1, 2]


def test_listed_traces_have_no_details(router: Router) -> None:
    for path in ("/v1/traces?session_id=sess_1&", "/v1/traces/sessions/sess_1/traces?"):
        listed = read(router, "GET", f"{path}action=state.updated&limit=1")["data"][0]
        assert not listed.keys() & {"details", "reasoning"}
    whole = read(router, "GET", f"/v1/traces/{listed['id']}")
    assert whole["details"]["reasoning"] == "Step 3 was done"
    assert {key: whole[key] for key in listed} == listed


def test_the_history_of_a_session(router: Router) -> None:
    whole = read(router, "GET", "/v1/sessions/sess_1/history?limit=2")
    assert ([turn["turn_number"] for turn in whole["data"]], whole["has_more"]) == ([3, 2], True)
    assert (len(whole["state_versions"]), whole["current_version"], whole["session"]["turn_count"]) == (4, 3, 3)
    assert whole["traces"][0]["details"]["reasoning"] == "Because of 3"
    plain = read(router, "GET", "/v1/sessions/sess_1/history?include_state=false&include_traces=0")
    assert not plain.keys() & {"state_versions", "traces"}


def test_a_state_after_makes_a_version_where_it_differs(router: Router) -> None:
    turns = "/v1/sessions/sess_1/turns"
    given = {"input": "a", "output": "b", "state_before": {"step": 1}}
    assert read(router, "POST", turns, {**given, "state_after": {"step": 1}})["state_after"] == {"step": 3}
    assert read(router, "POST", turns, {**given, "state_after": {"step": 9}})["state_after"] == {"step": 9}
    assert read(router, "GET", STATE)["version"] == 4


@pytest.mark.parametrize(
    ("asked", "answered", "call"),
    [
        (
            {"content": "Call tool look", "tool_metadata": {"name": "look", "arguments": {"a": 1}, "id": "c1"}},
            {"type": "tool_response", "content": "{'b': 2}", "output": {"b": 2}},
            ToolCalled("look", {"a": 1}, {"b": 2}, id="c1"),
        ),
        (
            {"content": "look", "tool": "look", "arguments": '{"a": 1}'},
            {"type": "error", "message": "gone"},
            ToolCalled("look", {"a": 1}, error={"type": "Exception", "message": "gone"}),
        ),
        (
            {"content": "maps.look(a=1, b=['x'])"},
            {"type": "tool_result", "content": '{"b": 2}'},
            ToolCalled("maps.look", {"a": 1, "b": ["x"]}, '{"b": 2}'),
        ),
    ],
)
def test_logged_tool_calls_fold_into_the_turn_that_follows(
    router: Router, asked: dict[str, Any], answered: dict[str, Any], call: ToolCalled
) -> None:
    turns = "/v1/sessions/sess_1/turns"
    logged = read(router, "POST", turns, {"input": {"type": "tool_call", **asked}, "output": answered})
    assert logged["input"] == {"type": "tool_call", **asked}
    read(router, "POST", turns, {"input": "and?", "output": "so"})
    (made,) = router.client.sessions._store.get("sess_1").ledger.turns[-1].calls
    assert (made.tool, made.arguments, made.result, made.error, made.id) == (
        call.tool,
        call.arguments,
        call.result,
        call.error,
        call.id,
    )
    assert [turn["turn_number"] for turn in read(router, "GET", turns)["data"]] == [4, 3, 2, 1]


def test_tool_calls_as_turns_of_their_own() -> None:
    router = Router(LocalClient({"sess_1": production("sess_1", 2)}), tool_turns=True)
    turns = "/v1/sessions/sess_1/turns"
    body = {
        "input": {"type": "tool_call", "tool": "look", "content": "look"},
        "output": {"type": "error", "message": "no"},
    }
    logged = read(router, "POST", turns, body)
    found = read(router, "GET", f"{turns}?order=asc")["data"]
    assert [(one["turn_number"], one["input"]["type"]) for one in found] == [
        (1, "tool_call"),
        (2, "text"),
        (3, "tool_call"),
        (4, "text"),
        (5, "tool_call"),
    ]
    assert found[0]["input"]["tool_metadata"] == {"name": "look_up", "arguments": {"number": 1}, "id": None}
    assert found[0]["output"] == {"type": "tool_response", "content": "{'found': 1}", "output": {"found": 1}}
    assert (logged["id"], logged["turn_number"]) == (found[-1]["id"], 5)
    assert found[-1]["output"]["type"] == "error"
    assert read(router, "GET", f"{turns}/{found[2]['id']}") == found[2]
    assert read(router, "GET", "/v1/sessions/sess_1")["turn_count"] == 5
    read(router, "POST", turns, {"input": "and?", "output": "so"})
    again = read(router, "GET", f"{turns}?order=asc")["data"]
    assert [one["id"] for one in again[:5]] == [one["id"] for one in found]


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "code"),
    [
        ("GET", "/v1/sessions/sess_2", None, 404, "session_not_found"),
        ("GET", "/v1/sessions/sess_1/turns/turn_9", None, 404, "turn_not_found"),
        ("POST", "/v1/sessions/sess_1/fork", {"version": 9}, 404, "version_not_found"),
        ("GET", "/v1/memory/mem_9", None, 404, "memory_not_found"),
        ("GET", "/v1/traces/trace_9", None, 404, "trace_not_found"),
        ("GET", "/v1/sessions/sess_1/turns?starting_after=x", None, 404, "item_not_found"),
        ("GET", "/v2/sessions", None, 404, "path_not_found"),
        ("GET", "/", None, 404, "path_not_found"),
        ("GET", "//[", None, 404, "path_not_found"),
        ("GET", "/v1/sessions/" + "a/" * 300, None, 404, "path_not_found"),
        ("DELETE", "/v1/sessions/sess_1/state", None, 405, "method_not_allowed"),
        ("POST", "/v1/memories", {"content": "x"}, 400, "invalid_request"),
        ("POST", "/v1/memories", {"content": "x" * 10_001, "session_id": "sess_1"}, 400, "invalid_request"),
        ("GET", "/v1/sessions?created_after=yesterday", None, 400, "invalid_request"),
        ("PATCH", STATE, b"x" * (MAX_BODY + 1), 413, "payload_too_large"),
    ],
)
def test_what_the_api_refuses(router: Router, method: str, target: str, body: Any, status: int, code: str) -> None:
    reply = ask(router, method, target, body)
    error = json.loads(reply.body)["error"]
    assert (reply.status, error["code"]) == (status, code)
    assert error["message"]
    assert error["type"].endswith("_error")


@pytest.mark.parametrize(
    ("method", "target", "body", "kind", "where"),
    [
        ("POST", "/v1/sessions", {}, "missing", ["body", "agent_id"]),
        ("POST", "/v1/sessions", {"agent_id": 1}, "string_type", ["body", "agent_id"]),
        ("POST", "/v1/sessions", b"{", "json_invalid", ["body", 1]),
        ("POST", "/v1/sessions", b"[" * 100_000, "json_invalid", ["body", 0]),
        ("POST", "/v1/sessions", b'{"agent_id": ' + b"9" * 5000 + b"}", "json_invalid", ["body", 0]),
        ("POST", "/v1/sessions", b"\xff\xfe\xff", "json_invalid", ["body", 0]),
        ("POST", "/v1/sessions", [], "dict_type", ["body"]),
        ("PATCH", STATE, {"state": []}, "dict_type", ["body", "state"]),
        ("PATCH", STATE, {"state": None}, "dict_type", ["body", "state"]),
        ("POST", "/v1/sessions/sess_1/rollback", {"version": "x"}, "int_parsing", ["body", "version"]),
        ("POST", "/v1/sessions/sess_1/rollback", {"version": True}, "int_parsing", ["body", "version"]),
        ("GET", "/v1/sessions?limit=101", None, "less_than_equal", ["query", "limit"]),
        ("GET", "/v1/sessions?limit=0", None, "greater_than_equal", ["query", "limit"]),
        ("GET", "/v1/sessions?limit=many", None, "int_parsing", ["query", "limit"]),
        ("GET", "/v1/sessions?order=up", None, "literal_error", ["query", "order"]),
        ("GET", "/v1/memories?query=x&threshold=much", None, "float_parsing", ["query", "threshold"]),
        ("GET", "/v1/sessions/sess_1/history?include_state=perhaps", None, "bool_parsing", ["query", "include_state"]),
        ("POST", "/v1/memories", {"content": "x", "tags": [1]}, "list_type", ["body", "tags"]),
        ("POST", "/v1/sessions/sess_1/turns", {"output": "x"}, "missing", ["body", "input"]),
    ],
)
def test_what_does_not_validate(
    router: Router, method: str, target: str, body: Any, kind: str, where: list[Any]
) -> None:
    reply = ask(router, method, target, body)
    (error,) = json.loads(reply.body)["detail"]
    assert (reply.status, error["type"]) == (422, kind)
    assert error["loc"][: len(where)] == where or kind == "json_invalid"
    assert error["msg"]


def test_every_wrong_field_is_told(router: Router) -> None:
    body = {"agent_id": None, "metadata": [], "ttl_seconds": "long"}
    errors = read(router, "POST", "/v1/sessions", body)["detail"]
    assert [error["loc"][1] for error in errors] == ["agent_id", "metadata", "ttl_seconds"]


# --- repeated requests and limits ------------------------------------------------------------------------------------


def test_the_same_key_gives_the_same_answer(router: Router) -> None:
    first = ask(router, "PATCH", STATE, {"state": {"a": 1}}, Idempotency_Key="k1")
    again = ask(router, "PATCH", STATE, {"state": {"a": 1}}, Idempotency_Key="k1")
    other = ask(router, "PATCH", STATE, {"state": {"a": 1}}, Idempotency_Key="k2")
    assert first.body == again.body != other.body
    assert read(router, "GET", STATE)["version"] == 5


def test_a_key_is_of_one_path(router: Router) -> None:
    made = [ask(router, "POST", path, {"state": {}}, Idempotency_Key="k") for path in (STATE, f"{STATE}/rollback")]
    assert [reply.status for reply in made] == [200, 422]


def test_limits_are_told_and_kept_where_there_are_some(router: Router) -> None:
    reply = ask(router, "GET", STATE)
    assert (reply.headers["x-ratelimit-limit"], reply.headers["x-ratelimit-remaining"]) == ("100", "99")
    assert int(reply.headers["x-ratelimit-reset"]) > 0
    limited = Router(router.client, rate_limit=2)
    replies = [ask(limited, "GET", STATE) for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 200, 429]
    assert [reply.headers["x-ratelimit-remaining"] for reply in replies] == ["1", "0", "0"]
    error = json.loads(replies[2].body)["error"]
    assert (error["code"], 0 < error["retry_after"] <= 60) == ("rate_limit_exceeded", True)
    assert replies[2].headers["retry-after"] == str(error["retry_after"])


def test_without_a_limit_nothing_is_refused(router: Router) -> None:
    assert {ask(router, "GET", "/health").status for _ in range(150)} == {200}


# --- what clients can read -------------------------------------------------------------------------------------------


def test_the_package_can_read_what_was_hardly_recorded() -> None:
    models = pytest.importorskip("statebase.models")
    events = [
        SessionCreated("sess_x"),
        TurnStarted(1, None),
        TurnAdded(),
        TurnStarted(2, {"type": "json", "content": {"a": [1]}}),
        StateUpdated(0, {"big": Decimal("1.50")}),
        TurnAdded({"type": "text"}),
    ]
    router = Router(LocalClient({"sess_x": Ledger(events)}))
    session = models.SessionResponse(**read(router, "GET", "/v1/sessions/sess_x"))
    assert (session.agent_id, session.created_at, session.state) == ("", "1970-01-01T00:00:00Z", {"big": "1.50"})
    models.StateGetResponse(**read(router, "GET", "/v1/sessions/sess_x/state"))
    second, first = (models.TurnResponse(**turn) for turn in read(router, "GET", "/v1/sessions/sess_x/turns")["data"])
    assert (first.input.content, first.output.content) == ("", "")
    assert (second.input.content, second.output.content) == ('{"a": [1]}', "")


def test_values_that_json_has_not() -> None:
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep]
    state = {"nan": float("nan"), ("a", 1): {1, 2}, "typed": TypedData("m:T", {"x": b"\0"}), "\ud800": "\udfff"}
    events = [SessionCreated("sess_x", state=state), StateUpdated(1, {"deep": deep})]
    router = Router(LocalClient({"sess_x": Ledger(events)}))
    newest, first = read(router, "GET", "/v1/sessions/sess_x/state/history")["data"]
    assert first["state"] == {"nan": None, "('a', 1)": [1, 2], "typed": {"x": "00"}, "\ud800": "\udfff"}
    assert newest["state"]["deep"][0][0][0]


def test_ids_are_read_as_they_are_written_in_addresses() -> None:
    router = Router(LocalClient({"a/b c?%": production("a/b c?%", 1)}))
    assert read(router, "GET", "/v1/sessions/a%2Fb%20c%3F%25/state")["session_id"] == "a/b c?%"
