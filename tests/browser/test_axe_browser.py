"""axe-core finds nothing on any view, in light and in dark. STATEBASE_AXE is the path of its `axe.min.js`."""

from __future__ import annotations

from typing import Any

import pytest
from pages import anchor, checked
from report_data import all_rows, hostile, row, told

VIEWS = {
    "overview": "",
    "session": f"#{anchor('refund')}",
    "turn": f"#{anchor('refund')}-2",
    "unrecorded": f"#{anchor('partial-refund')}-2",
    "could not run": f"#{anchor('typo')}",
    "timeline": f"#{anchor('told')}?at=v2",
    "not replayed": f"#{anchor('told')}-1",
    "traces": "#traces",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_no_view_has_a_fault(opened: Any, axe: str, scheme: str, width: int) -> None:
    rows = [*all_rows(), row(told()), hostile()]
    made = opened(rows, color_scheme=scheme, viewport={"width": width, "height": 900})
    assert [fault for name, address in VIEWS.items() for fault in faults(made, axe, name, address)] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_overlay_has_no_fault(opened: Any, axe: str, scheme: str) -> None:
    made = opened(all_rows(), color_scheme=scheme)
    made.page.keyboard.press("?")
    made.page.get_by_role("dialog").wait_for()
    assert checked(made.page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_fork_has_no_fault(opened: Any, axe: str, scheme: str) -> None:
    made = opened([row(told())], color_scheme=scheme)
    made.open(f"#{anchor('told')}?at=v2")
    made.page.keyboard.press("f")
    made.page.get_by_role("dialog").wait_for()
    assert checked(made.page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_plain_has_no_fault(opened: Any, axe: str, scheme: str) -> None:
    made = opened([*all_rows(), hostile()], color_scheme=scheme)
    made.page.emulate_media(media="print", color_scheme=scheme)
    made.page.evaluate("dispatchEvent(new Event('beforeprint')); document.documentElement.classList.remove('scripted')")
    made.page.emulate_media(media="screen", color_scheme=scheme)
    assert made.page.locator("#plain h1").is_visible()
    assert checked(made.page, axe) == []


def faults(made: Any, axe: str, name: str, address: str) -> list[str]:
    made.open(address)
    made.page.evaluate("document.querySelectorAll('#app details').forEach(one => { one.open = true; })")
    return [f"{name}: {fault}" for fault in checked(made.page, axe)]
