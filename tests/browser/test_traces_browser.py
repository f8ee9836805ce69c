"""The trace explorer: filters, order, search, links, and CSV of just what is shown."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from report_data import MARKUP, UNSEEN, all_rows, clean, hostile, result, row, turn_of, unchanged

HEAD = ["session", "turn", "action", "actor", "timestamp", "reasoning", "details"]
DAY = "2026-03-15T10:"
RISKY = '=HYPERLINK("http://x")'


def story(name: str = "story", **facts: Any) -> dict[str, Any]:
    """A recording with everything that leaves a trace; its turns begin at 10:21, 10:22 and 10:23."""
    made = row(clean(name))
    made["turns"][1]["actor"] = "billing"
    made["turns"][1]["recorded"]["reasoning"] = "The parcel has not left"
    made["turns"][2]["recorded"] = {"error": {"type": "ValueError", "message": "no"}}
    made["versions"] = [
        {"v": 0, "turn": None, "at": DAY + "20:00Z", "state": {"status": "new"}},
        {
            "v": 1,
            "turn": 1,
            "calls": 1,
            "actor": "support",
            "why": "The order is known",
            "patch": [[["status"], "open"]],
        },
        {
            "v": 2,
            "turn": 2,
            "calls": 1,
            "at": DAY + "22:30Z",
            "actor": "billing",
            "why": RISKY,
            "patch": [[["zip"], "1"]],
        },
        {"v": 3, "turn": 3, "back": 1, "why": "Wrong\ncustomer", "patch": [[["zip"]]]},
    ]
    made["traces"] = [
        {"action": "session.created", "turn": None, "at": DAY + "20:00Z"},
        {"action": "memory.created", "turn": 2, "calls": 2, "about": "lives in Boston"},
    ]
    return made | facts


def told(name: str = "story") -> list[list[str]]:
    """The traces of a story, in order, as CSV has them."""
    lookup = 'lookup_order {order_id: "1047"}'
    return [
        [f"sess_{name}", *cells]
        for cells in (
            ["", "session.created", "", DAY + "20:00Z", "", 'state {status: "new"}'],
            ["1", "tool.called", "", DAY + "21:01Z", "", lookup],
            [
                "1",
                "state.updated",
                "support",
                DAY + "21:01Z",
                "The order is known",
                'version 1: status: "new" → "open"',
            ],
            ["1", "turn.added", "", DAY + "21:01Z", "", "Where is my order 1047? → It was delivered on Tuesday."],
            ["2", "tool.called", "", DAY + "22:01Z", "", lookup],
            ["2", "state.updated", "billing", DAY + "22:30Z", "'" + RISKY, 'version 2: zip: "1"'],
            ["2", "tool.called", "", DAY + "22:30Z", "", 'change_address {order_id: "1047", zip: "02134"}'],
            ["2", "memory.created", "", DAY + "22:30Z", "", "lives in Boston"],
            [
                "2",
                "turn.added",
                "billing",
                DAY + "22:30Z",
                "The parcel has not left",
                "Send it to 02134 instead → I have changed the address.",
            ],
            [
                "3",
                "state.rolled_back",
                "",
                DAY + "23:01Z",
                "Wrong\\ncustomer",
                'version 3: back to version 1: zip: "1" → (gone)',
            ],
            [
                "3",
                "turn.added",
                "",
                DAY + "23:01Z",
                "",
                'Thank you → raised {type: "ValueError", message: "no"}',
            ],
        )
    ]


def read(page: Any) -> None:
    """Wait until every session is read."""
    page.locator(".trace-count", has_text=re.compile(r"traces?$")).wait_for()


def explorer(opened: Any, rows: list[Any], address: str = "#traces", **options: Any) -> Any:
    made = opened(rows, **options)
    made.open(address)
    read(made.page)
    return made


def shown(page: Any) -> list[list[str]]:
    """The rows of the CSV file of what is shown."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Export CSV").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == HEAD
    count = page.locator(".trace-count").text_content().split(" of ")[0].replace(",", "")
    assert int(count) == len(rows) - 1
    return rows[1:]


def action(page: Any, name: str) -> Any:
    return page.locator(".trace-actions button", has_text=name)


def actions(page: Any) -> dict[str, str]:
    texts = page.locator(".trace-actions button").all_text_contents()
    return dict(text.rsplit(" ", 1) for text in texts)


