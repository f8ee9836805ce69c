from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The report's rows are made in one place.
sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "report"))


def missing(what: str) -> None:
    """Skip, or fail where the browser is part of the promise."""
    if os.environ.get("STATEBASE_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{what}, and STATEBASE_REQUIRE_BROWSER=1 asks for the browser tests", pytrace=False)
    pytest.skip(what)


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
