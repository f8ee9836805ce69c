"""What reads without scripts, in a real browser, from disk."""

from __future__ import annotations

from typing import Any

import pytest
from report_data import MARKUP, RUN, all_rows, clean, hostile, row, still_failing

from pytest_statebase.report.page.view import anchors_of, build_view
from pytest_statebase.report.results import Row
from pytest_statebase.report.runs import Run
from pytest_statebase.report.show import visible

ALL_ATTRIBUTES = "[...new Set([...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()))]"


@pytest.fixture
def plain(opened: Any) -> Any:
    """Opens a page in a browser that runs no scripts."""
    return lambda rows, **options: opened(rows, java_script_enabled=False, **options)


def test_hostile_text_stays_text(plain: Any) -> None:
    page = plain([*all_rows(), hostile()]).page
    assert page.evaluate("document.querySelectorAll('img, iframe, object, embed, form, base').length") == 0
    assert not [
        name for name in page.evaluate(ALL_ATTRIBUTES) if name.startswith("on") or name in ("src", "srcdoc", "style")
    ]
    assert page.evaluate("[...document.links].every(a => a.protocol === 'file:' && a.hash)")
    assert visible(MARKUP) in page.evaluate("document.body.textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_colours_of_the_system(plain: Any, scheme: str) -> None:
    page = plain(all_rows(), color_scheme=scheme).page
    red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (min(red, green, blue) > 200) == (scheme == "light"), "the policy lets the style sheet in"


@pytest.mark.parametrize("width", [1280, 700, 380])
@pytest.mark.parametrize("rows", [all_rows(), [hostile()]], ids=["rows", "hostile"])
def test_nothing_is_wider_than_the_window(plain: Any, width: int, rows: list[Row]) -> None:
    page = plain(rows, viewport={"width": width, "height": 800}).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_reads_without_scripts(plain: Any) -> None:
    page = plain(all_rows()).page
    assert page.get_by_role("heading", name="6 of 9 sessions do not pass.").is_visible()
    assert page.locator("code.path", has_text="tools.issue_refund.arguments.amount").first.is_visible()
    explanation = page.get_by_text("To answer it, add to the plan:")
    explanation.scroll_into_view_if_needed()
    assert explanation.is_visible()
    assert not page.get_by_text("Send it to 02134 instead").is_visible()


def test_a_session_folds_by_keyboard(plain: Any) -> None:
    page = plain([row(still_failing())]).page
    page.locator("details.session > summary").focus()
    page.keyboard.press("Enter")
    assert not page.locator("section.turn").first.is_visible()


def test_print_shows_what_is_folded(plain: Any) -> None:
    page = plain([row(still_failing())]).page
    page.locator("details.session > summary").click()
    page.emulate_media(media="print")
    assert page.evaluate("document.querySelector('section.turn').getBoundingClientRect().height") > 0


def test_the_first_key_leads_to_the_first_failure(plain: Any) -> None:
    page = plain(all_rows()).page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    first = build_view(Run(all_rows(), RUN), anchors_of(all_rows())).first_bad
    assert page.evaluate("location.hash") == f"#{first}"
    assert page.evaluate("document.querySelector(':target').getBoundingClientRect().top") < 100


def test_a_link_to_a_turn_leads_there(plain: Any) -> None:
    made = plain(all_rows())
    rows = all_rows()
    failing = build_view(Run(rows, RUN), anchors_of(rows)).groups[0].sessions[-1].turns[0]
    made.open(f"#{failing.anchor}")
    assert made.page.evaluate("document.querySelector(':target').getBoundingClientRect().top") < 400
    assert made.page.locator(f"#{failing.anchor}").is_visible()


def test_many_sessions_are_read_at_once(plain: Any) -> None:
    page = plain([row(clean(f"c{number}")) for number in range(3_000)]).page
    assert page.get_by_role("heading", name="All 3,000 sessions pass.").is_visible()
    assert page.locator("details.session").count() == 0
