"""The panel of figures and runs, in a real browser."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pages import checked
from report_data import RUN, UNSEEN, clean, hostile, row, still_failing

from pytest_statebase.report.history import Point, Trend, point_of
from pytest_statebase.report.results import Row
from pytest_statebase.report.show import visible

NOW = datetime(2026, 3, 16, 8, tzinfo=UTC)


def rows() -> list[Row]:
    made = [row(clean("a")), row(clean("b")), row(still_failing())]
    for number, (one, day) in enumerate(zip(made, (15, 14, 4), strict=True)):
        told = {"at": f"2026-03-{day:02}T10:00:00+00:00", "good": 9, "bad": 0, "rollbacks": 0, "done": True}
        one["production"] = told | {"ms": [1000.0 * (number + 1), 500.0, None]}
    return made


def history(count: int = 8) -> list[Point]:
    """One run each twelve hours, of four sessions, of which the third fails one and the last is of a part."""
    return [
        Point(
            f"run {number}",
            NOW - timedelta(hours=12 * (count - number)),
            RUN["agent"],
            {"fail": int(number == 2), "norun": 0, "review": 1, "ok": 3 - int(number == 2)},
            measures={"replays-passed": 0.75 if number == 2 else 1.0, "replay-time": 1.5},
            part=number == count - 1,
        )
        for number in range(count)
    ]


def panel(opened: Any, made: list[Row], earlier: list[Point] | None = None, notes: Any = (), **options: Any) -> Any:
    points = None if earlier is None else Trend([*earlier, point_of(made, RUN)], notes)
    page = opened(made, beside={"trend": points}, **options).page
    page.evaluate("document.querySelector('.numbers > details').open = true")  # narrow windows have it folded
    return page.get_by_role("region", name="Performance")


def texts(table: Any) -> list[str]:
    return table.locator("tbody").evaluate_all("all => all.map(e => e.innerText.replace(/\\s+/g, ' ').trim())")


def test_figures_stand_beside_their_healthy_ranges_and_weeks(opened: Any) -> None:
    perf = panel(opened, rows(), history())
    production = perf.get_by_role("table", name="Production 3 recorded sessions, 6 of 9 turns timed")
    assert texts(production)[0] == (
        "Response time, mean healthy < 2,000 ms ✓ healthy 1,250 ms 1,000 ms ↓ 43%, better 1,750 ms"
    )
    assert [head.inner_text() for head in production.get_by_role("columnheader").all()] == [
        "all",
        "this week",
        "last week",
    ]
    replays = perf.get_by_role("table", name="Replays 3 replays")
    assert texts(replays)[0] == "Replays passed 66.7% 100.0% -"


def test_alerts_say_so_in_words(opened: Any) -> None:
    alerts = panel(opened, rows(), history()).get_by_role("list", name="Alerts").get_by_role("listitem")
    assert alerts.all_inner_texts() == [
        "▲ Alert Replays passed: 66.7%, worse than in all 7 earlier runs of two weeks (75.0% at worst)"
    ]


def test_without_a_history_there_are_the_figures_of_this_run(opened: Any) -> None:
    perf = panel(opened, [row(clean())])
    assert perf.get_by_role("slider").count() == 0
    assert perf.get_by_role("list", name="Alerts").count() == 0
    assert texts(perf.get_by_role("table"))[:2] == ["Replays passed 100.0%", "Calls answered 100.0%"]


def test_a_run_is_told_under_the_mouse_and_by_keys(opened: Any) -> None:
    perf = panel(opened, rows(), history())
    runs, told = perf.get_by_role("slider", name="Run"), perf.locator(".told")
    assert told.inner_text() == "16 Mar 08:00 · 1 fail, 2 ok · 1.6 ms a turn · this run"
    box = runs.bounding_box()
    runs.hover(position={"x": box["width"] * 2.5 / 9, "y": 20})
    assert told.inner_text() == "13 Mar 08:00 · 1 fail, 1 review, 2 ok · 1.5 ms a turn"
    runs.focus()
    runs.press("Home")
    assert told.inner_text() == "12 Mar 08:00 · 1 review, 3 ok · 1.5 ms a turn"
    runs.press("ArrowRight")
    assert runs.get_attribute("aria-valuetext") == "12 Mar 20:00 · 1 review, 3 ok · 1.5 ms a turn"
    assert runs.get_attribute("aria-valuenow") == "2"
    runs.press("End")
    runs.press("ArrowLeft")
    assert told.inner_text() == "15 Mar 20:00 · 1 review, 3 ok · 1.5 ms a turn · a part of the sessions"


def test_the_bars_are_as_high_as_the_runs_have_sessions(opened: Any) -> None:
    perf = panel(opened, rows(), history())
    heights = "all => all.map(g => [...g.children].map(r => [r.getAttribute('class'), +r.getAttribute('height')]))"
    drawn = perf.locator(".chart g").evaluate_all(heights)
    assert drawn[0] == [["review", 15], ["ok", 45]]
    assert drawn[2] == [["fail", 15], ["review", 15], ["ok", 30]]
    assert drawn[-1] == [["fail", 15], ["ok", 30]]


def test_the_runs_read_as_a_table(opened: Any) -> None:
    perf = panel(opened, rows(), history())
    perf.get_by_text("Runs as a table").press("Enter")
    table = perf.locator(".list-of-runs")
    heads = table.get_by_role("columnheader").evaluate_all("all => all.map(e => e.textContent)")
    assert heads == ["began, UTC", "✕fail", "⊘could not run", "◆review", "✓ok", "a turn"]
    lines = table.locator("tbody tr").evaluate_all("all => all.map(e => e.innerText.replace(/\\s+/g, ' '))")
    assert lines[:2] == ["16 Mar 08:00 1 0 0 2 1.6 ms", "15 Mar 20:00 a part 0 0 1 3 1.5 ms"]
    assert len(lines) == 9


def test_the_slowest_turns_lead_to_their_turns(opened: Any) -> None:
    perf = panel(opened, rows(), history())
    perf.get_by_text("Slowest turns in production").press("Enter")
    assert perf.get_by_text("6 turns timed on both sides: 1,250 ms in production").is_visible()
    first = perf.get_by_role("link").first
    assert first.inner_text() == "refund::turn-2, turn 1"
    assert first.get_attribute("href").endswith("-1")


@pytest.mark.parametrize("width", [1440, 390])
def test_hostile_names_stay_text_and_break_nothing(opened: Any, width: int) -> None:
    made = hostile()
    made["production"] = {"at": None, "ms": [1000.0], "good": 1, "bad": 0, "rollbacks": 0, "done": None}
    made["turns"][0]["duration_ms"] = 1.0
    evil = f"history.jsonl:1: {UNSEEN}" + "x" * 5_000
    perf = panel(opened, [made], history(), [evil], viewport={"width": width, "height": 800})
    for folded in perf.locator("summary").all():
        folded.click()
    assert visible(UNSEEN) in perf.inner_text()
    page = perf.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        page.evaluate("document.querySelectorAll('.perf img, .perf [style], .perf a:not([href^=\"#\"])').length") == 0
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_panel_has_no_fault(opened: Any, axe: str, scheme: str, width: int) -> None:
    perf = panel(opened, rows(), history(), ["a note"], color_scheme=scheme, viewport={"width": width, "height": 900})
    for folded in perf.locator("summary").all():
        folded.click()
    assert checked(perf.page, axe, ".perf") == []
