"""Entry points of every kind: each call is a turn, and the caller gets what the agent itself gives."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from capturing import Listed, listed

from pytest_statebase import ABSENT, AgentReply, capture
from pytest_statebase.events import StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.recorder.capture import Recording


def tool(value: str) -> str:
    return value.upper()


TOOLS = [f"{__name__}:tool"]
RAN: list[str] = []


def answer(session_id: str, user_input: str, state: dict[str, Any]) -> str:
    """Answer."""
    state["said"] = user_input
    return tool(user_input)


async def answer_later(session_id: str, user_input: str) -> AgentReply:
    await asyncio.sleep(0)
    return AgentReply(tool(user_input), state={"n": 1}, reasoning="because")


def words(session_id: str, user_input: str) -> Iterator[str]:
    for word in user_input.split():
        RAN.append(word)
        yield tool(word)
    tool("end")


async def words_later(session_id: str, user_input: str) -> AsyncIterator[str]:
    for word in user_input.split():
        await asyncio.sleep(0)
        RAN.append(word)
        yield tool(word)
    tool("end")


@pytest.fixture
def going() -> Iterator[tuple[Listed, Recording]]:
    RAN.clear()
    journal, recording = listed(TOOLS)
    with recording:
        yield journal, recording


def added(journal: Listed, index: int = 0) -> TurnAdded:
    last = journal.turns()[index].events[-1]
    assert isinstance(last, TurnAdded)
    return last


def tools(journal: Listed, index: int = 0) -> list[str]:
    return [event.arguments["value"] for event in journal.turns()[index].events if isinstance(event, ToolCalled)]


def test_a_function_with_its_state(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    agent = recording.agent(answer)
    state: dict[str, Any] = {}
    assert agent("s", "hello", state=state) == "HELLO"
    assert state == {"said": "hello"}
    (turn,) = journal.turns("s")
    assert turn.state_before == {}
    assert journal.opened()[0].created.state == {}
    assert [event.value for event in turn.events if isinstance(event, StateUpdated)] == [{"said": "hello"}]
    assert journal.outputs() == ["HELLO"]
    assert tools(journal) == ["hello"]


def test_the_entry_point_stays_what_it_is() -> None:
    for function in (answer, answer_later, words, words_later):
        made = capture.agent(function)
        assert inspect.signature(made) == inspect.signature(function)
        for kind in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
            assert kind(made) == kind(function)
        assert (made.__name__, made.__doc__, made.__module__) == (
            function.__name__,
            function.__doc__,
            function.__module__,
        )


def test_an_async_function(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    reply = asyncio.run(recording.agent(answer_later)("s", "hello"))
    assert reply == AgentReply("HELLO", state={"n": 1}, reasoning="because")
    assert journal.outputs() == ["HELLO"]
    assert added(journal).reasoning == "because"
    assert [event.value for event in journal.turns()[0].events if isinstance(event, StateUpdated)] == [{"n": 1}]


def test_chunks_reach_the_caller_as_they_come(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    stream = recording.agent(words)("s", "a b c")
    assert RAN == []
    assert next(stream) == "A"
    assert RAN == ["a"]
    tool("between")
    assert journal.turns() == []
    assert list(stream) == ["B", "C"]
    assert journal.outputs() == ["ABC"]
    assert tools(journal) == ["a", "b", "c", "end"], "what the reader calls between chunks is not the agent's"
    assert not added(journal).interrupted


def test_a_reader_that_stops_cuts_the_reply(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    for _ in recording.agent(words)("s", "a b c"):
        break
    assert journal.outputs() == ["A"]
    assert added(journal).interrupted
    assert RAN == ["a"]


def closing(session_id: str, user_input: str) -> Iterator[str]:
    try:
        yield tool("first")
        yield tool("second")
    finally:
        tool("closed")


async def closing_later(session_id: str, user_input: str) -> AsyncIterator[str]:
    try:
        yield tool("first")
        yield tool("second")
    finally:
        await asyncio.sleep(0)
        tool("closed")


def test_what_an_agent_calls_as_its_stream_is_closed_is_its_own(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    stream = recording.agent(closing)("s", "a")
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert tools(journal) == ["first", "closed"]


def test_a_stream_that_nobody_closed_is_closed_by_the_loop_as_ever(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    told: list[Any] = []

    async def leave(stream: AsyncIterator[str]) -> AsyncIterator[str]:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
        assert await stream.__anext__() == "FIRST"
        return stream

    left = [asyncio.run(leave(recording.agent(closing_later)("s", "a")))]
    assert left
    assert told == []
    assert tools(journal) == ["first", "closed"]


def test_async_chunks(going: tuple[Listed, Recording]) -> None:
    journal, recording = going

    async def read(most: int) -> list[str]:
        stream = recording.agent(words_later)("s", "a b c")
        found = []
        async for word in stream:
            found.append(word)
            if len(found) == most:
                break
        await stream.aclose()  # type: ignore[attr-defined]
        return found

    assert asyncio.run(read(9)) == ["A", "B", "C"]
    assert asyncio.run(read(2)) == ["A", "B"]
    assert journal.outputs() == ["ABC", "AB"]
    assert [added(journal, index).interrupted for index in (0, 1)] == [False, True]


def test_an_async_stream_whose_steps_run_in_different_contexts(going: tuple[Listed, Recording]) -> None:
    journal, recording = going

    async def read() -> list[str]:
        stream = recording.agent(words_later)("s", "a b")
        found = []
        try:
            while True:
                found.append(await asyncio.create_task(stream.__anext__()))  # type: ignore[arg-type]
        except StopAsyncIteration:
            return found

    assert asyncio.run(read()) == ["A", "B"]
    assert tools(journal) == ["a", "b", "end"]


def test_an_error_in_the_middle_of_a_stream(going: tuple[Listed, Recording]) -> None:
    journal, recording = going

    @recording.agent
    def breaks(session_id: str, user_input: str) -> Iterator[str]:
        yield "so far"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(breaks("s", "x"))
    assert journal.outputs() == ["so far"]
    assert added(journal).error is not None


def test_a_plain_function_that_hands_out_a_stream_or_a_coroutine(going: tuple[Listed, Recording]) -> None:
    journal, recording = going

    @recording.agent
    def either(session_id: str, user_input: str) -> Any:
        return words(session_id, user_input) if user_input == "a b" else answer_later(session_id, user_input)

    assert list(either("s", "a b")) == ["A", "B"]
    assert asyncio.run(either("s", "later")).output == "LATER"
    assert journal.outputs() == ["AB", "LATER"]
    assert tools(journal, 1) == ["later"]


def test_a_cancelled_agent_is_interrupted(going: tuple[Listed, Recording]) -> None:
    journal, recording = going

    @recording.agent
    async def slow(session_id: str, user_input: str) -> str:
        tool("begin")
        await asyncio.Event().wait()
        return "never"

    async def main() -> None:
        task = asyncio.create_task(slow("s", "x"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (added(journal).interrupted, added(journal).output, added(journal).error) == (True, ABSENT, None)
    assert tools(journal) == ["begin"]


def test_methods(going: tuple[Listed, Recording]) -> None:
    journal, recording = going

    class Agent:
        @recording.agent
        def run(self, session_id: str, user_input: str) -> str:
            assert isinstance(self, Agent)
            return tool(user_input)

        @classmethod
        @recording.agent
        def of_class(cls, session_id: str, user_input: str) -> str:
            assert cls is Agent
            return tool(user_input)

        @recording.agent
        @staticmethod
        def static(session_id: str, user_input: str) -> str:
            return tool(user_input)

        def plain(self, user_input: str) -> str:
            return super().__repr__()[:1] + tool(user_input)

    assert Agent().run("s", "a") == "A"
    assert Agent.of_class("s", "b") == "B"
    assert Agent.static("s", "c") == "C"
    assert recording.agent(Agent().plain)("d") == "<D"
    assert journal.outputs() == ["A", "B", "C", "<D"]


def path_agent(request: Any, *, thread: dict[str, str]) -> dict[str, Any]:
    return {"reply": tool(request.body.text), "cost": 3}


@pytest.mark.parametrize(
    "where",
    [
        {"session": "thread.id", "input": "request.body.text", "output": "reply", "user": "request.user"},
        {
            "session": lambda named: named["thread"]["id"],
            "input": lambda named: named["request"].body.text,
            "output": lambda reply: reply["reply"],
            "user": lambda named: named["request"].user,
        },
    ],
)
def test_what_is_wanted_stands_elsewhere(going: tuple[Listed, Recording], where: dict[str, Any]) -> None:
    journal, recording = going
    agent = recording.agent(**where, agent_id="shop")(path_agent)
    request = SimpleNamespace(body=SimpleNamespace(text="hello"), user=17)
    assert agent(request, thread={"id": "t-1"}) == {"reply": "HELLO", "cost": 3}
    (opened,) = journal.opened()
    assert (opened.created.id, opened.created.user_id, opened.created.agent_id) == ("t-1", "17", "shop")
    assert journal.outputs() == ["HELLO"]
    started = journal.turns()[0].events[0]
    assert isinstance(started, TurnStarted)
    assert started.input == {"type": "text", "content": "hello"}


def test_the_last_words_of_the_user_in_messages(going: tuple[Listed, Recording]) -> None:
    journal, recording = going

    @recording.agent
    def chat(session_id: str, messages: list[dict[str, str]]) -> str:
        return "ok"

    chat("s", [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    chat("s", [{"role": "system", "content": "c"}, {"role": "user", "content": "d"}])
    assert [frame.events[0].input["content"] for frame in journal.turns()] == ["a", "d"]  # type: ignore[union-attr]


def test_without_an_id_the_session_around_it_or_one_of_its_own(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    agent: Callable[[str], str] = recording.agent(lambda user_input: tool(user_input))
    with recording.session("around"):
        agent("a")
    agent("b")
    agent("c")
    first, second, third = journal.turns()
    assert first.session == "around"
    assert second.session != third.session
    assert list(journal.reasons().values()) == ["completed"] * 3


def test_an_empty_id_is_none(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    for said in ("a", "b"):
        recording.agent(answer)("", said, {})
    with recording.session("").turn("c") as turn:
        turn.reply("C")
    assert len({one.session for one in journal.turns()} - {""}) == 3


def test_an_agent_inside_a_turn_is_part_of_it(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    inner = recording.agent(answer)

    @recording.agent
    def triage(session_id: str, user_input: str) -> str:
        return inner("another", user_input, {})

    assert triage("s", "x") == "X"
    assert [turn.session for turn in journal.turns()] == ["s"]
    assert tools(journal) == ["x"]
    with recording.session("t") as session, session.turn("y") as turn:
        turn.reply(inner("t", "y", {}))
    assert journal.outputs("t") == ["Y"]
    assert len(journal.turns("t")) == 1


def test_without_a_recording_an_entry_point_is_a_call_like_any_other() -> None:
    agent = capture.agent(answer)
    assert agent("s", "x", {}) == "X"
    assert list(capture.agent(words)("s", "x y")) == ["X", "Y"]


def test_whoever_runs_captures_what_is_marked() -> None:
    agent = capture.agent(answer)
    journal, recording = listed(TOOLS)
    other, later = listed(TOOLS)
    with recording:
        agent("s", "x", {})
        with later:
            agent("s", "y", {})
        agent("s", "z", {})
    assert journal.outputs() == ["X", "Z"]
    assert other.outputs() == ["Y"]


def test_a_reply_that_is_none_is_told_and_returned(going: tuple[Listed, Recording]) -> None:
    journal, recording = going
    agent: Any = recording.agent(lambda user_input: {1, 2})
    assert agent("x") == {1, 2}
    assert added(journal).output is ABSENT
    assert journal.troubles == ["reply"]
