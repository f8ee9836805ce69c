"""Nothing that a run tells or keeps holds a secret that the replayed agent has by itself."""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pytest_statebase import load_cassette, record_session, replay
from pytest_statebase.cassette import write_record
from pytest_statebase.plugin_accept import offer_of
from pytest_statebase.report.jsonsafe import json_safe
from pytest_statebase.report.prose.brief import brief
from pytest_statebase.report.results import dump_row, error_row, result_to_row
from pytest_statebase.report.runs import Run
from pytest_statebase.report.withoutsecrets import without_secrets
from pytest_statebase.values import ABSENT

KEY = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
PASSWORD = "tr0ub4dor-and-3"


def pay(token: str, amount: int) -> str:
    return f"paid {amount}"


def log_in(password: Any) -> str:
    return "in"


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


@pytest.mark.parametrize(
    "secret", [b"hunter", ("hunter",), {"hunter"}, {1: "hunter"}, 55512345, Decimal(55512345), "hunter"]
)
@pytest.mark.parametrize("before", ["x", None])
def test_a_row_holds_no_secret_of_any_type(tmp_path: Path, secret: Any, before: Any) -> None:
    def logs_in(user_input: str, state: Any) -> str:
        state["auth"] = {"password": held[0]}
        return log_in(password=held[0])

    held = [before]
    tools = [f"{__name__}:log_in"]
    recorded = record_session(logs_in, ["Go."], session_id="sess_a", tools=tools, state={})
    write_record(tmp_path / "b.record.yaml", recorded)
    plan = tmp_path / "b.session.yaml"
    plan.write_text("cassette: 1\nsession: sess_a\n", encoding="utf-8")
    held[0] = secret
    line = dump_row(result_to_row(replay(load_cassette(plan), logs_in, tools=tools)))
    assert "hunter" not in line
    assert "55512345" not in line
    assert "REDACTED" in line


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


class Shown:
    """Known by its repr alone."""

    def __repr__(self) -> str:
        return f"Shown({PLAIN})"


class Names(list[Any]):
    """A list with a name of its own."""


class Field(enum.Enum):
    PASSWORD = "password"
    PIN = 1


@dataclass
class Login:
    password: Any


PLAIN = "hunter"
"""So plain a word that nothing but its name tells that it is a secret."""
MASKED = "REDACTED"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"password": PLAIN.encode()}, {"password": {"!bytes": MASKED}}),
        ({"password": (PLAIN,)}, {"password": {"!tuple": [MASKED]}}),
        ({"password": {PLAIN}}, {"password": {"!set": [MASKED]}}),
        ({"password": Names([PLAIN, (PLAIN,)])}, {"password": {"!Names": [MASKED, {"!tuple": [MASKED]}]}}),
        ({"password": Shown()}, {"password": {"!repr": MASKED}}),
        ({"password": {1: PLAIN}}, {"password": {"!map": [[1, MASKED]]}}),
        ({1: 2, "password": PLAIN}, {"!map": [[1, 2], ["password", MASKED]]}),
        ({b"password": PLAIN.encode()}, {"!map": [[{"!bytes": "password"}, {"!bytes": MASKED}]]}),
        ({("user", "password"): PLAIN}, {"!map": [[{"!tuple": ["user", "password"]}, MASKED]]}),
        ({1: 2, "name": "X-Api-Key", "value": PLAIN}, {"!map": [[1, 2], ["name", "X-Api-Key"], ["value", MASKED]]}),
        ({"!password": PLAIN}, {"!map": [["!password", MASKED]]}),
        ({"password": Decimal("4711.5")}, {"password": {"!decimal": MASKED}}),
        ({"session_token": UUID(int=7)}, {"session_token": {"!uuid": MASKED}}),
        ([{"a": ({"password": PLAIN.encode()},)}], [{"a": {"!tuple": [{"password": {"!bytes": MASKED}}]}}]),
    ],
)
def test_a_value_of_any_type_stands_under_the_name_of_its_tag(value: Any, told: Any) -> None:
    assert without_secrets(json_safe(value)) == told


