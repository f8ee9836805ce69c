from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report_data import (
    MARKUP,
    RUN,
    UNSEEN,
    all_rows,
    clean,
    crashed,
    hostile,
    result,
    reworded,
    row,
    still_failing,
    turn_of,
    unchanged,
    unproven,
    unrecorded,
)

from pytest_statebase.compare.model import (
    Divergence,
    Facet,
    Kind,
    Observed,
    ReplayedRequest,
    Source,
    TurnResult,
    Verdict,
)
from pytest_statebase.report.page.exact import exact_row
from pytest_statebase.report.page.html import render_html, write_html
from pytest_statebase.report.page.packing import unpacked
from pytest_statebase.report.page.view import anchors_of, build_view
from pytest_statebase.report.results import Row, dump_row, error_row, load_row
from pytest_statebase.report.runs import Run
from pytest_statebase.report.show import visible

ELEMENTS = """
html head meta title link style script body a header footer main nav
section h1 h2 h3 h4 p b i q span small bdi svg rect dl dt
dd div table thead tbody tr th td code pre ul ol li details summary del ins br
"""
ATTRIBUTES = """
lang charset http-equiv content name rel href class id aria-label aria-hidden viewbox preserveaspectratio x y width
height dir open scope colspan type role tabindex aria-live
"""


def plain_part(rows: list[Row]) -> str:
    """What reads without scripts."""
    text = render_html(Run(rows, RUN))
    return text[text.index('<div id="plain">') : text.index('<script type="text/plain"')]


def view_of(rows: list[Row], run: dict[str, Any]) -> Any:
    return build_view(Run(rows, run), anchors_of(rows))


