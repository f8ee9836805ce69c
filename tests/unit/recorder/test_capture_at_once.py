"""Many sessions, threads, tasks and pools at once: each call belongs to the turn that caused it."""

from __future__ import annotations

import _thread
import asyncio
import atexit
import builtins
import contextvars
import inspect
import multiprocessing.pool
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
from capturing import Listed, listed

from pytest_statebase import tool as marked
from pytest_statebase.events import TurnAdded
from pytest_statebase.frames import TurnOpened
from pytest_statebase.marks import watchers

BETWEEN: dict[str, Any] = {}


def note(value: Any) -> Any:
    return value


async def note_later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


def waits(name: str) -> str:
    BETWEEN[f"{name} began"].set()
    BETWEEN[name].wait(5)
    return name


class Shop:
    def order(self, value: Any) -> Any:
        return value


TOOLS = [f"{__name__}:{name}" for name in ("note", "note_later", "waits", "Shop.order")]


def values(journal: Listed, session: str) -> list[Any]:
    return sorted(call.arguments["value"] for call in journal.calls(session))


def test_sessions_of_fifty_threads() -> None:
    journal, recording = listed(TOOLS)
    together = threading.Barrier(50)

    def work(number: int) -> None:
        together.wait(5)
        with recording.session(f"s{number}") as session:
            for turn in range(3):
                with session.turn(f"{number}") as going:
                    for step in range(4):
                        assert note((number, turn, step)) == (number, turn, step)
                    going.reply("ok")

    with recording:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(journal.turns()) == 150
    for number in range(50):
        assert values(journal, f"s{number}") == [(number, turn, step) for turn in range(3) for step in range(4)]
        assert [call.step for call in journal.calls(f"s{number}")] == [1, 2, 3, 4] * 3
    assert journal.troubles == []


def test_sessions_of_many_tasks() -> None:
    journal, recording = listed(TOOLS)

    @recording.agent
    async def agent(session_id: str, user_input: str) -> str:
        await asyncio.gather(*(note_later((session_id, number)) for number in range(5)))
        return await asyncio.to_thread(note, (session_id, 9)) and "done"

    async def main() -> None:
        await asyncio.gather(*(agent(f"s{number}", "x") for number in range(20)))

    with recording:
        asyncio.run(main())
    for number in range(20):
        assert values(journal, f"s{number}") == [(f"s{number}", one) for one in (0, 1, 2, 3, 4, 9)]
        assert [call.step for call in journal.calls(f"s{number}")] == [1, 1, 1, 1, 1, 2]
    assert not any(added.metadata and "overlaps" in added.metadata for added in ends(journal))


def ends(journal: Listed) -> list[TurnAdded]:
    return [turn.events[-1] for turn in journal.turns()]  # type: ignore[misc]


