"""The local client call by call, where the samples and the model do not reach."""

from __future__ import annotations

import json
import pickle
import threading
from typing import Any

import pytest
from statebase_sessions import production

from pytest_statebase.ledger import (
    Ledger,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    SessionCreated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.statebase import ApiError, Item, LocalClient, Page


@pytest.fixture
def sb() -> LocalClient:
    return LocalClient({"sess_1": production("sess_1", 5)})


def code_of(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str, str | None]:
    return error.value.status_code, error.value.code, error.value.param


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda sb: sb.sessions.get("nowhere"), (404, "session_not_found", "session_id")),
        (lambda sb: sb.sessions.get_turn("nowhere"), (404, "turn_not_found", "turn_id")),
        (lambda sb: sb.memory.get("nowhere"), (404, "memory_not_found", "memory_id")),
        (lambda sb: sb.traces.get("nowhere"), (404, "trace_not_found", "trace_id")),
        (lambda sb: sb.traces.list("nowhere"), (404, "session_not_found", "session_id")),
        (lambda sb: sb.sessions.fork("sess_1", 99), (404, "version_not_found", "version_id")),
        (lambda sb: sb.sessions.fork("sess_1", -1), (404, "version_not_found", "version_id")),
        (lambda sb: sb.sessions.rollback("sess_1", 99), (404, "version_not_found", "version_id")),
        (lambda sb: sb.sessions.rollback("sess_1", -2), (404, "version_not_found", "version_id")),
        (lambda sb: sb.sessions.rollback(sb.sessions.create().id, -1), (400, "invalid_request", "version")),
        (lambda sb: sb.sessions.update_state("sess_1", ["no"]), (400, "invalid_request", "state")),
        (lambda sb: sb.sessions.add_turn("sess_1", 5, "x"), (400, "invalid_request", "input")),
        (lambda sb: sb.sessions.list_turns("sess_1", limit=0), (400, "invalid_request", "limit")),
        (lambda sb: sb.sessions.list_turns("sess_1", order="up"), (400, "invalid_request", "order")),
        (lambda sb: sb.sessions.list(created_after="soon"), (400, "invalid_request", "created_after")),
        (lambda sb: sb.memory.add("x"), (400, "invalid_request", "session_id")),
        (lambda sb: sb.memory.add("x", "gossip", "sess_1"), (400, "invalid_request", "type")),
        (lambda sb: sb.memory.add("x" * 10_001, session_id="sess_1"), (400, "invalid_request", "content")),
        (lambda sb: sb.memory.add("", session_id="sess_1"), (400, "invalid_request", "content")),
    ],
)
def test_errors_have_the_codes_of_the_api(sb: LocalClient, call: Any, expected: tuple[int, str, str]) -> None:
    with pytest.raises(ApiError) as error:
        call(sb)
    assert code_of(error) == expected
    assert error.value.error.keys() == {"code", "message", "type", "param"}
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_a_refused_call_leaves_nothing_behind(sb: LocalClient) -> None:
    before = sb.traces.list()
    for call in (
        lambda: sb.sessions.update_state("sess_1", 5),  # type: ignore[arg-type]
        lambda: sb.sessions.rollback("sess_1", 99),
        lambda: sb.sessions.add_turn("sess_1", "hi", "x", state_after=5),  # type: ignore[arg-type]
    ):
        with pytest.raises(ApiError):
            call()
    assert sb.traces.list() == before
    assert len(sb.sessions.list_turns("sess_1")) == 5


def test_pages(sb: LocalClient) -> None:
    first = sb.sessions.list_turns("sess_1", limit=2)
    assert ([t.turn_number for t in first], first.has_more) == ([1, 2], True)
    second = sb.sessions.list_turns("sess_1", limit=2, starting_after=first.last_id)
    assert [t.turn_number for t in second.data] == [3, 4]
    assert second.first_id == second[0].id == second["data"][0]["id"]
    last = sb.sessions.list_turns("sess_1", limit=2, starting_after=second.last_id)
    assert ([t.turn_number for t in last], last.has_more, last["has_more"]) == ([5], False, False)
    newest = sb.sessions.list_turns("sess_1", order="desc", limit=1)
    assert newest[0].turn_number == 5
    assert sb.sessions.list_state_versions("sess_1", since_version=4)[0].version == 5
    assert sb.sessions.list_state_versions("sess_1").current_version == 5
    assert isinstance(first, Page)


