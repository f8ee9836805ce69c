from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st
from report_data import MARKUP, UNSEEN, clean, row, still_failing

from pytest_statebase.report.jsonsafe import VALUE_LIMIT
from pytest_statebase.report.page.limits import cut_values, value_limit
from pytest_statebase.report.page.packing import chunked, packed, unpacked

TEXTS = st.text(st.characters(codec=None), max_size=30) | st.sampled_from([MARKUP, UNSEEN])


@given(st.recursive(st.none() | st.integers() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_what_is_packed_is_inert_text_and_reads_back(value: object) -> None:
    text = packed(value)
    assert set(text) <= set(string.ascii_letters + string.digits + "+/=")
    assert unpacked(text) == value


def test_small_sessions_share_a_chunk_and_each_finds_its_own() -> None:
    rows = [(f"s-{number}", row(clean(f"c{number}"))) for number in range(100)]
    chunks, places = chunked(rows)
    assert 1 < len(chunks) < 30
    assert all(unpacked(chunks[place])[anchor] == found for (anchor, found), place in zip(rows, places, strict=True))


def test_few_sessions_keep_their_values_whole() -> None:
    found = row(still_failing())
    assert value_limit([found]) == VALUE_LIMIT
    assert cut_values(found, VALUE_LIMIT) is found


def test_values_of_many_sessions_are_cut_and_say_their_size() -> None:
    found = row(still_failing())
    turn = found["turns"][1]
    turn["replayed"]["output"] = "long " * 1_000
    turn["replayed"]["state"] = {"items": ["one"] * 1_000}
    turn["calls"][0]["recorded"]["result"] = "r" * 3_000
    turn["divergences"][0]["replayed"] = "d" * 3_000
    found["versions"] = [{"v": 0, "state": "s" * 3_000}, {"v": 1, "patch": [[["a"], "p" * 3_000], [["b"]]]}]
    cut = cut_values(found, 300)
    side = cut["turns"][1]["replayed"]
    assert side["output"] == {"!cut": {"head": ("long " * 60), "size": 5_000}}
    assert side["state"]["!cut"]["head"].startswith('{items: ["one", "one"')
    assert cut["turns"][1]["calls"][0]["recorded"]["result"]["!cut"]["size"] == 3_000
    assert cut["turns"][1]["divergences"][0]["replayed"]["!cut"]["size"] == 3_000
    assert cut["versions"][0]["state"]["!cut"]["size"] == 3_000
    assert cut["versions"][1]["patch"] == [[["a"], {"!cut": {"head": "p" * 300, "size": 3_000}}], [["b"]]]
    assert cut["turns"][0] == found["turns"][0]
    assert len(turn["replayed"]["output"]) == 5_000, "the row itself stays"


def test_many_sessions_of_huge_values_fit_a_page() -> None:
    """300 sessions of 40 turns whose values are long keep a page below 10 MB."""
    found = row(still_failing())
    found["turns"] = [found["turns"][1]] * 40
    limit = value_limit([found] * 300)
    assert 200 <= limit < 1_000
