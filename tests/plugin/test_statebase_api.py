"""Requests to StateBase in replays and in tests that hold `statebase_client`: answered from the fork."""

from __future__ import annotations

from typing import Any

from pytest_statebase import record_session
from pytest_statebase.cassette import write_record

from .conftest import INI, QUICK, Project

HOST = "state.internal:9000"
AGENT = """
import json, urllib.request
import toy

BASE = "http://state.internal:9000/base"

def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, {"X-API-Key": "sb_test"}, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)

def agent(session_id, user_input):
    state = ask("GET", f"/v1/sessions/{session_id}/state")
    found = toy.price(user_input)
    cart = [*state["state"]["cart"], found["item"]]
    ask("PATCH", f"/v1/sessions/{session_id}/state", {"state": {"cart": cart}, "reasoning": "one more"})
    return f"{len(cart)} in the cart"
"""


def write(project: Project) -> None:
    (project.path / "shop.py").write_text(AGENT, encoding="utf-8")
    space: dict[str, Any] = {}
    exec(AGENT.replace("import toy", "from tests import toy"), space)
    ledger = record_session(
        space["agent"],
        ["apple", "fig"],
        session_id="sess_shop",
        tools=["tests.toy:price"],
        state={"cart": []},
        api_hosts=[HOST],
    )
    assert [turn.output["content"] for turn in ledger.turns] == ["1 in the cart", "2 in the cart"]
    write_record(project.fixtures / "shop.record.yaml", ledger)
    (project.fixtures / "shop.session.yaml").write_text("cassette: 1\n", encoding="utf-8")


def test_hosts_of_the_ini_file_are_answered_from_the_fork(project: Project) -> None:
    write(project)
    project.ini(f"{INI}\nstatebase_api_hosts = {HOST}\n")
    project.run(agent="shop:agent").assert_outcomes(passed=1)


def test_others_are_not(project: Project) -> None:
    write(project)
    result = project.run(agent="shop:agent")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*GET http://state.internal:9000/base/v1/sessions/sess_shop*/state*"])


def test_what_is_no_host_ends_the_run(project: Project) -> None:
    project.ini(f"{INI}\nstatebase_api_hosts = http://state.internal\n")
    result = project.run(agent="shop:agent")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*statebase_api_hosts: 'http://state.internal' is no pattern of hosts*"])


def test_a_test_that_holds_the_client_asks_the_same_sessions(project: Project) -> None:
    write(project)
    project.ini(f"{INI}\nstatebase_api_hosts = {HOST}\n")
    test = """
from shop import agent, ask

def test_it(statebase_client):
    fork = ask("POST", "/v1/sessions/sess_shop/fork", {"version": 1})
    assert agent(fork["id"], "fig") == "2 in the cart"
    assert statebase_client.sessions.get_state(fork["id"]).state == {"cart": ["apple", "fig"]}
    assert [one["id"] for one in ask("GET", "/v1/sessions")["data"]] == [fork["id"], "sess_shop"]
"""
    (project.path / "test_it.py").write_text(test, encoding="utf-8")
    project.pytester.runpytest_inprocess(*QUICK).assert_outcomes(passed=1)
