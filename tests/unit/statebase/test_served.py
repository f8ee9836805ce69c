"""The REST API over a socket: who may ask, what cannot be read, what the server needs."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")

import httpx
from statebase_sessions import production

from pytest_statebase.cassette import write_record
from pytest_statebase.errors import FileError, OptionError
from pytest_statebase.statebase import LocalClient
from pytest_statebase.statebase.app import AsgiApp, Served, asgi_app, listening
from pytest_statebase.statebase.router import MAX_BODY, Router
from pytest_statebase.statebase.shelf import sessions_in

FIXTURES = Path(__file__).parents[3] / "fixtures"


def client() -> LocalClient:
    return LocalClient({"sess_1": production("sess_1", 2)})


def test_a_key_is_asked_for_where_there_is_one() -> None:
    with Served(client(), key="sb_right") as url:
        answers = [
            httpx.get(f"{url}/v1/sessions", headers=headers)
            for headers in ({}, {"X-API-Key": "sb_wrong"}, {"X-API-Key": "sb_right"})
        ]
        health = httpx.get(f"{url}/health")
    assert [answer.status_code for answer in answers] == [401, 401, 200]
    assert answers[0].json()["error"]["code"] == "authentication_failed"
    assert health.json() == {"status": "ok"}


def test_a_body_that_is_too_long() -> None:
    with Served(client()) as url:
        answer = httpx.post(f"{url}/v1/sessions", content=b" " * (MAX_BODY + 2))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "payload_too_large")


def test_what_stands_before_the_application() -> None:
    """Tests have faults injected there."""
    seen: list[str] = []

    def before(app: AsgiApp) -> AsgiApp:
        async def noting(scope: Any, receive: Any, send: Any) -> None:
            seen.append(scope["type"])
            await app(scope, receive, send)

        return noting

    with Served(client(), app=before) as url:
        httpx.get(f"{url}/health")
    assert seen == ["lifespan", "http"]


def test_the_cassettes_of_a_directory() -> None:
    with Served(FIXTURES) as url:
        listed = httpx.get(f"{url}/v1/sessions", params={"limit": 100}).json()["data"]
        turns = httpx.get(f"{url}/v1/sessions/sess_second_refund/turns").json()["data"]
    assert {session["id"] for session in listed} == set(sessions_in(FIXTURES))
    assert {turn["input"]["type"] for turn in turns} == {"text", "tool_call"}


def test_a_recording_that_is_broken_is_told(tmp_path: Path) -> None:
    write_record(tmp_path / "a.record.yaml", production("sess_1", 2))
    text = (tmp_path / "a.record.yaml").read_text("utf-8")
    (tmp_path / "a.record.yaml").write_text(text.replace("Answer 2", "Answer 3"), "utf-8")
    with Served(tmp_path) as url:
        answer = httpx.get(f"{url}/v1/sessions/sess_1")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "a.record.yaml" in answer.json()["error"]["message"]


def test_two_recordings_of_one_session(tmp_path: Path) -> None:
    write_record(tmp_path / "a.record.yaml", production("sess_1", 2))
    shutil.copy(tmp_path / "a.record.yaml", tmp_path / "b.record.yaml")
    with pytest.raises(FileError, match=r"two recordings are of session sess_1: .*a\.record\.yaml, .*b\.record\.yaml"):
        sessions_in(tmp_path)


def test_a_plan_and_its_record_are_one(tmp_path: Path) -> None:
    write_record(tmp_path / "a.record.yaml", production("sess_1", 2))
    (tmp_path / "a.session.yaml").write_text("cassette: 1\n", "utf-8")
    (tmp_path / "second.session.yaml").write_text("cassette: 1\nrecord: a.record.yaml\n", "utf-8")
    assert list(sessions_in(tmp_path)) == ["sess_1"]
    assert list(sessions_in(tmp_path / "a.record.yaml")) == ["sess_1"]


def test_a_file_that_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "a.record.yaml").write_text("- 1\n", "utf-8")
    with pytest.raises(FileError, match="names no session"):
        sessions_in(tmp_path)


def test_without_uvicorn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(OptionError, match=r"serving needs uvicorn[\s\S]*pytest-statebase\[serve\]"):
        Served(client())


def test_a_port_that_is_taken() -> None:
    with listening("127.0.0.1", 0) as sock, pytest.raises(OptionError, match=r"cannot listen on 127\.0\.0\.1 port"):
        listening("127.0.0.1", sock.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8042", 200), ("localhost", 200), ("[::1]:8042", 200), ("evil.example", 403), ("", 403), ("[", 403)],
)
def test_only_this_machine(host: str, status: int) -> None:
    transport = httpx.ASGITransport(asgi_app(Router(client()), only_loopback=True))

    async def get() -> int:
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as asking:
            return (await asking.get("/v1/sessions/sess_1", headers={"Host": host})).status_code

    assert asyncio.run(get()) == status


def test_an_application_that_does_not_start() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("no")

    with pytest.raises(OptionError, match="the server did not start"), Served(client(), app=lambda app: broken):
        pass


def test_a_request_that_hangs_does_not_keep_the_server() -> None:
    def hanging(app: AsgiApp) -> AsgiApp:
        async def hang(scope: Any, receive: Any, send: Any) -> None:
            await (asyncio.Event().wait() if scope["type"] == "http" else app(scope, receive, send))

        return hang

    served = Served(client(), app=hanging)
    with served as url, pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{url}/health", timeout=1)
