"""What the tests in a browser share."""

from __future__ import annotations

import os
from typing import Any

import pytest
from report_data import all_rows, row, told

from pytest_statebase.report.page.view import anchors_of


def missing(what: str) -> None:
    """Skip, or fail where the browser is part of the promise."""
    if os.environ.get("STATEBASE_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{what}, and STATEBASE_REQUIRE_BROWSER=1 asks for the browser tests", pytrace=False)
    pytest.skip(what)


def anchor(name: str) -> str:
    """The address of a session of `all_rows`, or of `told`."""
    rows = [*all_rows(), row(told())]
    return next(at for at, one in zip(anchors_of(rows), rows, strict=True) if f"/{name}." in one["cassette"])


_FOUND = """async (within) => (await axe.run(within, {resultTypes: ['violations']})).violations.flatMap(
    found => found.nodes.map(node => `${found.id}: ${node.target} ${node.failureSummary}`))"""


def checked(page: Any, axe: str, within: str = "html") -> list[str]:
    """What axe-core finds on a page as it is, or in a part of it."""
    page.evaluate(axe)
    return list(page.evaluate(_FOUND, within))
