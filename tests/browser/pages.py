"""What the tests in a browser share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from report_data import all_rows, row, told

from pytest_statebase.report.page.view import anchors_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def missing(what: str) -> None:
    """Skip, or fail where the browser is part of the promise."""
    if os.environ.get("STATEBASE_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{what}, and STATEBASE_REQUIRE_BROWSER=1 asks for the browser tests", pytrace=False)
    pytest.skip(what)


def anchor(name: str) -> str:
    """The address of a session of `all_rows`, or of `told`."""
    rows = [*all_rows(), row(told())]
    return next(at for at, one in zip(anchors_of(rows), rows, strict=True) if f"/{name}." in one["cassette"])


def until(page: Page, expression: str, arg: Any = None) -> None:
    """Wait ten seconds for it to hold. The page lets no text become code, which Page.wait_for_function needs."""
    for _ in range(200):
        if page.evaluate(expression, arg):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"did not become true: {expression}")


_FOUND = """async (within) => (await axe.run(within, {resultTypes: ['violations']})).violations.flatMap(
    found => found.nodes.map(node => `${found.id}: ${node.target} ${node.failureSummary}`))"""


def checked(page: Any, axe: str, within: str = "html") -> list[str]:
    """What axe-core finds on a page as it is, or in a part of it."""
    page.evaluate(axe)
    return list(page.evaluate(_FOUND, within))


class Opened:
    """A page with everything that it asked for and complained of."""

    def __init__(self, browser: Browser, path: Path, **options: Any) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.context = browser.new_context(**options)
        self.context.route("**/*", self._route)
        self.context.set_default_timeout(10_000)
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.own = path.as_uri()
        self.scripted = options.get("java_script_enabled", True)
        self.open("")

    def open(self, address: str) -> None:
        """Go to a place on the page, in a fresh document; what its script draws is there afterwards."""
        self.page.goto("about:blank")
        self.page.goto(self.own + address)
        if self.scripted:
            self.page.locator("#app > *").first.wait_for()

    def _route(self, route: Any) -> None:
        if route.request.url == self.own or "report-assets/" in route.request.url:
            route.continue_()
        else:
            self.requests.append(route.request.url)
            route.abort()
