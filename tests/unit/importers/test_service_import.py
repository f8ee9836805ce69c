"""Raw JSON of the StateBase API → ledgers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_statebase.cassette import load_cassette, read_record
from pytest_statebase.errors import ImportFileError
from pytest_statebase.events import (
    MemoryAdded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.importers import import_file
from pytest_statebase.importers.service import Pulled, PulledSession, session_from
from pytest_statebase.importers.store import Store
from pytest_statebase.values import ABSENT


def time(second: int) -> str:
    return f"2026-11-29T10:00:{second:02}Z"


def said(number: int, text: str = "Hi", answer: Any = "Hello", at: int | None = None, **more: Any) -> dict[str, Any]:
    """A turn of text, added at ten times its number in seconds."""
    output = {"type": "text", "content": answer} if isinstance(answer, str) else answer
    turn = {"id": f"turn_{number}", "turn_number": number, "input": {"type": "text", "content": text}, "output": output}
    return {**turn, "created_at": time(10 * number if at is None else at), **more}


def logged(number: int, name: str, result: Any = "ok", **more: Any) -> dict[str, Any]:
    """A turn that the SDK's `add_tool_call` logs."""
    asked = {
        "type": "tool_call",
        "content": "…",
        "tool_metadata": {"name": name, "arguments": {"n": number}, "id": "c1"},
    }
    answered = {"type": "tool_response", "content": str(result), "output": result}
    return {"id": f"turn_{number}", "turn_number": number, "input": asked, "output": answered, **more}


def version(number: int, at: int | None = None, **state: Any) -> dict[str, Any]:
    made = {"version": number, "state": state or {"v": number}, "updated_by": "agent", "reasoning": f"why {number}"}
    return made if at is None else {**made, "created_at": time(at)}


def trace(action: str, at: int | None = None, about: str | None = None, **details: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"id": f"t{at}-{action}", "action": action, "resource_id": about}
    return {**found, **({} if at is None else {"timestamp": time(at)}), **({"details": details} if details else {})}


def pulled(*turns: dict[str, Any], **more: Any) -> PulledSession:
    session = {"id": "sess_1", "agent_id": "support", "created_at": time(0), **more.pop("session", {})}
    return session_from(Pulled(session, list(turns), **more), "here")


def order(found: PulledSession) -> list[str]:
    """What happened, in short: `v2`, `<1`, `look_up`, `1>`."""
    told = []
    for event in found.imported.ledger.events:
        match event:
            case StateUpdated() | StateRolledBack():
                told.append(f"v{event.version}")
            case TurnStarted():
                told.append(f"<{event.number}")
            case TurnAdded():
                told.append(">")
            case ToolCalled():
                told.append(event.tool)
            case MemoryAdded():
                told.append("memory")
    return told


# --- state versions


def test_versions_are_placed_by_traces_whatever_the_times_say() -> None:
    # The versions are dated later than the turns that they belong to.
    traces = [
        trace("session.created", 0),
        trace("state.updated", 1, version=1),
        trace("turn.added", 2, "turn_1"),
        trace("state.updated", 3, version=2),
        trace("turn.added", 4, "turn_2"),
    ]
    versions = [version(0), version(1, at=55), version(2, at=56)]
    for listed in (traces, traces[::-1]):
        found = pulled(said(1), said(2), versions=versions, traces=listed)
        assert order(found) == ["<1", "v1", ">", "<2", "v2", ">"]
        assert found.aligned == {"traces": 2}
        assert found.replayable.grade == "fully"


@pytest.mark.parametrize("action", ["memory.updated", "memory.deleted"])
def test_changed_memories_make_a_session_partly_replayable(action: str) -> None:
    traces, versions = [trace("session.created", 0), trace("turn.added", 2, "turn_1")], [version(0)]
    assert pulled(said(1), versions=versions, traces=traces).replayable.grade == "fully"
    found = pulled(said(1), versions=versions, traces=[*traces, trace(action, 3, "mem_1")]).replayable
    assert found.grade == "partly"
    assert found.reasons == ("1 change of memories: they are kept as they stood when they were pulled",)


def test_a_turn_was_added_by_whom_its_trace_names() -> None:
    found = pulled(said(1), said(2), traces=[{**trace("turn.added", 2, "turn_1"), "actor": "api_key_sb_abc"}])
    assert [turn.added.actor for turn in found.imported.ledger.turns if turn.added] == ["api_key_sb_abc", None]


def test_traces_without_details_are_enough_where_there_is_one_for_each_version() -> None:
    traces = [trace("state.updated"), trace("turn.added", about="turn_1"), trace("state.updated")]
    found = pulled(said(1), versions=[version(0), version(1), version(2)], traces=traces)
    assert order(found) == ["<1", "v1", ">", "v2"]
    assert found.aligned == {"traces": 2}
    [reason] = found.replayable.reasons
    assert reason.startswith("1 state version made after the last turn: an agent that writes its state after")


