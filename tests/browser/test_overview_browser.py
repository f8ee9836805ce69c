"""The overview: counts that filter, the search box, causes, the list of sessions, and where all of it is kept."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pages import checked
from report_data import MARKUP, all_rows, clean, hostile, row, still_failing

from pytest_statebase.report.against import Against, compared_with
from pytest_statebase.report.grouping import causes, difference_of, group_of_row, judged, short_name, totals
from pytest_statebase.report.page.viewmodel import SLUGS
from pytest_statebase.report.results import Row, write_results
from pytest_statebase.report.show import visible


@pytest.fixture
def opened(opened: Any) -> Any:
    """As `opened`, with windows in which all of a few sessions have room: of what is far below nothing is there."""
    return lambda rows, **options: opened(rows, **{"viewport": {"width": 1280, "height": 2400}, **options})


def listed(page: Any) -> list[str]:
    """The names of the sessions that are on the page, in its order."""
    return page.locator(".row .name bdi").all_inner_texts()


def names(rows: list[Row]) -> set[str]:
    return {short_name(one) for one in rows}


def search(page: Any, query: str) -> list[str]:
    page.get_by_role("combobox", name="Search sessions").fill(query)
    return listed(page)


def many(number: int, *, failing: int = 0) -> list[Row]:
    """So many sessions, the first of them failing with an amount of their own each."""
    rows = [row(clean(f"c{index}")) for index in range(number)]
    for index in range(failing):
        made = row(still_failing())
        made |= {"cassette": f"fixtures/f{index}.session.yaml", "nodeid": f"fixtures/f{index}.session.yaml::turn-2"}
        made["turns"][1]["divergences"][0] |= {"fingerprint": f"{index % 3:012x}", "replayed": 40.0 + index % 3}
        rows[index] = made
    return rows


QUERIES = {
    "verdict:changed": {"policy::turn-2"},
    "verdict:changed verdict:unproven": {"policy::turn-2", "draft::turn-2"},
    "-verdict:unchanged group:ok": {"refund-fixed::turn-2"},
    'group:"could not run"': {"typo::version-0"},
    "VERDICT:Still-Failing": {"refund::turn-2"},
    'verdict:"still failing"': {"refund::turn-2"},
    "Tool:issue_refund owner:PAYMENTS": {"refund::turn-2"},
    "\u017fe\u017f\u017fion:x": set(),
    "tool:REFUND -group:fail": {"refund-fixed::turn-2"},
    'tool:"refund"': set(),
    'tool:"search_policy"': {"policy::turn-2"},
    "kind:arguments owner:payments": {"refund::turn-2"},
    'kind:arguments owner:""': {"partial-refund::version-0"},
    "kind:argument": set(),
    "session:sess_policy": {"policy::turn-2"},
    "agent:sample.fixed verdict:reworded": {"insured::version-0"},
    "cassette:fixtures/insured": {"insured::version-0"},
    "cause:tools.search_policy": {"policy::turn-2"},
    "parcel insured": {"insured::version-0"},
    '"parcel insured"': set(),
    '"all parcels are insured"': {"insured::version-0"},
    "a:b": set(),
    "unknown key `expcet`": {"typo::version-0"},
    'owner:"payments-te': {"refund::turn-2"},
}


def test_queries_find_what_they_ask_for(opened: Any) -> None:
    page = opened(all_rows()).page
    for query, found in QUERIES.items():
        assert set(search(page, query)) == found, query
        assert page.get_by_text(f"{len(found)} of 9 sessions").is_visible()
        assert page.get_by_text("No session is like that.").is_visible() == (not found)
    page.get_by_role("button", name="Clear").click()
    assert set(listed(page)) == names(all_rows())
    assert page.get_by_text("9 sessions", exact=True).is_visible()
    assert not page.get_by_role("button", name="Clear").is_visible()


def test_a_fingerprint_finds_the_sessions_of_a_cause(opened: Any) -> None:
    page = opened(all_rows()).page
    cause = causes(all_rows())[0]
    assert set(search(page, next(iter(cause.prints)))) == {short_name(one) for one, _ in cause.rows}
    assert len(listed(page)) == 2


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("o", ["owner:"]),
        ("parcel -verd", ["parcel -verdict:"]),
        ("-verdict:un", ["-verdict:unchanged", "-verdict:unrecorded", "-verdict:unproven"]),
        ("tool:iss", ['tool:"issue_refund"']),
        ('owner:"pay', ['owner:"payments-team"']),
        ("colour:r", []),
    ],
)
def test_what_could_follow_is_offered(opened: Any, typed: str, offered: list[str]) -> None:
    page = opened(all_rows()).page
    search(page, typed)
    assert sorted(page.evaluate("[...document.querySelectorAll('#offers option')].map(one => one.value)")) == sorted(
        offered
    )


def test_counts_of_groups_and_verdicts_filter(opened: Any) -> None:
    rows = all_rows()
    page = opened(rows).page
    counted = totals(rows)
    for group, number in counted.replays.items():
        page.get_by_role("button", name=f"{number} {group.value} session").click()
        assert set(listed(page)) == names([one for one in rows if group_of_row(one) is group])
        assert page.get_by_role("button", pressed=True).count() == 1
    page.get_by_role("button", pressed=True).click()
    assert len(listed(page)) == len(rows)
    for group in counted.replays:
        own = [one for one in rows if group_of_row(one) is group]
        tile = page.locator(f".tile.{SLUGS[group]}")
        verdicts = Counter(turn["verdict"] for one in own for turn in judged(one))
        assert len(verdicts) == tile.locator(".pill").count()
        for verdict, number in verdicts.items():
            pill = tile.get_by_role("button", name=f"{number} {verdict} turn")
            pill.click()
            found = [one for one in own if any(turn["verdict"] == verdict for turn in judged(one))]
            assert set(listed(page)) == names(found)
            assert pill.get_attribute("aria-pressed") == "true"
            pill.click()
            assert len(listed(page)) == len(rows)


def test_a_held_key_adds_a_count_to_what_is_chosen(opened: Any) -> None:
    page = opened(all_rows()).page
    page.get_by_role("button", name="1 changed turn").click()
    page.get_by_role("button", name="1 unproven turn").click(modifiers=["Shift"])
    assert set(listed(page)) == {"policy::turn-2", "draft::turn-2"}
    page.get_by_role("button", name="5 fail session").click(modifiers=["Shift"])
    assert set(listed(page)) == {"policy::turn-2", "draft::turn-2"}
    assert page.get_by_role("combobox", name="Search sessions").input_value() == "verdict:changed verdict:unproven"


def test_why_nothing_is_found_is_told_of_keys_and_values_that_there_are_not(opened: Any) -> None:
    page = opened(all_rows()).page
    nothing = page.locator(".nothing")
    for query, told in {
        "foo:bar": "There is no key foo: verdict, agent, session,",
        "Gate:warn parcel": "There is no key Gate: ",
        "parcel kind:unrecorded": "There is kind:",
        "kind:unrecorded": "kind:arguments",
        'group:"did not run"': 'group:"could not run"',
        "base:new": "There is no base.",
    }.items():
        search(page, query)
        assert "No session is like that. There is " in nothing.inner_text(), query
        assert told in nothing.inner_text(), query
    search(page, "verdict:changed group:ok")
    assert nothing.inner_text() == "No session is like that."


def test_other_values_of_a_cause_are_named_as_what_they_are(opened: Any) -> None:
    rows = many(3, failing=3)
    for one in rows:
        one["turns"][1]["divergences"][0].pop("replayed")
    made = opened(rows)
    assert made.page.get_by_text("2 other values", exact=True).is_visible()


def test_the_base_is_named_from_where_the_run_was(opened: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    write_results(tmp_path / "base.jsonl", all_rows(), {})
    rows = all_rows()
    page = opened(rows, beside={"against": compared_with(tmp_path / "base.jsonl", rows)}).page
    assert page.locator(".against > p").inner_text() == "base.jsonl"


def test_the_legend_is_reached_in_a_narrow_window_and_has_the_page_s_words(opened: Any) -> None:
    page = opened(all_rows(), viewport={"width": 320, "height": 700}).page
    page.get_by_role("button", name="Keys and signs").click()
    terms = page.locator(".help dt").all_inner_texts()
    assert terms[-3:] == ["recorded, production", "accepted", "now"]
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_print_leaves_out_turns_that_were_not_replayed(opened: Any) -> None:
    page = opened(all_rows()).page
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#plain .turn.norun", has_text="not-replayed").first.is_visible()
    assert not page.get_by_text("and my address?").first.is_visible()
    assert page.locator("#plain").get_by_text("I have issued a refund of 40.00").first.is_visible()
    assert "output output" not in page.locator("#plain").inner_text()


def test_failures_come_first(opened: Any) -> None:
    page = opened(all_rows()).page
    assert page.locator("h3").all_inner_texts() == ["✕ fail 5", "⊘ could not run 1", "◆ review 1", "✓ ok 2"]
    assert listed(page) == [
        *("refund::turn-2", "partial-refund::version-0", "policy::turn-2", "draft::turn-2", "greeting::version-0"),
        *("typo::version-0", "insured::version-0", "refund-fixed::turn-2", "clean::version-0"),
    ]


@pytest.mark.parametrize(
    ("by", "heads"),
    [
        ("owner", ["✕ nobody 8 · 5 not passing", "✕ payments-team 1"]),
        ("agent", ["✕ sample.fixed:SupportAgent 8 · 5 not passing", "⊘ no agent 1"]),
        (
            "kind",
            ["✕ arguments 2", "✕ missing 1", "✕ raised 1", "✕ replaced 1", "⊘ could not run 1", "◆ no cause 3"],
        ),
        ("cassette", None),
        (
            "path",
            [
                "✕ tools.issue_refund.arguments.amount 2",
                *("✕ tools.issue_refund 1", "✕ error 1", "✕ tools.search_policy 1"),
                *("⊘ could not run 1", "◆ no cause 3"),
            ],
        ),
    ],
)
def test_sessions_are_grouped(opened: Any, by: str, heads: list[str] | None) -> None:
    page = opened(all_rows()).page
    page.get_by_label("Group by").select_option(by)
    assert page.evaluate("location.hash") == f"#?by={by}"
    found = page.locator("h3").all_inner_texts()
    if heads:
        assert sorted(found) == sorted(heads)
        assert found[0] == heads[0]
    assert len(listed(page)) == 9
    page.get_by_label("Group by").select_option("result")
    assert page.evaluate("location.hash") in ("", "#")


def test_what_is_chosen_is_in_the_address(opened: Any) -> None:
    made = opened(all_rows())
    search(made.page, 'group:fail verdict:changed -owner:"payments team" ünï')
    made.page.get_by_label("Group by").select_option("path")
    address = made.page.evaluate("location.hash")
    made.open(address)
    assert made.page.get_by_role("combobox", name="Search sessions").input_value() == (
        'group:fail verdict:changed -owner:"payments team" ünï'
    )
    assert made.page.get_by_label("Group by").input_value() == "path"
    assert made.page.locator("[aria-pressed=true]").all_text_contents() == ["✕5fail sessions", "1 changed turn"]


def test_equal_differences_are_one_cause_with_a_count(opened: Any) -> None:
    page = opened(many(12, failing=7)).page
    cause = page.locator(".cause-item")
    assert cause.count() == 1
    assert cause.locator(".path").inner_text() == "tools.issue_refund.arguments.amount"
    assert "recorded 42.5 → now 40.0" in cause.inner_text()
    cause.get_by_text("2 other pairs of values").click()
    assert [text.split("\n")[0] for text in cause.locator(".pair").all_inner_texts()] == [
        f"recorded 42.5 → now {amount}" for amount in ("40.0", "41.0", "42.0")
    ]
    assert [pair.get_by_role("link").count() for pair in cause.locator(".pair").all()] == [3, 2, 2]
    cause.get_by_role("button", name="7 sessions").click()
    assert set(listed(page)) == {f"f{index}::turn-2" for index in range(7)}


def test_links_lead_to_sessions_and_turns(opened: Any) -> None:
    page = opened(all_rows()).page
    own = page.locator(".row", has_text="refund::turn-2").first
    session = own.locator(".name").get_attribute("href")
    assert own.locator(".because").get_attribute("href") == f"{session}-2"
    assert page.locator(".cause-item").first.get_by_role("link").first.get_attribute("href") == f"{session}-2"
    own.locator(".because").click()
    assert page.evaluate("location.hash") == f"{session}-2"


def test_numbers(opened: Any) -> None:
    rows = all_rows()
    page = opened(rows).page
    counted = totals(rows)
    aside = page.get_by_role("complementary", name="Numbers")
    for name, number in {"other actions": 6, "only reworded": 2, "no difference": 6, "not replayed": 1}.items():
        assert sum(difference_of(turn) == name for one in rows for turn in judged(one)) == number
        assert aside.get_by_role("row", name=f"{name} {number}", exact=True).is_visible()
    for name in ("answered", "stale", "repeated", "unrecorded", "unused"):
        assert aside.get_by_role("row", name=f"{name} {counted.calls[name]}", exact=True).is_visible()
    assert aside.get_by_text("7 of 9 sessions reached the last turn to be replayed.").is_visible()
    assert aside.get_by_text("stopped in turn 2 (unrecorded), 1 of 3 turns left").is_visible()
    writes = aside.locator(".writes-by li")
    assert writes.all_inner_texts() == [
        "issue_refund\n1 changed, 2 missing, 1 extra, 1 unrecorded",
        "hand_over\n1 changed",
        "change_address\n1 made",
    ]
    writes.get_by_role("button", name="change_address").click()
    assert set(listed(page)) == {"clean::version-0", "partial-refund::version-0"}, "also where it was not reached"


def test_what_the_change_did(opened: Any) -> None:
    rows = all_rows()
    gone = row(clean("gone"))
    against = Against("base.jsonl", [rows[0], rows[2]], [rows[6]], [rows[1], rows[3]], [rows[7]], [gone])
    page = opened(rows, beside={"against": against}).page
    box = page.get_by_role("region", name="Against the base")
    told = {"2 newly failing": {0, 2}, "1 newly passing": {6}, "2 still failing": {1, 3}, "1 new": {7}}
    for name, places in told.items():
        box.get_by_role("button", name=name, exact=True).click()
        assert set(listed(page)) == {short_name(rows[place]) for place in places}
        badge = name.split(" ", 1)[1]
        assert page.locator(".badges").get_by_text(badge).count() == (0 if badge == "still failing" else len(places))
    box.get_by_text("1 removed").click()
    assert box.get_by_text("gone::version-0").is_visible()


def test_keys(opened: Any) -> None:
    page = opened(all_rows()).page
    focused = "document.activeElement.querySelector('bdi')?.textContent"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("group:fail jk")
    assert page.get_by_role("combobox", name="Search sessions").input_value() == "group:fail jk"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "", "the field is left"
    assert page.get_by_role("combobox", name="Search sessions").input_value() == "group:fail jk"
    assert page.evaluate("location.hash") == "#?q=group%3Afail+jk"
    page.get_by_role("button", name="Clear").click()
    page.keyboard.type("group:fail")
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "refund::turn-2"
    for key, name in {"j": "partial-refund::version-0", "k": "refund::turn-2"}.items():
        page.keyboard.press(key)
        assert page.evaluate(focused) == name
    page.keyboard.press("k")
    assert page.evaluate(focused) == "refund::turn-2", "before the first one there is none"
    address = page.evaluate("document.activeElement.hash")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{address}")


def test_all_of_many_are_reached_while_few_are_there(opened: Any) -> None:
    page = opened(many(3_400, failing=2), viewport={"width": 1280, "height": 800}).page
    assert page.locator(".row").count() < 120
    assert page.locator(".row").first.get_attribute("aria-setsize") == "3400"
    page.keyboard.press("j")
    first = page.evaluate("document.activeElement.textContent")
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    page.locator(".row .name", has_text="c3399::").wait_for()
    assert page.locator(".row").count() < 120
    assert page.evaluate("document.activeElement.textContent") == first, "what has the focus stays"
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "ok: c2::version-0"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") > 90, "below what sticks to the top"
    page.get_by_role("combobox", name="Search sessions").fill("c339")
    assert len(listed(page)) == 11


def test_the_list_is_there_wherever_it_moves(opened: Any) -> None:
    rows = many(60, failing=30)
    for index, one in enumerate(rows[:30]):
        one["turns"][1]["divergences"][0]["path"] = f"tools.issue_refund.arguments.a{index}"
    page = opened(rows, viewport={"width": 1280, "height": 600}).page
    more = page.get_by_text("25 more causes")
    more.click()
    page.locator(".row").first.wait_for(state="detached")
    more.click()
    page.locator(".row").first.wait_for()


def test_hostile_names_filter_as_they_are(opened: Any) -> None:
    made = opened([*all_rows(), hostile()])
    page = made.page
    name = visible(short_name(hostile()))[:100]
    page.locator(".cause-item", has_text="RaisingRepr").locator(".cause-count").click()
    assert [one[:100] for one in listed(page)] == [name]
    made.open(page.evaluate("location.hash"))
    assert [one[:100] for one in listed(made.page)] == [name]
    assert made.page.locator(".cause-count[aria-pressed=true]").count() == 1
    for by in ("cassette", "agent", "path", "owner"):
        page.get_by_label("Group by").select_option(by)
        assert page.evaluate("document.querySelectorAll('img, script[src]').length") == 0
    assert visible(MARKUP)[:60] in page.locator("h3").inner_text()


@pytest.mark.parametrize("width", [390, 900, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(opened: Any, width: int, scheme: str) -> None:
    rows = [*all_rows(), hostile(), *many(30, failing=20)]
    rows[0]["title"] = "word" * 250_000
    page = opened(rows, viewport={"width": width, "height": 900}, color_scheme=scheme).page
    page.evaluate("document.querySelectorAll('#app details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    bars = "[...document.querySelectorAll('.rows > li')].every(e => e.scrollHeight <= e.clientHeight + 1)"
    page.evaluate("document.querySelector('.rows').scrollIntoView()")
    page.locator(".row").nth(8).wait_for()
    assert page.evaluate(bars), "what a row says fits into it"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_what_is_chosen_has_no_fault(opened: Any, axe: str, scheme: str, width: int) -> None:
    rows = all_rows()
    against = Against("base.jsonl", [rows[0], rows[2]], [rows[6]], [rows[1], rows[3]], [rows[7]], [row(clean("gone"))])
    view = {"color_scheme": scheme, "viewport": {"width": width, "height": 2400}}
    page = opened(rows, beside={"against": against}, **view).page
    search(page, 'group:fail verdict:changed base:newly-failing cause:"replaced tools.search_policy"')
    page.evaluate("document.querySelectorAll('#app details').forEach(one => { one.open = true; })")
    assert page.get_by_role("button", pressed=True).count() == 4
    assert checked(page, axe) == []
    search(page, "nothing of this sort")
    assert checked(page, axe) == []


def test_numbers_are_folded_where_there_is_no_room_beside_the_list(opened: Any) -> None:
    page = opened(all_rows(), viewport={"width": 390, "height": 900}).page
    aside = page.get_by_role("complementary", name="Numbers")
    assert not aside.get_by_text("other actions").is_visible()
    aside.get_by_text("Numbers", exact=True).click()
    assert aside.get_by_text("other actions").is_visible()
    page.set_viewport_size({"width": 1440, "height": 900})
    page.set_viewport_size({"width": 390, "height": 900})
    aside.get_by_text("other actions").wait_for(state="hidden")


def test_a_run_of_no_session(opened: Any) -> None:
    page = opened([]).page
    assert page.get_by_role("heading", name="No session was replayed.").is_visible()
    assert page.locator(".row").count() == 0