class Page(HTMLParser):
    """What a parser makes of a page: its elements, attributes, text and whether it is balanced."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.data: list[str] = []
        self.ids: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in ("meta", "link", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.data.append(data)

    @property
    def text(self) -> str:
        return "".join(self.data)

    @property
    def links(self) -> list[str]:
        return [value or "" for name, value in self.attributes if name == "href"]


@pytest.mark.parametrize("rows", [[hostile()], [*all_rows(), hostile()]])
def test_nothing_recorded_becomes_markup(rows: list[Row]) -> None:
    """Parsed as HTML, the page has no element or attribute that came from data."""
    page = Page(render_html(Run(rows, {**RUN, "agent": MARKUP, "warnings": [MARKUP]})))
    assert set(page.elements) <= set(ELEMENTS.split())
    assert {name for name, _ in page.attributes} <= set(ATTRIBUTES.split())
    for name, value in page.attributes:
        assert "alert" not in f"{name}{value}"
        assert "javascript:" not in f"{value}"
    assert visible(MARKUP) in page.text


def test_the_page_asks_nobody_for_anything() -> None:
    text = render_html(Run([*all_rows(), hostile()], RUN))
    page = Page(text)
    assert [link for link in page.links if not link.startswith("#")] == ["data:,"]
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(value or "" for name, value in page.attributes if name == "content" and "src" in (value or ""))
    assert re.fullmatch(
        r"default-src 'none'; script-src('? 'sha256-[\w+/=]+'){2}; style-src 'sha256-[\w+/=]+'; img-src data:; "
        r"base-uri 'none'; form-action 'none'",
        policy,
    )
    assert 'src="' not in text


def test_odd_values_do_not_lose_the_page(tmp_path: Path) -> None:
    """Written, valid UTF-8, what cannot be seen shown escaped, a raising repr as a placeholder."""
    path = tmp_path / "new" / "report.html"
    write_html(path, Run([hostile()], RUN))
    text = path.read_bytes().decode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\ufeff]", text)
    page = Page(text)
    assert visible(UNSEEN) in page.text
    assert "whose repr raised RuntimeError" in page.text
    assert '!datetime "2026-03-15T10:00:00+00:00"' in page.text
    assert ".nan" in page.text
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_every_link_leads_somewhere_and_every_failure_has_one() -> None:
    page = Page(render_html(Run(all_rows(), RUN)))
    assert len(set(page.ids)) == len(page.ids)
    targets = {link[1:] for link in page.links if link.startswith("#")}
    assert targets <= set(page.ids)
    view = view_of(all_rows(), RUN)
    failing = [session.anchor for group in view.groups[:2] for session in group.sessions]
    assert len(failing) == 6
    assert set(failing) <= targets


def test_anchors_are_the_same_in_every_run() -> None:
    rows = all_rows()
    assert anchors_of(rows) == anchors_of(rows[::-1])[::-1]
    assert len(set(anchors_of([*rows, *rows]))) == 2 * len(rows)


def _item(nodeid: str | None, **values: Any) -> dict[str, Any]:
    made = {**row(clean()), "nodeid": nodeid, **values}
    return made if nodeid else {key: value for key, value in made.items() if key != "nodeid"}


PLAN_ITEM = "fixtures/clean.session.yaml::version-0"
ITEMS = {
    "plan": _item(PLAN_ITEM),
    "another fork": _item("fixtures/clean.session.yaml::turn-2", fork="turn 2"),
    "side A": _item(f"{PLAN_ITEM}-shop-Old", agent="shop:Old"),
    "side B": _item(f"{PLAN_ITEM}-shop-New", agent="shop:New"),
    "test": _item("tests/test_shop.py::test_it"),
    "another test": _item("tests/test_shop.py::TestIt::test_it"),
    "another case of it": _item("tests/test_shop.py::TestIt::test_it[2]"),
    "the same test from another fork": _item("tests/test_shop.py::test_it", fork="turn 2"),
}


def test_an_anchor_depends_neither_on_other_rows_nor_on_their_order() -> None:
    rows = list(ITEMS.values())
    alone = [anchors_of([one])[0] for one in rows]
    assert len(set(alone)) == len(rows)
    assert anchors_of(rows) == alone
    assert anchors_of(rows[::-1]) == alone[::-1]


@pytest.mark.parametrize("name", ITEMS)
def test_a_link_outlives_another_agent_mode_or_end(name: str) -> None:
    made = ITEMS[name]
    for values in ({"agent": "moved.to:Agent"}, {"agent": None}, {"mode": "isolated"}, {"until": 2}):
        assert anchors_of([{**made, **values}]) == anchors_of([made])


def test_a_plan_has_one_link_whether_or_not_it_can_be_replayed() -> None:
    """The fork of a replay is the one that was found for it, `turn 3` for `last-good`."""
    name = "fixtures/clean.session.yaml::last-good"
    asked = error_row("fixtures/clean.session.yaml", "last-good", "no such tool", nodeid=name)
    assert anchors_of([asked]) == anchors_of([_item(name, fork="turn 3")])
    assert anchors_of([_item(None)]) == anchors_of([_item(PLAN_ITEM)])


def test_replays_that_share_everything_are_numbered_by_what_they_differ_in() -> None:
    rows = [_item("tests/test_shop.py::test_it", until=until) for until in (1, 2, 3)]
    first, second, third = anchors_of(rows)
    assert (second, third) == (f"{first}-x2", f"{first}-x3")
    assert anchors_of(rows[::-1]) == [third, second, first]


def test_the_top_tells_the_run() -> None:
    view = view_of(all_rows(), RUN)
    assert view.verdict == "6 of 9 sessions do not pass."
    assert [(group.mark.text, group.count) for group in view.groups] == [
        ("fail", 5),
        ("could not run", 1),
        ("review", 1),
        ("ok", 2),
    ]
    assert view.reached.startswith("7 of 9")
    assert dict(view.turns) == {"other actions": 6, "only reworded": 2, "no difference": 6, "not replayed": 1}
    assert dict(view.calls)["unrecorded"] == 1
    assert (view.causes[0].path, view.causes[0].count) == ("tools.issue_refund.arguments.amount", 2)


def test_writes_are_told_one_by_one() -> None:
    view = view_of(all_rows(), RUN)
    refund = next(found for found in view.writes.rows if found.tool == "issue_refund")
    counts = {state: number for state, (number, _) in zip(view.writes.states, refund.counts, strict=True)}
    assert counts == {"made": 0, "changed": 1, "missing": 2, "extra": 1, "unrecorded": 1}
    assert {item.mark.text for item in view.writes.troubled} == {"changed", "missing", "extra", "unrecorded"}
    assert [item.tool for item in view.writes.others] == ["change_address"]
    assert view.writes.others[0].arguments == '{order_id: "1047", zip: "02134"}'
    assert view.writes.others_words == "1 made as recorded"


def requests_row() -> Row:
    """A turn that is as recorded, one that wrote otherwise and misses a write, and a turn whose prompt moved."""
    sent = [
        ReplayedRequest("POST", "https://api.test/refunds", 1, Source.RECORD, 1, 0),
        ReplayedRequest("GET", "https://api.test/orders", 1, Source.RECORD, 1, 1),
        ReplayedRequest("POST", "https://llm.test/v1/messages", 1, Source.RECORD, 1, 2, model=True),
    ]
    first = unchanged(turn_of(1, "Hi", "Hello."))
    again = replace(first, replayed=Observed(1, output=first.recorded.output, requests=sent))
    second = turn_of(2, "And now?", "Done.")
    missing = Divergence(Facet.HTTP, Kind.MISSING, 'http."DELETE api.test/cart"', {"body": {"all": True}})
    sent = [
        ReplayedRequest("PUT", "https://api.test/cart", 2, unrecorded=True, explanation="never recorded", hint="send"),
        ReplayedRequest("POST", "https://api.test/refunds", 2, Source.LIVE),
        ReplayedRequest("POST", "https://api.test/refunds", 2, Source.RECORD, 1, 0),
    ]
    missed = Observed(2, missed=True, requests=sent)
    third = turn_of(3, "Bye", "Bye.")
    stale = (
        "the prompt moved, and no model recording answers: temperature: recorded 0, now 1\ntools.x: was not recorded"
    )
    turns = [
        again,
        TurnResult(2, Verdict.UNRECORDED, second, missed, [missing]),
        TurnResult(3, Verdict.STALE, third, Observed(3, missed=True, stale=stale), reason=stale),
    ]
    return row(result("requests", turns))


def test_writes_over_http_stand_beside_those_of_tools() -> None:
    view = view_of([requests_row()], RUN)
    counts = {
        found.tool: {
            state: number for state, (number, _) in zip(view.writes.states, found.counts, strict=True) if number
        }
        for found in view.writes.rows
    }
    assert counts == {
        "POST api.test/refunds": {"made": 1, "moved": 1, "extra": 1},
        "PUT api.test/cart": {"unrecorded": 1},
        "DELETE api.test/cart": {"missing": 1},
    }
    missing = next(item for item in view.writes.troubled if item.mark.text == "missing")
    assert (missing.tool, missing.arguments) == ("DELETE api.test/cart", "{body: {all: true}}")


def test_a_moved_prompt_is_told_with_its_command_and_counts_as_not_judged() -> None:
    view = view_of([requests_row()], RUN)
    assert dict(view.turns) == {"other actions": 1, "only reworded": 0, "no difference": 1, "not judged": 1}
    page = Page(render_html(Run([requests_row()], RUN))).text
    assert "1 model call in 1 cassette no recording answers: pytest --statebase-replay --statebase-model=auto" in page
    assert "never recorded\nsend" in page


def test_writes_without_trouble_are_counted_by_what_became_of_them() -> None:
    made = row(unrecorded())
    made["turns"][1]["calls"].append({**made["turns"][1]["calls"][1], "replayed": None, "flags": []})
    rows = [made, row(clean())]
    assert build_view(Run(rows, RUN), anchors_of(rows)).writes.others_words == "1 made as recorded, 1 not reached"


def test_json_in_a_text_is_shown_as_what_it_holds_and_words_are_said_once() -> None:
    made = row(crashed())
    turn = made["turns"][0]
    turn["recorded"]["output"], turn["replayed"]["output"] = '{"a": 1}', "done"
    turn["replayed"]["error"] = {"type": "ValueError", "message": "no order"}
    plain = " ".join(Page(plain_part([made])).text.split())
    assert "!json" not in plain
    assert "{a: 1}" in plain
    assert "output does not contain" in plain
    assert "output output" not in plain
    assert plain.count("ValueError") == 1
    assert "both sides" not in plain


def test_values_of_one_side_are_no_pairs() -> None:
    rows = [row(unproven()) for _ in range(2)]
    rows[1]["turns"][0]["divergences"][0]["fingerprint"] = "0" * 12
    (cause,) = build_view(Run(rows, RUN), anchors_of(rows)).causes
    assert cause.values == "2 values, one of them:"


def test_what_is_plain_tells_the_failures_alone() -> None:
    plain = Page(plain_part([row(still_failing()), row(clean())]))
    assert "refund::turn-2" in plain.text
    assert "Send it to 02134 instead" not in plain.text
    assert "1 of 2 sessions does not pass." in plain.text


def test_what_is_packed_reads_back_to_the_letter() -> None:
    """Markup, line separators, NUL and lone surrogates included."""
    rows = [*all_rows(), hostile()]
    found = dict(re.findall(r'<script type="text/plain" id="([\w-]+)">([^<]*)</script>', render_html(Run(rows, RUN))))
    index = unpacked(found["index"])
    summaries = {summary["id"]: summary for summary in index["sessions"]}
    kept = {anchor: one for name in found if name != "index" for anchor, one in unpacked(found[name]).items()}
    shown = [kept[anchor] for anchor in summaries]
    for turn in (turn for one in shown for turn in one["turns"]):
        for name in ("brief", "slug"):
            turn.pop(name, None)
        for found in turn["divergences"]:
            found.pop("words", None)
    shown[-2].pop("brief")
    expected = copy.deepcopy(rows)
    for turn in (turn for one in expected for turn in one["turns"] if (turn["replayed"] or {}).get("same")):
        for call in turn["calls"]:  # kept as texts, shown as those of other turns
            call["recorded"]["arguments"] = json.loads(call["recorded"]["arguments"])
    assert shown == [exact_row(row) for row in expected]
    assert MARKUP in summaries[anchors_of(rows)[-1]]["title"]
    assert MARKUP in dump_row(kept[anchors_of(rows)[-1]]).encode().decode("unicode_escape", "surrogatepass")


def test_a_passing_session_is_about_a_kilobyte() -> None:
    few, many = (
        len(render_html(Run([row(clean(f"s{number}")) for number in range(count)], RUN))) for count in (100, 300)
    )
    assert (many - few) / 200 < 1_500


def test_an_empty_run_is_a_page() -> None:
    assert "No session was replayed." in Page(render_html(Run([], {}))).text


@pytest.mark.parametrize("change", [{"turns": []}, {"warnings": ["w"]}, {"calls": {}}, {"message": "m"}])
def test_rows_from_a_file_are_enough(change: dict[str, Any]) -> None:
    found = {**row(reworded()), **change}
    Page(render_html(Run([load_row(dump_row(found))], {})))


def many_of(found: Row, sessions: int) -> list[Row]:
    """Sessions of forty turns, all of which differ."""
    return [{**found, "cassette": f"c{number}", "turns": [found["turns"][1]] * 40} for number in range(sessions)]


def test_values_get_shorter_as_more_turns_differ() -> None:
    found = row(still_failing())
    found["turns"][1]["replayed"]["output"] = "long " * 5_000
    assert len(render_html(Run([found], RUN))) > 40_000
    assert len(render_html(Run(many_of(found, 25), RUN))) < 10_000_000


def test_the_first_failures_are_told_in_full_and_the_others_named() -> None:
    """The plain part stays small however many sessions fail: the script shows all."""
    rows = [{**row(still_failing()), "nodeid": f"f{number}::turn-2", "cassette": f"f{number}"} for number in range(200)]
    plain = plain_part(rows)
    assert plain.count('<details class="session fail"') == 20
    assert "f19::turn-2" in plain
    assert "f79::turn-2" in plain
    assert "f80::turn-2" not in plain
    assert "and 120 more" in plain
    assert len(plain) < 200_000


def test_a_session_of_many_failing_turns_says_how_many_are_left() -> None:
    found = row(still_failing())
    plain = plain_part([{**found, "turns": [{**found["turns"][1], "turn": number} for number in range(50)]}])
    assert plain.count('<section class="turn ') == 20
    assert "and 30 more turns" in plain
