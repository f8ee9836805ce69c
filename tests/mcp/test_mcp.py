"""Tools of real MCP servers: recorded at the client's call, replayed without any server."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from pytest_statebase import Ledger, capture, load_cassette, record_session, replay
from pytest_statebase.cassette import Cassette, write_record
from pytest_statebase.cassette.plan import Answer, Plan, ToolRules
from pytest_statebase.compare.model import ReplayResult
from pytest_statebase.engine.tools import find_tools, stubbed
from pytest_statebase.errors import ToolError
from pytest_statebase.journal import read_sessions
from tests.mcp import agents

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the server writes down: that it started, and each call."""
    path = tmp_path / "server.log"
    monkeypatch.setitem(agents.LOOSE, "shop", [sys.executable, str(agents.SERVER), "--log", str(path)])
    return path


@pytest.fixture
def no_server(log: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """From when it is called, no server can start, no process either, and no socket opens."""

    def forbid() -> None:
        log.unlink(missing_ok=True)
        args = agents.LOOSE["shop"][1:]
        monkeypatch.setitem(agents.LOOSE, "shop", ["/there/is/no/python", *args])
        for owner, name in ((subprocess, "Popen"), (socket.socket, "connect"), (socket.socket, "connect_ex")):
            monkeypatch.setattr(owner, name, _never)

    return forbid


def _never(*args: Any, **named: Any) -> Any:
    raise AssertionError("a replay started a server or opened a socket")


def recorded(agent: type, inputs: list[str], tmp_path: Path, pattern: str = "mcp") -> Cassette:
    """A recording, through a file and back."""
    ledger = record_session(agent, inputs, session_id="sess_shop", tools=[pattern], state={})
    write_record(tmp_path / "shop.record.yaml", ledger)
    return load_cassette(tmp_path / "shop.record.yaml")


def replayed(cassette: Cassette | Ledger, agent: type, pattern: str = "mcp", **how: Any) -> ReplayResult:
    if isinstance(cassette, Ledger):
        cassette = Cassette.from_ledger(cassette)
    return replay(cassette, agent, until="end", tools=[pattern], **how)


@pytest.mark.parametrize("mode", ["continuous", "isolated"])
def test_a_server_over_stdio_is_recorded_and_not_started_in_a_replay(
    mode: str, log: Path, no_server: Any, tmp_path: Path
) -> None:
    cassette = recorded(agents.Buyer, ["1", "5"], tmp_path)
    assert log.read_text().split("\n").count("started") == 2
    first, second = cassette.ledger.turns
    assert [call.tool for call in first.calls] == ["in_stock", "order", "vault"]
    assert first.calls[0].result["structuredContent"] == {"item": "kettle", "count": 3, "shop": "shop"}
    assert second.calls[1].result["isError"] is True
    no_server()
    result = replayed(cassette, agents.Buyer, mode=mode)
    assert result.verdicts == {"unchanged": 2}, [turn.divergences for turn in result.turns]
    assert not log.exists()


def test_results_and_errors_are_the_objects_of_the_package(log: Path, no_server: Any, tmp_path: Path) -> None:
    cassette = recorded(agents.Buyer, ["1"], tmp_path)
    no_server()
    result = replayed(cassette, agents.Buyer)
    assert result.turns[0].replayed is not None
    said = json.loads(result.turns[0].replayed.output["content"])
    assert said[0][:2] == ["in_stock", "order"]
    assert said[1]["structuredContent"]["count"] == 3
    error = cassette.ledger.turns[0].calls[2].error
    if error is not None:
        assert error["type"].startswith("mcp.shared.exceptions:M")
        assert said[3].startswith(f"{agents.MCPError.__name__} -32001 the vault is closed {{'until': '09:00'}}")


def test_one_connection_serves_all_turns(log: Path, no_server: Any, tmp_path: Path) -> None:
    cassette = recorded(agents.Keeper, ["hello", "bye"], tmp_path)
    assert log.read_text().split("\n").count("started") == 1
    assert cassette.ledger.turns[1].error is None
    no_server()
    assert replayed(cassette, agents.Keeper).verdicts == {"unchanged": 2}
    assert replayed(cassette, agents.Keeper, fork="turn 2").verdicts == {"unchanged": 1}


def test_hints_make_reads_where_the_project_says_nothing(log: Path, tmp_path: Path) -> None:
    cassette = recorded(agents.Buyer, ["1"], tmp_path)

    class Curious(agents.Buyer):
        async def __call__(self, user_input: str) -> str:
            async with self.connect() as session:
                for _ in range(2):
                    await session.call_tool("in_stock", {"item": "kettle"})
            return "looked twice"

    assert replayed(cassette, Curious).counts()["repeated"] == 1
    rules = {"in_stock": ToolRules(reads=False, given=frozenset({"reads"}))}
    strict = Cassette.from_ledger(cassette.ledger, Plan(tools=rules))
    assert replayed(strict, Curious).turns[0].verdict == "unrecorded"


@pytest.mark.parametrize("pattern", ["mcp", "mcp:*"])
def test_a_call_without_an_answer_marks_its_turn(pattern: str, log: Path, no_server: Any, tmp_path: Path) -> None:
    cassette = recorded(agents.Buyer, ["1"], tmp_path, pattern)
    no_server()
    result = replayed(cassette, agents.Careless, pattern)
    assert result.turns[0].verdict == "unrecorded"
    assert not log.exists()


def test_an_answer_of_the_plan_may_be_a_text(log: Path, no_server: Any, tmp_path: Path) -> None:
    cassette = recorded(agents.Keeper, ["bye"], tmp_path)
    no_server()
    answers = (Answer("order", {"item": "kettle"}, result="on its way"),)

    class Orders(agents.Buyer):
        async def __call__(self, user_input: str) -> str:
            async with self.connect() as session:
                return json.dumps(agents.told(await session.call_tool("order", {"item": "kettle"})))

    result = replayed(Cassette.from_ledger(cassette.ledger, Plan(answers=answers)), Orders)
    assert result.turns[0].replayed is not None
    assert json.loads(result.turns[0].replayed.output["content"])["content"] == [{"type": "text", "text": "on its way"}]


def test_listing_that_was_never_recorded_is_a_miss(log: Path, no_server: Any, tmp_path: Path) -> None:
    cassette = recorded(agents.Keeper, ["bye"], tmp_path)
    metadata = cassette.ledger.created.metadata
    assert metadata is not None
    metadata["mcp"]["servers"][0]["said"] = []
    no_server()
    result = replayed(cassette.ledger, agents.Buyer)
    assert result.turns[0].verdict == "unrecorded"
    assert "tools/list" in (result.turns[0].calls[0].explanation or "")


def test_two_servers_are_told_apart(log: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("north", "south"):
        monkeypatch.setitem(agents.LOOSE, name, [*agents.LOOSE["shop"], "--name", name])
    with pytest.raises(ToolError, match="two MCP servers"):
        recorded(agents.TwoShops, ["north south"], tmp_path)
    cassette = recorded(agents.TwoShops, ["north south", "south"], tmp_path, "mcp:*")
    assert [c.tool for c in cassette.ledger.turns[0].calls] == ["north.in_stock", "south.in_stock"]
    log.unlink()
    result = replayed(cassette, agents.TwoShops, "mcp:*")
    assert result.verdicts == {"unchanged": 2}
    for name in ("north", "south"):
        # Reached in another way, which of the two it is cannot be told.
        monkeypatch.setitem(agents.LOOSE, name, ["elsewhere", "--name", name])
    assert replayed(cassette, agents.TwoShops, "mcp:*").turns[0].verdict == "unrecorded"
    assert not log.exists()


@pytest.fixture
def web(log: Path) -> Iterator[Any]:
    """The server over HTTP on loopback; called, it is ended and its port closed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(agents.SERVER), "--http", str(port), "--log", str(log)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    agents.URL[0] = f"http://127.0.0.1:{port}/mcp"

    def end() -> None:
        process.terminate()
        process.wait(20)

    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield end
    finally:
        end()


def test_a_server_over_http_is_recorded_and_not_reached_in_a_replay(web: Any, log: Path, tmp_path: Path) -> None:
    cassette = recorded(agents.WebBuyer, ["1", "5"], tmp_path)
    assert "order kettle" in log.read_text()
    web()
    log.unlink()
    for url in (agents.URL[0], "http://127.0.0.1:9/mcp?key=secret"):
        agents.URL[0] = url
        result = replayed(cassette, agents.WebBuyer)
        assert result.verdicts == {"unchanged": 2}, [turn.divergences for turn in result.turns]
    assert not log.exists()


def test_what_reaches_a_server_is_not_written_down_where_it_may_be_secret(log: Path, tmp_path: Path) -> None:
    agents.LOOSE["shop"] += ["--token", "hunter2", "--key=hunter2"]
    recorded(agents.Keeper, ["bye"], tmp_path)
    text = (tmp_path / "shop.record.yaml").read_text()
    assert "hunter2" not in text
    assert f"stdio {Path(sys.executable).name} shop_server.py" in text


def test_everything_is_restored(log: Path) -> None:
    tools = find_tools(["mcp"])
    before = [tool.function.__code__ for tool in tools]
    with stubbed(tools):
        assert all(tool.function.__code__ is not code for tool, code in zip(tools, before, strict=True))
    assert [tool.function.__code__ for tool in tools] == before


def test_other_patterns_are_refused() -> None:
    with pytest.raises(ToolError, match=r"`mcp:\*`"):
        find_tools(["mcp:search"])


def test_the_package_loads_only_where_it_is_named() -> None:
    code = "import sys, pytest_statebase.engine.runner; assert not {'mcp', 'mcp_types', 'anyio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_run_of_replays(
    log: Path, no_server: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixtures = pytester.mkdir("fixtures")
    recorded(agents.Buyer, ["1", "5"], fixtures)
    (fixtures / "shop.session.yaml").write_text("cassette: 1\nreplay: {until: end}\n")
    pytester.makeini("[pytest]\nstatebase_tools = mcp\nasyncio_default_fixture_loop_scope = function\n")
    log.unlink()
    monkeypatch.setitem(agents.LOOSE, "shop", ["/there/is/no/python", *agents.LOOSE["shop"][1:]])
    agent = "--statebase-agent=tests.mcp.agents:Buyer"
    result = pytester.runpytest_inprocess("--statebase-replay", "-p", "no:cacheprovider", agent)
    result.assert_outcomes(passed=1)
    assert not log.exists()


def test_calls_of_servers_are_captured_and_the_results_are_the_clients_own(
    log: Path, no_server: Any, tmp_path: Path
) -> None:
    """The connection is older than the turn: nothing is known of the server but what it was asked for."""
    seen: list[Any] = []

    async def turn(session: Any) -> None:
        seen.append(await session.call_tool("in_stock", {"item": "kettle"}))
        with suppress(agents.MCPError):
            seen.append(await session.call_tool("vault", {}))

    async def production() -> None:
        async with agents.stdio() as session:
            with capture(tmp_path, tools=["mcp"]) as recording:
                await session.call_tool("in_stock", {"item": "cup"})
                async with recording.session("s").turn("x"):
                    await turn(session)

    asyncio.run(production())
    (captured,) = read_sessions([tmp_path])
    first, *_ = calls = captured.ledger.turns[0].calls
    assert [call.tool for call in calls] == ["in_stock", "vault"]
    assert first.arguments == {"item": "kettle"}
    assert first.result["structuredContent"] == {"item": "kettle", "count": 3, "shop": "shop"}
    assert type(seen[0]).__name__ == "CallToolResult"
    no_server()
    live, seen[:] = list(seen), []

    async def agent(user_input: str) -> str:
        async with agents.stdio() as session:
            await turn(session)
        return "done"

    replay(Cassette.from_ledger(captured.ledger), agent, tools=["mcp"])
    assert list(map(agents.told, seen)) == list(map(agents.told, live))
