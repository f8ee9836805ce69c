"""The report in Firefox: it loads from disk, unpacks, and moves between places.

STATEBASE_PUPPETEER is the directory of the npm package `puppeteer-core`, which drives Firefox by WebDriver BiDi.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pages import anchor, missing
from report_data import RUN, all_rows, hostile

from pytest_statebase.report.page.html import write_html
from pytest_statebase.report.runs import Run

SESSION = f"#{anchor('refund')}"


@pytest.fixture
def looked_at(tmp_path: Path) -> Any:
    """Looks at addresses of the page of rows in a fresh document each; returns what was there."""
    node, puppeteer = shutil.which("node"), os.environ.get("STATEBASE_PUPPETEER")
    firefox = shutil.which("firefox-esr") or shutil.which("firefox")
    if not (node and puppeteer and firefox):
        missing("Firefox, node or the package `puppeteer-core` (STATEBASE_PUPPETEER) is not there")

    def look(rows: list[Any], *addresses: str, assets: Any = "inline") -> Any:
        path = tmp_path / "report.html"
        write_html(path, Run(rows, RUN), assets)
        script = Path(__file__).with_name("firefox.mjs")
        done = subprocess.run(
            [str(node), str(script), str(puppeteer), str(firefox), path.as_uri(), *addresses],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return look


@pytest.mark.parametrize("assets", ["inline", "external"])
def test_firefox_shows_it(looked_at: Any, assets: str) -> None:
    told = looked_at([*all_rows(), hostile()], "", SESSION, f"{SESSION}-2", "#traces", assets=assets)
    assert told["version"].startswith("firefox")
    assert told["complaints"] == []
    assert {url for url in told["requests"] if not url.startswith("data:") and "report-assets/" not in url} == set()
    overview, session, turn, traces = told["seen"]
    assert overview["title"] == "7 of 10 sessions do not pass. · pytest-statebase"
    assert "refund" in session["title"]
    assert "Turn 2" in turn["text"]
    assert turn["named"]
    assert traces["title"] == "Traces · pytest-statebase"
    assert not any(one["wide"] for one in told["seen"])
    assert told["titles"] == [traces["title"], overview["title"], traces["title"]]
