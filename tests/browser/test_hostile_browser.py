"""Hostile recordings in every view: shown as text, nothing runs, nothing is wider than the window."""

from __future__ import annotations

import json
from typing import Any

import pytest
from report_data import MARKUP, UNSEEN, all_rows, hostile

from pytest_statebase.report.jsonsafe import VALUE_LIMIT
from pytest_statebase.report.page.view import anchors_of
from pytest_statebase.report.show import visible

WORDS = [
    MARKUP,
    UNSEEN,
    "</script><!--<script>",
    "{{ 7 * 7 }}{% include '/etc/passwd' %}${7*7}",
    "::error file=a.py::x\n::stop-commands::x%0A%0D",
    "@everyone #1 [x](javascript:alert(1)) ![x](http://leak.example/x.png)",
    "javascript:alert(1)",
    "constructor __proto__ toString",
    "\u202e\u2066right to left \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "lone \ud83d and paired \U0001f600",
    "=HYPERLINK(1)",
]


def poisoned(value: Any, word: str, key: str = "") -> Any:
    """The value with every text in it prolonged, but where the row's own words stand; values as much as a row holds."""
    if isinstance(value, dict):
        return {name: found if name in OWN else poisoned(found, word, name) for name, found in value.items()}
    if isinstance(value, list):
        return [poisoned(found, word, key) for found in value]
    return f"{value} {word[: None if key in NAMES else VALUE_LIMIT]}" if isinstance(value, str) else value


OWN = {"verdict", "verdicts", "outcome", "facet", "kind", "mode", "fork", "action", "source", "role", "type"}
OWN |= {"fingerprint", "follows"}
"""Fields whose words are the package's own."""
NAMES = {
    "cassette",
    "session",
    "title",
    "agent",
    "owner",
    "failure",
    "reason",
    "label",
    "tool",
    "path",
    "detail",
    "nodeid",
}

NOT_OURS = """
[...document.querySelectorAll('*')].flatMap(element => element.getAttributeNames().filter(name => {
  const value = element.getAttribute(name);
  if (name.startsWith('on') || ['src', 'srcdoc', 'srcset'].includes(name)) return true;
  if (name === 'href') return !/^(#|data:,$)/.test(value);
  return ['id', 'class', 'for', 'name'].includes(name) && /[<>"'`@{]|alert/.test(value);
}).map(name => element.tagName + ' ' + name)).concat(
  [...document.querySelectorAll('img, iframe, object, embed, form, base')].map(element => element.tagName))
"""
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"


def places(rows: list[Any]) -> list[str]:
    turns = [f"#{at}-{turn['turn']}" for at, one in zip(anchors_of(rows), rows, strict=True) for turn in one["turns"]]
    return [
        "",
        *(f"#{at}" for at in anchors_of(rows)),
        *turns,
        "#traces",
        "#?q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
    ]


def walk(made: Any, addresses: list[str]) -> None:
    """Look at each place with everything on it open."""
    page = made.page
    for address in addresses:
        made.open(address)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.wait_for_timeout(30)
        assert page.evaluate(NOT_OURS) == [], address
        width, window = page.evaluate(WIDTHS)
        assert width <= window, address
        assert page.locator("#app .broken").count() == 0, address


@pytest.mark.parametrize("width", [1440, 390])
def test_words_in_every_field(opened: Any, width: int) -> None:
    rows = poisoned(all_rows()[:3], " ".join(WORDS))
    made = opened(rows, viewport={"width": width, "height": 900})
    walk(made, places(rows))
    made.open(f"#{anchors_of(rows)[0]}-2")
    shown = made.page.evaluate("document.getElementById('app').textContent")
    assert [word for word in WORDS if visible(word.split("\n")[0]) not in shown] == []


@pytest.mark.parametrize("width", [1440, 390])
def test_a_hostile_row_in_every_view(opened: Any, width: int) -> None:
    rows = [*all_rows()[:2], hostile()]
    walk(opened(rows, viewport={"width": width, "height": 900}), places(rows))


@pytest.mark.parametrize(
    ("word", "width"),
    [("x" * 1_000_000, 1440), ("x" * 1_000_000, 390), ("\u05e9" * 100_000, 390), ("\u0301" * 20_000, 390)],
    ids=["x wide", "x narrow", "right to left", "marks"],
)
def test_very_long_words(opened: Any, word: str, width: int) -> None:
    rows = poisoned(all_rows()[:1], word)
    walk(opened(rows, viewport={"width": width, "height": 900}), places(rows))


def test_a_row_of_an_earlier_version(opened: Any) -> None:
    """What rows have not had always may be missing."""
    new = ("versions", "others", "traces")
    rows = [{key: value for key, value in one.items() if key not in new} for one in all_rows()]
    rows = json.loads(json.dumps(rows))
    walk(opened(rows), places(rows)[:10])
