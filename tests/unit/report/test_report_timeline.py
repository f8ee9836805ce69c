"""What a row keeps of the recording around its replay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase import Cassette, replay
from pytest_statebase.ledger import (
    Ledger,
    MemoryAdded,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.report.results import result_to_row
from pytest_statebase.report.timeline import changes, timeline_row
from pytest_statebase.report.withoutsecrets import without_secrets

SAID = {"type": "text", "content": "…"}
CALL = ToolCalled("look_up", {"order": "1047"}, {"status": "sent"})
AT = "2026-03-15T10:20:00Z"


def session() -> Ledger:
    """Two versions within turns, one between them, a memory within a turn and one after the last."""
    return Ledger(
        [
            SessionCreated("sess", "support", state={"order": None, "cart": ["tea"]}, at=AT),
            TurnStarted(1, SAID),
            StateUpdated(1, {"order": "1047", "cart": ["tea"]}, reasoning="named it"),
            CALL,
            CALL,
            StateUpdated(2, {"order": "1047", "cart": ["tea", "pot"]}),
            TurnAdded(SAID),
            StateRolledBack(3, 1, {"order": "1047", "cart": ["tea"]}, reason="a mistake", actor="ops"),
            TurnStarted(2, SAID),
            CALL,
            MemoryAdded("never before noon"),
            TurnAdded(SAID),
            MemoryAdded("likes tea"),
        ]
    )


def test_versions_say_where_they_were_made() -> None:
    versions = timeline_row(session(), {1, 2})["versions"]
    assert versions == [
        {"v": 0, "turn": None, "at": AT, "state": {"order": None, "cart": ["tea"]}},
        {"v": 1, "turn": 1, "why": "named it", "patch": [[["order"], "1047"]]},
        {"v": 2, "turn": 1, "calls": 2, "patch": [[["cart", 1], "pot"]]},
        {"v": 3, "turn": None, "after": 1, "actor": "ops", "why": "a mistake", "back": 1}
        | {"patch": [[["cart"], ["tea"]]]},
    ]


def test_traces_say_in_or_after_which_turn() -> None:
    traces = timeline_row(session(), {1, 2})["traces"]
    assert [(one["action"], one["turn"], one.get("calls")) for one in traces] == [
        ("session.created", None, None),
        ("memory.created", 2, 1),
        ("memory.created", 2, None),
    ]


@pytest.mark.parametrize(("replayed", "others"), [({1, 2}, []), ({2}, [1]), (set(), [1, 2])])
def test_turns_that_were_not_replayed_stand_apart(replayed: set[int], others: list[int]) -> None:
    assert [one["turn"] for one in timeline_row(session(), replayed).get("others", ())] == others


def test_a_state_that_is_cut_takes_the_place_of_the_whole() -> None:
    states: list[Any] = [{"n": 0}, {"n": 1, "log": "w" * 30_000}, {"n": 2}]
    events = [SessionCreated("sess", state=states[0]), StateUpdated(1, states[1]), StateUpdated(2, states[2])]
    _, cut, back = timeline_row(Ledger(events), ())["versions"]
    ((path, value),) = cut["patch"]
    assert (path, value["!cut"]["size"]) == ([], len(json.dumps(states[1])))
    assert back["patch"] == [[[], {"n": 2}]]


SECRET = "s3cr3t-Pa55word!"


def test_changes_hold_no_secret_that_its_name_tells() -> None:
    states: list[Any] = [
        {"n": 0, "password": "another-Pa55word!"},
        {"n": 1, "password": SECRET},
        {"n": 2, "password": SECRET, "login": {"headers": [{"name": "x-api-key", "value": SECRET}]}},
        {"n": 2, "login": {"password": SECRET, "user": "ann"}},
    ]
    events: list[Any] = [SessionCreated("sess", state=states[0])]
    events += [StateUpdated(number, state) for number, state in enumerate(states[1:], 1)]
    told = without_secrets(timeline_row(Ledger(events), ()))["versions"]
    assert told[0]["state"] == {"n": 0, "password": "REDACTED"}
    assert [version["patch"] for version in told[1:]] == [
        [[["n"], 1]],
        [[["n"], 2], [["login"], {"headers": [{"name": "x-api-key", "value": "REDACTED"}]}]],
        [[["password"]], [["login", "headers"]], [["login", "password"], "REDACTED"], [["login", "user"], "ann"]],
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab_", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=12,
)


def patched(value: Any, path: list[Any], new: list[Any]) -> Any:
    """What the page does with one change."""
    if not path:
        return new[0]
    key, *rest = path
    if isinstance(value, list):
        return [*value[:key], patched(value[key] if key < len(value) else None, rest, new), *value[key + 1 :]]
    if not rest and not new:
        return {name: item for name, item in value.items() if name != key}
    return {**value, key: patched(value.get(key), rest, new)}


@given(JSON, JSON)
def test_changes_turn_one_value_into_the_other(old: Any, new: Any) -> None:
    made = old
    for path, *value in changes(old, new):
        made = patched(made, path, value)
    assert json.dumps(made, sort_keys=True) == json.dumps(new, sort_keys=True)


def test_a_row_of_a_replay_has_them() -> None:
    row = result_to_row(replay(Cassette.from_ledger(session()), lambda user_input: "…", fork="turn 2"))
    assert [version["v"] for version in row["versions"]] == [0, 1, 2, 3]
    assert [turn["turn"] for turn in row["others"]] == [1]
    assert [turn["turn"] for turn in row["turns"]] == [2]
