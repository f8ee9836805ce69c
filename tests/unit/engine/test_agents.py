"""What an agent may be, what it is handed, what it may answer."""

from __future__ import annotations

import dataclasses
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

from pytest_statebase import AgentReply, Ledger, capture, record_session, replay, replay_async
from pytest_statebase.cassette import Cassette
from pytest_statebase.engine.agents import as_agent, as_reply
from pytest_statebase.errors import AgentError
from pytest_statebase.ledger import SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted


@dataclasses.dataclass
class Card:
    title: str
    tags: list[str]


class Model(pydantic.BaseModel):
    title: str
    inner: dict[str, int]


def session(turns: int = 2, output: Any = "done") -> Cassette:
    ledger = Ledger([SessionCreated("sess_1", state={"n": 0})])
    for number in range(1, turns + 1):
        ledger.append(TurnStarted(number, {"type": "text", "content": f"say {number}"}))
        ledger.append(ToolCalled("look", {"n": number}, result=number, step=1, id=f"c{number}"))
        ledger.append(StateUpdated(number, {"n": number}))
        ledger.append(TurnAdded({"type": "text", "content": output}))
    return Cassette.from_ledger(ledger)


def test_parameters_are_handed_by_name() -> None:
    seen: list[dict[str, Any]] = []

    def agent(
        session_id: str, user_input: str, state: Any, history: Any, messages: Any, tools: Any, turn: int, extra: int = 3
    ) -> str:
        seen.append(
            {"id": session_id, "input": user_input, "history": len(history), "turn": turn, "messages": messages}
        )
        state["n"] = tools["look"](n=turn)
        return "done"

    assert replay(session(), agent).verdicts == {"unchanged": 2}
    assert [(one["id"], one["input"], one["history"], one["turn"]) for one in seen] == [
        ("sess_1-fork-version-0", "say 1", 0, 1),
        ("sess_1-fork-version-0", "say 2", 1, 2),
    ]
    assert seen[0]["messages"] == [{"role": "user", "content": "say 1"}]
    assert [message["role"] for message in seen[1]["messages"]] == ["user", "assistant", "tool", "assistant", "user"]


def test_messages_hold_the_calls_of_replayed_turns_as_the_recorded_model_made_them() -> None:
    ledger = Ledger([SessionCreated("sess_1")])
    for number in (1, 2):
        ledger.append(TurnStarted(number, {"type": "text", "content": f"say {number}"}))
        for order in "ab":
            ledger.append(ToolCalled("look", {"n": order}, result=order, step=1, id=f"call_x{order}"))
        ledger.append(TurnAdded({"type": "text", "content": "done"}))
    seen: list[list[dict[str, Any]]] = []

    def agent(messages: list[dict[str, Any]], tools: Any) -> str:
        seen.append(messages)
        for order in "ab":
            tools["look"](n=order)
        return "done"

    assert replay(Cassette.from_ledger(ledger), agent).verdicts == {"unchanged": 2}
    _, asked, first, second, *_ = seen[1]
    assert [call["id"] for call in asked["tool_calls"]] == ["call_xa", "call_xb"]
    assert [first["tool_call_id"], second["tool_call_id"]] == ["call_xa", "call_xb"]


@pytest.mark.parametrize("method", ["__call__", "run", "arun", "invoke", "ainvoke"])
def test_entry_points(method: str) -> None:
    def work(self: Any, text: str) -> str:
        return f"re: {text}"

    async def work_later(self: Any, text: str) -> str:
        return f"re: {text}"

    kind = type("Agent", (), {method: work_later if method.startswith("a") else work})
    result = replay(
        Cassette.from_ledger(
            Ledger(
                [
                    SessionCreated("s"),
                    TurnStarted(1, {"type": "text", "content": "x"}),
                    TurnAdded({"type": "text", "content": "re: x"}),
                ]
            )
        ),
        kind,
    )
    assert result.verdicts == {"unchanged": 1}