def test_versions_without_traces_are_placed_by_the_states_of_turns() -> None:
    turns = [
        said(1, state_before={"v": 0}, state_after={"v": 1}),
        said(2, state_before={"v": 2}, state_after={"v": 3}),
    ]
    found = pulled(*turns, versions=[version(n, at=1) for n in range(4)])
    assert order(found) == ["<1", "v1", ">", "v2", "<2", "v3", ">"]
    assert found.aligned == {"states": 3}
    assert found.replayable.grade == "fully"


def test_states_that_were_all_taken_at_the_end_of_a_turn_tell_of_no_between() -> None:
    turns = [said(n, state_before={"v": n}, state_after={"v": n}) for n in (1, 2)]
    found = pulled(*turns, versions=[version(n) for n in range(3)])
    assert order(found) == ["<1", "v1", ">", "<2", "v2", ">"]
    traces = [trace("state.updated"), trace("turn.added", about="turn_1")]
    traces += [trace("state.updated"), trace("turn.added", about="turn_2")]
    found = pulled(*turns, versions=[version(n) for n in range(3)], traces=traces)
    assert order(found) == ["<1", "v1", ">", "<2", "v2", ">"]


def test_the_last_resort_are_times_and_it_is_said() -> None:
    found = pulled(said(1), said(2), versions=[version(0), version(1, at=10), version(2, at=11), version(3, at=21)])
    assert order(found) == ["<1", "v1", ">", "<2", "v2", ">", "v3"]
    assert found.aligned == {"times": 3}
    assert found.replayable.grade == "partly"
    assert found.replayable.reasons[0] == "3 state versions placed by their times alone"


def test_each_version_by_the_best_that_tells_it() -> None:
    traces = [trace("state.updated", 5, version=1), trace("turn.added", 10, "turn_1")]
    turns = [said(1), said(2, state_before={"v": 1}, state_after={"v": 2}), said(3)]
    found = pulled(*turns, versions=[version(0), version(1), version(2), version(3, at=25)], traces=traces)
    assert order(found) == ["<1", "v1", ">", "<2", "v2", ">", "<3", "v3", ">"]
    assert found.aligned == {"traces": 1, "states": 1, "times": 1}
    ended = found.imported.ledger.events[-1]
    assert ended.extra["pulled"]["aligned"] == {"traces": 1, "states": 1, "times": 1}  # type: ignore[union-attr]


def test_no_version_comes_before_an_earlier_one() -> None:
    found = pulled(said(1), said(2), versions=[version(0), version(1, at=15), version(2, at=5)])
    assert order(found) == ["<1", ">", "<2", "v1", "v2", ">"]


def test_without_a_history_the_states_of_the_turns_are_the_versions() -> None:
    turns = [said(1, state_before={}, state_after={"a": 1}), said(2, state_before={"a": 1}, state_after={"a": 1})]
    found = pulled(*turns, missing=["the state history cannot be had (HTTP 404)"])
    assert order(found) == ["<1", "v1", ">", "<2", ">"]
    assert found.imported.ledger.created.state == {}
    assert (found.aligned, found.replayable.grade) == ({"states": 1}, "partly")
    assert found.replayable.reasons == ("the state history cannot be had (HTTP 404)",)


def test_a_session_without_any_state_says_so() -> None:
    found = pulled(said(1))
    assert found.imported.ledger.created.state is ABSENT
    assert found.replayable.reasons == ("no state was recorded",)


def test_a_rollback_just_after_a_turn_takes_back_what_the_turn_did() -> None:
    traces = [
        trace("state.updated", 5, version=1),
        trace("turn.added", 10, "turn_1"),
        trace("state.rolled_back", 12, from_version=1, to_version=0, reason="It told a secret"),
        trace("state.updated", 15, version=3),
        trace("turn.added", 20, "turn_2"),
    ]
    found = pulled(said(1), said(2), versions=[version(n) for n in range(4)], traces=traces)
    assert order(found) == ["<1", "v1", ">", "v2", "<2", "v3", ">"]
    [back] = [event for event in found.imported.ledger.events if isinstance(event, StateRolledBack)]
    assert (back.version, back.to_version, back.reason) == (2, 0, "It told a secret")
    assert found.failing == {1: ["the state was rolled back after it (It told a secret)"]}


