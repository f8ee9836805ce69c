from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.values import ABSENT

TRAJECTORY = [
    {"role": "system", "content": "Policy"},
    {"role": "user", "content": "Book a flight"},
    {
        "role": "assistant",
        "content": "One moment",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"to": "SEA"}'}}],
    },
    {"role": "tool", "tool_call_id": "c", "name": "find", "content": "Error: no flight"},
]


def simulation(**more: Any) -> dict[str, Any]:
    return {
        "id": "71fd",
        "task_id": "[a]b|c[PERSONA:Easy]",
        "trial": 0,
        "start_time": "2025-08-01T15:53:27.541447",
        "end_time": "2025-08-01T15:53:41.684334",
        "termination_reason": "user_stop",
        "reward_info": {"reward": 0.0, "db_check": None},
        "messages": [
            {"role": "assistant", "content": "Hi!", "tool_calls": None, "raw_data": {"x": 1}, "cost": 0.1},
            {"role": "user", "content": "Refund", "timestamp": "2025-08-01T15:53:30.1"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "name": "refund", "arguments": {"id": 7}, "requestor": "assistant"}],
                "errors": ["Invalid message format"],
            },
            {"role": "tool", "id": "1", "content": "Not found", "requestor": "assistant", "error": True, "turn_idx": 3},
            {"role": "assistant", "content": "Sorry"},
            {"role": "user", "content": "###STOP###"},
        ],
        **more,
    }


def read(path: Path, data: Any) -> list[ImportedSession | ImportFileError]:
    path.write_bytes(gzip.compress(json.dumps(data).encode()) if path.suffix == ".gz" else json.dumps(data).encode())
    return list(import_file(path))


def one(path: Path, data: Any) -> ImportedSession:
    (session,) = read(path, data)
    assert isinstance(session, ImportedSession)
    return session


def test_tau_bench(tmp_path: Path) -> None:
    found = one(
        tmp_path / "gpt-4o.json.gz", [{"task_id": 3, "trial": 1, "reward": 1.0, "info": {}, "traj": TRAJECTORY}]
    )
    assert found.name == found.ledger.id == "gpt-4o-task-3-trial-1"
    (turn,) = found.ledger.turns
    (call,) = turn.calls
    assert (call.is_error, call.result, call.arguments) == (True, "Error: no flight", {"to": "SEA"})
    assert turn.output is ABSENT
    assert found.ledger.created.metadata == {
        "benchmark": "tau-bench",
        "task_id": 3,
        "trial": 1,
        "reward": 1.0,
        "system": "Policy",
    }
    assert found.plan.title == "Task 3: Book a flight"
    assert not found.plan.failing


def test_tau2_bench(tmp_path: Path) -> None:
    info = {"agent_info": {"llm": "gpt-4.1"}, "environment_info": {"domain_name": "retail", "policy": "long"}}
    found = one(tmp_path / "results.json", {"info": info, "tasks": [], "simulations": [simulation()]})
    ledger = found.ledger
    assert found.name == "retail-task-[a]b|c[PERSONA:Easy]-trial-0"
    assert (ledger.id, ledger.created.agent_id, ledger.created.at) == ("71fd", "gpt-4.1", "2025-08-01T15:53:27.541447")
    assert [turn.input for turn in ledger.turns] == [None, {"type": "text", "content": "Refund"}]
    (call,) = ledger.turns[1].calls
    assert (call.is_error, call.result, dict(call.extra)) == (True, "Not found", {})
    assert ledger.turns[1].started.at == "2025-08-01T15:53:30.1"
    assert ledger.turns[0].added is not None
    assert ledger.turns[0].added.metadata is None
    assert ledger.turns[1].added is not None
    assert ledger.turns[1].added.metadata == {"errors": ["Invalid message format"]}
    assert ledger.ended is not None
    assert ledger.ended.reason == "user_stop"
    assert ledger.ended.input == {"type": "text", "content": "###STOP###"}
    assert found.plan.title == "Task [a]b|c[PERSONA:Easy] (reward 0, failed): Refund"
    assert (found.plan.session, found.plan.agent, found.plan.failing) == ("71fd", "gpt-4.1", frozenset())


def test_calls_of_the_simulated_user_are_not_the_agents(tmp_path: Path) -> None:
    asked = {"id": "u", "name": "toggle", "arguments": {}, "requestor": "user"}
    messages = [
        {"role": "user", "content": "My phone is dead"},
        {"role": "assistant", "content": "Toggle it"},
        {"role": "user", "content": None, "tool_calls": [asked]},
        {"role": "tool", "id": "u", "content": "toggled", "requestor": "user", "error": False},
        {"role": "user", "content": "Done"},
        {"role": "assistant", "content": "Good"},
    ]
    found = one(tmp_path / "r.json", {"simulations": [simulation(messages=messages)]})
    assert [(turn.text, len(turn.calls)) for turn in found.ledger.turns] == [("My phone is dead", 0), ("Done", 0)]


def test_a_bad_message_is_named_as_it_stands_in_the_file(tmp_path: Path) -> None:
    bad = simulation(messages=[{"role": "tool", "requestor": "user"}, {"role": "tool", "id": "x", "content": ""}])
    data = {"simulations": [simulation(), bad, simulation(id="last"), 3, simulation(messages=None)]}
    path = tmp_path / "r.json"
    found = read(path, data)
    assert [type(session) for session in found] == [
        ImportedSession,
        ImportFileError,
        ImportedSession,
        ImportFileError,
        ImportFileError,
    ]
    assert [session.where for session in found if isinstance(session, ImportFileError)] == [
        f"{path}: simulations[1].messages[1]",
        f"{path}: simulations[3]",
        f"{path}: simulations[4].messages",
    ]


@pytest.mark.parametrize("info", [None, [], {"agent_info": None}, {"environment_info": {"domain_name": None}}])
def test_info_that_says_nothing(tmp_path: Path, info: Any) -> None:
    found = one(tmp_path / "r.json", {"info": info, "simulations": [simulation(reward_info=None, id=None, trial=None)]})
    assert found.name == found.ledger.id == "tau2-task-[a]b|c[PERSONA:Easy]"
    assert found.plan.agent is None
