"""What a capture keeps of sessions, turns and calls, and that the agent runs as it would without one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from capturing import listed

from pytest_statebase import ABSENT, AgentReply, capture
from pytest_statebase.errors import AgentError, OptionError, ToolError
from pytest_statebase.events import MemoryAdded, Said, StateRolledBack, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.frames import SessionOpened, TurnClosed, TurnOpened
from pytest_statebase.ledger import Ledger
from pytest_statebase.values import TypedData, Uncopied

HELD: dict[str, Any] = {}


def look_up(order: str, depth: int = 1) -> dict[str, Any]:
    HELD["result"] = {"order": order, "depth": depth, "notes": []}
    return HELD["result"]


def ask_model(messages: list[str]) -> str:
    return f"answer {len(messages)}"


def counted() -> dict[str, int]:
    return HELD.setdefault("counter", {"n": 0})


def connect(name: str) -> dict[str, Any]:
    HELD["connection"] = {"name": name, "lock": threading.Lock(), "inside": [{"socket": threading.Lock()}]}
    return HELD["connection"]


class ShopError(Exception):
    def __init__(self, code: int, *, detail: str) -> None:
        super().__init__(f"{code} {detail}")
        self.code = code
        self.detail = detail


ERROR = ShopError(409, detail="already sent")


def refuse() -> None:
    raise ERROR


async def later(order: str) -> dict[str, Any]:
    await asyncio.sleep(0)
    HELD["later"] = {"order": order}
    return HELD["later"]


def rows(count: int) -> Iterator[list[int]]:
    for number in range(count):
        HELD[f"row {number}"] = [number]
        yield HELD[f"row {number}"]


async def rows_later(count: int) -> AsyncIterator[int]:
    for number in range(count):
        await asyncio.sleep(0)
        yield number


def outer(order: str) -> str:
    return str(look_up(order)["order"])


@dataclass
class Money:
    amount: int


def pay(amount: Money) -> Money:
    HELD["paid"] = amount
    return amount


TOOLS = [
    f"{__name__}:{name}"
    for name in (
        *("look_up", "ask_model", "counted", "connect", "refuse", "later", "rows", "rows_later", "outer", "pay"),
    )
]


@pytest.fixture(autouse=True)
def _nothing_held() -> None:
    HELD.clear()


def test_a_turn_is_one_frame_from_the_words_to_the_reply() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("s", agent_id="shop", user_id="u", state={"n": 0}) as session:
        with session.turn("Where is 1047?") as turn:
            look_up("1047")
            turn.said("One moment.")
            turn.state({"n": 1}, reasoning="asked")
            turn.reply("Here.", reasoning="It is there.", metadata={"model": "m"})
        assert turn.kept is True
    opened, began, closed, _ended = journal.frames
    assert isinstance(opened, SessionOpened)
    assert (opened.created.id, opened.created.agent_id, opened.created.user_id) == ("s", "shop", "u")
    assert opened.created.state == {"n": 0}
    assert isinstance(began, TurnOpened)
    assert began.input == {"type": "text", "content": "Where is 1047?"}
    assert isinstance(closed, TurnClosed)
    started, call, said, state, added = closed.events
    assert isinstance(started, TurnStarted)
    assert (started.number, started.input, started.at) == (1, began.input, began.at)
    assert isinstance(call, ToolCalled)
    assert (call.tool, call.arguments, call.step) == ("look_up", {"order": "1047"}, 1)
    assert call.result == {"order": "1047", "depth": 1, "notes": []}
    assert isinstance(said, Said)
    assert isinstance(state, StateUpdated)
    assert (state.version, state.value, state.reasoning) == (1, {"n": 1}, "asked")
    assert isinstance(added, TurnAdded)
    assert added.output == {"type": "text", "content": "Here."}
    assert added.reasoning == "It is there."
    assert added.metadata is not None
    assert added.metadata["model"] == "m"
    assert journal.reasons() == {"s": "completed"}


def test_the_same_list_in_three_calls_is_three_values() -> None:
    """Recorded by reference, all three would show the list as it was at the end."""
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session, session.turn("x") as turn:
        messages = ["one"]
        for said in ("two", "three", "four"):
            ask_model(messages)
            messages.append(said)
        turn.reply("done")
    assert [call.arguments["messages"] for call in journal.calls()] == [
        ["one"],
        ["one", "two"],
        ["one", "two", "three"],
    ]


def test_a_result_that_its_tool_changes_afterwards_is_kept_as_it_was() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session, session.turn("x"):
        counted()
        HELD["counter"]["n"] = 1
        counted()
        HELD["counter"]["n"] = 2
    assert [call.result for call in journal.calls()] == [{"n": 0}, {"n": 1}]


def test_a_lock_in_a_result_is_a_marker_and_reaches_the_agent() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session, session.turn("x"):
        found = connect("db")
        assert found is HELD["connection"]
        assert found["lock"].acquire(blocking=False)
    (call,) = journal.calls()
    assert call.result["name"] == "db"
    assert type(call.result["lock"]) is Uncopied
    assert type(call.result["inside"][0]["socket"]) is Uncopied
    assert journal.troubles == []


def test_the_caller_gets_the_tools_own_objects() -> None:
    _, recording = listed(TOOLS)
    with recording, recording.session("s") as session, session.turn("x"):
        assert look_up("1") is HELD["result"]
        assert asyncio.run(later("1")) is HELD["later"]
        assert [row is HELD[f"row {row[0]}"] for row in rows(3)] == [True] * 3
        money = Money(5)
        assert pay(money) is money is HELD["paid"]


def test_an_exception_is_the_tools_own_and_is_kept_as_data() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session, session.turn("x") as turn:
        with pytest.raises(ShopError) as caught:
            refuse()
        turn.reply("sorry")
    assert caught.value is ERROR
    (call,) = journal.calls()
    assert call.error is not None
    assert call.error["type"] == f"{__name__}:ShopError"
    assert call.error["attributes"] == {"code": 409, "detail": "already sent"}
    assert call.result is ABSENT
    added = journal.turns()[0].events[-1]
    assert isinstance(added, TurnAdded)
    assert added.error is None


def test_what_the_agent_raises_is_the_turns_error_and_goes_on() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session, pytest.raises(ShopError) as caught, session.turn("x"):
        refuse()
    assert caught.value is ERROR
    added = journal.turns()[0].events[-1]
    assert isinstance(added, TurnAdded)
    assert added.error is not None
    assert added.error["message"] == "409 already sent"
    assert not added.interrupted


def test_calls_inside_calls_and_effects_inside_calls() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session, session.turn("x"):
        outer("7")
        look_up("8")
    first, second, third = journal.calls()
    assert [(call.tool, call.step, call.during) for call in (first, second, third)] == [
        ("outer", 1, None),
        ("look_up", 1, 0),
        ("look_up", 2, None),
    ]


def test_streams_of_tools_are_kept_as_far_as_they_were_read() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session, session.turn("x"):
        assert [row[0] for row in rows(3)] == [0, 1, 2]
        stream = rows(3)
        next(stream)
        stream.close()

        async def read() -> list[int]:
            return [number async for number in rows_later(2)]

        assert asyncio.run(read()) == [0, 1]
    results = [call.result for call in journal.calls()]
    assert all(type(result) is TypedData for result in results)
    assert [dict(result.fields) for result in results] == [
        {"chunks": [[0], [1], [2]]},
        {"chunks": [[0]], "closed": True},
        {"chunks": [0, 1], "async": True},
    ]


def test_outside_of_any_turn_nothing_is_kept() -> None:
    journal, recording = listed(TOOLS)
    with recording:
        look_up("1")
        with recording.session("s"):
            look_up("2")
    assert journal.frames == []


def test_before_and_after_nothing_is_touched() -> None:
    code = look_up.__code__
    journal, recording = listed(TOOLS)
    with recording:
        assert look_up.__code__ is not code
        with recording.session("s") as session, session.turn("x") as turn:
            look_up("1")
    assert look_up.__code__ is code
    with turn:
        look_up("2")
    turn.reply("late")
    assert len(journal.turns()) == 1
    assert journal.stopped == 1


def test_the_handed_state_is_compared_with_what_the_agent_made_of_it() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session:
        state = {"items": ["a"]}
        with session.turn("x", state=state):
            look_up("1")
            state["items"].append("b")
        with session.turn("y", state=state):
            pass
    first, second = journal.turns()
    assert first.state_before == {"items": ["a"]}
    assert [event.value for event in first.events if isinstance(event, StateUpdated)] == [{"items": ["a", "b"]}]
    assert second.state_before == {"items": ["a", "b"]}
    assert not any(isinstance(event, StateUpdated) for event in second.events)


def test_the_state_of_a_reply_replaces_the_handed_one() -> None:
    journal, recording = listed()
    with recording, recording.session("s") as session:
        state = {"n": 0}
        with session.turn("x", state=state) as turn:
            state["n"] = 5
            turn.reply(AgentReply("ok", state={"n": 9}, reasoning="why"))
    (made,) = [event for event in journal.turns()[0].events if isinstance(event, StateUpdated)]
    assert (made.value, made.reasoning) == ({"n": 9}, "why")


def test_rollbacks_and_memories() -> None:
    journal, recording = listed()
    with recording, recording.session("s") as session, session.turn("undo") as turn:
        turn.state({"n": 1})
        turn.rollback(0, {"n": 0}, reason="undo")
        turn.memory("likes tea", type="preference", tags=["tea"])
    _, _, rolled, memory, _ = journal.turns()[0].events
    assert isinstance(rolled, StateRolledBack)
    assert (rolled.version, rolled.to_version, rolled.value, rolled.reason) == (2, 0, {"n": 0}, "undo")
    assert isinstance(memory, MemoryAdded)
    assert (memory.content, memory.type, memory.tags) == ("likes tea", "preference", ["tea"])


def test_a_turn_in_which_the_agent_speaks_first() -> None:
    journal, recording = listed()
    with recording, recording.session("s") as session, session.turn() as turn:
        turn.reply({"question": "How can I help?"})
    started, added = journal.turns()[0].events
    assert isinstance(started, TurnStarted)
    assert started.input is None
    assert isinstance(added, TurnAdded)
    assert added.output == {"type": "data", "content": {"question": "How can I help?"}}


def test_the_same_session_in_several_places_counts_on() -> None:
    journal, recording = listed()
    with recording:
        for said in ("a", "b"):
            with recording.session("s").turn(said) as turn:
                turn.reply(said.upper())
        recording.end("s", "given up")
        with recording.session("s").turn("c"):
            pass
    numbers = [turn.events[0].number for turn in journal.turns()]  # type: ignore[union-attr]
    assert numbers == [1, 2, 1]
    assert len(journal.opened()) == 2
    assert [one.reason for one in journal.frames if type(one).__name__ == "SessionClosed"] == ["given up", "stopped"]


def test_sessions_inside_sessions_have_their_own_calls() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("outer") as first, first.turn("x"):
        look_up("1")
        with recording.session("inner") as second, second.turn("y"):
            look_up("2")
        look_up("3")
    assert [call.arguments["order"] for call in journal.calls("outer")] == ["1", "3"]
    assert [call.arguments["order"] for call in journal.calls("inner")] == ["2"]


def test_feedback_is_metadata_of_the_session_also_when_it_is_over() -> None:
    journal, recording = listed(keep=["feedback"], sample=0.0)
    with recording:
        with recording.session("s") as session, session.turn("x"):
            pass
        session.feedback("thumbs_down", comment="wrong order", stars=1)
        recording.feedback("s", "thumbs_up")
    told = [one.created.metadata["feedback"][0] for one in journal.opened() if one.created.metadata]
    assert [(one["value"], one.get("comment"), one.get("stars")) for one in told] == [
        ("thumbs_down", "wrong order", 1),
        ("thumbs_up", None, None),
    ]
    assert [one.keep for one in journal.frames if type(one).__name__ == "SessionClosed"] == [(), ("feedback",)]


def test_what_means_nothing_is_refused_before_anything_is_changed() -> None:
    code = look_up.__code__
    with pytest.raises(OptionError, match="limits=5"):
        capture(limits=5)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="redact=3"):
        capture(redact=3)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="sample=2"):
        capture(sample=2)
    with pytest.raises(OptionError, match="'often', which is no rule"):
        capture(keep=["often"])
    with pytest.raises(OptionError, match="max_sessions=0"):
        capture(max_sessions=0)
    with pytest.raises(OptionError, match="idle='soon'"):
        capture(idle="soon")  # type: ignore[arg-type]
    with pytest.raises(ToolError, match="nothing_like_this"):
        listed([*TOOLS, f"{__name__}:nothing_like_this"])[1].start()
    with pytest.raises(OptionError, match="not started"):
        listed()[1].session("s")
    assert look_up.__code__ is code


def test_only_functions_are_entry_points_and_parameters_exist() -> None:
    with pytest.raises(AgentError, match="type objects"):
        capture.agent(Ledger)
    with pytest.raises(AgentError, match="no parameter 'thread'"):
        capture.agent(session="thread")(outer)


def spoil(state: dict[str, int]) -> None:
    state["n"] = 1
    raise ValueError("no")


def test_what_an_agent_made_of_its_state_before_it_raised_is_no_version() -> None:
    journal, recording = listed()
    state = {"n": 0}
    with recording, recording.session("s") as session:
        with pytest.raises(ValueError, match="no"), session.turn("x", state=state):
            spoil(state)
        with session.turn("y", state=state):
            pass
    first, second = journal.turns()
    assert not any(isinstance(event, StateUpdated) for event in first.events)
    assert second.state_before == {"n": 1}, "a program that goes on with it all the same"
