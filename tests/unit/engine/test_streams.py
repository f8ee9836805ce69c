"""What a reader says to a generator is part of the call: another word is never answered by the recorded chunk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Cassette, Ledger, record_session, replay
from pytest_statebase.cassette import read_record, write_record
from pytest_statebase.engine.free import FreeForks
from pytest_statebase.engine.options import ReplayOptions
from pytest_statebase.engine.tools import current, find_tools, stubbed
from pytest_statebase.errors import UnrecordedCall
from pytest_statebase.ledger import ForkPoint


def talk(first: str) -> Generator[Any, Any, str]:
    heard = yield first
    while True:
        try:
            heard = yield ("heard", heard)
        except ValueError as error:
            heard = f"caught {error}"
        if heard == "end":
            return "ended"


async def talk_async(first: str) -> Any:
    heard = yield first
    while True:
        try:
            heard = yield ("heard", heard)
        except ValueError as error:
            heard = f"caught {error}"
        if heard == "end":
            return


def transaction(name: str) -> Iterator[str]:
    try:
        yield name
    except KeyError:
        return


async def transaction_async(name: str) -> AsyncIterator[str]:
    yield name


TOOLS = [f"{__name__}:{name}" for name in ("talk", "talk_async", "transaction", "transaction_async")]
Said = list[Any]


def speaking(said: Said) -> Callable[[str], dict[str, Any]]:
    """An agent that sends what it says, and throws the exceptions among it."""

    def agent(user_input: str) -> dict[str, Any]:
        stream = talk("go")
        out = [next(stream)]
        try:
            out += [stream.throw(one) if isinstance(one, Exception) else stream.send(one) for one in said]
        except StopIteration as end:
            out.append(end.value)
        return {"out": out}

    return agent


def speaking_async(said: Said) -> Callable[[str], Any]:
    async def agent(user_input: str) -> dict[str, Any]:
        stream = talk_async("go")
        out = [await anext(stream)]
        try:
            for one in said:
                out.append(await (stream.athrow(one) if isinstance(one, Exception) else stream.asend(one)))
        except StopAsyncIteration:
            out.append("ended")
        return {"out": out}

    return agent


KINDS = pytest.mark.parametrize("speaker", [speaking, speaking_async])


def recorded(agent: Any, path: Path) -> Ledger:
    file = path / f"{len(list(path.iterdir()))}.record.yaml"
    write_record(file, record_session(agent, ["go"], session_id="s", tools=TOOLS))
    return read_record(file)


@KINDS
@pytest.mark.parametrize("said", [["a", {"k": (1, 2)}, None], ["a", ValueError("b"), None], ["a", "end"]])
def test_what_was_said_is_recorded_and_answered(speaker: Any, said: Said, tmp_path: Path) -> None:
    ledger = recorded(speaker(said), tmp_path)
    (turn,) = replay(Cassette.from_ledger(ledger), speaker(said), tools=TOOLS).turns
    assert turn.verdict == "unchanged"


@KINDS
@pytest.mark.parametrize(
    ("said", "other", "after"),
    [
        (["a"], ["b"], 1),
        (["a"], [None], 1),
        ([None], ["a"], 1),
        ([1], [True], 1),
        (["a", None], ["a", ValueError("x")], 2),
        (["a", ValueError("x"), None], ["a", None, None], 2),
        (["a", ValueError("x"), None], ["a", ValueError("y"), None], 2),
    ],
)
def test_another_word_has_no_answer(speaker: Any, said: Said, other: Said, after: int, tmp_path: Path) -> None:
    cassette = Cassette.from_ledger(recorded(speaker(said), tmp_path))
    (turn,) = replay(cassette, speaker(other), tools=TOOLS).turns
    assert turn.verdict == "unrecorded"
    assert f"was read on in another way after chunk {after}: recorded with" in turn.calls[0].explanation


def test_the_record_holds_what_was_said_after_which_chunk(tmp_path: Path) -> None:
    ledger = recorded(speaking([None, "a", ValueError("b")]), tmp_path)
    sent = ledger.turns[0].calls[0].result.fields["sent"]
    assert sent == [
        {"after": 2, "value": "a"},
        {"after": 3, "error": {"type": "ValueError", "message": "b"}},
    ]
    assert "sent" not in recorded(speaking([None, None]), tmp_path).turns[0].calls[0].result.fields


def within(error: Exception | None) -> Callable[[str], dict[str, Any]]:
    def agent(user_input: str) -> dict[str, Any]:
        try:
            with contextmanager(transaction)("t"):
                if error is not None:
                    raise error
        except ValueError as raised:
            return {"the same": raised is error}
        return {"the same": None}

    return agent


def within_async(error: Exception | None) -> Callable[[str], Any]:
    async def agent(user_input: str) -> dict[str, Any]:
        try:
            async with asynccontextmanager(transaction_async)("t"):
                if error is not None:
                    raise error
                await asyncio.sleep(0)
        except ValueError as raised:
            return {"the same": raised is error}
        return {"the same": None}

    return agent


@pytest.mark.parametrize(
    ("agent", "output"),
    [
        (within(None), None),
        (within(KeyError("swallowed")), None),
        (within(ValueError("raised on")), True),
        (within_async(None), None),
        (within_async(ValueError("raised on")), True),
    ],
)
def test_a_tool_that_is_a_context_gives_back_the_very_exception(agent: Any, output: Any, tmp_path: Path) -> None:
    ledger = recorded(agent, tmp_path)
    assert ledger.turns[0].output["content"] == {"the same": output}
    assert replay(Cassette.from_ledger(ledger), agent, tools=TOOLS).turns[0].verdict == "unchanged"


def test_an_exception_in_a_context_that_was_recorded_without_has_no_answer(tmp_path: Path) -> None:
    cassette = Cassette.from_ledger(recorded(within(None), tmp_path))
    assert replay(cassette, within(ValueError("new")), tools=TOOLS).turns[0].verdict == "unrecorded"


@pytest.mark.parametrize(("word", "misses"), [("a", 0), ("b", 1)])
def test_a_fork_in_a_test_hears_what_is_sent_to_an_async_generator(word: str, misses: int, tmp_path: Path) -> None:
    ledger = recorded(speaking_async(["a"]), tmp_path)
    tools = tuple(find_tools(TOOLS))
    forks = FreeForks(lambda session: Cassette.from_ledger(ledger), ReplayOptions(tools=tools))
    point = ForkPoint("turn", 1)
    forks.forked(ledger, ledger.fork(point), point)
    with stubbed(tools), current(forks), suppress(UnrecordedCall):
        assert asyncio.run(speaking_async([word])("go")) == {"out": ["go", ("heard", "a")]}
    assert len(forks.misses) == misses
