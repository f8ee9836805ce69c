"""What surrounds the views: the bar, the keys, moving between places, print, external files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pages import anchor, until
from report_data import RUN, all_rows, clean, row

from pytest_statebase.report.page.html import write_html
from pytest_statebase.report.runs import Run

HEADING = "document.activeElement === document.querySelector('#app h1')"
ADDRESS = "location.hash"


def went(page: Any, address: str) -> None:
    until(page, "([hash]) => location.hash === hash && document.title", arg=[address])


def test_the_bar_leads_to_every_view_and_tells_the_run(opened: Any) -> None:
    page = opened(all_rows()).page
    nav = page.get_by_role("navigation", name="Report")
    assert nav.get_by_role("link", name="Overview").get_attribute("aria-current") == "page"
    nav.get_by_role("link", name="Traces").click()
    page.get_by_role("heading", name="Traces", level=1).wait_for()
    assert page.title() == "Traces · pytest-statebase"
    assert [link.inner_text() for link in nav.locator("[aria-current=page]").all()] == ["Traces"]
    page.locator(".run summary").click()
    facts = page.locator(".run dl")
    assert facts.locator("div", has_text="agent").locator("dd").inner_text() == RUN["agent"]
    page.keyboard.press("Escape")
    assert not facts.is_visible()
    nav.get_by_role("link", name="Overview").click()
    page.get_by_role("heading", name="6 of 9 sessions do not pass.", level=1).wait_for()


def test_keys_lead_to_the_views(opened: Any) -> None:
    page = opened(all_rows()).page
    for key, address in (("t", "#traces"), ("o", ""), ("t", "#traces"), ("Escape", "")):
        page.keyboard.press(key)
        went(page, address)


def test_keys_typed_into_a_field_or_held_with_others_are_its_own(opened: Any) -> None:
    page = opened(all_rows()).page
    page.keyboard.press("Control+t")
    page.evaluate(
        "document.getElementById('app').append(Object.assign(document.createElement('input'), {id: 'field'}))"
    )
    page.locator("#field").focus()
    page.keyboard.type("to?")
    assert page.locator("#field").input_value() == "to?"
    assert page.evaluate(ADDRESS) == ""
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") != "field"


def test_the_overlay_lists_the_keys(opened: Any) -> None:
    page = opened(all_rows()).page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys and signs")
    dialog.wait_for()
    listed = dict(zip(dialog.locator("dt").all_inner_texts(), dialog.locator("dd").all_inner_texts(), strict=True))
    assert listed["t"] == "traces"
    assert listed["?"] == "keys and signs"
    page.keyboard.press("t")
    assert page.evaluate(ADDRESS) == "", "the page behind the dialog has no keys"
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.get_by_role("button", name="Keys and signs").click()
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="detached")
    assert page.evaluate("document.activeElement.classList.contains('keys')"), "back where it was opened"


def test_the_first_key_skips_the_bar(opened: Any) -> None:
    made = opened(all_rows())
    made.open(f"#{anchor('refund')}")
    made.page.keyboard.press("Tab")
    made.page.keyboard.press("Enter")
    assert made.page.evaluate("document.activeElement.id") == "app"
    assert made.page.evaluate(ADDRESS) == f"#{anchor('refund')}"


def test_the_focus_and_the_title_follow(opened: Any) -> None:
    page = opened(all_rows()).page
    assert page.evaluate("document.activeElement === document.body"), "a page that opens takes nothing"
    page.evaluate(f"location.hash = '#{anchor('refund')}'")
    until(page, HEADING)
    assert "refund" in page.title()
    assert page.evaluate("scrollY") == 0


def test_going_back_leads_to_where_one_was(opened: Any) -> None:
    rows = [row(clean(f"c{number}")) for number in range(300)]
    page = opened(rows, viewport={"width": 1280, "height": 600}).page
    page.mouse.move(600, 400)
    for _ in range(6):
        page.mouse.wheel(0, 500)
        page.wait_for_timeout(50)
    links = "[...document.querySelectorAll('#app a[href^=\"#s-\"]')]"
    seen = f"{links}.filter(e => {{ const r = e.getBoundingClientRect(); return r.top > 200 && r.bottom < 500; }})[0]"
    chosen = page.evaluate(f"{seen}.getAttribute('href')")
    top = page.evaluate(f"{seen}.getBoundingClientRect().top")
    page.evaluate(f"{seen}.focus({{preventScroll: true}})")
    page.keyboard.press("Enter")
    until(page, HEADING)
    page.go_back()
    until(page, "(href) => document.activeElement.getAttribute('href') === href", arg=chosen)
    assert abs(page.evaluate("document.activeElement.getBoundingClientRect().top") - top) < 3


def test_the_overview_is_left_as_it_was_chosen(opened: Any) -> None:
    page = opened(all_rows()).page
    page.evaluate("location.hash = '#?q=refund'")
    page.keyboard.press("t")
    went(page, "#traces")
    page.keyboard.press("o")
    went(page, "#?q=refund")


@pytest.mark.parametrize("address", ["#s-0000000000", "#s-nosuch", "#constructor", "#%00", "#s-0-1-c"])
def test_an_address_that_leads_nowhere_says_so(opened: Any, address: str) -> None:
    made = opened(all_rows())
    made.open(address)
    assert made.page.locator("#app h1").all_inner_texts() == ["No such session"]
    made.page.locator("#app").get_by_role("link", name="Overview").click()
    made.page.get_by_role("heading", name="6 of 9 sessions do not pass.").wait_for()


def test_a_query_that_is_none_shows_the_overview(opened: Any) -> None:
    made = opened(all_rows())
    made.open("#?q=%F0%28")
    assert made.page.locator("#app .ov").count() == 1


def test_a_session_that_cannot_be_unpacked_leaves_the_others(opened: Any) -> None:
    made = opened(all_rows())
    made.page.evaluate("document.getElementById('chunk-0').textContent = 'AAAA'")
    made.page.evaluate(f"location.hash = '#{anchor('refund')}'")
    made.page.get_by_role("heading", name="This cannot be shown").wait_for()
    made.page.get_by_role("link", name="Overview").last.click()
    made.page.get_by_role("heading", name="6 of 9 sessions do not pass.").wait_for()
    assert made.complaints
    made.complaints.clear()


def test_an_index_that_cannot_be_unpacked_leaves_what_is_plain(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_html(path, Run(all_rows(), RUN))
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub('(id="index">)[^<]+', r"\1AAAA", text), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.get_by_role("heading", name="6 of 9 sessions do not pass.").wait_for()
    page.close()


def test_print_shows_what_is_folded(opened: Any) -> None:
    made = opened(all_rows())
    made.open(f"#{anchor('refund')}")
    page = made.page
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("#top").is_visible()
    assert page.locator("#app details:not([open])").count() == 0
    made.open("")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#plain").is_visible()
    assert not page.locator("#app").is_visible()
    assert page.locator("#plain").get_by_text("tools.issue_refund.arguments.amount").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.locator("#app").is_visible()
    assert page.locator("#plain").count() == 0


@pytest.mark.parametrize("address", ["", "#session", "#traces"])
def test_nothing_moves_where_that_is_asked_for(opened: Any, address: str) -> None:
    made = opened(all_rows(), reduced_motion="reduce")
    made.open(address.replace("session", anchor("refund")))
    moving = """[...document.querySelectorAll('*')].filter(e => { const s = getComputedStyle(e);
        return s.animationName !== 'none' || s.transitionDuration.split(', ').some(d => parseFloat(d)); }).length"""
    assert made.page.evaluate(moving) == 0


def test_external_files_are_all_that_a_page_needs(opened: Any, tmp_path: Path) -> None:
    made = opened(all_rows(), assets="external")
    names = {path.name for path in (tmp_path / "report-assets").iterdir()}
    assert names == {"style.css", "boot.js", "app.js"}
    assert made.page.evaluate("document.querySelectorAll('style, script:not([src]):not([type])').length") == 0
    assert made.page.evaluate("getComputedStyle(document.getElementById('top')).position") == "sticky"
    made.open(f"#{anchor('refund')}")
    assert "refund" in made.page.title()


def test_external_files_pass_a_strict_policy(browser: Any, tmp_path: Path) -> None:
    """Served with a policy that allows neither inline scripts nor inline styles."""
    write_html(tmp_path / "report.html", Run(all_rows(), RUN), "external")
    policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:"
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))

    def answer(route: Any) -> None:
        path = tmp_path / route.request.url.removeprefix("https://ci.example/")
        route.fulfill(path=path, headers={"Content-Security-Policy": policy, "Content-Type": TYPES[path.suffix]})

    page.route("**/*", answer)
    page.goto("https://ci.example/report.html")
    page.locator("#app h1").wait_for()
    assert page.evaluate("getComputedStyle(document.getElementById('top')).position") == "sticky"
    page.close()
    assert complaints == []


TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript"}


@pytest.mark.parametrize("lost", ["app.js", "boot.js"])
def test_a_page_whose_script_is_lost_reads_as_plain(browser: Any, tmp_path: Path, lost: str) -> None:
    write_html(tmp_path / "report.html", Run(all_rows(), RUN), "external")
    (tmp_path / "report-assets" / lost).unlink()
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    heading = page.get_by_role("heading", name="6 of 9 sessions do not pass.")
    heading.wait_for()
    assert heading.count() == 1
    page.close()
