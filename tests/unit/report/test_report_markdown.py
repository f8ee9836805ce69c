from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inert import assert_inert, tokens

from pytest_statebase.report.prose.markdown import Part, block, code, fitted, linked, page_link, table_head, table_row
from pytest_statebase.report.show import visible

PARTS = [
    *("`", "``", "`" * 90, "\\", "|", "\\|", "\\\\|", "<!--", "-->", "</code>", "<img src=x onerror=alert(1)>"),
    *("](javascript:alert(1))", "[a](b)", "![a](b)", "@everyone", "@acme/payments", "me@example.com", "#12", "GH-12"),
    *("https://evil.example", "www.evil.example", "$`x`$", "&amp;", "&#64;", "&lt;b&gt;", "::error::x", "/close"),
    *("**x**", "~~x~~", "- [ ] x", "[^1]", ":tada:", " ", "\n", "\n\n# x", "\t", "\u202e", "\u2028", "\x00", "\ud83d"),
    *("\u05e9\u05dc\u05d5\u05dd", "é", "a", "abcdef1234567"),
]
TEXTS = st.one_of(st.lists(st.sampled_from(PARTS), max_size=8).map("".join), st.text(max_size=30))


@given(TEXTS, TEXTS)
def test_any_text_stays_the_text_of_a_code_span(first: str, second: str) -> None:
    one, other = code(first, 10_000), code(second, 10_000)
    link = linked(one, "https://ci.example/report.html#s-0123456789")
    lines = [*table_head("A", "B#"), table_row(one, f"x {other}"), table_row(link, other), "", f"- {one}, {other}"]
    spans = assert_inert("\n".join(lines), "https://ci.example/report.html")
    blank = [text for text in (first, second) * 3 if visible(text).strip(" ")]
    assert spans == list(map(visible, blank))


@given(TEXTS, TEXTS)
def test_any_text_stays_the_text_of_a_block(first: str, second: str) -> None:
    (found,) = [token for token in tokens(f"x\n\n{block(first + '|' + second)}\n\ny") if token.type == "fence"]
    text = visible(f"{first}|{second}", lines=True).strip("\n")
    assert found.content == re.sub("`{250,}", lambda run: r"\x60" * len(run[0]), text) + "\n"
    assert_inert(f"x\n\n{block(first + '|' + second)}\n\ny")


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("plain", "`plain`"),
        ("", "(empty)"),
        ("   ", "(blank)"),
        (" a", "`  a `"),
        ("`a`", "`` `a` ``"),
        ("a`b", "``a`b``"),
        ("@acme/payments", "`@acme/payments`"),
        ("me@example.com", "`me@example.com`"),
        ("a\nb\u2028c\x00", r"`a\nb\u2028c\x00`"),
        ("lone \ud83d", r"`lone \ud83d`"),
        ("\u202egnp.exe", r"`\u202egnp.exe`"),
        ("שלום", "\u2068`שלום`\u2069"),
        ("`" * 200, f"` {'`' * 160}… (200 characters) `"),
        (17, "`17`"),
        ("x" * 200, f"`{'x' * 160}… (200 characters)`"),
    ],
)
def test_code(text: object, span: str) -> None:
    assert code(text) == span


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://ci.example/7/report.html", "https://ci.example/7/report.html#s-1"),
        ("HTTP://ci.example/r?a=b&c=d#old", "HTTP://ci.example/r?a=b&c=d#s-1"),
        ("https://ci.example/a b)(c<d>\"'`|\n", "https://ci.example/a%20b%29%28c%3Cd%3E%22%27%60%7C#s-1"),
        ("https://ci.example/é%20", "https://ci.example/%C3%A9%20#s-1"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        (" https://ci.example", None),
        ("report.html", None),
        ("https://", None),
        ("", None),
        (None, None),
    ],
)
def test_links_lead_to_web_pages_alone(url: str | None, address: str | None) -> None:
    assert page_link(url, "s-1") == address


@pytest.mark.parametrize(
    "text",
    [
        'send:\n  - {to: "@kim"}',
        "/close\n\n  /assign @kim",
        "```\n/close\n````\n/merge",
        " /close\n\ta: 1\n/x",
        "`" * 249 + "\n/close",
    ],
)
def test_what_is_pasted_from_a_block_is_what_was_written(text: str) -> None:
    (found,) = [token for token in tokens(f"- x\n\n{block(text)}\n\n- y") if token.type == "fence"]
    assert found.content == text + "\n"
    assert_inert(f"- x\n\n{block(text)}\n\n- y")


def test_a_fence_is_no_longer_than_renderers_know_them() -> None:
    found = block("`" * 300 + "\n/close")
    assert max(map(len, re.findall("`+", found))) == 3
    assert r"\x60" * 300 in found


def parts(number: int, **options: object) -> Part:
    items = (f"- {'x' * 96}" for _ in range(number))
    return Part("Things", ["before:", ""], items, number, "things", **options)  # type: ignore[arg-type]


def test_what_does_not_fit_is_counted() -> None:
    text = fitted("top", [parts(100)], "end", 5_000)
    assert len(text.encode()) <= 5_000
    shown = text.count("- x")
    assert 0 < shown < 100
    assert f"… and {100 - shown} more things." in text
    assert text.startswith("top\n\n#### Things\n\nbefore:\n\n- x")
    assert text.endswith("\n\nend\n")


def test_one_list_hides_no_other_one() -> None:
    text = fitted("top", [parts(10_000), parts(10_000), parts(3)], "end", 60_000)
    assert len(text.encode()) <= 60_000
    assert text.count("#### Things") == 3
    assert text.endswith("\n".join([f"- {'x' * 96}"] * 3) + "\n\nend\n")


def test_a_section_without_room_is_named() -> None:
    text = fitted("top", [Part("Long", ["é" * 2_000]), Part("Short", ["x"])], "end", 3_000)
    assert "Long" not in text.split("Left out")[0]
    assert "Left out, because this text may not be longer: Long." in text
    assert "#### Short\n\nx" in text


def test_no_more_are_shown_than_are_asked_for_and_folded_ones_are_closed() -> None:
    text = fitted("top", [parts(5, most=2, is_folded=True)], "end", 5_000)
    line = f"- {'x' * 96}"
    told = [
        "top",
        "",
        "<details>",
        "<summary>Things</summary>",
        "",
        "before:",
        "",
        line,
        line,
        "",
        "… and 3 more things.",
    ]
    assert text == "\n".join([*told, "", "</details>", "", "end", ""])
    assert_inert(text)
