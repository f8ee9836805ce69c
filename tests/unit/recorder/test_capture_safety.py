"""Whatever goes wrong in capturing, the agent runs as it would without it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from capturing import Listed, listed

from pytest_statebase import capture
from pytest_statebase.engine import asked
from pytest_statebase.recorder import calls, entry, rules, sessions, turns
from pytest_statebase.recorder import capture as capture_module
from pytest_statebase.recorder.capture import Recording


def plain(value: str) -> str:
    return value


async def later(value: str) -> str:
    return value


def rows(value: str) -> Iterator[str]:
    yield value


async def rows_later(value: str) -> AsyncIterator[str]:
    yield value


def broken(value: str) -> str:
    raise KeyError(value)


TOOLS = [f"{__name__}:{name}" for name in ("plain", "later", "rows", "rows_later", "broken")]


async def work() -> list[str]:
    found = [plain("a"), await later("b"), *rows("c"), *[one async for one in rows_later("d")]]
    try:
        broken("e")
    except KeyError as error:
        found.append(error.args[0])
    return found


def as_always(recording: Recording) -> None:
    """Everything that an agent can do, with what it gives without a capture."""
    state = {"n": 0}

    def function(session_id: str, user_input: str, state: Any) -> list[str]:
        state["n"] += 1
        return asyncio.run(work())

    async def coroutine(session_id: str, user_input: str) -> list[str]:
        return await work()

    def generator(session_id: str, user_input: str) -> Iterator[str]:
        yield from asyncio.run(work())

    async def stream(session_id: str, user_input: str) -> AsyncIterator[str]:
        for one in await work():
            yield one

    async def read() -> list[str]:
        return [one async for one in recording.agent(stream)("s", "x")]

    wanted = ["a", "b", "c", "d", "e"]
    assert recording.agent(function)("s", "x", state) == wanted
    assert asyncio.run(recording.agent(coroutine)("s", "x")) == wanted
    assert list(recording.agent(generator)("s", "x")) == wanted
    assert asyncio.run(read()) == wanted
    with recording.session("s", state=state, metadata={"a": 1}) as session:
        with session.turn("x", state=state) as turn:
            assert asyncio.run(work()) == wanted
            turn.state({"n": 1})
            turn.said("x")
            turn.memory("x")
            turn.rollback(0, {})
            turn.reasoning("x")
            turn.reply("x", metadata={"a": 1})
        session.feedback("thumbs_down")
        with pytest.raises(ZeroDivisionError), session.turn("y"):
            raise ZeroDivisionError
    recording.end("s")


def fail(*args: Any, **kw: Any) -> Any:
    raise RuntimeError("ours")


OURS = [
    (calls, "snapshot"),
    (calls, "current_strand"),
    (calls, "acting_agent"),
    (calls.Calls, "_begin"),
    (calls.Calls, "_end"),
    (turns, "snapshot"),
    (turns, "timestamp"),
    (turns, "tool_of"),
    (turns, "raw_error_record"),
    (turns, "woven"),
    (turns, "as_reply"),
    (turns, "same"),
    (turns, "watching"),
    (turns, "recording_strands"),
    (turns.Turn, "_begin"),
    (turns.Turn, "_close"),
    (turns.Turn, "_settle"),
    (sessions, "snapshot"),
    (sessions, "as_content"),
    (sessions.Session, "turn_begins"),
    (sessions.Session, "turn_ended"),
    (sessions.Sessions, "sweep"),
    (rules.Signs, "reasons"),
    (rules.Signs, "turn"),
    (capture_module, "snapshot"),
    (entry, "found"),
    (asked, "joined"),
    (entry, "snapshot"),
    (Listed, "put"),
]


@pytest.mark.parametrize(("owner", "name"), OURS, ids=[f"{owner.__name__}.{name}" for owner, name in OURS])
def test_a_bug_of_ours_never_reaches_the_agent(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    journal, recording = listed(TOOLS, keep=["errors", "unusual"])
    with recording:
        monkeypatch.setattr(owner, name, fail)
        as_always(recording)
        monkeypatch.undo()
        assert journal.troubles != []
        before = len(journal.turns("after"))
        with recording.session("after") as session, session.turn("x"):
            plain("again")
        assert len(journal.turns("after")) == before + 1


def test_a_journal_that_fails_at_telling_of_it_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, recording = listed(TOOLS)
    with recording:
        for name in ("put", "trouble", "lose"):
            monkeypatch.setattr(Listed, name, fail)
        as_always(recording)


class Hostile:
    """Raises at everything."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not compared")

    __hash__ = None  # type: ignore[assignment]


class Weird:
    def __deepcopy__(self, memo: Any) -> Any:
        raise SystemError("not copied")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not compared")

    __hash__ = None  # type: ignore[assignment]


HOSTILE: dict[str, Callable[[], Any]] = {
    "raises": Hostile,
    "cannot be copied": Weird,
    "in a list": lambda: [Weird()],
    "in a dict": lambda: {"a": Hostile()},
    "function": lambda: fail,
    "lock": threading.Lock,
}


