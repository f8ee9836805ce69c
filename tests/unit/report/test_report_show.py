from __future__ import annotations

from typing import Any

import pytest
from report_data import MARKUP, ODD_STATE, UNSEEN

from pytest_statebase.report.jsonsafe import json_safe
from pytest_statebase.report.page.words import word_diff
from pytest_statebase.report.show import one_line, pretty, shorten_pair, visible


def is_calm(text: str) -> bool:
    """Nothing in it moves a cursor, changes a direction or breaks an encoder."""
    text.encode("utf-8")
    return not any(char < " " or char in "\x7f\x9b\u2028\u2029\u202e\u2066\ufeff" for char in text)


@pytest.mark.parametrize("value", [UNSEEN, MARKUP, ODD_STATE, {UNSEEN: [UNSEEN]}])
def test_nothing_unseen_gets_through(value: Any) -> None:
    assert is_calm(one_line(json_safe(value)))
    assert is_calm(pretty(json_safe(value)).replace("\n", ""))
    assert is_calm(visible(value) if isinstance(value, str) else "")


def test_unseen_characters_have_names() -> None:
    assert visible("a\x1b[2Jb\u202ec\ud83d\n") == r"a\x1b[2Jb\u202ec\ud83d\n"
    assert visible("one\r\ntwo\tthree\x00", lines=True) == "one\ntwo\tthree\\x00"
    assert visible("Grüße, 你好, مرحبا 👍🏽") == "Grüße, 你好, مرحبا 👍🏽"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"status": "open", "odd key": None}, '{status: "open", "odd key": null}'),
        ([1, 1.5, True, {"!decimal": "1.10"}], '[1, 1.5, true, !decimal "1.10"]'),
        ({"!float": "nan"}, ".nan"),
        ({"!map": [[1, "a"]]}, '{1: "a"}'),
        ({"!bytes": r"\x00"}, r'!bytes "\x00"'),
        ({"!object": {"type": "shop:Order", "fields": {"id": 7}}}, "!object shop:Order {id: 7}"),
        ({"!cut": {"head": "ab", "size": 1234}}, "ab… (1,234 characters in all)"),
        ('say "hi"\n', r'"say \"hi\"\n"'),
        ({"!map": "no pairs"}, '{"!map": "no pairs"}'),
        ({"!cut": {"head": 5, "size": 1}}, '{"!cut": {head: 5, size: 1}}'),
        ({"!cut": {"head": 5}}, '{"!cut": {head: 5}}'),
        ({"!float": [1]}, "[1]"),
    ],
)
def test_values_read_as_in_a_record(value: Any, wanted: str) -> None:
    assert one_line(value) == wanted


def test_long_values_go_over_several_lines() -> None:
    found = pretty({"order": {"id": "1047", "items": ["a" * 30, "b" * 30]}, "ok": True})
    assert found.split("\n")[:3] == ["{", "  order: {", '    id: "1047"']
    assert pretty('{"status": "delivered"}') == '!json {status: "delivered"}'
    assert pretty('{"status":"delivered"}') == r'"{\"status\":\"delivered\"}"'


def test_of_two_long_texts_the_difference_is_shown() -> None:
    left, right = shorten_pair("x" * 500 + "old" + "y" * 500, "x" * 500 + "new" + "y" * 500, 60)
    assert "old" in left
    assert "new" in right
    assert len(left) < 100
    same, _ = shorten_pair("z" * 500, "z" * 500, 60)
    assert same.startswith("zzz")


def test_words_are_compared() -> None:
    left, right = word_diff("a refund of 42.50 now", "a refund of 40.00 now")
    assert [part.text for part in left if part.differs] == ["42.50"]
    assert [part.text for part in right if part.differs] == ["40.00"]
    assert "".join(part.text for part in right) == "a refund of 40.00 now"


@pytest.mark.parametrize(("left", "right"), [("", "a"), ("a", ""), ("x " * 2_000, "y " * 2_000), ("a b", "a b")])
def test_word_diffs_lose_nothing(left: str, right: str) -> None:
    old, new = word_diff(left, right)
    assert ("".join(part.text for part in old), "".join(part.text for part in new)) == (left, right)