def test_objects_are_copies_that_are_mappings_too(sb: LocalClient) -> None:
    turn = sb.sessions.list_turns("sess_1")[0]
    assert turn.input.content == turn["input"]["content"] == turn.get("input").get("content")
    assert json.loads(json.dumps(turn))["output"] == {"type": "text", "content": "Answer 1"}
    turn.state_after["step"] = "spoilt"
    sb.sessions.get_state("sess_1").state["step"] = "spoilt"
    assert sb.sessions.get_state("sess_1").state == {"step": 5}
    with pytest.raises(AttributeError, match="no 'outptu' here: it has object, id"):
        _ = turn.outptu
    with pytest.raises(AttributeError):
        _ = sb.sessions.list().nothing


def test_what_came_out_of_the_client_goes_in_as_plain_values(sb: LocalClient) -> None:
    turn = sb.sessions.list_turns("sess_1")[0]
    sb.sessions.update_state("sess_1", Item(last=turn.input, all=[turn.output]), replace=True)
    state = sb.sessions.get_state("sess_1").state
    assert state == {"last": {"type": "text", "content": "Question 1"}, "all": [dict(turn.output)]}
    assert {type(state), type(state["last"]), type(state["all"][0])} == {dict}


def test_updates_merge_unless_they_are_to_replace(sb: LocalClient) -> None:
    session = sb.sessions.create(agent_id="a", initial_state={"a": {"x": 1}, "b": 2}).id
    assert sb.sessions.update_state(session, {"a": {"y": 1}}).state == {"a": {"y": 1}, "b": 2}
    assert sb.sessions.update_state(session, {"c": 3}, replace=True).state == {"c": 3}
    assert sb.sessions.get_state(session).version == 2


def test_a_rollback_of_a_rollback(sb: LocalClient) -> None:
    sb.sessions.rollback("sess_1", 2, "too far")
    again = sb.sessions.rollback("sess_1", -1, "not after all")
    assert (again.version, again.state) == (7, {"step": 5})
    first, second = sb.traces.list("sess_1", action="state.rolled_back")
    assert (first.details.from_version, first.details.to_version, first.reasoning) == (5, 2, "too far")
    assert (second.details.from_version, second.details.to_version) == (6, 5)


def test_a_fork_inside_a_turn_keeps_that_turn_as_partial(sb: LocalClient) -> None:
    fork = sb.sessions.fork("sess_1", version=2)
    turns = sb.sessions.list_turns(fork.id)
    assert [(turn.turn_number, turn.partial, turn.output.content) for turn in turns] == [
        (1, False, "Answer 1"),
        (2, True, None),
    ]
    sb.sessions.update_state(fork.id, {"step": "after the fork"})
    assert sb.sessions.list_turns(fork.id)[1].state_after == {"step": 2}
    assert sb.sessions.add_turn(fork.id, "next", "done").turn_number == 3


def test_a_chat_log_without_states_forks_at_a_turn() -> None:
    said = [{"type": "text", "content": text} for text in ("one", "two", "three")]
    events = [event for n, content in enumerate(said, 1) for event in (TurnStarted(n, content), TurnAdded(content))]
    sb = LocalClient({"sess_log": Ledger([SessionCreated("sess_log"), *events])})
    fork = sb.sessions.fork("sess_log", turn=3)
    assert [turn.input.content for turn in sb.sessions.list_turns(fork.id)] == ["one", "two"]
    for wrong in ({"turn": 4}, {"turn": 2, "version": 0}):
        with pytest.raises(ApiError) as caught:
            sb.sessions.fork("sess_log", **wrong)
        assert code_of(caught)[2] == "turn"


def test_forks_of_one_point_have_ids_of_their_own(sb: LocalClient) -> None:
    ids = [sb.sessions.fork("sess_1", version=1).id for _ in range(3)]
    assert ids == ["sess_1-fork-version-1", "sess_1-fork-version-1-2", "sess_1-fork-version-1-3"]


def test_forks_begin_with_memories_as_they_stood(sb: LocalClient) -> None:
    memory = sb.memory.add("Likes tea", session_id="sess_1")
    early = sb.sessions.fork("sess_1").id
    sb.memory.update(memory.id, content="Likes coffee", tags=["drinks"])
    late = sb.sessions.fork("sess_1").id
    sb.memory.delete(memory.id)

    def told(session: str) -> list[str]:
        return [item.content for item in sb.memory.list(session)]

    assert told("sess_1") == ["Likes hiking boots"]
    assert told(early) == ["Likes hiking boots", "Likes tea"]
    assert told(late) == ["Likes hiking boots", "Likes coffee"]
    actions = [trace.action for trace in sb.traces.list("sess_1", resource_id=memory.id)]
    assert actions == ["memory.created", "memory.updated", "memory.deleted"]


