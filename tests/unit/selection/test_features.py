from __future__ import annotations

from typing import Any

import pytest

from pytest_statebase.ledger import (
    Event,
    Ledger,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.selection.features import MOST_PATHS, Kind, features_of
from pytest_statebase.selection.statepaths import changed_paths
from pytest_statebase.values import TypedData


def text(said: str) -> dict[str, str]:
    return {"type": "text", "content": said}


def turn(number: int, *events: Event, **added: Any) -> list[Event]:
    return [TurnStarted(number, text("Hi")), *events, TurnAdded(**{"output": text("Yes"), **added})]


def session(*turns: list[Event], **created: Any) -> Ledger:
    return Ledger([SessionCreated("s", **created), *(event for events in turns for event in events)])


def found(ledger: Ledger, kind: Kind) -> set[str]:
    return {feature.text for feature in features_of(ledger) if feature.kind is kind}


def test_transitions() -> None:
    ledger = session(
        turn(1, ToolCalled("a"), ToolCalled("b"), ToolCalled("b")),
        turn(2),
        turn(3, ToolCalled("c")),
    )
    assert found(ledger, Kind.TRANSITION) == {
        "session begins → a",
        "turn begins → a",
        "a → b",
        "b → b",
        "b → turn ends",
        "turn begins → turn ends",
        "turn begins → c",
        "c → turn ends",
        "c → session ends",
    }


def test_calls_at_once_and_inside_others() -> None:
    ledger = session(
        turn(
            1,
            ToolCalled("b", step=1),
            ToolCalled("a", step=1),
            ToolCalled("inner", step=1, during=0),
            ToolCalled("c", step=2, agent="billing"),
        )
    )
    assert found(ledger, Kind.TRANSITION) == {
        "session begins → a",
        "session begins → b",
        "turn begins → a",
        "turn begins → b",
        "a + b at once",
        "inner inside b",
        "a → billing: c",
        "b → billing: c",
        "billing: c → turn ends",
        "billing: c → session ends",
    }


def test_the_order_of_calls_that_were_made_at_once_is_none() -> None:
    one = session(turn(1, ToolCalled("a", step=1), ToolCalled("b", step=1)))
    other = session(turn(1, ToolCalled("b", step=1), ToolCalled("a", step=1)))
    assert features_of(one) == features_of(other)


def test_words_that_nobody_answered() -> None:
    ledger = Ledger([SessionCreated("s"), *turn(1), SessionEnded(input=text("Hello?"))])
    assert "words without an answer → session ends" in found(ledger, Kind.TRANSITION)


def test_errors() -> None:
    ledger = session(
        turn(
            1,
            ToolCalled("a", error={"type": "shop.tools:LockedError", "message": "order 1052"}),
            ToolCalled("a", error={"type": "KeyError", "message": "x"}),
            ToolCalled("b", result="no", is_error=True),
            ToolCalled("c", result={"success": False}),
            ToolCalled("d", result={"success": True}),
        ),
        turn(2, error={"type": "TimeoutError", "message": ""}),
        turn(3, output={"type": "error", "content": "x"}),
        turn(4, interrupted=True),
        [TurnStarted(5, text("Hi"))],
    )
    assert found(ledger, Kind.ERROR) == {
        "a raised LockedError",
        "a raised KeyError",
        "b said that it failed",
        "c said that it failed",
        "the agent raised TimeoutError",
        "the agent answered with an error",
        "a turn was interrupted",
        "a turn was never finished",
    }


def test_places_of_the_state() -> None:
    before = {"status": "new", "cart": [{"sku": "a", "count": 1}], "note": None}
    after = {"status": "new", "cart": [{"sku": "a", "count": 2}, {"sku": "b", "count": 1}], "paid": True}
    ledger = session(turn(1, StateUpdated(1, after)), turn(2, StateRolledBack(2, 0, before)), state=before)
    assert found(ledger, Kind.STATE) == {
        "status at the start",
        "cart[*].sku at the start",
        "cart[*].count at the start",
        "note at the start",
        "cart[*].count",
        "cart[*].sku",
        "paid",
        "note (removed)",
        "rolled back",
        "cart[*].count (rolled back)",
        "note (rolled back)",
        "paid (removed) (rolled back)",
    }


def test_a_state_that_begins_empty() -> None:
    assert found(session(turn(1, StateUpdated(1, {"a": 1})), state={}), Kind.STATE) == {"a"}
    assert found(session(turn(1, StateUpdated(1, {})), state="new"), Kind.STATE) == {
        "the whole at the start",
        "the whole",
    }


def test_a_session_without_states_and_turns_shows_nothing() -> None:
    assert features_of(Ledger([SessionCreated("s")])) == set()


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1}, {"a": 1}, set()),
        ({"a": 1}, {"a": 1.0}, {"a"}),
        ({"a": {"b": 1}}, {"a": 2}, {"a"}),
        ({"a": 2}, {"a": {"b": 1}}, {"a.b"}),
        ({"a": [1]}, {"a": []}, {"a"}),
        ({"orders": {"1047": {"total": 1}}}, {"orders": {"1047": {"total": 2}}}, {"orders.*.total"}),
        ({}, {"kim@example.com": 1, "2026-11-30": 1, "odd key": 1, "x2": 1}, {"*", '"odd key"', "x2"}),
        ({}, {"t": {f"k{number}": 0 for number in "abcdefgh"}}, {f"t.k{number}" for number in "abcdefgh"}),
        ({}, {"t": {chr(97 + i % 26) * (1 + i // 26): 0 for i in range(70)}}, {"t.*"}),
        ({}, {"d": TypedData("m:D", {"x": [1]})}, {"d.x[*]"}),
        ("old", "new", {"the whole"}),
    ],
)
def test_changed_paths(before: Any, after: Any, paths: set[str]) -> None:
    assert set(changed_paths(after, before)) == paths


def test_hostile_sessions_stay_small_and_printable() -> None:
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    wide = {
        f"k{'abcdefghij'[i % 10]}{'abcdefghij'[i // 10 % 10]}": {f"{'xyzuvwabcd'[j]}_{i}": j for j in range(10)}
        for i in range(60)
    }
    wide = {key: dict.fromkeys(list(wide)[:60], wide) for key in list(wide)[:60]}
    tools = [ToolCalled(f"t\x1b[31m{number}\u202e", step=1) for number in range(3_000)]
    more = [ToolCalled(f"u{number}" * 5_000, step=2) for number in range(300)]
    ledger = session(turn(1, *tools, *more, StateUpdated(1, {"deep": deep}), StateUpdated(2, wide)), state={})
    features = features_of(ledger)
    assert all(feature.text.isprintable() and len(feature.text) < 400 for feature in features)
    assert sum(feature.kind is Kind.STATE for feature in features) <= MOST_PATHS
    assert sum(feature.kind is Kind.TRANSITION for feature in features) < 1_000