def in_thread(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def in_pool(work: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(2) as pool:
        pool.submit(work).result()


def in_map(work: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: work(), [1]))


def in_thread_pool(work: Callable[[], Any]) -> None:
    with multiprocessing.pool.ThreadPool(1) as pool:
        pool.apply(work)


def in_timer(work: Callable[[], Any]) -> None:
    timer = threading.Timer(0, work)
    timer.start()
    timer.join()


def in_bare_thread(work: Callable[[], Any]) -> None:
    done = threading.Event()
    _thread.start_new_thread(lambda: (work(), done.set()), ())
    done.wait(5)


def in_executor(work: Callable[[], Any]) -> None:
    async def main() -> None:
        await asyncio.get_running_loop().run_in_executor(None, work)

    asyncio.run(main())


def in_own_context(work: Callable[[], Any]) -> None:
    in_pool(lambda: contextvars.copy_context().run(work))


@pytest.mark.parametrize(
    "way", [in_thread, in_pool, in_map, in_thread_pool, in_timer, in_bare_thread, in_executor, in_own_context]
)
def test_what_a_turn_hands_on_belongs_to_it(way: Any) -> None:
    journal, recording = listed(TOOLS)
    with recording:
        with recording.session("a") as session, session.turn("x"):
            way(lambda: note("mine"))
        way(lambda: note("nobody's"))
    assert [call.arguments["value"] for call in journal.calls()] == ["mine"]


def test_a_pool_that_serves_several_sessions() -> None:
    journal, recording = listed(TOOLS)
    with recording, ThreadPoolExecutor(1) as pool:
        for name in ("a", "b"):
            with recording.session(name) as session, session.turn("x"):
                pool.submit(note, name).result()
        pool.submit(note, "nobody's").result()
    assert [[call.arguments["value"] for call in journal.calls(name)] for name in ("a", "b")] == [["a"], ["b"]]
    assert len(journal.calls()) == 2


def test_a_worker_that_a_turn_left_behind_begins_turns_of_its_own() -> None:
    journal, recording = listed(TOOLS)
    go, done = threading.Event(), threading.Event()

    def worker() -> None:
        go.wait(5)
        note("late")
        with recording.session("second") as session, session.turn("y"):
            note("own")
        recording.agent(lambda session_id, user_input: note("decorated"))("third", "z")
        done.set()

    with recording:
        with recording.session("first") as session, session.turn("x"):
            thread = threading.Thread(target=worker)
            thread.start()
        go.set()
        assert done.wait(5)
        thread.join()
    assert journal.calls("first") == []
    assert [call.arguments["value"] for call in journal.calls("second")] == ["own"]
    assert [call.arguments["value"] for call in journal.calls("third")] == ["decorated"]


def test_two_turns_of_one_session_at_once_are_two_turns() -> None:
    """Each has its own calls, in the order in which they began, and both say that they overlap where they did."""
    journal, recording = listed(TOOLS)
    for name in ("one", "two"):
        BETWEEN[name], BETWEEN[f"{name} began"] = threading.Event(), threading.Event()

    @recording.agent
    def agent(session_id: str, user_input: str) -> str:
        waits(user_input)
        return user_input.upper()

    with recording:
        threads = [threading.Thread(target=agent, args=("s", name)) for name in ("one", "two")]
        for thread, name in zip(threads, ("one", "two"), strict=True):
            thread.start()
            assert BETWEEN[f"{name} began"].wait(5)
        for thread, name in reversed(list(zip(threads, ("one", "two"), strict=True))):
            BETWEEN[name].set()
            thread.join()
        BETWEEN["three"] = BETWEEN["three began"] = threading.Event()
        BETWEEN["three"].set()
        agent("s", "three")
    opened = [frame.input and frame.input["content"] for frame in journal.frames if isinstance(frame, TurnOpened)]  # type: ignore[call-overload]
    assert opened == ["one", "two", "three"]
    closed = [(turn.events[0].number, turn.events[1].arguments["name"]) for turn in journal.turns()]  # type: ignore[union-attr]
    assert closed == [(2, "two"), (1, "one"), (3, "three")]
    assert [bool((added.metadata or {}).get("overlaps")) for added in ends(journal)] == [True, True, False]


def test_tools_that_come_up_while_it_runs() -> None:
    journal, recording = listed(TOOLS)
    with recording:

        @marked
        def late(value: str) -> str:
            return value

        class Special(Shop):
            def order(self, value: Any) -> Any:
                return super().order(value)

        with recording.session("s") as session, session.turn("x"):
            late("marked")
            Special().order("special")
    assert [(call.tool, call.arguments["value"]) for call in journal.calls()] == [
        ("late", "marked"),
        ("order", "special"),
        ("order", "special"),
    ]


PLACES: list[tuple[Any, str]] = [
    (threading.Thread, "start"),
    (ThreadPoolExecutor, "submit"),
    (ThreadPoolExecutor, "map"),
    (asyncio.BaseEventLoop, "create_task"),
    (atexit, "register"),
    (_thread, "start_new_thread"),
    (builtins, "__build_class__"),
    (SourceFileLoader, "exec_module"),
    *((multiprocessing.pool.ThreadPool, name) for name in ("apply_async", "_map_async", "imap", "imap_unordered")),
]


def everything() -> list[Any]:
    found: list[Any] = [vars(owner).get(name) for owner, name in PLACES]
    codes = [function.__code__ for function in (note, note_later, waits, Shop.order)]
    return [*found, *codes, list(sys.meta_path), list(watchers)]


def test_stopping_restores_everything() -> None:
    """In a process of its own: what another test left alive keeps its guard."""
    code = f"import {__name__} as here; here.stop_and_look()"
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def stop_and_look() -> None:
    before = everything()
    _, recording = listed(TOOLS)
    _, other = listed(TOOLS)
    recording.start()
    during = everything()
    other.start()
    recording.stop()
    assert everything()[12:16] != before[12:16], "another one still looks on"
    other.stop()
    assert everything() == before
    assert during[0] is not before[0]
    recording.start()
    recording.start()
    recording.stop()
    recording.stop()
    assert everything() == before


def test_nothing_of_a_replays_guard_is_there() -> None:
    """Sockets, imports and threads go on as ever, in a turn, after it, and after the end of the capture."""
    import socket

    connect = socket.socket.connect
    done: list[str] = []
    _, recording = listed(TOOLS)
    go = threading.Event()

    def long() -> None:
        go.wait(5)
        done.append(note("late"))
        with socket.socket() as one, socket.create_server(("127.0.0.1", 0)) as server:
            one.connect(server.getsockname())
            done.append("connected")
        threading.Thread(target=lambda: done.append("another"), daemon=True).start()

    with recording, recording.session("s") as session, session.turn("x"):
        assert socket.socket.connect is connect
        thread = threading.Thread(target=long)
        thread.start()
    go.set()
    thread.join()
    while len(done) < 3:
        thread.join(0.001)
    assert done == ["late", "connected", "another"]


def test_asyncio_behaves_the_same() -> None:
    """Results, order, names, contexts, cancellation and groups are those of a loop without a capture."""
    seen: list[list[Any]] = []
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("mine", default="outside")

    async def behaviour(out: list[Any]) -> None:
        async def child(name: str) -> str:
            out.append((name, variable.get()))
            variable.set(name)
            await note_later(name)
            return name

        variable.set("parent")
        tasks = [asyncio.create_task(child(f"t{number}"), name=f"t{number}") for number in range(3)]
        out.append([task.get_name() for task in tasks])
        out.append(await asyncio.gather(*tasks))
        out.append(variable.get())
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError as error:
            out.append(repr(error))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(child("g"))
                group.create_task(fails())
        except* ValueError as errors:
            out.append([repr(error) for error in errors.exceptions])
        context = contextvars.copy_context()
        out.append(await asyncio.get_running_loop().create_task(child("own"), context=context))
        out.append(context[variable])
        out.append(await asyncio.to_thread(variable.get))

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    def run(turn: bool) -> None:
        out: list[Any] = []
        seen.append(out)
        _, recording = listed(TOOLS)
        if not turn:
            asyncio.run(behaviour(out))
            return
        with recording:
            asyncio.run(recording.agent(lambda session_id, user_input: behaviour(user_input))("s", out))

    run(turn=False)
    run(turn=True)
    assert seen[0] == seen[1]
    assert len(seen[0]) > 10


def test_streams_of_two_sessions_in_turn() -> None:
    journal, recording = listed(TOOLS)

    @recording.agent
    def words(session_id: str, user_input: str) -> Iterator[Any]:
        for number in range(3):
            yield note((session_id, number))

    with recording:
        for _ in zip(words("a", "x"), words("b", "x"), strict=True):
            note("between")
    for name in ("a", "b"):
        assert values(journal, name) == [(name, number) for number in range(3)]
    assert len(journal.calls()) == 6


def test_a_stream_that_is_read_in_the_threads_of_a_pool() -> None:
    """As web frameworks read a plain generator: each step in another thread."""
    journal, recording = listed(TOOLS)

    @recording.agent
    def words(session_id: str, user_input: str) -> Iterator[Any]:
        for number in range(4):
            yield str(note(number))

    async def read() -> list[str]:
        stream = words("s", "x")
        found = []
        while (word := await asyncio.to_thread(next, stream, None)) is not None:
            found.append(word)
        return found

    with recording:
        assert asyncio.run(read()) == ["0", "1", "2", "3"]
    assert values(journal, "s") == [0, 1, 2, 3]
    assert journal.outputs() == ["0123"]


def test_functions_keep_their_kind_while_they_are_watched() -> None:
    with listed(TOOLS)[1]:
        assert inspect.iscoroutinefunction(note_later)
        assert not inspect.iscoroutinefunction(note)
        assert str(inspect.signature(note)) == "(value: 'Any') -> 'Any'"
