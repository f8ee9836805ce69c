"""How large the report's page is, how long it takes to write, and how quick it is in a browser; beside pytest-html's on
the same count. Nothing here asserts a time."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "report"))

from report_data import RUN, result, row, still_failing, turn_of, unchanged
from test_report_limits import large

from pytest_statebase.ledger import ToolCalled
from pytest_statebase.report.page.html import render_html, write_html
from pytest_statebase.report.results import write_results
from pytest_statebase.report.runs import Run

WORDS = ["order", "refund", "parcel", "address", "change", "please", "thank", "you", "delivered", "invoice", "wrong"]


def session(dice: random.Random, number: int, turns: int) -> Any:
    """A passing session of texts, ids and states of its own."""
    made = []
    for turn in range(1, turns + 1):
        order = str(dice.randrange(10**6))
        calls = [ToolCalled("look_up_order", {"order_id": order}, {"total": dice.randrange(10**4), "status": "sent"})]
        said, answer = (" ".join(dice.choices(WORDS, k=12)) for _ in range(2))
        made.append(unchanged(turn_of(turn, said, answer, calls, state={"order": order, "turn": turn})))
    return row(result(f"s{number}", made))


def failing(number: int) -> Any:
    made = still_failing()
    made.cassette, made.session = f"fixtures/f{number}.session.yaml", f"sess_f{number}"
    return row(made)


def sessions(count: int, turns: int = 3) -> list[Any]:
    """One in twenty fails."""
    dice = random.Random(7)
    return [failing(number) if number % 20 == 19 else session(dice, number, turns) for number in range(count)]


def pytest_html(path: Path, count: int) -> dict[str, float]:
    """What pytest-html makes of as many tests, of which one in twenty fails."""
    (path / "test_many.py").write_text(
        "import pytest\n\n"
        f"@pytest.mark.parametrize('number', range({count}))\n"
        "def test_session(number):\n    assert number % 20 != 19\n",
        encoding="utf-8",
    )
    without = min(seconds(path) for _ in range(2))
    beside = min(seconds(path, "--html=report.html", "--self-contained-html") for _ in range(2))
    size = (path / "report.html").stat().st_size
    return {"pytest_html_kb": round(size / 1000, 1), "pytest_html_s": round(beside - without, 2)}


def seconds(path: Path, *options: str) -> float:
    """Processor time of a run: other processes do not count."""
    started = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:statebase", "-p", "no:cacheprovider", *options]
    subprocess.run(command, cwd=path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime


@pytest.mark.parametrize("count", [1, 100, 1000])
def test_sessions_on_a_page(benchmark: Any, tmp_path: Path, count: int) -> None:
    """Budget: 150 KB without a session, about 1 KB for each that passes, 2 MB for 1,000."""
    rows, path = sessions(count), tmp_path / "report.html"
    benchmark.pedantic(write_html, (path, Run(rows, RUN)), rounds=3)
    empty = len(render_html(Run([], RUN)).encode())
    size = path.stat().st_size
    benchmark.extra_info["kb"] = round(size / 1000, 1)
    benchmark.extra_info["kb_of_no_session"] = round(empty / 1000, 1)
    benchmark.extra_info["kb_a_session"] = round((size - empty) / 1000 / count, 2)
    benchmark.extra_info |= pytest_html(tmp_path, count)
    assert size < 2_000_000


def test_large_results(benchmark: Any, tmp_path: Path) -> None:
    """Budget for 300 sessions of 40 turns with results of 1 MB: 60 MB of results, and a page of 10 MB in 10 s."""
    rows = [large(f"s{number}")[1] for number in range(300)]
    benchmark.pedantic(write_html, (tmp_path / "report.html", Run(rows, RUN)), rounds=1)
    write_results(tmp_path / "results.jsonl", rows, RUN)
    sizes = {name: (tmp_path / name).stat().st_size for name in ("report.html", "results.jsonl")}
    benchmark.extra_info |= {name: round(size / 1_000_000, 1) for name, size in sizes.items()}
    assert sizes["report.html"] < 10_000_000
    assert sizes["results.jsonl"] < 60_000_000


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    """A page of headless Chromium."""
    executable = shutil.which("chromium")
    if executable is None:
        if os.environ.get("STATEBASE_REQUIRE_BROWSER") == "1":
            pytest.fail("no `chromium` on the path")
        pytest.skip("no `chromium` on the path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        made = browser.new_page(viewport={"width": 1440, "height": 900})
        made.add_init_script(LONG_TASKS)
        yield made
        browser.close()


LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver(list => longTasks.push(...list.getEntries().map(task => task.duration)))
  .observe({type: 'longtask', buffered: true});
"""
PAINTED = """async () => {
  const entry = () => performance.getEntriesByName('first-contentful-paint')[0];
  while (!entry()) await new Promise(done => setTimeout(done, 20));
  return entry().startTime;
}"""
FILTERED = """async () => {
  const search = document.getElementById('search');
  const started = performance.now();
  search.value = 'tool:issue_refund amount';
  search.dispatchEvent(new Event('input', {bubbles: true}));
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - started;
}"""


def test_ten_thousand_turns(benchmark: Any, tmp_path: Path, page: Any) -> None:
    """Budget: written in 5 s; painted and filtered within 2 s in a browser; no task over 200 ms while it scrolls."""
    path = tmp_path / "report.html"
    rows = sessions(1050, turns=10)
    assert sum(len(one["turns"]) for one in rows) > 10_000
    benchmark.pedantic(write_html, (path, Run(rows, RUN)), rounds=1)
    benchmark.extra_info["kb"] = round(path.stat().st_size / 1000)
    page.goto(path.as_uri())
    page.locator("#app h1").wait_for()
    told = {"first_paint_ms": page.evaluate(PAINTED), "filter_ms": page.evaluate(FILTERED)}
    told["longest_task_of_loading_ms"] = page.evaluate("Math.max(0, ...longTasks)")
    page.keyboard.press("Escape")
    page.evaluate("document.getElementById('search').value = ''")
    told["longest_task_of_scrolling_ms"] = scrolled(page)
    page.goto(f"{path.as_uri()}#traces")
    page.locator("#app h1").wait_for()
    page.wait_for_timeout(3000)
    told["longest_task_of_traces_ms"] = scrolled(page)
    benchmark.extra_info |= {name: round(value) for name, value in told.items()}
    print(json.dumps(benchmark.extra_info))


def scrolled(page: Any) -> float:
    """The longest task while the page is scrolled through, in milliseconds; 0 where none took over 50."""
    page.evaluate("longTasks.length = 0")
    page.mouse.move(700, 500)
    for _ in range(60):
        page.mouse.wheel(0, 900)
        page.wait_for_timeout(16)
    page.wait_for_timeout(200)
    return float(page.evaluate("Math.max(0, ...longTasks)"))
