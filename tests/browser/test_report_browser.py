"""The report in a real browser: from disk, without a request, without a script."""

from __future__ import annotations

from typing import Any

import pytest
from report_data import MARKUP, RUN, all_rows, clean, hostile, row

from pytest_statebase.report.outputs import Run
from pytest_statebase.report.results import Row
from pytest_statebase.report.show import visible
from pytest_statebase.report.view import anchors_of, build_view

ALL_ATTRIBUTES = "[...new Set([...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()))]"


def test_hostile_text_stays_text(opened: Any) -> None:
    page = opened([*all_rows(), hostile()]).page
    assert page.evaluate("document.querySelectorAll('img, script, iframe, object, embed, form, base').length") == 0
    assert not [
        name for name in page.evaluate(ALL_ATTRIBUTES) if name.startswith("on") or name in ("src", "srcdoc", "style")
    ]
    assert page.evaluate("[...document.links].every(a => a.protocol === 'file:' && a.hash)")
    assert visible(MARKUP) in page.evaluate("document.body.textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_colours_of_the_system(opened: Any, scheme: str) -> None:
    page = opened(all_rows(), color_scheme=scheme).page
    red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (min(red, green, blue) > 200) == (scheme == "light"), "the policy lets the style sheet in"


@pytest.mark.parametrize("width", [1280, 700, 380])
@pytest.mark.parametrize("rows", [all_rows(), [hostile()]], ids=["rows", "hostile"])
def test_nothing_is_wider_than_the_window(opened: Any, width: int, rows: list[Row]) -> None:
    page = opened(rows, viewport={"width": width, "height": 800}).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_reads_without_scripts(opened: Any) -> None:
    page = opened(all_rows(), java_script_enabled=False).page
    assert page.get_by_role("heading", name="6 of 9 sessions do not pass.").is_visible()
    assert page.locator("code.path", has_text="tools.issue_refund.arguments.amount").first.is_visible()
    explanation = page.get_by_text("To answer it, add to the plan:")
    explanation.scroll_into_view_if_needed()
    assert explanation.is_visible()
    assert not page.get_by_text("Send it to 02134 instead").is_visible()


def test_a_folded_session_opens_by_keyboard(opened: Any) -> None:
    page = opened([row(clean())]).page
    page.locator("details.session summary").focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("Send it to 02134 instead").is_visible()


def test_print_shows_what_is_folded(opened: Any) -> None:
    page = opened([row(clean())]).page
    page.emulate_media(media="print")
    height = "[...document.querySelectorAll('.t')].map(e => e.getBoundingClientRect().height)"
    assert min(page.evaluate(height)) > 0


def test_the_first_key_leads_to_the_first_failure(opened: Any) -> None:
    page = opened(all_rows()).page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    first = build_view(Run(all_rows(), RUN), anchors_of(all_rows())).first_bad
    assert page.evaluate("location.hash") == f"#{first}"
    assert page.evaluate("document.querySelector(':target').getBoundingClientRect().top") < 100


def test_a_link_to_a_turn_of_a_folded_session_opens_it(opened: Any) -> None:
    made = opened(all_rows())
    session = next(
        s for s in build_view(Run(all_rows(), RUN), anchors_of(all_rows())).groups[3].sessions if "clean" in s.name
    )
    made.page.goto(f"{made.own}#{session.anchor}-2")
    assert made.page.locator(f"#{session.anchor}-2").is_visible()


def test_ten_thousand_turns_are_usable(opened: Any) -> None:
    rows = [row(clean(f"c{number}")) for number in range(3_000)]
    page = opened(rows).page
    assert page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive") < 10_000
    assert page.locator("details.session").count() == 3_000
