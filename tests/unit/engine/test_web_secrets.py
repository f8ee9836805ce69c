"""Keys that other requests of a session had in a header: masked in recordings, and found in those that hold them."""

from __future__ import annotations

import http.server
import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Cassette, load_cassette, record_session, replay
from pytest_statebase.cassette import write_http, write_record
from pytest_statebase.wire.exchange import Exchange

KEY = "shopkey-7f3a9c1e5b2d4860"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    """A server that answers with what it was sent."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def post(url: str, said: Any, **headers: str) -> Any:
    asked = urllib.request.Request(url, json.dumps(said).encode(), headers)
    with urllib.request.urlopen(asked) as answer:
        return json.loads(answer.read())


def own_key(url: str) -> str:
    """A tool that uses a key, and tells it."""
    return str(post(f"{url}/orders", {"order": 1}, Key=KEY)["order"]) + f" with {KEY}"


def agent_of(url: str, key: str, *, with_tool: bool) -> Any:
    def agent(user_input: str) -> str:
        if not with_tool:
            post(f"{url}/orders", {"order": 1}, Key=key)
        found = own_key(url) if with_tool else f"1 with {KEY}"
        return str(post(f"{url}/chat", {"said": found})["said"])

    return agent


def recorded(path: Path, url: str, *, with_tool: bool) -> tuple[Cassette, list[Exchange]]:
    exchanges: list[Exchange] = []
    tools = [f"{__name__}:own_key"] if with_tool else []
    agent = agent_of(url, KEY, with_tool=with_tool)
    write_record(path / "s.record.yaml", record_session(agent, ["go"], session_id="s", tools=tools, http=exchanges))
    write_http(path / "s.http.yaml", exchanges)
    return load_cassette(path / "s.record.yaml"), exchanges


def test_a_key_that_a_tool_gave_is_in_no_file_and_the_replay_finds_its_requests(tmp_path: Path, url: str) -> None:
    cassette, _ = recorded(tmp_path, url, with_tool=True)
    for file in tmp_path.iterdir():
        assert KEY not in file.read_text("utf-8"), file.name
    result = replay(cassette, agent_of(url, "none", with_tool=True), tools=[f"{__name__}:own_key"])
    assert result.verdicts == {"unchanged": 1}, [turn.reason for turn in result.turns]


@pytest.mark.parametrize("with_secret", [False, True])
def test_a_key_of_the_agent_itself(tmp_path: Path, url: str, with_secret: bool) -> None:
    _, exchanges = recorded(tmp_path, url, with_tool=False)
    file = tmp_path / "s.http.yaml"
    assert KEY not in file.read_text("utf-8")
    if with_secret:  # as earlier versions and other libraries wrote it
        file.write_text(file.read_text("utf-8").replace("1 with REDACTED-1", f"1 with {KEY}"), "utf-8")
        assert KEY in file.read_text("utf-8")
    result = replay(load_cassette(tmp_path / "s.record.yaml"), agent_of(url, KEY, with_tool=False))
    (turn,) = result.turns
    assert turn.replayed is not None
    assert [one.source.value for one in turn.replayed.requests] == ["record"] * len(exchanges)
