"""The page's own scripts and style sheets: one scope for all, and small."""

from __future__ import annotations

import re
from collections import Counter

from report_data import RUN

from pytest_statebase.report.page import html
from pytest_statebase.report.page.html import render_html
from pytest_statebase.report.runs import Run

SCRIPTS = html._TEMPLATES / "app"


def test_every_script_and_style_sheet_is_on_the_page() -> None:
    assert {path.stem for path in SCRIPTS.glob("*.js")} == set(html._SCRIPTS)
    assert {path.stem for path in html._TEMPLATES.glob("*.css")} == set(html._STYLES)


def test_scripts_share_a_scope_without_taking_each_other_s_names() -> None:
    named = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
    names = Counter(name for path in SCRIPTS.glob("*.js") for name in named.findall(path.read_text(encoding="utf-8")))
    assert [name for name, count in names.items() if count > 1] == []


def test_scripts_make_no_markup_of_texts() -> None:
    for path in SCRIPTS.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\.style =", text
        )


def test_no_text_of_a_script_is_taken_for_the_end_of_a_block() -> None:
    for path in SCRIPTS.glob("*.js"):
        assert ";}" not in path.read_text(encoding="utf-8"), "see html._script"


def test_a_page_of_nothing_is_small() -> None:
    """At most 150 KB: style sheet, scripts and frame, with what an ordinary run tells of itself."""
    run = {**RUN, "started_at": "2026-03-16T08:00:00+00:00", "commit": "0123456789" * 4, "part": True}
    assert len(render_html(Run([], run)).encode("utf-8")) <= 150_000