@pytest.mark.parametrize("made", HOSTILE)
def test_hostile_values_go_through_every_part(made: str) -> None:
    value = HOSTILE[made]()
    journal, recording = listed(TOOLS)
    with recording:

        @recording.agent
        def agent(session_id: str, user_input: Any, state: Any) -> Any:
            return plain(user_input)

        assert agent("s", value, value) is value
        assert next(recording.agent(lambda session_id, user_input: rows(user_input))("s", value)) is value
        with recording.session("s", state=value) as session, session.turn(value, state=value) as turn:
            turn.state(value)
            turn.reply(value)
        session.feedback(value)
    assert len(journal.calls()) == 2


def test_a_deep_value_is_no_end() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session, session.turn("x"):
        assert plain(deep) is deep  # type: ignore[arg-type, comparison-overlap]
    assert len(journal.calls()) == 1


def test_it_is_logged_once_and_without_what_was_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    def leak(*args: Any, **kw: Any) -> Any:
        raise RuntimeError("card 4111 1111 1111 1111")

    monkeypatch.setattr(turns, "woven", leak)
    with caplog.at_level(logging.WARNING), capture(tmp_path, tools=TOOLS) as recording:
        for _ in range(3):
            with recording.session("s").turn("x"):
                plain("a")
    (record,) = [one for one in caplog.records if one.name == "pytest_statebase.capture"]
    assert "RuntimeError" in record.getMessage()
    assert "4111" not in caplog.text


def test_a_turn_without_end_is_not_kept_and_costs_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MOST_PARTS", 100)
    journal, recording = listed(TOOLS)
    with recording, recording.session("s") as session:
        with session.turn("x") as turn:
            for _ in range(300):
                assert plain("a") == "a"
            assert turn.others == []
        assert turn.kept is False
        with session.turn("y") as turn:
            turn.reply("b")
    assert [reason for _, reason in journal.lost] == ["too large"]
    assert [len(turn.events) for turn in journal.turns()] == [2]


def test_a_directory_that_cannot_be_made_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with capture(tmp_path / "file" / "captured", tools=TOOLS) as recording:
        as_always(recording)
        with recording.session("s") as session, session.turn("x") as turn:
            turn.reply("y")
    assert turn.kept is False


def test_patches_that_others_put_over_ours_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    start = threading.Thread.start

    def tracer(original: Callable[..., Any]) -> Callable[..., Any]:
        def traced(thread: threading.Thread) -> None:
            ran.append(thread.name)
            original(thread)

        return traced

    journal, recording = listed(TOOLS)
    try:
        threading.Thread.start = tracer(start)  # type: ignore[method-assign]
        before = threading.Thread.start
        with recording:
            with recording.session("s") as session, session.turn("x"):
                run(plain, "1")
            ours = threading.Thread.start
            threading.Thread.start = tracer(ours)  # type: ignore[method-assign]
            over = threading.Thread.start
            with recording.session("s") as session, session.turn("x"):
                run(plain, "2")
        assert threading.Thread.start is over
        run(plain, "3")
        with listed(TOOLS)[1]:
            run(plain, "4")
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]
    assert before is not start
    assert ran == ["1", "2", "2", "3", "3", "4", "4"]
    assert [call.arguments["value"] for call in journal.calls()] == ["1", "2"]


def run(work: Callable[[str], Any], name: str) -> None:
    thread = threading.Thread(target=work, args=(name,), name=name)
    thread.start()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_of_fork_goes_on_in_a_session_of_its_own() -> None:
    journal, recording = listed(TOOLS)
    with recording, recording.session("parent") as session, session.turn("x"):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                plain("lost: the turn is the parent's")
                with recording.session("child").turn("y") as turn:
                    plain("child")
                    turn.reply("z")
                recording.end("child")
                told = [type(frame).__name__ + getattr(frame, "session", "") for frame in journal.frames[2:]]
                os.write(write, ",".join(told).encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        plain("parent")
        told = os.read(read, 10_000).decode()
    assert told == "SessionOpenedchild,TurnOpenedchild,TurnClosedchild,SessionClosedchild"
    assert [call.arguments["value"] for call in journal.calls()] == ["parent"]


LOCKS: list[Any] = []


def forks(value: str) -> str:
    """Forks while another thread holds all the locks."""
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        for lock in LOCKS:
            lock.acquire()
        held.set()
        free.wait(5)
        for lock in LOCKS:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(5)
    pid = os.fork()
    if pid == 0:
        signal.alarm(10)
        return "child"
    free.set()
    thread.join()
    os.waitpid(pid, 0)
    return "parent"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_never_waits_for_a_lock_that_a_thread_of_its_parent_held() -> None:
    journal, recording = listed([*TOOLS, f"{__name__}:forks"], keep=["unusual"])
    read, write = os.pipe()
    with recording, recording.session("parent") as session, session.turn("x") as turn:
        LOCKS[:] = [turn._calls._lock, session._lock, session.of._lock, recording._rules._lock]
        found = forks("x")
        if found == "child":
            try:
                with recording.session("child").turn("y"):
                    plain("a")
                recording.end("child")
                os.write(write, b"done")
            finally:
                os._exit(0)
    os.close(write)
    assert found == "parent"
    assert os.read(read, 100) == b"done"
    os.close(read)
    assert [call.result for call in journal.calls()] == ["parent"]