def test_every_trace_of_a_recording_is_there_in_order(opened: Any) -> None:
    page = explorer(opened, [story()]).page
    assert shown(page) == told()
    assert page.locator(".trace").count() == len(told())
    assert actions(page) == {
        "turn.added": "3",
        "tool.called": "3",
        "state.updated": "2",
        "session.created": "1",
        "memory.created": "1",
        "state.rolled_back": "1",
    }


def test_actions_and_actors_filter_and_stay_in_the_address(opened: Any) -> None:
    made = explorer(opened, [story()])
    page = made.page
    action(page, "state.updated").click()
    action(page, "turn.added").click()
    assert shown(page) == [cells for cells in told() if cells[2] in ("state.updated", "turn.added")]
    page.get_by_label("Actor").select_option("billing")
    expected = [cells for cells in told() if cells[2] in ("state.updated", "turn.added") and cells[3] == "billing"]
    assert shown(page) == expected
    assert actions(page)["tool.called"] == "0"
    assert action(page, "turn.added").get_attribute("aria-pressed") == "true"
    made.open(page.evaluate("location.hash"))
    read(page)
    assert shown(page) == expected
    action(page, "turn.added").click()
    action(page, "state.updated").click()
    page.get_by_label("Actor").select_option("no actor named (8)")
    assert shown(page) == [cells for cells in told() if not cells[3]]
    page.get_by_label("Actor").select_option("")
    assert page.evaluate("location.hash") == "#traces"


def test_the_reasoning_is_searched(opened: Any) -> None:
    page = explorer(opened, [story()]).page
    page.keyboard.press("/")
    page.keyboard.type("PARCEL  left")
    assert [cells[5] for cells in shown(page)] == ["The parcel has not left"]
    assert page.evaluate("location.hash") == "#traces?q=PARCEL++left"
    assert page.locator(".trace mark").all_text_contents() == ["parcel", "left"]
    page.get_by_role("searchbox").fill("(.*")
    assert shown(page) == []
    page.get_by_role("searchbox").fill("nowhere")
    assert page.get_by_text("No trace fits.").is_visible()
    assert shown(page) == []


def test_the_reasoning_of_a_turn_as_recorded_is_searched_to_its_end(opened: Any) -> None:
    whole, cut = ("so " * 500 + "finally", "so " * 5_000 + "finally")
    turns = [unchanged(turn_of(at, "Hi", "Hello", reasoning=why)) for at, why in enumerate([whole, cut], 1)]
    page = explorer(opened, [row(result("why", turns))]).page
    assert [cells[5] for cells in shown(page)] == [whole, cut[:2_000] + "… (15,007 characters in all)"]
    page.get_by_role("searchbox").fill("finally")
    assert [cells[5] for cells in shown(page)] == [whole]


def test_versions_of_mappings_whose_keys_are_numbers(opened: Any) -> None:
    made = story()
    made["versions"] = [
        {"v": 0, "turn": None, "state": {"items": {"10": "a", "2": {"n": 1}}, "odd": {"!map": [[1, "x"]]}, "new": {}}},
        {"v": 1, "turn": 1, "patch": [[["items", "2", "n"], 2], [["odd", "!map", 0, 1], "y"], [["new", "7"], "a"]]},
        {"v": 2, "turn": 1, "patch": [[["items", "10"]], [["items", "2"]], [["items", "b"], 1], [["new", "3"], "b"]]},
        {"v": 3, "turn": 1, "patch": [[["items", "b"], 2], [["items", "1"], 3]]},
    ]
    page = explorer(opened, [made], "#traces?action=session.created+state.updated").page
    assert [cells[6] for cells in shown(page)] == [
        'state {items: {"10": "a", "2": {n: 1}}, odd: {1: "x"}, new: {}}',
        'version 1: items."2".n: 1 → 2, odd."1": "x" → "y", new."7": "a"',
        'version 2: items."10": "a" → (gone), items."2": {n: 2} → (gone), items.b: 1, new."3": "b"',
        'version 3: items.b: 1 → 2, items."1": 3',
    ]


