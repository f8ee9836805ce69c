"""Agents on the package `statebase` are captured from its requests alone, the real package to a real server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any

import httpx
import pytest
import requests
from capturing import Listed, listed
from statebase import AsyncStateBase, StateBase

from pytest_statebase import Cassette, Ledger, replay
from pytest_statebase.engine.tools import find_tools, stubbed
from pytest_statebase.errors import UnrecordedCall
from pytest_statebase.events import (
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.frames import Between, TurnClosed
from pytest_statebase.recorder.capture import Recording
from pytest_statebase.statebase import LocalClient
from pytest_statebase.statebase.app import Served
from pytest_statebase.wire.hosts import api_hosts
from tests import toy
from tests.web.http_server import plain, serving


class Bench:
    """A served StateBase, a capture, and a client of the package."""

    def __init__(self, url: str, journal: Listed, recording: Recording, local: LocalClient) -> None:
        self.url = url
        self.journal = journal
        self.recording = recording
        self.local = local
        self.client = StateBase(api_key="sb_test", base_url=url)

    def done(self) -> Listed:
        """All that was captured."""
        self.recording.stop()
        return self.journal

    def turn(self, session: str, said: str = "hi", answer: str = "hello") -> None:
        """A turn as an agent takes it."""
        self.client.sessions.get_context(session)
        self.client.sessions.add_turn(session, said, answer)


@contextmanager
def served(tools: list[str] | None = None, **how: Any) -> Iterator[Bench]:
    local = LocalClient({})
    with Served(local, tool_turns=False) as url:
        hosts = api_hosts([url.removeprefix("http://")])
        journal, plain_one = listed(tools or [])
        recording = Recording(
            lambda: journal, tools or [], plain_one._rules, plain_one._bounds, None, api_hosts=hosts, **how
        )
        with recording:
            bench = Bench(url, journal, recording, local)
            yield bench
            bench.client.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    with served(["tests.toy:price"]) as found:
        yield found


def kinds(turn: TurnClosed) -> list[str]:
    return [type(event).__name__ for event in turn.events[1:-1]]


def said(turn: TurnClosed) -> tuple[Any, Any]:
    started, added = turn.events[0], turn.events[-1]
    assert isinstance(started, TurnStarted)
    assert isinstance(added, TurnAdded)
    assert isinstance(started.input, dict)
    return started.input["content"], added.output["content"]


def test_a_session_needs_no_other_call(bench: Bench) -> None:
    sessions, memory = bench.client.sessions, bench.client.memory
    with serving(lambda _: plain(b"{}")) as model:
        session = sessions.create("support", user_id="u1", initial_state={"cart": []}, metadata={"plan": "pro"}).id
        sessions.get_context(session, query="fig")
        toy.price("fig")
        requests.post(f"{model.url}/v1/chat/completions", json={"model": "m"})
        sessions.update_state(session, {"cart": ["fig"]}, reasoning="one more")
        memory.add("likes figs", "preference", session, tags=["food"])
        sessions.add_turn(session, "a fig", "here", metadata={"model": "m"}, reasoning="so it was")
        bench.turn(session, "thanks", "you are welcome")
    journal = bench.done()

    created = journal.opened()[0].created
    assert (created.id, created.agent_id, created.user_id) == (session, "support", "u1")
    assert (created.state, created.metadata) == ({"cart": []}, {"plan": "pro"})
    first, second = journal.turns(session)
    assert (said(first), said(second)) == (("a fig", "here"), ("thanks", "you are welcome"))
    assert kinds(first) == ["MemorySearched", "ToolCalled", "StateUpdated", "MemoryAdded"]
    searched, called, updated, added, last = first.events[1:]
    assert isinstance(searched, MemorySearched)
    assert isinstance(called, ToolCalled)
    assert isinstance(updated, StateUpdated)
    assert isinstance(added, MemoryAdded)
    assert isinstance(last, TurnAdded)
    assert (searched.query, called.tool, called.arguments) == ("fig", "price", {"item": "fig"})
    assert (updated.version, updated.value, updated.reasoning) == (1, {"cart": ["fig"]}, "one more")
    assert (added.content, added.type, added.tags) == ("likes figs", "preference", ["food"])
    assert last.reasoning == "so it was"
    assert last.metadata is not None
    assert last.metadata["model"] == "m"
    assert (first.state_before, second.state_before) == ({"cart": []}, {"cart": ["fig"]})
    assert [one.request.parts.path for one in first.exchanges] == ["/v1/chat/completions"]
    assert second.exchanges == ()


def test_what_is_written_after_the_turn_was_added_belongs_to_it(bench: Bench) -> None:
    session = bench.client.sessions.create("a", initial_state={}).id
    for number in range(2):
        bench.turn(session)
        bench.client.sessions.update_state(session, {"n": number})
    journal = bench.done()

    assert [kinds(turn) for turn in journal.turns(session)] == [["StateUpdated"], ["StateUpdated"]]


def test_every_write(bench: Bench) -> None:
    sessions = bench.client.sessions
    session = sessions.create("a", initial_state={"n": 0}).id

    def post(method: str, path: str, **body: Any) -> None:
        httpx.request(method, bench.url + path, **body).raise_for_status()

    sessions.get_state(session)
    sessions.update_state(session, {"m": 1})
    post("PUT", f"/v1/sessions/{session}/state", json={"state": {"n": 5}, "reasoning": "all of it"})
    sessions.rollback(session, 1)
    post("POST", f"/v1/sessions/{session}/rollback", json={"version": -1, "reason": "wrong"})
    memory = bench.client.memory.add("one", session_id=session).id
    post("PATCH", f"/v1/memories/{memory}", json={"content": "two"})
    bench.client.memory.search("two", session_id=session)
    post("DELETE", f"/v1/memories/{memory}")
    sessions.add_turn(session, "hi", "hello")
    (turn,) = bench.done().turns(session)

    merged, replaced, back, again, added, changed, searched, deleted = turn.events[1:-1]
    assert isinstance(merged, StateUpdated)
    assert isinstance(replaced, StateUpdated)
    assert isinstance(back, StateRolledBack)
    assert isinstance(again, StateRolledBack)
    assert isinstance(added, MemoryAdded)
    assert isinstance(changed, MemoryUpdated)
    assert isinstance(searched, MemorySearched)
    assert isinstance(deleted, MemoryDeleted)
    assert (merged.value, replaced.value, replaced.reasoning) == ({"n": 0, "m": 1}, {"n": 5}, "all of it")
    assert (back.version, back.to_version, back.value) == (3, 1, {"n": 0, "m": 1})
    assert (again.version, again.to_version, again.value, again.reason) == (4, 2, {"n": 5}, "wrong")
    assert (changed.was, changed.content, deleted.was) == ("one", "two", "two")
    assert [one["content"] for one in searched.results] == ["two"]


def test_calls_that_the_agent_logs(bench: Bench) -> None:
    sessions = bench.client.sessions
    session = sessions.create("a").id
    sessions.get_context(session)
    sessions.add_tool_call(session, "look_up", {"x": 1}, {"found": True}, reasoning="to know")
    sessions.add_turn(session, "hi", "hello")
    sessions.get_context(session)
    toy.price("fig")
    sessions.add_tool_call(session, "price", {"item": "fig"}, {"price": 3}, reasoning="it costs")
    sessions.add_tool_call(session, "price", {"item": "fig"}, {"price": 3}, reasoning="from the cache")
    sessions.add_tool_call(session, "look_up", {"x": 2}, {"found": False})
    sessions.add_turn(session, "a fig", "3")
    first, second = bench.done().turns(session)

    (call,) = [event for event in first.events if isinstance(event, ToolCalled)]
    assert (call.tool, call.arguments, call.result, call.extra) == (
        "look_up",
        {"x": 1},
        {"found": True},
        {"reasoning": "to know"},
    )
    price, other = [event for event in second.events if isinstance(event, ToolCalled)]
    assert (price.result["currency"], price.extra) == ("EUR", {"reasoning": "it costs"})
    assert (other.tool, other.arguments) == ("look_up", {"x": 2})
    added = second.events[-1]
    assert isinstance(added, TurnAdded)
    assert [one["reasoning"] for one in added.extra["logged"]] == ["from the cache"]


def test_sessions_end_and_fork(bench: Bench) -> None:
    sessions = bench.client.sessions
    session = sessions.create("a", initial_state={"n": 0}).id
    bench.turn(session)
    fork = sessions.fork(session).id
    bench.turn(fork, "on the fork")
    sessions.delete(session)
    journal = bench.done()

    assert journal.reasons() == {session: "deleted", fork: "stopped"}
    assert [turn.session for turn in journal.turns()] == [session, fork]
    forked = next(one.created for one in journal.opened() if one.created.id == fork)
    assert forked.metadata is not None
    assert forked.metadata["forked_from"] == session


def test_async(bench: Bench) -> None:
    async def turn(client: AsyncStateBase, number: int) -> str:
        session = (await client.sessions.create("a", initial_state={"n": 0})).id
        for _ in range(3):
            await asyncio.gather(client.sessions.get_context(session), client.sessions.get_state(session))
            await asyncio.to_thread(toy.price, f"{number}")
            await client.sessions.update_state(session, {"n": number})
            await client.sessions.add_turn(session, f"{number}", f"{number}!")
        return str(session)

    async def main() -> list[str]:
        async with AsyncStateBase(api_key="x", base_url=bench.url) as client:
            return await asyncio.gather(*(asyncio.create_task(turn(client, number)) for number in range(8)))

    names = asyncio.run(main())
    journal = bench.done()
    for number, name in enumerate(names):
        assert [said(turn) for turn in journal.turns(name)] == [(f"{number}", f"{number}!")] * 3
        assert [kinds(turn)[-1] for turn in journal.turns(name)] == ["StateUpdated"] * 3


def test_threads_that_serve_one_session_after_the_other(bench: Bench) -> None:
    names = [bench.client.sessions.create("a").id for _ in range(6)]

    def serve(mine: list[str]) -> None:
        for name in mine * 2:
            bench.client.sessions.get_context(name)
            toy.price(name)
            bench.client.sessions.add_turn(name, name, "ok")

    threads = [threading.Thread(target=serve, args=(names[number::2],)) for number in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    journal = bench.done()

    for name in names:
        assert [said(turn) for turn in journal.turns(name)] == [(name, "ok")] * 2
        assert [(call.arguments, call.step, call.after) for call in journal.calls(name)] == [
            ({"item": name}, 1, None)
        ] * 2


def test_an_operators_rollback_stands_between_turns(bench: Bench) -> None:
    sessions = bench.client.sessions
    session = sessions.create("a", initial_state={"n": 0}).id
    sessions.get_context(session)
    sessions.update_state(session, {"n": 1})
    sessions.add_turn(session, "hi", "hello")

    threading.Thread(target=bench.recording._tap._service._close_logged).run()  # type: ignore[union-attr]
    sessions.rollback(session, 0)
    journal = bench.done()

    (between,) = [frame for frame in journal.frames if isinstance(frame, Between)]
    assert [type(event) for event in between.events] == [StateRolledBack]
    assert [type(frame).__name__ for frame in journal.frames] == [
        "SessionOpened",
        "TurnClosed",
        "Between",
        "SessionClosed",
    ]


def test_a_turn_that_goes_on_around_it_takes_it_all(bench: Bench) -> None:
    session = bench.client.sessions.create("a", initial_state={"n": 0}).id
    with bench.recording.session(session) as mine:
        with mine.turn("the users words") as turn:
            bench.client.sessions.get_context(session)
            bench.client.sessions.update_state(session, {"n": 1})
            bench.client.sessions.add_turn(session, "other words", "logged", reasoning="why")
            turn.reply("returned")
        with mine.turn():
            bench.client.sessions.add_turn(session, "words", "logged")
    first, second = bench.done().turns(session)

    assert (said(first), kinds(first)) == (("the users words", "returned"), ["StateUpdated"])
    assert isinstance(first.events[-1], TurnAdded)
    assert (first.events[-1].reasoning, first.state_before) == ("why", {"n": 0})
    assert said(second) == ("words", "logged")


def test_a_turn_of_another_name_takes_the_first_session_that_it_uses(bench: Bench) -> None:
    with bench.recording.session("thread_1") as mine, mine.turn("hi") as turn:
        session = bench.client.sessions.create("a", initial_state={"n": 0}).id
        other = bench.client.sessions.create("b", initial_state={}).id
        bench.client.sessions.update_state(session, {"n": 1})
        bench.client.sessions.update_state(other, {"m": 1})
        bench.client.sessions.add_turn(session, "hi", "hello")
        turn.reply("hello")
    journal = bench.done()

    (closed,) = journal.turns()
    assert (closed.session, kinds(closed), closed.state_before) == ("thread_1", ["StateUpdated"], {"n": 0})
    (between,) = [frame for frame in journal.frames if isinstance(frame, Between)]
    assert (between.session, [getattr(event, "value", None) for event in between.events]) == (other, [{"m": 1}])


def test_an_entry_point_learns_its_session_from_the_requests(bench: Bench) -> None:
    session = bench.client.sessions.create("a", initial_state={"n": 0}).id

    @bench.recording.agent
    def answer(words: str) -> str:
        bench.client.sessions.get_state(session)
        toy.price("fig")
        return words.upper()

    thread = threading.Thread(target=answer, args=("hi",))
    thread.start()
    thread.join()
    journal = bench.done()

    assert [(turn.session, said(turn), kinds(turn)) for turn in journal.turns()] == [
        (session, ("hi", "HI"), ["ToolCalled"])
    ]


def test_an_entry_point_and_what_is_logged_of_it_are_one_turn(bench: Bench) -> None:
    @bench.recording.agent
    def answer(session_id: str, user_input: str) -> str:
        return user_input.upper()

    session = bench.client.sessions.create("a", initial_state={"n": 0}).id
    for words in ("hi", "hi", "you"):
        bench.client.sessions.get_context(session)
        reply = answer(session, words)
        bench.client.sessions.add_turn(session, words, reply)
    journal = bench.done()

    assert [said(turn) for turn in journal.turns()] == [("hi", "HI"), ("hi", "HI"), ("you", "YOU")]
    assert [turn.state_before for turn in journal.turns()] == [{"n": 0}] * 3


def test_what_the_service_refuses_did_not_happen(bench: Bench) -> None:
    sessions = bench.client.sessions
    session = sessions.create("a", initial_state={"n": 0}).id
    sessions.get_context(session)
    for wrong in (lambda: sessions.rollback(session, 99), lambda: sessions.get_state("sess_none")):
        with pytest.raises(httpx.HTTPStatusError):
            wrong()
    sessions.add_turn(session, "hi", "hello")
    assert [kinds(turn) for turn in bench.done().turns(session)] == [[]]


def test_a_request_that_is_repeated_happened_once(bench: Bench) -> None:
    session = bench.client.sessions.create("a", initial_state={"n": 0}).id
    bench.client.sessions.get_context(session)
    for _ in range(3):
        found = httpx.patch(
            f"{bench.url}/v1/sessions/{session}/state", json={"state": {"n": 1}}, headers={"Idempotency-Key": "k1"}
        )
        assert found.json()["version"] == 1
    bench.client.sessions.add_turn(session, "hi", "hello")
    assert [kinds(turn) for turn in bench.done().turns(session)] == [["StateUpdated"]]


def test_a_look_at_a_session_is_no_turn(bench: Bench) -> None:
    session = bench.client.sessions.create("a", initial_state={"n": 0}).id
    for _ in range(3):
        threading.Thread(target=bench.client.sessions.get_state, args=(session,)).run()
    bench.client.sessions.list_turns(session)
    assert bench.done().frames == []


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"{}", b"nothing", b'{"id": 5}', b'{"version": "x", "state": 1}', b"[" * 9999]
)
def test_answers_of_any_kind(answer: bytes) -> None:
    with serving(lambda _: plain(answer)) as server:
        journal, one = listed()
        hosts = api_hosts([server.url.removeprefix("http://")])
        recording = Recording(lambda: journal, [], one._rules, one._bounds, None, api_hosts=hosts)
        with recording:
            base = f"{server.url}/v1"
            for method, path in [
                ("POST", "/sessions"),
                ("POST", "/sessions/s/fork"),
                ("POST", "/sessions/s/context"),
                ("GET", "/sessions/s/state"),
                ("PATCH", "/sessions/s/state"),
                ("POST", "/sessions/s/state/rollback"),
                ("POST", "/sessions/%2F/turns"),
                ("GET", "/memories?query=x"),
                ("POST", "/memories"),
                ("PATCH", "/memories/m"),
                ("DELETE", "/memories/m"),
                ("GET", "/nowhere"),
            ]:
                assert requests.request(method, base + path, json={"content": 1, "input": [1]}).content == answer
    assert journal.troubles == []


def test_a_capture_that_does_not_look_at_statebase() -> None:
    with served() as bench:
        hosts_are_none = Recording(
            lambda: bench.journal, [], bench.recording._rules, bench.recording._bounds, None, api_hosts=None
        )
        bench.recording.stop()
        with hosts_are_none as recording, recording.session("s") as session, session.turn("hi"):
            bench.client.health()
    assert [one.request.parts.path for one in bench.journal.turns()[0].exchanges] == ["/health"]


def test_a_stub_runs_nothing_live_where_a_capture_is_over(bench: Bench) -> None:
    session = bench.client.sessions.create("shop", initial_state={}).id
    bench.turn(session)
    bench.done()
    with stubbed(find_tools(["tests.toy:price"])), pytest.raises(UnrecordedCall):
        toy.price("A1")


class Handed:
    """Hands its work to a thread that was there before."""

    def __init__(self, work: SimpleQueue[Any], done: SimpleQueue[Any], url: str) -> None:
        self.work, self.done, self.url = work, done, url

    def serve(self) -> None:
        while (url := self.work.get()) is not None:
            try:
                self.done.put(requests.get(url, timeout=5).text)
            except Exception as error:
                self.done.put(type(error).__name__)

    def __call__(self, user_input: str) -> str:
        self.work.put(self.url)
        return str(self.done.get())


def test_a_thread_of_a_captured_turn_belongs_to_nobody_when_that_is_over(bench: Bench) -> None:
    """It has the turn in its context still: a request that it makes in a replay may not go out for that."""
    with serving(lambda _: plain(b"out")) as server:
        agent = Handed(SimpleQueue(), SimpleQueue(), server.url)
        ledger = Ledger([SessionCreated("sess_1"), TurnStarted(1, {"type": "text", "content": "go"})])
        ledger.append(TurnAdded({"type": "text", "content": "out"}))

        def captured() -> Context:
            bench.turn(bench.client.sessions.create("support").id)
            return copy_context()

        thread = threading.Thread(target=copy_context().run(captured).run, args=(agent.serve,))
        thread.start()
        try:
            assert agent("go") == "out"
            bench.done()
            result = replay(Cassette.from_ledger(ledger), agent)
        finally:
            agent.work.put(None)
            thread.join()
    assert [one.target for one in server.got] == ["/"]
    assert "in a thread that the agent did not start" in result.warnings[0]
