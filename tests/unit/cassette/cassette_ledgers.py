"""Ledgers to write, and a strategy for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassette_values import JSON, PLAIN, VALUES
from hypothesis import strategies as st

from pytest_statebase.ledger import (
    Event,
    Ledger,
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    Said,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.values import ABSENT

ROWS = [{"sku": f"sku-{number}", "qty": number} for number in range(30)]


def support_ledger() -> Ledger:
    """Every kind of event at least once."""
    return Ledger(
        [
            SessionCreated("sess_1", "support", at="2026-03-15T10:23:45Z", state={"status": "new"}, metadata={"a": 1}),
            TurnStarted(1, {"type": "text", "content": "Where is my order 1047?"}, "2026-03-15T10:24:01Z"),
            Said("Let me look that up."),
            ToolCalled(
                "lookup_order", {"order_id": "1047"}, '{"status": "delivered"}', step=1, id="c1", latency_ms=1.5
            ),
            ToolCalled("think", "not json", error={"type": "ValueError", "message": "no"}, step=1, extra={"cost": 1}),
            StateUpdated(1, {"rows": ROWS, "status": "open"}, "The user named an order", "agent", during=0),
            StateUpdated(2, {"rows": ROWS, "status": "done"}),
            TurnAdded(
                {"type": "text", "content": "On Tuesday."}, reasoning="read", metadata={"x": 1}, extra={"own": None}
            ),
            StateRolledBack(3, 0, {"status": "new"}, "wrong order", "operator"),
            StateRolledBack(4, 9, {"status": "odd"}),
            MemoryAdded("likes tea", "preference", ["tea"], "m1", extra={"score": 1}),
            TurnStarted(2, None),
            ToolCalled("refund", is_error=True, result="", agent="billing"),
            MemoryUpdated(1, "likes tea", "likes coffee", tags=["coffee"], metadata={"n": 1}, extra={"more": 1}),
            MemoryDeleted(1, "likes coffee", during=0),
            MemorySearched("tea", [{"id": "m1"}]),
            TurnAdded(error={"type": "TimeoutError", "message": "late"}, interrupted=True, actor="agent", at="t"),
            TurnStarted(3, [{"type": "text", "content": "a"}, {"type": "text", "content": "b"}], authored=True),
            TurnAdded(None),
            SessionEnded("completed", {"type": "text", "content": "bye"}),
        ]
    )


_NAMES = st.text("abc_", min_size=1, max_size=6)
_MAYBE = st.none() | st.text(max_size=5)
_EXTRA = st.dictionaries(_NAMES.map(lambda name: f"x_{name}"), VALUES, max_size=2)
_ERROR = st.none() | st.fixed_dictionaries({"type": _NAMES, "message": st.text(max_size=5)})
_STATES = JSON.map(lambda value: {"rows": ROWS, "value": value}) | PLAIN

INNER: list[st.SearchStrategy[Callable[[int], Event]]] = [
    st.builds(Said, st.text(max_size=20), _MAYBE, _EXTRA).map(lambda event: lambda _: event),
    st.builds(
        ToolCalled, tool=_NAMES,
        arguments=st.dictionaries(st.text(max_size=4), VALUES, max_size=3) | st.text(max_size=5),
        result=st.just(ABSENT) | VALUES, error=_ERROR, is_error=st.booleans(), step=st.none() | st.integers(0, 3),
        id=_MAYBE, latency_ms=st.none() | st.floats(0, 100), agent=_MAYBE, at=_MAYBE,
        during=st.none() | st.integers(0, 3), extra=_EXTRA,
    ).map(lambda event: lambda _: event),
    st.builds(MemoryAdded, st.text(max_size=9), _NAMES, st.none() | st.lists(_NAMES), _MAYBE, extra=_EXTRA).map(
        lambda event: lambda _: event
    ),
    st.builds(MemorySearched, _NAMES, st.lists(st.dictionaries(_NAMES, PLAIN, max_size=2), max_size=2)).map(
        lambda event: lambda _: event
    ),
    st.tuples(_STATES, _MAYBE, _EXTRA).map(
        lambda made: lambda version: StateUpdated(version, made[0], made[1], extra=made[2])
    ),
    st.tuples(_STATES, st.integers(0, 5), _MAYBE).map(
        lambda made: lambda version: StateRolledBack(version, made[1], made[0], made[2])
    ),
]  # fmt: skip
_TURN = st.tuples(
    st.none() | st.fixed_dictionaries({"type": st.just("text"), "content": st.text(max_size=9)}),
    st.lists(st.one_of(INNER), max_size=4),
    st.none()
    | st.builds(
        TurnAdded,
        output=st.just(ABSENT) | VALUES,
        error=_ERROR,
        reasoning=_MAYBE,
        interrupted=st.booleans(),
        extra=_EXTRA,
    ),
    st.lists(st.one_of(INNER), max_size=2),
)


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    """Ledgers as recordings have them."""
    version = draw(st.sampled_from([0, 5]))
    events: list[Any] = [SessionCreated(draw(st.text(min_size=1, max_size=8)), state=draw(st.just(ABSENT) | PLAIN))]
    if events[0].state is not ABSENT:
        version = 1

    def add(makers: list[Callable[[int], Event]]) -> None:
        nonlocal version
        for make in makers:
            event = make(version)
            version += isinstance(event, (StateUpdated, StateRolledBack))
            events.append(event)

    number = draw(st.integers(1, 3))
    for given_input, inner, added, between in draw(st.lists(_TURN, max_size=3)):
        events.append(TurnStarted(number, given_input))
        number += 1
        add(inner)
        if added is not None:
            events.append(added)
            add(between)
    if draw(st.booleans()):
        events.append(SessionEnded(draw(_MAYBE), draw(st.none() | st.just({"type": "text", "content": "x"}))))
    return Ledger(events)