def test_sessions_are_told_in_the_order_of_time(opened: Any) -> None:
    first = story("first")
    for trace in (first["versions"][0], first["traces"][0]):
        trace["at"] = "2026-03-15T12:19:00+02:00"
    page = explorer(opened, [story("second"), first]).page
    names = [cells[0] for cells in shown(page)]
    assert names[:2] == ["sess_first", "sess_second"]
    assert names.count("sess_first") == names.count("sess_second") == len(told())
    page.get_by_role("button", name="Oldest first").click()
    assert page.evaluate("location.hash") == "#traces?order=desc"
    assert [cells[0] for cells in shown(page)] == names[::-1]
    assert page.get_by_role("button", name="Newest first").is_visible()


def test_what_has_no_time_stays_in_its_place(opened: Any) -> None:
    made = story()
    for one in [*made["versions"], *made["traces"], *made["turns"]]:
        one.pop("at", None)
    without = [[*cells[:4], "", *cells[5:]] for cells in told()]
    page = explorer(opened, [made]).page
    assert shown(page) == without
    assert not page.locator(".when").first.is_visible()


def test_traces_lead_to_their_places(opened: Any) -> None:
    made = explorer(opened, [story()])
    page = made.page
    links = {}
    for place in range(len(told())):
        page.locator(".trace").nth(place).click()
        links[place] = page.get_by_role("link", name="Open in its session").get_attribute("href")
    session = links[0].split("?")[0]
    assert links[0] == f"{session}?at=start"
    assert links[1] == f"{session}-1-c1"
    assert links[2] == f"{session}?at=v1"
    assert links[3] == f"{session}-1"
    assert links[6] == f"{session}-2-c2"
    assert links[9] == f"{session}?at=v3"
    made.open(links[6])
    page.locator(links[6]).wait_for()


def test_keys_choose_and_open(opened: Any) -> None:
    page = explorer(opened, [story()]).page
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.locator(".trace[aria-current]").text_content().count("lookup_order") == 1
    assert page.evaluate("document.activeElement.classList.contains('trace')")
    page.keyboard.press("End")
    assert "ValueError" in page.locator(".trace-detail").text_content()
    page.keyboard.press("Home")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("-1-c1$"))


def test_one_session_alone(opened: Any) -> None:
    made = opened([story("one"), story("two")])
    anchor = made.page.evaluate("document.querySelector('a[href^=\"#s-\"]').getAttribute('href')")[1:].split("-")
    made.open(f"#traces?session={'-'.join(anchor[:2])}&action=state.rolled_back")
    read(made.page)
    found = shown(made.page)
    assert len(found) == 1
    assert found[0][0] in ("sess_one", "sess_two")
    made.page.get_by_role("link", name="All sessions").click()
    made.page.get_by_text("22 of 22 traces").wait_for()


def test_a_recording_is_told_once_however_often_it_is_replayed(opened: Any) -> None:
    broken = story() | {"fork": "turn 9", "turns": [], "outcome": "error", "versions": [], "traces": []}
    rows = [broken, story(), story() | {"agent": "other:agent"}]
    assert shown(explorer(opened, rows).page) == told()


def test_plans_of_one_recording_tell_it_once_by_the_replay_with_most_of_its_turns(opened: Any) -> None:
    late, whole = story(), story() | {"cassette": "fixtures/whole.session.yaml"}
    late["others"] = [
        {"turn": turn["turn"], "input": turn["input"], "output": "…", "calls": [], "at": turn["at"]}
        for turn in late["turns"][:2]
    ]
    late["turns"] = late["turns"][2:]
    other = story("other") | {"cassette": whole["cassette"]}
    found = shown(explorer(opened, [late, whole, late | {"nodeid": "again"}, other]).page)
    assert [cells for cells in found if cells[0] == "sess_story"] == told()
    assert [cells for cells in found if cells[0] == "sess_other"] == told("other")


def test_recordings_with_one_session_id_are_all_told(opened: Any) -> None:
    other = story("other") | {"session": "sess_story"}
    other["turns"][0]["input"] = "Where is my order 2048?"
    found = shown(explorer(opened, [story(), other, other | {"agent": "other:agent"}]).page)
    assert len(found) == 2 * len(told())
    assert {cells[0] for cells in found} == {"sess_story"}
    assert sum("order 2048" in cells[6] for cells in found) == 1


def test_a_session_that_is_not_there_is_told_and_all_are_offered(opened: Any) -> None:
    made = opened([story("one"), story("two")])
    made.open("#traces?session=s-0000000000")
    page = made.page
    assert "This report has no such session." in page.locator(".trace-session").inner_text()
    assert page.locator(".trace-count").count() == 0
    for key in ("j", "/", "End", "Enter"):
        page.keyboard.press(key)
    page.get_by_role("link", name="All sessions").click()
    page.get_by_text("22 of 22 traces").wait_for()
    assert page.locator(".trace-session").count() == 0