def test_fields_and_cut_values_stand_under_the_name_of_their_tag() -> None:
    fields = without_secrets(json_safe(Login(PLAIN.encode())))["!object"]["fields"]
    assert fields == {"password": {"!bytes": MASKED}}
    held = without_secrets(json_safe({"api_token": Login({"value": PLAIN})}))["api_token"]["!object"]
    assert held == {"type": f"{__name__}:Login", "fields": {"password": {"value": MASKED}}}
    cut = without_secrets({"password": json_safe(PLAIN * 9, limit=20)})
    assert cut == {"password": {"!cut": {"head": MASKED, "size": 54}}}


@pytest.mark.parametrize("key", [Field.PASSWORD, Field.PIN])
def test_an_enum_as_a_key_is_a_name(key: Field) -> None:
    (pair,) = without_secrets(json_safe({key: "1234"}))["!map"]
    assert pair[1] == MASKED


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("state.auth.password", PLAIN, MASKED),
        ("tools.login#2.arguments.password", 4711, "0"),
        ("tools.login.arguments.password", {"!bytes": PLAIN}, {"!bytes": MASKED}),
        ("state.password[0][12]", PLAIN, MASKED),
        ('state."X-Api-Key: \\"a\\" key.secret"', PLAIN, MASKED),
        ("state.password.kind", PLAIN, PLAIN),
        ("state.passwords_of.kim", PLAIN, PLAIN),
        ("output", PLAIN, PLAIN),
        ("", PLAIN, PLAIN),
    ],
)
def test_the_sides_of_a_divergence_stand_under_the_end_of_its_path(path: str, value: Any, told: Any) -> None:
    found = {"facet": "state", "kind": "value", "path": path, "recorded": value, "replayed": value}
    clean = without_secrets([found])
    assert clean == [found | {"recorded": told, "replayed": told}]
    assert (clean[0] is found) == (told == value)


def test_what_is_known_by_its_tag_goes_everywhere() -> None:
    row = json_safe({"state": {"password": (PASSWORD.encode(),)}, "said": f"it is {PASSWORD}!"})
    assert without_secrets(row)["said"] == "it is REDACTED!"


@pytest.mark.parametrize(
    "value",
    [
        {"token": Decimal("12")},
        {"token": datetime(2026, 1, 2)},
        {"order": (1, b"x"), 3: {"a"}},
        {"password": None, 1: ABSENT},
        {"!map": [[{"!enum": 5}, 1], [{"!enum": {"fields": 5}}, {}], [{}, []]]},
        {"!map": [["password"]]},
        {"!cut": 5},
    ],
)
def test_what_holds_no_secret_under_a_tag_is_the_same_object(value: Any) -> None:
    for one in (value, json_safe(value)):
        assert without_secrets(one) is one


def test_deep_values_of_any_type() -> None:
    value: Any = {"password": PASSWORD.encode()}
    for number in range(20):
        value = (Login({1: value}),) if number % 2 else (value,)
    safe = json_safe(value)
    assert PASSWORD in str(safe)
    assert "!cut" not in str(safe)
    assert PASSWORD not in str(without_secrets(safe))


def test_an_error_row_holds_no_secret() -> None:
    message = f"the agent could not be made: ValueError\npassword=hunter2x9QQ {KEY}"
    row = error_row("a.session.yaml", "version 0", message, nodeid="a.session.yaml::version-0")
    assert row["message"] == "the agent could not be made: ValueError\npassword=REDACTED REDACTED"
    assert row["nodeid"] == "a.session.yaml::version-0"
    assert error_row("a.session.yaml", "", f"no {KEY}")["failure"] == "no REDACTED"
    run = Run([row], {})
    assert "password=REDACTED REDACTED" in brief(run, row, None)