def test_a_rollback_after_a_failed_tool_stays_in_the_turn() -> None:
    traces = [
        trace("state.updated", 1, version=1),
        trace("turn.added", 2, "turn_1"),
        trace("state.rolled_back", 3, from_version=1, to_version=0, reason="tool failed"),
        trace("turn.added", 4, "turn_2"),
    ]
    found = pulled(logged(1, "book"), said(2), versions=[version(n) for n in range(3)], traces=traces)
    assert order(found) == ["<1", "v1", "book", "v2", ">"]
    assert found.failing == {}


def test_memories_have_their_place_and_their_words() -> None:
    traces = [
        trace("turn.added", 10, "turn_1"),
        trace("memory.created", 15, "mem_1", content_preview="Likes…"),
        trace("turn.added", 20, "turn_2"),
    ]
    whole = [{"id": "mem_1", "content": "Likes tea", "type": "preference", "tags": ["taste"]}]
    found = pulled(said(1), said(2), traces=traces, memories=whole, versions=[version(0)])
    assert order(found) == ["<1", ">", "<2", "memory", ">"]
    [memory] = found.imported.ledger.memories
    assert (memory.content, memory.type, memory.tags) == ("Likes tea", "preference", ["taste"])
    found = pulled(said(1), said(2), traces=traces, versions=[version(0)])
    assert found.replayable.reasons == ("1 memory known by a preview only",)


# --- tool calls


def calls(found: PulledSession) -> list[list[tuple[str, Any, Any]]]:
    ledger = found.imported.ledger
    return [[(call.tool, call.arguments, call.error or call.result) for call in turn.calls] for turn in ledger.turns]


def test_calls_of_the_sdk_fold_into_the_turn_that_follows() -> None:
    found = pulled(logged(1, "a", {"x": 1}), logged(2, "b", None), said(3), said(4), versions=[version(0)])
    assert calls(found) == [[("a", {"n": 1}, {"x": 1}), ("b", {"n": 2}, None)], []]
    ledger = found.imported.ledger
    assert [turn.number for turn in ledger.turns] == [1, 2]
    assert [turn.added.extra for turn in ledger.turns if turn.added] == [
        {"id": "turn_3", "turn_number": 3},
        {"id": "turn_4", "turn_number": 4},
    ]
    assert found.replayable.grade == "fully"


@pytest.mark.parametrize(
    ("input", "output", "expected"),
    [
        (
            {"tool": "refund", "content": "refund(order='7', amount=3)"},
            {"type": "error", "message": "locked"},
            ("refund", {"order": "7", "amount": 3}, {"type": "Exception", "message": "locked"}),
        ),
        (
            {"content": "get_weather(city='Paris')"},
            {"type": "tool_result", "content": '{"t": 7}'},
            ("get_weather", {"city": "Paris"}, '{"t": 7}'),
        ),
        (
            {"tool": "a", "arguments": '{"x": 1}'},
            {"type": "tool_result", "content": "x"},
            ("a", {"x": 1}, "x"),
        ),
    ],
)
def test_calls_of_the_second_form(input: dict[str, Any], output: dict[str, Any], expected: Any) -> None:
    turn = said(1, answer=output) | {"input": {"type": "tool_call", **input}}
    assert calls(pulled(turn, said(2))) == [[expected]]


def test_calls_that_metadata_tells_leave_a_session_partly_replayable() -> None:
    listed = [
        {"id": "1", "function": {"name": "a", "arguments": '{"x": 1}'}, "result": "r"},
        {"name": "b", "arguments": {}, "error": "broken"},
        "c",
    ]
    turns = [
        said(1, metadata={"tool_calls": listed}),
        said(2, metadata={"tool_used": "d"}),
        said(3, metadata={"tool_name": "e", "tool_result": 5}),
    ]
    found = pulled(*turns, versions=[version(0)])
    assert calls(found) == [
        [("a", {"x": 1}, "r"), ("b", {}, {"type": "Exception", "message": "broken"}), ("c", {}, ABSENT)],
        [("d", {}, ABSENT)],
        [("e", {}, 5)],
    ]
    assert found.replayable.reasons == ("3 tool calls without arguments", "2 tool calls without a result")
    assert set(found.failing) == {1}


def test_a_call_is_told_once_where_a_turn_of_its_own_and_metadata_tell_it() -> None:
    turns = [logged(1, "a"), said(2, metadata={"tool_calls": [{"id": "c1", "name": "a"}], "tool_used": "a"})]
    assert calls(pulled(*turns)) == [[("a", {"n": 1}, "ok")]]


def test_calls_that_no_turn_follows_are_a_turn_that_never_finished() -> None:
    found = pulled(said(1), logged(2, "a"), versions=[version(0)])
    last = found.imported.ledger.turns[1]
    assert (last.added, [call.tool for call in last.calls]) == (None, ["a"])
    assert found.imported.plan.replays[0].until == 1
    assert found.replayable.reasons == ("the last turn was not finished",)


