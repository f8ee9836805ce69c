"""Figures over sessions, ranges, thresholds and weeks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from audit_sessions import call, said, session, turn
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.audit.metrics import Condition, conditions, ranges_of
from pytest_statebase.ledger import Ledger, SessionCreated, StateRolledBack, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.report.measures import MEASURES, Range, Sample, figures, sample_of, sample_of_row
from pytest_statebase.values import ABSENT

NOW = datetime(2026, 12, 10, 12, tzinfo=UTC)


def value(name: str, *samples: Sample) -> float | None:
    return next(measure for measure in MEASURES if measure.name == name).of(samples)


def timed(metadata: Any, begin: str | None = None, end: str | None = None) -> Ledger:
    output = said("ok")
    return Ledger([SessionCreated("s"), TurnStarted(1, said("x"), begin), TurnAdded(output, metadata=metadata, at=end)])


@pytest.mark.parametrize(
    ("ledger", "times"),
    [
        (timed({"latency_ms": 840}), [840.0]),
        (timed({"latency_ms": 0.5}), [0.5]),
        (timed(None, "2026-03-15T10:00:00Z", "2026-03-15T10:00:01.500Z"), [1500.0]),
        (timed(None, "2026-03-15T10:00:00Z", "2026-03-15T12:00:01+02:00"), [1000.0]),
        (timed(None, "2026-03-15T10:00:01Z", "2026-03-15T10:00:00Z"), []),
        *((timed({"latency_ms": odd}), []) for odd in (True, float("nan"), float("inf"), -1, "840", None, [840], 1e13)),
        *(
            (timed({"latency_ms": odd}, "2026-03-15T10:00:00Z", "2026-03-15T10:00:01Z"), [1000.0])
            for odd in (True, float("nan"), float("inf"), -1, "840", None, [840], 1e13)
        ),
        (timed({"latency_ms": 840}, "2026-03-15T10:00:00Z", "2026-03-15T10:00:01Z"), [840.0]),
        (timed(None, "yesterday", "today"), []),
        (Ledger([SessionCreated("s"), TurnStarted(1)]), []),
    ],
)
def test_response_times(ledger: Ledger, times: list[float]) -> None:
    assert list(sample_of(ledger, None).times) == times


def test_means_and_percentiles() -> None:
    samples = Sample(None, [100.0, 200.0]), Sample(None, [300.0, 400.0, 4000.0])
    assert value("response-time", *samples) == 1000
    assert value("response-p50", *samples) == 300
    assert value("response-p95", *samples) == 4000
    assert value("response-p95", Sample(None, list(range(1, 101)))) == 95
    assert value("response-time", Sample(None)) is None


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_percentiles_are_times_that_occurred(times: list[float]) -> None:
    sample = Sample(None, times)
    half, most = value("response-p50", sample), value("response-p95", sample)
    assert half in times
    assert most in times
    assert half is not None
    assert most is not None
    assert half <= most
    assert sum(time <= most for time in times) >= 0.95 * len(times) - 1e-9


def test_calls_and_rollbacks() -> None:
    ledger = session(
        turn(1, "x", call("a"), ToolCalled("b", {}, error={"type": "E"}), ToolCalled("c", {}, "no", is_error=True)),
        turn(2, "y", ToolCalled("d", {}, ABSENT), StateRolledBack(1, 0, {"step": "new"})),
    )
    sample = sample_of(ledger, NOW)
    assert (sample.good, sample.bad, sample.rollbacks, sample.turns, sample.at) == (1, 2, 1, 2, NOW)
    assert value("tool-success", sample) == pytest.approx(1 / 3)
    assert value("rollback-rate", sample, Sample(None)) == 0.5
    assert value("tool-success", Sample(None)) is None


GOOD_ENDS = (
    "no errors",
    "No error",
    "no_errors",
    "without any errors",
    "0 failures",
    "Transferred to human; no failures",
    "completed, did not fail",
    "done: no tool errors, no exceptions",
    "agent-stop",
    "the user said goodbye",
)
BAD_ENDS = (
    "agent_error",
    "AgentError: error",
    "not completed",
    "could not be resolved",
    "never finished",
    "incomplete",
    "no answer: timeout",
    "no errors of tools, but the agent crashed",
    "the agent failed to answer",
    "wasn't solved",
    "MAX-STEPS",
    "completed 3 steps; not resolved: error",
)
ENDS_OF_BOTH = ("expired card replaced, completed", "completed with errors", "failed payment: resolved")


@pytest.mark.parametrize(
    ("more", "done"),
    [
        ({"reason": "completed"}, True),
        ({"reason": "user_stop", "input": said("bye")}, True),
        ({"reason": "too_many_errors"}, False),
        ({"reason": "max_steps"}, False),
        ({"reason": "timed out"}, False),
        ({"reason": "session expired"}, False),
        *(({"reason": reason}, True) for reason in GOOD_ENDS),
        *(({"reason": reason}, False) for reason in BAD_ENDS),
        *(({"reason": reason, "input": said("thanks")}, None) for reason in ENDS_OF_BOTH),
        *(({"reason": reason}, True) for reason in ENDS_OF_BOTH),
        ({}, True),
        ({"input": said("hello?")}, None),
    ],
)
def test_how_a_session_ended(more: dict[str, Any], done: bool | None) -> None:
    assert sample_of(session(turn(1, "x"), **more), None).done is done


def test_a_last_turn_that_failed() -> None:
    assert sample_of(session(turn(1, "x", answer={"type": "error", "content": ""})), None).done is False
    assert sample_of(session([TurnStarted(1), TurnAdded(error={"type": "E"})]), None).done is False
    assert sample_of(session([TurnStarted(1)]), None).done is False
    assert sample_of(session([TurnStarted(1), TurnAdded()]), None).done is None
    assert sample_of(session(), None).done is None
    assert value("completion", Sample(None, done=True), Sample(None, done=False), Sample(None)) == 0.5


def test_replays() -> None:
    row = {
        "outcome": "passed",
        "turns": [{"duration_ms": 1.5}, {}],
        "calls": {"answered": 3, "simulated": 1, "unrecorded": 1, "stale": 2},
    }
    assert sample_of_row(row, NOW) == Sample(NOW, [1.5], 2, 4, 1, 0, True)
    assert sample_of_row({"outcome": "error"}, None) == Sample(None, [], 0, 0, 0, 0, False)


def test_weeks_are_by_recorded_time() -> None:
    days = [0, 6, 7, 13, 14, -1]
    samples = [Sample(NOW - timedelta(days=day), [float(day)]) for day in days] + [Sample(None, [99.0])]
    found = figures(samples, MEASURES, NOW)
    assert [sample.times[0] for sample in found.this_week] == [0.0, 6.0]
    assert [sample.times[0] for sample in found.last_week] == [7.0, 13.0]
    assert (found.rows[0].this_week, found.rows[0].last_week) == (3.0, 10.0)


def test_the_healthy_ranges_are_those_of_the_page() -> None:
    told = {one.name: (one.healthy.sign, one.healthy.limit) for one in MEASURES if one.healthy}
    assert told == {
        "response-time": ("<", 2000),
        "rollback-rate": ("<", 0.02),
        "tool-success": (">", 0.95),
        "completion": (">", 0.80),
    }
    healthy = Range("<", 0.02)
    assert (healthy.holds(0.019), healthy.holds(0.02)) == (True, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tool-success", Condition("tool-success")),
        ("rollback-rate>5%", Condition("rollback-rate", Range(">", 0.05))),
        ("rollback-rate > 0.05", Condition("rollback-rate", Range(">", 0.05))),
        ("response-p95>=3s", Condition("response-p95", Range(">=", 3000))),
        ("response-time>2500ms", Condition("response-time", Range(">", 2500))),
        ("replays-passed<100%", Condition("replays-passed", Range("<", 1))),
    ],
)
def test_conditions(text: str, expected: Condition) -> None:
    assert conditions(text) == [expected]


def test_all_conditions_pass_over_what_cannot_be_measured() -> None:
    assert [(one.name, one.must) for one in conditions("all")] == [
        ("response-time", False),
        ("rollback-rate", False),
        ("tool-success", False),
        ("completion", False),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rollbacks", "is no measure; there are response-time"),
        ("rollback-rate=5", "is no measure"),
        ("response-p95", "has no healthy range of its own"),
        ("rollback-rate>5ms", "is a share, not ms"),
        ("response-time>5%", "is a time, not %"),
        ("", "is no measure"),
    ],
)
def test_conditions_that_mean_nothing(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        conditions(text)


def test_a_condition_is_the_range_that_is_shown() -> None:
    found = figures([Sample(NOW, rollbacks=1)], MEASURES, NOW, ranges_of(conditions("rollback-rate>150%")))
    row = next(row for row in found.rows if row.measure.name == "rollback-rate")
    assert row.healthy == Range("<=", 1.5)
    assert row.is_healthy is True


@pytest.mark.parametrize(
    ("failing", "result"),
    [
        (True, {"error": "not found"}),
        (True, '{"error": {"code": 404}}'),
        (True, {"success": False}),
        (False, {"error": None, "order": "1047"}),
        (False, {"error": ""}),
        (False, {"success": True}),
        (False, {"errors": 0}),
        (False, '{"error": '),
        (False, "error"),
        (False, ["error"]),
        (False, "[" * 100_000),
        (False, '{"a":' * 100_000),
    ],
)
def test_a_result_that_says_that_it_failed_is_no_success(failing: bool, result: Any) -> None:
    sample = sample_of(session(turn(1, "x", call("find", result), call("find", {"order": "1047"}))), None)
    assert (sample.good, sample.bad) == ((1, 1) if failing else (2, 0))
