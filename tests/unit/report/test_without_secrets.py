"""Nothing that a run tells or keeps holds a secret that the replayed agent has by itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import load_cassette, record_session, replay
from pytest_statebase.cassette import write_record
from pytest_statebase.plugin_accept import offer_of
from pytest_statebase.report.results import dump_row, result_to_row
from pytest_statebase.report.withoutsecrets import without_secrets

KEY = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
PASSWORD = "tr0ub4dor-and-3"


def pay(token: str, amount: int) -> str:
    return f"paid {amount}"


def agent(user_input: str) -> str:
    return pay(token=KEY, amount=5)


def other(user_input: str) -> str:
    return f"{pay(token=KEY, amount=5)} with {KEY}, password: {PASSWORD}"


def missing(user_input: str) -> str:
    return pay(token=KEY, amount=6)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    tools = [f"{__name__}:pay"]
    sys.modules.setdefault(__name__, sys.modules[pay.__module__])
    write_record(tmp_path / "a.record.yaml", record_session(agent, ["Pay."], session_id="sess_a", tools=tools))
    path = tmp_path / "a.session.yaml"
    path.write_text("cassette: 1\nsession: sess_a\ncompare: {output: exact}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("target", "verdict"), [(agent, "unchanged"), (other, "changed"), (missing, "unrecorded")])
def test_a_row_holds_no_secret(plan: Path, target: Any, verdict: str) -> None:
    result = replay(load_cassette(plan), target, tools=[f"{__name__}:pay"])
    assert result.turns[0].verdict == verdict
    line = dump_row(result_to_row(result))
    assert KEY not in line
    assert PASSWORD not in line
    assert '"session":"sess_a"' in line


def test_a_baseline_with_a_secret_is_refused(plan: Path) -> None:
    cassette = load_cassette(plan)
    offer = offer_of(replay(cassette, other, tools=[f"{__name__}:pay"]), cassette, ["all"])
    assert offer["turns"] == {}
    assert offer["refused"]["1"].startswith("it holds a secret, which must not be written")


def test_what_holds_no_secret_is_the_same_object() -> None:
    row = {"turns": [{"output": "call kim@mail.net, REDACTED-3", "calls": [{"arguments": {"token": "REDACTED-1"}}]}]}
    assert without_secrets(row) is row


def test_what_a_name_tells_to_be_secret_goes_everywhere() -> None:
    row = {"state": {"password": PASSWORD}, "said": f"it is {PASSWORD}!"}
    assert without_secrets(row) == {"state": {"password": "REDACTED"}, "said": "it is REDACTED!"}
