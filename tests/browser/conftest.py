from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The report's rows are made in one place.
sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "report"))
from pages import Opened, missing


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium as it is installed here."""
    executable = shutil.which("chromium")
    if executable is None:
        missing("no `chromium` on the path")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("the package `playwright` is not installed")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core's script, of which STATEBASE_AXE is the path."""
    path = os.environ.get("STATEBASE_AXE")
    if not path:
        missing("STATEBASE_AXE names no `axe.min.js`")
    return Path(path).read_text(encoding="utf-8")


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Opens the page of rows from disk; whatever it asks for or complains of fails the test at its end.

    beside: further fields of `outputs.Run`. options: those of a browser context, `color_scheme` for example.
    """
    made: list[Opened] = []

    def open_rows(
        rows: list[Any], *, assets: Any = "inline", beside: dict[str, Any] | None = None, **options: Any
    ) -> Opened:
        from report_data import RUN

        from pytest_statebase.report.page.html import write_html
        from pytest_statebase.report.runs import Run

        path = tmp_path / "report.html"
        write_html(path, Run(rows, RUN, **(beside or {})), assets)
        made.append(Opened(browser, path, **options))
        return made[-1]

    yield open_rows
    for one in made:
        one.context.close()
        assert one.requests == []
        assert one.complaints == []
