"""HTTP requests of captured turns, by real clients to a server on loopback."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from capturing import Listed, listed
from click.testing import CliRunner

from pytest_statebase import capture, load_cassette, record_session, replay
from pytest_statebase.cassette import Plan, write_http, write_plan, write_record
from pytest_statebase.cli import main
from pytest_statebase.frames import TurnClosed
from pytest_statebase.journal import read_sessions
from pytest_statebase.recorder import turns
from pytest_statebase.recorder.tap import settled_frame
from pytest_statebase.wire.exchange import Exchange, Response
from tests.web.http_server import Server, chunks, plain, serving

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


@pytest.fixture
def journal() -> Iterator[Listed]:
    found, recording = listed(["test_capture_http:fetch"])
    with recording:
        yield found


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(lambda got: plain(got.target.encode())) as found:
        yield found


def recording() -> Any:
    from pytest_statebase.recorder.capture import running

    return running()


def fetch(url: str) -> str:
    """A tool."""
    return requests.get(url).text


def paths(exchanges: Any) -> list[tuple[str, bytes]]:
    return [(one.request.parts.path, one.answer.body) for one in exchanges if isinstance(one.answer, Response)]


def test_requests_of_a_turn_are_its_exchanges(journal: Listed, server: Server) -> None:
    requests.get(f"{server.url}/before")
    with recording().session("s") as session:
        with session.turn("hi") as turn:
            httpx.post(f"{server.url}/a", json={"x": 1})
            fetch(f"{server.url}/b")
            turn.reply("done")
        requests.get(f"{server.url}/between")
        with session.turn("again") as turn:
            httpx.get(f"{server.url}/c")

    first, second = journal.turns("s")
    assert paths(first.exchanges) == [("/a", b"/a"), ("/b", b"/b")]
    assert paths(second.exchanges) == [("/c", b"/c")]
    assert [one.during for one in first.exchanges] == [None, 0]
    assert [json.loads(one.request.body) for one in first.exchanges[:1]] == [{"x": 1}]
    assert all(one.latency_ms is not None and one.at is not None for one in first.exchanges)
    assert len(server.got) == 5


def test_in_threads_and_tasks_at_once(journal: Listed, server: Server) -> None:
    async def turn(number: int) -> None:
        with recording().session(f"s{number}") as session, session.turn("hi"):
            async with (
                httpx.AsyncClient() as client,
                aiohttp.ClientSession() as other,
                other.get(f"{server.url}/{number}/aiohttp") as found,
            ):
                await asyncio.gather(
                    client.get(f"{server.url}/{number}/httpx"),
                    asyncio.to_thread(requests.get, f"{server.url}/{number}/requests"),
                    found.read(),
                )

    async def main() -> None:
        await asyncio.gather(*(turn(number) for number in range(10)))

    asyncio.run(main())
    for number in range(10):
        (closed,) = journal.turns(f"s{number}")
        assert sorted(one.request.parts.path for one in closed.exchanges) == [
            f"/{number}/{name}" for name in ("aiohttp", "httpx", "requests")
        ]


def test_exchanges_stand_in_the_order_of_their_requests(journal: Listed) -> None:
    first_is_there, second_is_over = threading.Event(), threading.Event()

    def script(got: Any) -> Any:
        if got.target == "/slow":
            return [first_is_there.set, lambda: second_is_over.wait(10), *plain(b"slow")]
        return plain(b"quick")

    with serving(script) as server, recording().session("s") as session, session.turn("hi"):
        slow = threading.Thread(target=requests.get, args=(f"{server.url}/slow",))
        slow.start()
        assert first_is_there.wait(10)
        requests.get(f"{server.url}/quick")
        second_is_over.set()
        slow.join()

    assert paths(journal.turns()[0].exchanges) == [("/slow", b"slow"), ("/quick", b"quick")]


def test_what_ends_after_its_turn_is_counted(journal: Listed) -> None:
    over = threading.Event()
    with serving(lambda _: chunks(b"data: 1\n\n", lambda: over.wait(10), b"data: 2\n\n")) as server:
        with recording().session("s") as session, session.turn("hi"):
            response = requests.get(f"{server.url}/sse", stream=True)
            events = response.iter_lines()
            assert next(events) == b"data: 1"
        over.set()
        assert [line for line in events if line] == [b"data: 2"]

    assert [turn.exchanges for turn in journal.turns()] == [()]
    assert journal.troubles == ["http"]


def test_errors_are_the_clients_own_and_told(journal: Listed) -> None:
    with recording().session("s") as session, session.turn("hi"), pytest.raises(httpx.ConnectError):
        httpx.get("http://127.0.0.1:1/x")

    (exchange,) = journal.turns()[0].exchanges
    assert getattr(exchange.answer, "kind", None) == "connect"


def test_bodies_of_one_turn_are_bounded(journal: Listed, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setattr(turns, "MOST_BODIES", 100)
    with recording().session("s") as session, session.turn("hi"):
        for number in range(4):
            requests.post(f"{server.url}/{number}", data=b"x" * 40)

    found = journal.turns()[0].exchanges
    assert [len(one.request.body) for one in found] == [40, 40, 0, 0]
    assert [getattr(one.answer, "cut", "") is None for one in found] == [True, True, False, False]


def test_a_capture_without_http(server: Server) -> None:
    journal, recording = listed()
    recording = type(recording)(lambda: journal, [], recording._rules, recording._bounds, None, http=False)
    with recording, recording.session("s") as session, session.turn("hi"):
        assert httpx.get(f"{server.url}/x").text == "/x"
    assert journal.turns()[0].exchanges == ()


def test_a_replay_decides_of_its_own_requests(server: Server, tmp_path: Path) -> None:
    journal, recording = listed()

    def agent(user_input: str) -> str:
        recording.start()
        return httpx.get(f"{server.url}/x").text

    exchanges: list[Exchange] = []
    ledger = record_session(agent, ["hi"], session_id="s", http=exchanges)
    recording.stop()
    write_record(tmp_path / "s.record.yaml", ledger)
    write_http(tmp_path / "s.http.yaml", exchanges)
    write_plan(tmp_path / "s.session.yaml", Plan(session="s"))
    result = replay(load_cassette(tmp_path / "s.session.yaml"), agent)
    recording.stop()

    assert (result.verdicts, len(exchanges), len(server.got)) == ({"unchanged": 1}, 1, 1)
    assert journal.frames == []


def test_clients_are_as_they_were_when_it_is_over() -> None:
    import http.client

    import httpcore
    import urllib3.connectionpool

    def held() -> list[Any]:
        return [
            httpcore.ConnectionPool.handle_request,
            http.client.HTTPConnection.send,
            http.client.HTTPConnection.getresponse,
            urllib3.connectionpool.HTTPConnectionPool._make_request,
            aiohttp.ClientSession._request,
        ]

    before = held()
    _, recording = listed()
    with recording:
        assert all(new is not old for new, old in zip(held(), before, strict=True))
    assert held() == before


def test_bodies_are_decoded_and_cleaned_on_their_way_to_the_disk(tmp_path: Path) -> None:
    answer = gzip.compress(json.dumps({"api_key": KEY, "text": "hello"}).encode())
    with (
        serving(lambda _: plain(answer, "content-encoding: gzip", "content-type: application/json")) as server,
        capture(tmp_path) as recording,
        recording.session("s") as session,
        session.turn("hi") as turn,
    ):
        headers = {"Authorization": f"Bearer {KEY}"}
        assert (
            httpx.post(f"{server.url}/v1/chat?api_key={KEY}", json={"k": KEY}, headers=headers).json()["text"]
            == "hello"
        )
        turn.reply("ok")

    (captured,) = read_sessions([tmp_path])
    (exchange,) = captured.exchanges
    assert isinstance(exchange.answer, Response)
    assert json.loads(exchange.answer.body)["text"] == "hello"
    assert exchange.answer.header("content-encoding") is None
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in written
    assert b"hello" in written


@pytest.mark.parametrize("client", ["httpx", "requests", "aiohttp"])
def test_what_was_captured_replays_without_the_server(tmp_path: Path, client: str) -> None:
    events = [b'data: {"text": "%d"}\n\n' % number for number in range(3)]

    def script(got: Any) -> Any:
        return chunks(*events) if got.target == "/sse" else plain(gzip.compress(got.body), "content-encoding: gzip")

    async def by_aiohttp(words: str) -> bytes:
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{url}/echo", json={"words": words}) as echo:
                said = await echo.read()
            async with session.get(f"{url}/sse") as stream:
                return said + b"".join([chunk async for chunk in stream.content.iter_any()])

    def agent(session_id: str, user_input: str) -> str:
        if client == "aiohttp":
            return asyncio.run(by_aiohttp(user_input)).decode()
        module: Any = httpx if client == "httpx" else requests
        said = module.post(f"{url}/echo", json={"words": user_input}).content
        return str((said + module.get(f"{url}/sse").content).decode())

    with serving(script) as server, capture(tmp_path / "captured") as recording:
        url = server.url
        for words in ("one", "two"):
            recording.agent(agent)("s1", words)
    done = CliRunner().invoke(main, ["import", str(tmp_path / "captured"), "--out", str(tmp_path / "fixtures")])
    assert done.exit_code == 0, done.output

    result = replay(load_cassette(tmp_path / "fixtures" / "s1.session.yaml"), agent)
    assert result.verdicts == {"unchanged": 2}
    (captured,) = read_sessions([tmp_path / "captured"])
    assert [(one.turn, one.request.parts.path) for one in captured.exchanges] == [
        (1, "/echo"),
        (1, "/sse"),
        (2, "/echo"),
        (2, "/sse"),
    ]


def test_nothing_is_decoded_in_the_agents_thread(journal: Listed) -> None:
    body = b"{}" * 1000
    with (
        serving(lambda _: plain(gzip.compress(body), "content-encoding: gzip")) as server,
        recording().session("s") as session,
        session.turn("hi"),
    ):
        assert httpx.get(f"{server.url}/x").content == body

    (frame,) = journal.turns()
    assert (_answer(frame.exchanges[0]).is_encoded, len(_answer(frame.exchanges[0]).body) < 100) == (True, True)
    whole = settled_frame(frame)
    assert isinstance(whole, TurnClosed)
    assert _answer(whole.exchanges[0]).body == body


def _answer(exchange: Exchange) -> Response:
    assert isinstance(exchange.answer, Response)
    return exchange.answer