# --- what looks wrong, and what is missing


def test_turns_that_look_wrong() -> None:
    turns = [
        said(1, "a", {"type": "error", "message": "overloaded"}),
        said(2, "b", "Where?"),
        said(3, "c", "Where?"),
        said(4, "c", "Where?"),
        logged(5, "pay", {"error": "no money"}),
        said(6, "d", "Paid."),
    ]
    found = pulled(*turns)
    assert found.failing == {
        1: ["the output is an error (overloaded)"],
        3: ["says the same as turn 2"],
        5: ["pay failed"],
    }
    assert found.imported.plan.failing == {1, 3, 5}
    assert found.imported.notes[1] == "turn 1: the output is an error (overloaded)"


def test_turns_that_are_missing_are_counted() -> None:
    found = pulled(said(1), said(4), versions=[version(0)], session={"turn_count": 5})
    assert found.replayable.reasons == ("3 turns missing from the list of turns",)
    assert pulled().replayable.grade == "not"


def test_a_time_that_stands_for_none_is_none() -> None:
    found = pulled(said(1, created_at="1970-01-01T00:00:00Z"), versions=[version(0)])
    assert found.imported.ledger.turns[0].started.at is None


# --- files


def test_what_was_pulled_is_read_again(tmp_path: Path) -> None:
    found = pulled(said(1, "Grüße \ud800"), versions=[version(0)])
    Store(tmp_path).add(found.imported)
    [again] = import_file(tmp_path / "sess_1.pulled.json")
    assert not isinstance(again, ImportFileError)
    assert again.ledger.events == found.imported.ledger.events == read_record(tmp_path / "sess_1.record.yaml").events
    assert again.raw == found.imported.raw
    store = Store(tmp_path)
    store.add(again)
    assert (store.tally.written, store.tally.unchanged) == (0, 3)


def test_the_plan_tells_why_turns_are_proposed(tmp_path: Path) -> None:
    Store(tmp_path).add(pulled(said(1, answer={"type": "error", "message": "a\x1b]0;b\nfailing: [9]"})).imported)
    text = (tmp_path / "sess_1.session.yaml").read_text(encoding="utf-8")
    assert text.startswith(
        "# Proposed as failing; whether they are is for a person to say:\n"
        "# turn 1: the output is an error (a ]0;b failing: [9])\n"
    )
    assert load_cassette(tmp_path / "sess_1.session.yaml").plan.failing == {1}


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"pulled": 2}, "format 2; this version reads 1"),
        ({"pulled": 1}, "no `session`"),
        ({"pulled": 1, "session": {"id": "s"}, "turns": {}}, "turns: is no list"),
        ({"pulled": 1, "session": {"id": "s"}, "traces": [1]}, "traces[0]: is no object"),
        ({"pulled": 1, "session": {"id": "s"}, "versions": [{"version": "1"}]}, "no number or no state"),
        ({"pulled": 1, "session": {"id": "s"}, "turns": [{"input": 5}]}, "input of turn None is no object"),
    ],
)
def test_what_is_no_pulled_session(tmp_path: Path, document: Any, what: str) -> None:
    path = tmp_path / "x.pulled.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    [error] = import_file(path)
    assert what in str(error)


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.text(max_size=3)
    | st.sampled_from(["turn_1", time(9), "a(b=1)"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
KEYS = [
    "id", "turn_number", "input", "output", "type", "content", "tool_metadata", "metadata", "tool_calls", "tool_used",
    "created_at", "state_before", "state_after", "action", "details", "resource_id", "timestamp", "reasoning", "tags",
]  # fmt: skip
INNER = ["type", "content", "tool", "name"]
OBJECTS = st.lists(
    st.dictionaries(
        st.sampled_from(KEYS),
        ODD | st.dictionaries(st.sampled_from(["type", "content", "tool", "name"]), ODD),
        max_size=6,
    )
    | st.sampled_from([said(1), logged(2, "a"), trace("state.updated", 3), trace("memory.created", 4, content="x")]),
    max_size=4,
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(OBJECTS, OBJECTS, OBJECTS, st.lists(ODD, max_size=3))
def test_whatever_a_service_answers_is_read_or_refused(turns: Any, traces: Any, memories: Any, states: Any) -> None:
    versions = [{"version": number, "state": state} for number, state in enumerate(states)]
    whole = Pulled({"id": "s", "metadata": {}}, turns, versions, traces, memories)
    try:
        found = session_from(whole, "here")
    except ImportFileError:
        return
    again = session_from(Pulled.parse(json.loads(whole.file()), "there"), "there")
    assert again.imported.ledger.events == found.imported.ledger.events
    numbers = [one.version for one in found.imported.ledger.versions]
    assert numbers == sorted(numbers)
