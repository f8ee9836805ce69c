"""Figures, alerts and weeks as the page has them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from report_data import RUN, clean, row, still_failing

from pytest_statebase.ledger import (
    Ledger,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.report.history import Point, Trend, point_of
from pytest_statebase.report.measures import production_row
from pytest_statebase.report.page.performance import DRAWN, performance
from pytest_statebase.report.results import Row
from pytest_statebase.report.runs import Run

NOW = datetime(2026, 3, 16, 8, tzinfo=UTC)


def recorded(ms: Sequence[float | None], *, at: str = "2026-03-15T10:00:00+00:00", **more: Any) -> dict[str, Any]:
    return {"at": at, "ms": list(ms), "good": 4, "bad": 0, "rollbacks": 0, "done": True, **more}


def replayed(name: str, production: dict[str, Any] | None = None, **more: Any) -> Row:
    made = row(clean(name)) | more
    return made | ({"production": production} if production else {})


def shown(rows: list[Row], *earlier: Point, **run: Any) -> dict[str, Any]:
    told = {**RUN, **run}
    trend = Trend([*earlier, point_of(rows, told)]) if earlier else None
    return performance(Run(rows, told, trend=trend), {id(one): f"s-{number}" for number, one in enumerate(rows)})


def table(made: dict[str, Any], title: str) -> dict[str, Any]:
    (found,) = [one for one in made["metrics"]["tables"] if one["title"] == title]
    return {one["title"]: one for one in found["rows"]} | {"about": found["about"]}


def run_before(days: float, number: int = 0, **measures: float) -> Point:
    named = {name.replace("_", "-"): value for name, value in measures.items()}
    return Point(f"{days} {number}", NOW - timedelta(days=days), measures=named)


def test_what_a_row_keeps_of_production() -> None:
    said = {"type": "text", "content": "…"}
    events = [
        SessionCreated("s", state={}, at="2026-03-15T10:00:00Z"),
        TurnStarted(1, said, at="2026-03-15T10:00:01Z"),
        ToolCalled("look", {}, {"ok": True}),
        ToolCalled("look", {}, error={"type": "TimeoutError", "message": "late"}),
        StateUpdated(1, {"a": 1}),
        TurnAdded(said, metadata={"latency_ms": 840.26}),
        StateRolledBack(2, 0, {}),
        TurnStarted(2, said),
        TurnAdded(said),
        SessionEnded("completed"),
    ]
    assert production_row(Ledger(events)) == {
        "at": "2026-03-15T10:00:00+00:00",
        "ms": [840.3, None],
        "good": 1,
        "bad": 1,
        "rollbacks": 1,
        "done": True,
    }


def test_production_is_measured_once_a_recording() -> None:
    rows = [replayed("a", recorded([1000.0, 2000.0])), replayed("b", recorded([None, 600.0], bad=1))]
    again = replayed("a", recorded([1000.0, 2000.0]), fork="turn 2")
    found = table(shown([*rows, again]), "Production")
    assert found["about"] == "2 recorded sessions, 3 of 4 turns timed"
    assert found["response time, mean"] == {
        "title": "response time, mean",
        "values": ["1,200 ms", "1,200 ms", "-"],
        "change": "",
        "way": None,
        "healthy": "< 2,000 ms",
        "well": True,
    }
    assert found["tool calls that worked"]["values"][0] == "88.9%"
    assert found["tool calls that worked"]["well"] is False
    assert found["response time, p50"]["well"] is None


def test_recordings_that_share_a_session_id_are_both_measured() -> None:
    first = replayed("a", recorded([1000.0, 2000.0]))
    other = replayed("b", recorded([4000.0, None]), session=first["session"])
    made = shown([first, first | {"agent": "other:agent"}, other, first | {"cassette": "fixtures/late.session.yaml"}])
    assert table(made, "Production")["about"] == "2 recorded sessions, 3 of 4 turns timed"
    assert made["metrics"]["both"]["turns"] == 3
    assert made["metrics"]["both"]["slowest"][0][:2] == ["s-2", 1]


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "0001-01-10T00:00:00+00:00", "9999-12-31T23:59:59Z"])
def test_runs_at_either_end_of_time_are_measured(at: str) -> None:
    rows = [replayed("a", recorded([900.0], at=at))]
    assert table(shown(rows, started_at=at), "Production")["response time, mean"]["values"][0] == "900 ms"
    earlier = [Point(f"{number}", NOW, measures={"replays-passed": 1.0}) for number in range(6)]
    shown(rows, *earlier, started_at=at)


def test_sessions_of_this_week_stand_beside_those_of_the_last() -> None:
    rows = [replayed("a", recorded([900.0])), replayed("b", recorded([600.0], at="2026-03-05T00:00:00+00:00"))]
    found = table(shown(rows), "Production")["response time, mean"]
    assert (found["values"], found["change"], found["way"]) == (["750 ms", "900 ms", "600 ms"], "+50%", "worse")
    rows[1]["production"]["ms"] = [1800.0]
    assert table(shown(rows), "Production")["response time, mean"]["way"] == "better"


def test_results_without_figures_of_production_have_no_table_of_it() -> None:
    made = shown([row(still_failing())])
    assert [one["title"] for one in made["metrics"]["tables"]] == ["Replays"]
    assert (made["metrics"]["both"], made["metrics"]["alerts"], "trend" in made) == (None, [], False)


@pytest.mark.parametrize("told", [None, 3, {}, {"ms": "no"}, {"ms": [True, "1", None, -1, float("nan"), 1e300]}])
def test_figures_of_strangers_break_nothing(told: Any) -> None:
    made = shown([replayed("a") | {"production": told}])
    assert made["metrics"]["both"] is None
    assert all("mean" not in one["title"] for one in made["metrics"]["tables"] if one["title"] == "Production")


def test_what_is_not_healthy_is_an_alert() -> None:
    slow = recorded([5000.0], rollbacks=1)
    fast = recorded([100.0] * 9, at="2026-02-01T00:00:00+00:00")
    assert shown([replayed("a", slow), replayed("b", fast)])["metrics"]["alerts"] == [
        "Response time, mean this week: 5,000 ms in production, healthy is < 2,000 ms",
        "Rollbacks per session: 50.0% in production, healthy is < 2%",
    ]


def test_a_week_of_runs_is_the_median_of_them() -> None:
    runs = [run_before(days, replays_passed=share) for days, share in ((13, 0.5), (9, 0.9), (8, 0.7), (3, 0.4))]
    found = table(shown([replayed("a")], *runs), "Replays")["replays passed"]
    assert (found["values"], found["change"], found["way"]) == (["100.0%", "70.0%", "70.0%"], "", None)
    found = table(shown([replayed("a", outcome="failed")], *runs), "Replays")["replays passed"]
    assert (found["values"], found["change"], found["way"]) == (["0.0%", "20.0%", "70.0%"], "-50.0 points", "worse")


@pytest.mark.parametrize(
    ("earlier", "share", "alerts"),
    [
        ([0.5] * 5, 0.0, ["Replays passed: 0.0%, worse than in all 5 earlier runs of two weeks (50.0% at worst)"]),
        ([0.5] * 4, 0.0, []),
        ([0.5] * 5 + [0.0], 0.0, []),
        ([0.5] * 5, 1.0, []),
    ],
)
def test_a_run_that_is_worse_than_all_of_two_weeks_is_an_alert(
    earlier: list[float], share: float, alerts: list[str]
) -> None:
    runs = [run_before(5 - number / 10, number, replays_passed=one) for number, one in enumerate(earlier)]
    old = run_before(20, replays_passed=0.0)
    rows = [replayed("a", outcome="passed" if share else "failed")]
    assert shown(rows, old, *runs)["metrics"]["alerts"] == alerts
    assert shown(rows, old, *runs, part=True)["metrics"]["alerts"] == [], "not to be set beside whole runs"


@pytest.mark.parametrize(
    ("slowest", "now", "is_told"),
    [(100.0, 151.0, True), (100.0, 150.0, False), (1000.0, 1400.0, False), (2.0, 40.0, False)],
)
def test_a_run_is_slower_by_half_and_by_what_is_noticed(slowest: float, now: float, is_told: bool) -> None:
    runs = [run_before(5, number, replay_time=slowest - number) for number in range(5)]
    made = replayed("a")
    for turn in made["turns"]:
        turn["duration_ms"] = now
    told = (
        f"Time of a turn, mean: {now:.0f} ms, worse than in all 5 earlier runs of two weeks ({slowest:.0f} ms at worst)"
    )
    assert shown([made], *runs)["metrics"]["alerts"] == ([told] if is_told else [])


def test_the_slowest_turns_of_production_stand_beside_their_replays() -> None:
    rows = [replayed("a", recorded([1000.0, None, 3000.0])), replayed("b", recorded([2000.0, 500.0]))]
    again = replayed("a", recorded([1000.0, None, 3000.0]), fork="turn 2")
    assert shown([*rows, again])["metrics"]["both"] == {
        "turns": 4,
        "recorded": "1,625 ms",
        "replayed": "1.4 ms",
        "slowest": [["s-0", 3, 3000.0, 1.4], ["s-1", 1, 2000.0, 1.4], ["s-0", 1, 1000.0, 1.4], ["s-1", 2, 500.0, 1.4]],
    }


def test_the_last_runs_are_drawn() -> None:
    runs = [run_before(100 - number, replays_passed=0.5) for number in range(DRAWN + 4)]
    trend = shown([replayed("a")], *runs, part=True)["trend"]
    assert (len(trend["runs"]), trend["left"]) == (DRAWN, 5)
    assert trend["runs"][-1] == {
        "at": "2026-03-16T08:00:00+00:00",
        "agent": RUN["agent"],
        "counts": [0, 0, 0, 1],
        "passed": 1.0,
        "ms": 1.4,
        "part": True,
    }