def test_a_class_is_fresh_for_every_replay_and_every_isolated_turn() -> None:
    made: list[int] = []

    class Agent:
        def __init__(self) -> None:
            made.append(1)

        def run(self, turn: int, tools: Any, state: Any) -> str:
            state["n"] = tools.look(n=turn)
            return "done"

    cassette = session()
    for _ in range(2):
        assert replay(cassette, Agent).passed
    assert len(made) == 2
    assert replay(cassette, Agent, mode="isolated").verdicts == {"unchanged": 2}
    assert len(made) == 4


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", {"type": "text", "content": "text"}),
        ("", {"type": "text", "content": ""}),
        ({"answer": 42}, {"type": "data", "content": {"answer": 42}}),
        ({"type": "text", "content": "x"}, {"type": "text", "content": "x"}),
        ({"type": "refund", "content": "x"}, {"type": "data", "content": {"type": "refund", "content": "x"}}),
        (Card("a", ["b"]), {"type": "data", "content": {"title": "a", "tags": ["b"]}}),
        (Model(title="a", inner={"b": 1}), {"type": "data", "content": {"title": "a", "inner": {"b": 1}}}),
        (AgentReply("text"), {"type": "text", "content": "text"}),
    ],
)
def test_replies(value: Any, content: Any) -> None:
    assert as_reply(value, "a").output == content


@pytest.mark.parametrize("value", [None, 42, ["a"], object(), Card])
def test_what_is_no_reply(value: Any) -> None:
    with pytest.raises(AgentError, match="which is no reply"):
        as_reply(value, "a")


def test_state_comes_from_the_reply_or_from_changing_what_was_handed() -> None:
    def replaces(turn: int, tools: Any) -> AgentReply:
        return AgentReply("done", state={"n": tools.look(n=turn)})

    def changes(turn: int, tools: Any, state: dict[str, int]) -> str:
        state["n"] = tools.look(n=turn)
        return "done"

    def forgets(turn: int, tools: Any) -> str:
        tools.look(n=turn)
        return "done"

    assert replay(session(), replaces).verdicts == {"unchanged": 2}
    assert replay(session(), changes).verdicts == {"unchanged": 2}
    result = replay(session(), forgets)
    assert [(d.path, d.recorded, d.replayed) for d in result.turn(1).divergences] == [("state.n", 1, 0)]


def test_the_source_is_untouched_by_what_the_agent_does_to_its_state() -> None:
    cassette = session()
    before = [version.state for version in cassette.ledger.versions]

    def agent(turn: int, tools: Any, state: dict[str, Any]) -> str:
        state["n"] = {"deep": [tools.look(n=turn)]}
        return "done"

    replay(cassette, agent, fork="turn 2")
    assert [version.state for version in cassette.ledger.versions] == before


def test_restore_is_told_history_and_state() -> None:
    told: list[Any] = []

    class Agent:
        def restore(self, history: Any, state: Any) -> None:
            told.append(([turn.number for turn in history], state))

        def __call__(self, text: str) -> str:
            return "done"

    result = replay(session(), Agent, fork="turn 2")
    assert told == [([1], {"n": 1})]
    assert result.warnings == []
    result = replay(session(), lambda text: "done", fork="turn 2")
    assert "is not told what happened before the fork" in result.warnings[0]


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("POST", "context", True),
        ("GET", "turns", True),
        ("GET", "state", True),
        ("GET", "state/history", True),
        ("POST", "state/history", False),
        ("PATCH", "state", False),
        ("GET", "nothing", False),
    ],
)
@pytest.mark.parametrize("mode", ["continuous", "isolated"])
def test_who_asks_statebase_for_the_session_is_told(mode: Any, method: str, path: str, told: bool) -> None:
    def agent(session_id: str, user_input: str) -> str:
        url = f"https://api.statebase.org/v1/sessions/{session_id}/{path}"
        request = urllib.request.Request(url, b'{"state": {}}' if method != "GET" else None, method=method)
        with suppress(urllib.error.HTTPError):
            urllib.request.urlopen(request).read()
        return "done"

    warnings = replay(session(), agent, fork="turn 2", mode=mode).warnings
    assert any("is not told what happened before the fork" in text for text in warnings) is not told


@pytest.mark.parametrize(("fork", "told"), [("version 0", False), ("version 1", True), ("version 2", False)])
def test_a_fork_in_the_middle_of_a_turn_is_told(fork: str, told: bool) -> None:
    ledger = Ledger([SessionCreated("s", state={"n": 0}), TurnStarted(1, {"type": "text", "content": "x"})])
    for event in (StateUpdated(1, {"n": 1}), ToolCalled("look", {}, 1), StateUpdated(2, {"n": 2})):
        ledger.append(event)
    ledger.append(TurnAdded({"type": "text", "content": "done"}))
    ledger.append(TurnStarted(2, {"type": "text", "content": "y"}))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))
    result = replay(Cassette.from_ledger(ledger), lambda user_input, state: "done", fork=fork)
    assert any(f"{fork} is in the middle of turn 1" in text for text in result.warnings) is told