def test_search_is_lexical_and_says_so(sb: LocalClient) -> None:
    sb.memory.add("Wants waterproof boots", "fact", "sess_1", ["shoes"])
    sb.memory.add("Lives in Oslo", "fact", "sess_1")
    found = sb.memory.search("hiking boot", session_id="sess_1")
    assert [(item.content, item.score) for item in found] == [
        ("Likes hiking boots", 1.0),
        ("Wants waterproof boots", 0.5),
    ]
    assert found.ranking == "lexical"
    assert [item.type for item in sb.memory.search("boots", types="preference,event")] == ["preference"]
    assert len(sb.memory.search("shoes", tags=["shoes"])) == 2
    assert [item.score for item in sb.memory.search("hiking boot", threshold=0.7)] == [1.0, 0.5]
    assert sb.memory.search("boots", limit=1)[0].content == "Wants waterproof boots"
    assert sb.memory.search("?") == []


def test_context(sb: LocalClient) -> None:
    context = sb.sessions.get_context("sess_1", query="boots", turn_limit=2)
    assert context.state == {"step": 5}
    assert [turn.turn_number for turn in context.recent_turns] == [5, 4]
    assert [memory.content for memory in context.memories] == ["Likes hiking boots"]
    assert context.ranking == "lexical"
    event = sb._store.get("sess_1").ledger.events[-1]
    assert isinstance(event, MemorySearched)
    assert (event.query, event.results, event.extra) == ("boots", list(context.memories), {"ranking": "lexical"})
    assert "ranking" not in sb.sessions.get_context("sess_1")
    assert sb.sessions.get_context("sess_1", query="boots", memory_limit=0).memories == []
    assert sb._store.get("sess_1").ledger.events[-1] is event


def test_context_gives_what_was_recorded_first() -> None:
    said = [
        {"id": f"m{n}", "session_id": "sess_1", "content": f"{n}", "type": "fact", "score": 0.9 - n / 10}
        for n in range(3)
    ]
    sb = LocalClient({"sess_1": Ledger([*production("sess_1", 2).events, MemorySearched("boots", said)])})
    context = sb.sessions.get_context("sess_1", query="boots", memory_limit=2)
    assert (context.ranking, context.memories) == ("recorded", said[:2])


@pytest.mark.parametrize(("extra", "scores"), [({}, [0.9, None]), ({"ranking": "lexical"}, [0.9, 0.5, None])])
def test_a_threshold_is_one_of_similarity(extra: dict[str, Any], scores: list[float | None]) -> None:
    said = [{"id": f"m{n}", "content": "x", "score": score} for n, score in enumerate((0.9, 0.5, None))]
    sb = LocalClient({"sess_1": Ledger([*production("sess_1", 2).events, MemorySearched("boots", said, extra=extra)])})
    found = sb.memory.search("boots", "sess_1", threshold=0.7)
    assert [item.score for item in found] == scores
    event = sb._store.get("sess_1").ledger.events[-1]
    assert isinstance(event, MemorySearched)
    assert (event.results, event.extra) == (list(found), extra)


def test_tool_calls_become_part_of_the_next_turn(sb: LocalClient) -> None:
    logged = sb.sessions.add_tool_call("sess_1", "look_up", {"n": 1}, {"found": 1}, "call_1")
    assert (logged.turn_number, logged.input.tool_metadata.name, logged.output.output) == (6, "look_up", {"found": 1})
    assert len(sb.sessions.list_turns("sess_1")) == 5
    assert sb.sessions.add_turn("sess_1", "hi", "x").turn_number == 6
    held = sb._store.get("sess_1").ledger
    assert [(call.tool, call.result, call.id) for call in held.turns[-1].calls] == [("look_up", {"found": 1}, "call_1")]