def test_what_was_not_replayed_and_what_only_the_replay_did(opened: Any) -> None:
    made = story()
    gone = made["turns"].pop(0)
    made["others"] = [
        {"turn": 1, "input": gone["input"], "output": "ok", "calls": ["lookup_order"], "at": gone["at"], "why": "first"}
    ]
    extra = {"label": "spare", "tool": "spare", "recorded": None, "replayed": {"arguments": {}}}
    made["turns"][0]["calls"].append(extra)
    found = shown(explorer(opened, [made]).page)
    assert next(cells[6] for cells in found if cells[2] == "tool.called") == "lookup_order"
    assert next(cells[5] for cells in found if cells[2] == "turn.added") == "first"
    assert not any("spare" in cells[6] for cells in found)


def test_results_of_earlier_versions_have_turns_and_calls(opened: Any) -> None:
    page = explorer(opened, all_rows()).page
    assert set(actions(page)) == {"turn.added", "tool.called"}
    assert "session.created" not in page.locator("#app").text_content()


def test_cells_are_text_to_every_program(opened: Any) -> None:
    starts = ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\t=1", 'a "b", c', UNSEEN, MARKUP, "\u2028=1"]
    made = story()
    made["versions"] = [{"v": 0, "turn": None, "state": 1}] + [
        {"v": number, "turn": 1, "why": why, "actor": why, "patch": []} for number, why in enumerate(starts, 1)
    ]
    page = explorer(opened, [made]).page
    action(page, "state.updated").click()
    found = [cells[5] for cells in shown(page)]
    assert found[:5] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'  =1"]
    assert found[5:7] == ["\\t=1", 'a "b", c']
    assert found[7].startswith("nul\\x00 esc\\x1b[31mred")
    assert "\\u202e" in found[7]
    assert found[8] == MARKUP.replace("\u2028", "\\u2028")
    assert found[9] == "\\u2028=1"
    assert [cells[3] for cells in shown(page)] == found


@pytest.mark.parametrize("width", [390, 1440])
def test_hostile_recordings_are_text(opened: Any, width: int) -> None:
    evil = MARKUP + UNSEEN + "x" * 5_000
    made = story() | {"session": evil, "nodeid": evil}
    made["versions"][1] |= {"actor": evil, "why": evil, "at": evil, "patch": [[[evil], evil]]}
    made["traces"][1] |= {"action": evil, "about": evil, "actor": evil}
    page = explorer(opened, [made, hostile()], viewport={"width": width, "height": 800}).page
    page.locator(".trace").nth(3).click()
    for place in range(page.locator(".trace").count()):
        page.locator(".trace").nth(place).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#app img, #app script, #app a[href^='javascript']").count() == 0
    page.locator(".trace-actions button", has_text="onerror").first.click()
    assert [cells[2][:9] for cells in shown(page)] == ["</script>"]


def test_of_many_traces_few_are_on_the_page(opened: Any) -> None:
    page = explorer(opened, [story(f"s{number}") for number in range(300)]).page
    assert page.locator(".trace-count").text_content() == "3,300 of 3,300 traces"
    assert page.locator(".trace").count() < 80
    page.keyboard.press("End")
    assert "story" not in page.locator(".trace[aria-current]").text_content()
    assert page.locator(".trace").count() < 80
    assert page.locator("[role=listitem]").last.get_attribute("aria-setsize") == "3300"


def test_a_session_that_cannot_be_read_is_told_and_passed_over(opened: Any) -> None:
    broken = story("broken") | {"others": [{"turn": True, "calls": [5]}]}
    broken["versions"] = [{"v": 0, "state": {}}, {"v": 1, "turn": 1, "patch": [None]}]
    page = opened([story("a"), broken, story("b")]).page
    page.evaluate("location.hash = '#traces'")
    page.locator(".trace-count", has_text="cannot be read").wait_for()
    page.locator("progress").wait_for(state="hidden")
    told = "22 of 22 traces; 1 session cannot be read: broken::version-0"
    assert page.locator(".trace-count").text_content() == told
    assert {cells[0] for cells in shown(page)} == {"sess_a", "sess_b"}
