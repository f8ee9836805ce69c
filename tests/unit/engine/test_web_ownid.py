"""Requests that name the session: a fork has an id of its own, and its requests find what the session sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from pytest_statebase import Cassette, Ledger, load_cassette, record_session, replay
from pytest_statebase.cassette import Plan, write_http, write_plan, write_record
from pytest_statebase.cassette.plan import HttpPlan
from pytest_statebase.engine.web.ownid import OwnId
from pytest_statebase.wire.exchange import Request
from tests.web.http_server import plain, serving

CLIENT = httpx.Client(verify=False, limits=httpx.Limits(max_keepalive_connections=0))
IDS = ["sess_1", "a", "7", "kim@shop/1", 'the "first"', "größe 3", "7f1f4d2e-0c6b-4f5e-9d0a-1d6c5b7a9e21"]


def written(directory: Path, ledger: Ledger, exchanges: list[Any]) -> Cassette:
    write_record(directory / "a.record.yaml", ledger)
    write_http(directory / "a.http.yaml", exchanges)
    write_plan(directory / "a.session.yaml", Plan(session=ledger.id, http=HttpPlan(headers=("X-Thread",))))
    return load_cassette(directory / "a.session.yaml")


@pytest.mark.parametrize("mode", ["continuous", "isolated"])
@pytest.mark.parametrize("session", IDS)
def test_requests_name_the_session(tmp_path: Path, session: str, mode: Any) -> None:
    def agent(session_id: str, user_input: str) -> str:
        named = {"thread": session_id, "messages": [f"In {session_id}: {user_input}"]}
        path = f"{server.url}/history/{quote(session_id, safe='')}"
        seen = CLIENT.get(path, params={"of": session_id}, headers={"X-Thread": quote(session_id)}).text
        return seen + CLIENT.post(f"{server.url}/say", json=named).text + CLIENT.post(path, data=named).text

    exchanges: list[Any] = []
    with serving(lambda got: plain(b"seen")) as server:
        ledger = record_session(agent, ["Hi", "Bye"], session_id=session, http=exchanges)
    assert replay(written(tmp_path, ledger, exchanges), agent, mode=mode).verdicts == {"unchanged": 2}


def test_another_session_is_another_one(tmp_path: Path) -> None:
    def agent(session_id: str) -> str:
        return CLIENT.get(f"{server.url}/history/{name or session_id}").text

    exchanges: list[Any] = []
    name = ""
    with serving(lambda got: plain(b"seen")) as server:
        ledger = record_session(agent, ["Hi"], session_id="sess_1", http=exchanges)
    cassette = written(tmp_path, ledger, exchanges)
    name = "sess_2"
    assert replay(cassette, agent).verdicts == {"unrecorded": 1}


def test_what_is_sent_elsewhere_is_left_as_it_is() -> None:
    request = Request("POST", "https://example.com/s", (("A", "s"),), json.dumps({"id": "s-fork"}).encode())
    assert OwnId("s-fork-turn-1", "s")(request) is request