def test_why_a_tool_was_called_is_kept(sb: LocalClient) -> None:
    told = {"reasoning": "It was asked for", "metadata": {"latency_ms": 77}}

    def read() -> list[tuple[Any, Any]]:
        turns = sb.sessions.list_turns("sess_1", tool_turns=True)[-2:]
        return [(turn.reasoning, turn.metadata) for turn in turns if turn.input.type == "tool_call"]

    logged = sb.sessions.add_tool_call("sess_1", "look_up", {"n": 1}, 1, **told)
    assert (logged.reasoning, logged.metadata) == tuple(told.values())
    assert read()[-1] == tuple(told.values())
    sb.sessions.add_turn("sess_1", "hi", "x")
    assert read() == [tuple(told.values())]
    logged.metadata["latency_ms"] = 0
    assert read() == [tuple(told.values())]
    (call,) = sb._store.get("sess_1").ledger.turns[-1].calls
    assert call.extra == told


@pytest.mark.parametrize("extra", [{"reasoning": 5, "metadata": [1]}, {"reasoning": None, "metadata": None}])
def test_a_recorded_call_may_say_anything_of_itself(extra: dict[str, Any]) -> None:
    call = ToolCalled("look", extra=extra)
    sb = LocalClient({"s": Ledger([SessionCreated("s"), TurnStarted(1), call, TurnAdded()])})
    turn = sb.sessions.list_turns("s", tool_turns=True)[0]
    assert (turn.reasoning, turn.metadata) == (None, {})


def test_a_turn_with_a_state_after_it_makes_a_version(sb: LocalClient) -> None:
    turn = sb.sessions.add_turn("sess_1", "hi", "x", state_after={"step": 6})
    assert (turn.state_before, turn.state_after) == ({"step": 5}, {"step": 6})
    same = sb.sessions.add_turn("sess_1", "hi", "x", state_after={"step": 6})
    assert sb.sessions.get_state("sess_1").version == 6
    assert same.state_before == same.state_after


def test_sessions_are_found_by_agent_user_and_time(sb: LocalClient) -> None:
    own = sb.sessions.create(agent_id="b", user_id="u")
    assert [item.id for item in sb.sessions.list()] == ["sess_1", own.id]
    assert sb.sessions.list(agent_id="b").first_id == own.id
    assert sb.sessions.list(user_id="user_1").first_id == "sess_1"
    assert sb.sessions.list(created_after="2025-01-01").first_id == own.id


def test_deleted_sessions_leave_their_traces(sb: LocalClient) -> None:
    fork = sb.sessions.fork("sess_1", version=1).id
    sb.sessions.delete(fork)
    with pytest.raises(ApiError, match="404 session_not_found"):
        sb.sessions.get(fork)
    assert sb.traces.list(fork)[-1].action == "session.deleted"
    assert sb.sessions.fork("sess_1", version=1).id != fork


def test_traces_are_found_by_what_and_when(sb: LocalClient) -> None:
    traces = sb.traces.list("sess_1")
    assert sb.traces.get(traces[3].id) == traces[3]
    assert {trace.action for trace in sb.traces.list(resource_type="state")} == {"state.updated"}
    assert [t.action for t in sb.traces.list(start_time=traces[-2].timestamp)] == ["state.updated", "turn.added"]
    assert sb.traces.list(end_time=traces[0].timestamp).data == [traces[0]]
    assert sb.traces.list(user_id="nobody") == []
    assert traces[-1].resource_id == sb.sessions.list_turns("sess_1")[-1].id


def test_the_recording_is_never_appended_to() -> None:
    ledger = production("sess_1", 2)
    events, turns = list(ledger.events), len(ledger.turns)
    client = LocalClient({"sess_1": lambda: ledger})
    client.sessions.update_state("sess_1", {"n": 1})
    client.sessions.add_turn("sess_1", "a", "b")
    client.memory.add("x", session_id="sess_1")
    client.sessions.rollback("sess_1", 0)
    assert ledger.events == events
    assert len(ledger.turns) == turns
    assert ledger.state == {"step": 2}


def test_a_session_without_states_and_with_odd_turns() -> None:
    greeting = TurnAdded({"type": "text", "content": "Hello"}, extra={"id": "turn_real"})
    failed = TurnAdded(error={"type": "builtins:ValueError", "message": "no"})
    both = [{"type": "text", "content": "a"}, {"type": "text", "content": "b"}]
    ledger = Ledger([SessionCreated("sess_x"), TurnStarted(1), greeting, TurnStarted(2, both), failed])
    sb = LocalClient({"sess_x": ledger})
    first, second = sb.sessions.list_turns("sess_x")
    assert (first.id, first.input.content, first.state_before) == ("turn_real", None, None)
    assert (second.input.content, second.output.type, second.output.content) == ("a\nb", "error", "no")
    assert sb.sessions.get_turn("turn_real").output.content == "Hello"
    assert sb.sessions.get_state("sess_x").state == {}
    assert [(one.version, one.state) for one in sb.sessions.list_state_versions("sess_x")] == [(0, {})]
    fork = sb.sessions.fork("sess_x", version=0)
    assert (fork.turn_count, sb.sessions.update_state(fork.id, {"a": 1}).version) == (0, 1)
    assert [one.version for one in sb.sessions.list_state_versions(fork.id)] == [0, 1]
    assert sb.sessions.rollback(fork.id, 0).state == {}


