from __future__ import annotations

import copy
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


def said(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def applied(value: Any, patch: list[list[Any]]) -> Any:
    """What a reader of the patch makes of it."""
    whole = [copy.deepcopy(value)]
    for path, *new in patch:
        target: Any = whole
        key: Any = 0
        for step in path:
            target, key = target[key], step
        if not new:
            del target[key]
        elif isinstance(target, list) and key == len(target):
            target.append(new[0])
        else:
            target[key] = new[0]
    return whole[0]


LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(0, 2) | st.text("ab", max_size=2)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4)
)


@given(old=VALUES, new=VALUES)
def test_changes_make_one_value_of_the_other(old: Any, new: Any) -> None:
    made = applied(old, list(changes(old, new)))
    assert repr(made) == repr(new) or made == new
    assert list(changes(made, new)) == []


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, [[["a"], True]]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, [[["a", "c"]]]),
        ([1], [1, 2], [[[1], 2]]),
        ([1, 2], [2], [[[], [2]]]),
        (None, {}, [[[], {}]]),
    ],
)
def test_only_what_differs_is_told(old: Any, new: Any, patch: list[Any]) -> None:
    assert list(changes(old, new)) == patch


def recorded() -> Ledger:
    return Ledger(
        [
            SessionCreated(
                "sess_1", "agent", at="2026-03-15T10:00:00Z", state={"step": 0}, actor="k1", reasoning="new"
            ),
            TurnStarted(1, said("Hello"), at="2026-03-15T10:00:01Z"),
            ToolCalled("greet", {"name": "Ann"}, "Hi Ann"),
            StateUpdated(1, {"step": 1, "name": "Ann"}, reasoning="The user gave a name", actor="bot"),
            TurnAdded(said("Hi Ann"), reasoning="A greeting"),
            MemoryAdded("Is called Ann", actor="bot", at="2026-03-15T10:00:03Z"),
            TurnStarted(2, said("Forget me")),
            StateRolledBack(2, 0, {"step": 0}, reason="asked to forget"),
            TurnAdded(said("Done")),
        ]
    )


def test_versions_carry_what_changed_and_why() -> None:
    row = timeline_row(recorded(), {2})
    assert row["versions"] == [
        {"v": 0, "turn": None, "at": "2026-03-15T10:00:00Z", "actor": "k1", "why": "new", "state": {"step": 0}},
        {
            "v": 1,
            "turn": 1,
            "actor": "bot",
            "why": "The user gave a name",
            "patch": [[["step"], 1], [["name"], "Ann"]],
        },
        {"v": 2, "turn": 2, "why": "asked to forget", "back": 0, "patch": [[["name"]], [["step"], 0]]},
    ]


def test_turns_that_were_not_replayed_and_other_traces_are_kept() -> None:
    row = timeline_row(recorded(), {2})
    assert row["others"] == [
        {
            "turn": 1,
            "input": "Hello",
            "calls": ["greet"],
            "output": "Hi Ann",
            "at": "2026-03-15T10:00:01Z",
            "why": "A greeting",
        }
    ]
    assert row["traces"] == [
        {"action": "session.created", "turn": None, "at": "2026-03-15T10:00:00Z", "actor": "k1", "why": "new"},
        {
            "action": "memory.created",
            "turn": 1,
            "at": "2026-03-15T10:00:03Z",
            "actor": "bot",
            "about": "Is called Ann",
        },
    ]


def test_a_replay_s_row_has_them() -> None:
    cassette = Cassette.from_ledger(recorded())
    row = result_to_row(replay(cassette, lambda user_input: "Done", fork="turn 2"))
    assert [version["v"] for version in row["versions"]] == [0, 1, 2]
    assert [turn["turn"] for turn in row["others"]] == [1]
    assert [turn["turn"] for turn in row["turns"]] == [2]