def test_an_exception_of_the_agent_is_an_error_with_its_place() -> None:
    def agent(user_input: str) -> str:
        raise KeyError("k")

    result = replay(session(), agent)
    assert [str(turn.verdict) for turn in result.turns] == ["error", "not-replayed"]
    error = result.turn(1).replayed.error  # type: ignore[union-attr]
    assert (error["type"], error["message"]) == ("KeyError", "'k'")
    assert "test_agents.py" in error["trace"]


def test_a_recorded_exception_is_to_be_raised_again() -> None:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "x"})])
    ledger.append(TurnAdded(error={"type": "ValueError", "message": "no"}))
    cassette = Cassette.from_ledger(ledger)

    def raises(user_input: str) -> str:
        raise ValueError("no")

    def another(user_input: str) -> str:
        raise ValueError("other")

    assert replay(cassette, raises).verdicts == {"unchanged": 1}
    assert not replay(cassette, another).passed
    assert not replay(cassette, lambda user_input: "fine").passed


def test_an_async_agent_inside_a_running_loop() -> None:
    import asyncio

    async def agent(turn: int, tools: Any, state: Any) -> str:
        await asyncio.sleep(0)
        state["n"] = tools.look(n=turn)
        return "done"

    async def main() -> None:
        with pytest.raises(AgentError, match="an event loop is running here already"):
            replay(session(), agent)
        assert (await replay_async(session(), agent)).verdicts == {"unchanged": 2}

    asyncio.run(main())
    assert replay(session(), agent).verdicts == {"unchanged": 2}


def test_one_event_loop_a_replay() -> None:
    import asyncio

    loops: list[Any] = []

    async def agent(turn: int, tools: Any, state: Any) -> str:
        loops.append(asyncio.get_running_loop())
        state["n"] = tools.look(n=turn)
        return "done"

    assert replay(session(), agent).passed
    assert loops[0] is loops[1]


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("nowhere:agent", "does not import"),
        ("json:nothing", "does not exist"),
        ("json", "names no agent"),
        (42, "is not callable"),
        (lambda a, b: "x", "asks for 'a', 'b'"),
        (lambda user_input, database: "x", "asks for 'database'"),
        (None, "there is no agent"),
    ],
)
def test_agents_that_are_none(agent: Any, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        as_agent(agent).fresh()


def test_an_agent_that_neither_returns_nor_reports_is_told_of_both_ways() -> None:
    with pytest.raises(AgentError, match="returned nothing") as raised:
        as_reply(None, "bot")
    assert "add_turn" in str(raised.value)


def test_the_start_is_in_the_middle_of_no_turn() -> None:
    """Also where a record counts its first update as version 0."""
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "x"})])
    for event in (StateUpdated(0, {"n": 1}), ToolCalled("look", {}, 1), TurnAdded({"type": "text", "content": "done"})):
        ledger.append(event)
    result = replay(Cassette.from_ledger(ledger), lambda user_input, state: "done")
    assert [turn.turn for turn in result.turns] == [1]
    assert not any("is in the middle of" in text for text in result.warnings)


def words(user_input: str) -> Iterator[str]:
    yield from user_input.upper().split()


async def words_later(user_input: str) -> AsyncIterator[str]:
    for word in user_input.upper().split():
        yield word


@capture.agent(session="thread", input="message", state="held", output="delta.text")
async def chunks(thread: str, message: str, held: Any) -> AsyncIterator[Any]:
    assert thread.startswith("sess_1")
    assert held == {}
    for word in message.upper().split():
        yield {"delta": {"text": word}}
    yield {"usage": 3}


@capture.agent(input="message", output="reply")
def keyed(message: str) -> dict[str, Any]:
    return {"reply": message.replace(" ", "").upper(), "cost": 3}


@capture.agent(input="message", output="reply")
async def keyed_later(message: str) -> Any:
    return SimpleNamespace(reply=message.replace(" ", "").upper())


@pytest.mark.parametrize("agent", [words, words_later, chunks, keyed, keyed_later])
def test_streams_and_entry_points_that_say_how_they_are_asked(agent: Any) -> None:
    ledger = Ledger(
        [
            SessionCreated("sess_1", state={}),
            TurnStarted(1, {"type": "text", "content": "a b c"}),
            TurnAdded({"type": "text", "content": "ABC"}),
        ]
    )
    assert replay(Cassette.from_ledger(ledger), agent).verdicts == {"unchanged": 1}


def test_a_stream_that_only_returns() -> None:
    def agent(user_input: str) -> Generator[Any, Any, AgentReply]:
        return AgentReply("done", reasoning="because")
        yield

    ledger = record_session(agent, ["x"], session_id="s")
    assert ledger.turns[0].output == {"type": "text", "content": "done"}