def test_threads_may_write_at_once(sb: LocalClient) -> None:
    def write() -> None:
        for _ in range(50):
            sb.sessions.update_state("sess_1", {"n": 1})

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    versions = [version.version for version in sb.sessions.list_state_versions("sess_1")]
    assert versions == list(range(206))


def test_a_search_that_was_recorded_gives_what_it_gave_until_a_memory_changes() -> None:
    said = [{"id": "m", "session_id": "sess_1", "content": "Wears size 43", "type": "fact", "score": 0.91}]
    older = [{**said[0], "content": "Wears size 42"}]
    events = [*production("sess_1", 2).events, MemorySearched("shoes", older), MemorySearched("shoes", said)]
    sb = LocalClient({"sess_1": Ledger(events)})
    found = sb.memory.search("shoes", session_id="sess_1")
    assert (found.ranking, list(found)) == ("recorded", said)
    assert sb.memory.search("shoes", session_id="sess_1").ranking == "recorded"
    assert sb.memory.search("shoes").ranking == "lexical"
    assert sb.memory.search("boots", session_id="sess_1").ranking == "lexical"
    early = sb.sessions.fork("sess_1", 0).id
    late = sb.sessions.fork("sess_1").id
    assert [sb.memory.search("shoes", session_id=one).ranking for one in (early, late)] == ["lexical", "recorded"]
    sb.memory.add("Likes red shoes", session_id=late)
    again = sb.memory.search("shoes", session_id=late)
    assert (again.ranking, [one.content for one in again]) == ("lexical", ["Likes red shoes", "Likes hiking boots"])
    sb.memory.delete(sb.memory.list("sess_1")[0].id)
    assert sb.memory.search("shoes", session_id="sess_1").ranking == "lexical"


def test_sessions_come_by_the_time_of_their_creation() -> None:
    times = {"a": "2026-11-03T00:00:00Z", "b": "2026-11-01T00:00:00+02:00", "c": None, "d": "2026-11-02T00:00:00Z"}
    sb = LocalClient({name: Ledger([SessionCreated(name, at=time)]) for name, time in times.items()})
    assert [session.id for session in sb.sessions.list()] == ["c", "b", "d", "a"]
    assert [session.id for session in sb.sessions.list(order="desc", limit=1)] == ["a"]


def test_changes_of_memories_are_events_with_traces(sb: LocalClient) -> None:
    first = sb.memory.list("sess_1")[0]
    fork = sb.sessions.fork("sess_1").id
    sb.memory.update(first.id, "Likes running shoes", metadata={"n": 1})
    assert sb.memory.update(first.id) == sb.memory.get(first.id)
    sb.memory.delete(first.id)
    events = sb._store.get("sess_1").ledger.events[-2:]
    assert [(type(event), event.number, event.was) for event in events] == [
        (MemoryUpdated, 1, "Likes hiking boots"),
        (MemoryDeleted, 1, "Likes running shoes"),
    ]
    traces = sb.traces.list("sess_1", resource_id=first.id)
    assert [(one.action, one.resource_type) for one in traces] == [
        (f"memory.{what}", "memory") for what in ("created", "updated", "deleted")
    ]
    assert traces[1].details["content"] == "Likes running shoes"
    assert sb.memory.list("sess_1") == []
    assert [item.content for item in sb.memory.list(fork)] == ["Likes hiking boots"]


@pytest.mark.parametrize("number", [-1, 0, 2, 10**30])
def test_a_change_of_a_memory_that_is_not_there_changes_nothing(number: int) -> None:
    events = [*production("s", 2).events, MemoryUpdated(number, "x", "y"), MemoryDeleted(number, "x")]
    sb = LocalClient({"s": Ledger(events)})
    assert [item.content for item in sb.memory.list("s")] == ["Likes hiking boots"]
    assert [one.resource_id for one in sb.traces.list("s")][-2:] == ["s", "s"]
