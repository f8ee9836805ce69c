"""A session's page: its timeline, the state at each step, and forks that can be pasted."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pages import Opened, until
from report_data import (
    MARKUP,
    UNSEEN,
    broken_plan,
    clean,
    hostile,
    recording,
    result,
    row,
    still_failing,
    told,
    turn_of,
    unchanged,
)

from pytest_statebase.compare.model import AlignedCall
from pytest_statebase.ledger import Ledger, SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.report.page.view import anchors_of
from pytest_statebase.report.results import Row
from pytest_statebase.report.show import visible
from tests.plugin.conftest import Project

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

ALL_ATTRIBUTES = "[...new Set([...document.querySelectorAll('#page *')].flatMap(e => e.getAttributeNames()))]"


def track(page: Page) -> Locator:
    return page.get_by_role("slider", name="Step of the session")


def step_of(page: Page) -> str:
    return str(track(page).get_attribute("aria-valuetext"))


def state_of(page: Page) -> str:
    return page.locator(".state-here").inner_text()


def hash_of(page: Page) -> str:
    return str(page.evaluate("location.hash"))


@pytest.fixture
def session(opened: Any) -> Any:
    """The page of a session of four turns, with its id as `.id`."""
    rows = [row(told())]
    made = opened(rows)
    made.id = anchors_of(rows)[0]
    made.open(f"#{made.id}")
    return made


def test_it_begins_at_the_first_turn_that_fails(session: Any) -> None:
    assert step_of(session.page) == "Turn 2 · User: Please refund it."
    assert (
        session.page.locator(".why-box").inner_text().startswith("turn 2 changed: tools.issue_refund.arguments.amount")
    )


def test_a_session_that_passes_begins_where_it_was_forked(opened: Any) -> None:
    rows = [row(clean())]
    made = opened(rows)
    made.open(f"#{anchors_of(rows)[0]}")
    assert step_of(made.page) == "Turn 1 · User: Where is my order 1047?"


def test_what_was_recorded_and_what_was_replayed_are_told_apart(session: Any) -> None:
    page = session.page
    assert page.locator(".zone").all_inner_texts() == ["recorded", "replayed", "beyond until"]
    assert page.locator(".seg").all_inner_texts() == ["1", "2 ✕", "3 ✓", "4"]
    assert page.locator(".tick").all_inner_texts() == ["•", "✓", "≠", "◇"]
    assert page.locator(".ver").all_inner_texts() == ["v0", "v1", "v2", "v3 ↶ v1"]
    fork = page.locator(".track .fork").bounding_box()
    second = page.locator(".seg").nth(1).bounding_box()
    assert abs(fork["x"] - second["x"]) < 4


KEYS = [
    ("ArrowRight", "Turn 2 · call 1 of 2 · lookup_order", "-2-c1"),
    ("ArrowRight", "Turn 2 · call 2 of 2 · issue_refund: other arguments", "-2-c2"),
    ("ArrowLeft", "Turn 2 · call 1 of 2 · lookup_order", "-2-c1"),
    ("PageDown", "Turn 3 · User: Remember my address.", "-3"),
    ("ArrowDown", "Turn 3 · memory.created: lives in 02134", "-3?at=trace1"),
    ("PageUp", "Turn 2 · User: Please refund it.", "-2"),
    ("PageUp", "Turn 1 · User: Where is my order 1047?", "-1"),
    ("PageUp", "Turn 1 · User: Where is my order 1047?", "-1"),
    ("Home", "Start: version 0, the initial state", "?at=start"),
    ("ArrowLeft", "Start: version 0, the initial state", "?at=start"),
    ("End", "Turn 4 · Agent: You are welcome.", "-4?at=4-end"),
    ("ArrowRight", "Turn 4 · Agent: You are welcome.", "-4?at=4-end"),
]


def test_keys_scrub_the_timeline(session: Any) -> None:
    page = session.page
    track(page).focus()
    for key, step, address in KEYS:
        page.keyboard.press(key)
        assert (step_of(page), hash_of(page)) == (step, f"#{session.id}{address}")
        panel = page.locator(".turn-here > .panel")
        assert panel.get_attribute("aria-label") == (f"Turn {address[1]}" if address[0] == "-" else "Between turns")
    assert track(page).get_attribute("aria-valuenow") == track(page).get_attribute("aria-valuemax") == "16"


def test_arrows_scrub_from_anywhere_and_are_told(session: Any) -> None:
    page = session.page
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    page.locator("#live", has_text="Turn 2 · call 1 of 2 · lookup_order").wait_for(state="attached")
    page.keyboard.press("End")
    assert step_of(page) == "Turn 2 · call 1 of 2 · lookup_order", "the page scrolls with this key"


def test_the_list_of_steps_is_walked_by_keys(session: Any) -> None:
    page = session.page
    page.locator(".step[aria-current]").focus()
    for _ in range(12):
        page.keyboard.press("ArrowDown")
    focused = page.evaluate("[document.activeElement.className, document.activeElement.getAttribute('aria-current')]")
    assert focused == ["step k-end beyond", "step"]
    assert page.locator(".step[tabindex='0']").count() == 1
    page.keyboard.press("Home")
    assert step_of(page).startswith("Start")


def middle(page: Page, step: int) -> tuple[float, float]:
    box = track(page).bounding_box()
    return box["x"] + box["width"] * (step + 0.5) / 16, box["y"] + box["height"] / 2


def test_the_mouse_scrubs(session: Any) -> None:
    page = session.page
    page.mouse.move(*middle(page, 1))
    page.mouse.down()
    assert step_of(page) == "Turn 1 · User: Where is my order 1047?"
    for step in (4, 8, 11):
        page.mouse.move(*middle(page, step))
        until(page, "n => document.querySelector('.track').getAttribute('aria-valuenow') == n", arg=step + 1)
    page.mouse.up()
    page.mouse.move(*middle(page, 2))
    page.locator(".state-here.peek").wait_for()
    assert step_of(page) == "Turn 3 · User: Remember my address."
    assert page.locator(f"#{session.id}-3").is_visible()


def test_a_hovered_step_shows_its_state_and_what_differs(session: Any) -> None:
    page = session.page
    before = state_of(page)
    page.mouse.move(*middle(page, 8))
    page.locator(".state-here.peek", has_text="Version 2").wait_for()
    seen = state_of(page)
    assert "Looking at step 9 of 16" in seen
    assert "with what differs from version 1" in seen
    status = page.locator(".state-here tr", has_text="status").first
    assert status.locator("del").inner_text() == '"open"'
    assert status.locator("ins").inner_text() == '"refunded"'
    assert "Version 2 · made in turn 2: The customer wants the money back" in seen
    assert step_of(page) == "Turn 2 · User: Please refund it."
    page.mouse.move(2, 2)
    page.locator(".state-here:not(.peek)").wait_for()
    assert state_of(page) == before


def test_a_step_of_the_list_is_looked_at_and_chosen(session: Any) -> None:
    page = session.page
    rolled_back = page.locator(".step", has_text="State v3, back to v1")
    rolled_back.hover()
    assert "rolled back to version 1" in page.locator(".state-here.peek").inner_text()
    rolled_back.click()
    assert hash_of(page) == f"#{session.id}?at=v3"
    made = "made after turn 2 · rolled back to version 1 · 2026-03-15T10:22:30Z · by ops: Paid twice"
    assert made in state_of(page)


def test_the_end_of_a_turn_shows_the_state_of_the_replay_too(session: Any) -> None:
    session.open(f"#{session.id}-2?at=2-end")
    seen = session.page.locator(".state-here")
    assert "The replay ends this turn with another state" in seen.inner_text()
    assert seen.locator("tr", has_text="amount").last.locator("ins").inner_text() in ("40", "40.0")
    session.open(f"#{session.id}-3?at=3-end")
    assert "The replay ends this turn with the same state." in state_of(session.page)


@pytest.mark.parametrize(
    ("address", "step"),
    [
        ("?at=v2", 'Turn 2 · State v2: status: "open" → "refunded", refunds[0]: {id: "rf_88", amount: 42.5}'),
        ("-1", "Turn 1 · User: Where is my order 1047?"),
        ("-2-c2", "Turn 2 · call 2 of 2 · issue_refund: other arguments"),
        ("-4?at=4-end", "Turn 4 · Agent: You are welcome."),
    ],
)
def test_addresses_work_in_a_fresh_tab(session: Any, address: str, step: str) -> None:
    session.open(f"#{session.id}{address}")
    assert step_of(session.page).startswith(step)
    assert session.page.locator(".unknown").count() == 0


@pytest.mark.parametrize(
    ("address", "missing"),
    [
        ("?at=nothing", "step at this address"),
        ("-9", "turn 9"),
        ("-2-c7", "call 7 in turn 2"),
        ("-9-c1", "turn 9"),
        ("-2-d-000000000000", "such difference in turn 2"),
        ("-1-d-000000000000", "such difference in turn 1"),
        ("-2-r1", "request 1 in turn 2"),
        ("-1-r1", "request 1 in turn 1"),
    ],
)
def test_a_place_that_is_not_there_is_told(session: Any, address: str, missing: str) -> None:
    session.open(f"#{session.id}{address}")
    page = session.page
    assert page.locator(".unknown").inner_text() == f"In this report, the session has no {missing}."
    page.keyboard.press("ArrowRight")
    assert page.locator(".unknown").count() == 0, "what is looked at now is there"


def test_a_difference_has_an_address(session: Any) -> None:
    session.page.locator(".step", has_text="Please refund it").click()
    found = session.page.locator(".diff-list > li").first.get_attribute("id")
    session.open(f"#{found}")
    assert session.page.locator(".here").get_attribute("id") == found
    assert session.page.locator(".unknown").count() == 0


@pytest.mark.parametrize("keys", [(), ("versions",)])
def test_what_scrolls_below_the_timeline_is_covered(opened: Any, keys: tuple[str, ...]) -> None:
    rows = [{key: value for key, value in row(told()).items() if key not in keys}]
    made = opened(rows, viewport={"width": 390, "height": 844})
    made.open(f"#{anchors_of(rows)[0]}-2")
    page = made.page
    style = "getComputedStyle(document.querySelector('.rail'))"
    assert page.evaluate(f"[{style}.backgroundColor, {style}.borderTopWidth]") == ["rgb(255, 255, 255)", "1px"]
    rail, head = page.locator(".rail").bounding_box(), page.locator(".turn-here h2").bounding_box()
    assert rail["y"] + rail["height"] <= head["y"]


def test_a_chosen_step_stays_chosen_after_a_reload(session: Any) -> None:
    page = session.page
    track(page).focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.reload()
    track(page).wait_for()
    assert step_of(page).startswith("Turn 1 · State v1")


def test_the_history_tells_every_version(session: Any) -> None:
    rows = session.page.locator(".history tbody tr")
    cells = [rows.nth(at).locator("th, td").all_inner_texts()[:4] for at in range(rows.count())]
    assert cells == [
        ["Version 0", "at the start 2026-03-15T10:20:00Z", "", "the first state"],
        ["Version 1", "in turn 1", "The order is known", 'status: "new" → "open"\norder: null → "1047"'],
        [
            "Version 2",
            "in turn 2",
            "The customer wants the money back",
            'status: "open" → "refunded"\nrefunds[0]: {id: "rf_88", amount: 42.5}\n'
            'note: "The customer wants the money back"',
        ],
        [
            "Version 3 ↶ back to 1",
            "after turn 2 by ops 2026-03-15T10:22:30Z",
            "Paid twice",
            'status: "refunded" → "open"\nrefunds[0]: {id: "rf_88", amount: 42.5} → (gone)\n'
            'note: "The customer wants the money back" → (gone)',
        ],
    ]


TEST_AT_2 = """\
import pytest


@pytest.mark.statebase("fixtures/told.session.yaml", fork="version 2")
def test_told_from_version_2(statebase_replay):
    result = statebase_replay()
    assert result.passed, result.failure
"""


def fork_texts(page: Page) -> list[str]:
    return page.locator("dialog code").all_text_contents()


def test_a_version_is_forked_with_a_command_and_a_test(session: Any) -> None:
    page = session.page
    page.get_by_role("button", name="Fork here, at version 2").click()
    dialog = page.get_by_role("dialog", name="Fork at version 2")
    assert fork_texts(page) == ["pytest fixtures/told.session.yaml --statebase-fork='version 2'", TEST_AT_2]
    assert "replays turn 3." in dialog.inner_text()
    session.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dialog.get_by_role("button", name="Copy command").click()
    page.locator("dialog", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == fork_texts(page)[0]
    dialog.get_by_role("button", name="Copy test").click()
    until(page, "text => navigator.clipboard.readText().then(found => found === text)", arg=TEST_AT_2)
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert hash_of(page).startswith(f"#{session.id}"), "Escape closed the dialog, not the page"


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("?at=start", "'version 0'"),
        ("-2-c2", "'turn 2'"),
        ("-4", "'turn 4' --statebase-until=end"),
        ("?at=v3", "'version 3'"),
    ],
)
def test_the_step_that_is_looked_at_is_forked_by_a_key(session: Any, address: str, options: str) -> None:
    session.open(f"#{session.id}{address}")
    session.page.keyboard.press("f")
    assert fork_texts(session.page)[0] == f"pytest fixtures/told.session.yaml --statebase-fork={options}"


def test_a_fork_takes_the_mode_and_the_agent_of_the_run(opened: Any) -> None:
    rows = [row(told(mode="isolated")) | {"agent_given": True}]
    made = opened(rows)
    made.open(f"#{anchors_of(rows)[0]}?at=v1")
    made.page.keyboard.press("f")
    command, test = fork_texts(made.page)
    assert command.endswith("--statebase-mode=isolated --statebase-agent=sample.fixed:SupportAgent")
    assert 'statebase_replay(agent="sample.fixed:SupportAgent", mode="isolated")' in test


def test_a_fork_behind_a_failing_turn_says_that_it_cannot_pass(opened: Any) -> None:
    rows = [row(told(failing=frozenset({2})))]
    made = opened(rows)
    page = made.page
    made.open(f"#{anchors_of(rows)[0]}?at=v2")
    page.keyboard.press("f")
    dialog = page.get_by_role("dialog", name="Fork at version 2")
    assert "The plan has turn 2 in `failing`, and it is not replayed from here" in dialog.inner_text()
    judged = "    assert all(turn.group.passes or turn.beyond_until for turn in result.turns), result.failure\n"
    assert judged in fork_texts(page)[1]
    dialog.get_by_role("button", name="Fork at turn 2").click()
    assert page.get_by_role("dialog").count() == 1
    assert "failing" not in page.get_by_role("dialog", name="Fork at turn 2").inner_text()
    assert fork_texts(page)[0] == "pytest fixtures/told.session.yaml --statebase-fork='turn 2'"
    assert "    assert result.passed, result.failure\n" in fork_texts(page)[1]


def test_a_fork_goes_on_to_the_turn_that_must_be_replayed(opened: Any) -> None:
    rows = [row(told(failing=frozenset({4})))]
    made = opened(rows)
    made.open(f"#{anchors_of(rows)[0]}-2")
    made.page.keyboard.press("f")
    assert fork_texts(made.page)[0].endswith(" --statebase-fork='turn 2' --statebase-until=end")
    assert "replays turns 2 to 4." in made.page.get_by_role("dialog").inner_text()


@pytest.mark.parametrize("width", [1440, 390])
def test_what_is_to_be_copied_is_seen_whole(opened: Any, width: int) -> None:
    rows = [row(told(mode="isolated")) | {"agent_given": True, "agent": "a.module.of.some.depth:" + "Agent" * 20}]
    made = opened(rows, viewport={"width": width, "height": 900})
    made.open(f"#{anchors_of(rows)[0]}-2")
    made.page.keyboard.press("f")
    cut = "[...document.querySelectorAll('dialog pre')].map(one => one.scrollWidth - one.clientWidth)"
    assert made.page.evaluate(cut) == [0, 0]


def said_first() -> Row:
    """A session that begins with a greeting, forked at its start."""
    hello, ask, answer = ({"type": "text", "content": words} for words in ("How can I help?", "Where is it?", "There."))
    events = [SessionCreated("sess", state={"n": 0}), TurnStarted(1, None), TurnAdded(hello)]
    events += [TurnStarted(2, ask), TurnAdded(answer), TurnStarted(3, ask), TurnAdded(answer)]
    ledger = Ledger(events)
    return row(result("greeting", [unchanged(turn) for turn in ledger.turns[1:]], recording=ledger))


def test_a_greeting_stands_before_the_fork(opened: Any) -> None:
    rows = [said_first()]
    made = opened(rows)
    made.open(f"#{anchors_of(rows)[0]}")
    page = made.page
    assert step_of(page) == "Turn 2 · User: Where is it?"
    assert page.locator(".zone").all_inner_texts() == ["recorded", "replayed"]
    fork = page.locator(".track .fork").bounding_box()
    second = page.locator(".seg").nth(1).bounding_box()
    assert abs(fork["x"] - second["x"]) < 4


@pytest.mark.parametrize(("address", "point"), [("?at=start", "version 0"), ("-1", "turn 2"), ("-2", "turn 2")])
def test_a_greeting_is_not_counted_as_replayed(opened: Any, address: str, point: str) -> None:
    rows = [said_first()]
    made = opened(rows)
    made.open(f"#{anchors_of(rows)[0]}{address}")
    made.page.keyboard.press("f")
    assert "replays turns 2 to 3." in made.page.get_by_role("dialog", name=f"Fork at {point}").inner_text()
    assert fork_texts(made.page)[0] == f"pytest fixtures/greeting.session.yaml --statebase-fork='{point}'"


def test_nothing_is_forked_after_the_last_turn(opened: Any) -> None:
    events = [SessionCreated("sess", state={"n": 0}), TurnStarted(1, {"type": "text", "content": "hi"})]
    ledger = Ledger([*events, StateUpdated(1, {"n": 1}), TurnAdded({"type": "text", "content": "ho"})])
    rows = [row(result("one", [unchanged(ledger.turns[0])], recording=ledger))]
    made = opened(rows)
    made.open(f"#{anchors_of(rows)[0]}?at=v1")
    made.page.keyboard.press("f")
    assert "there is nothing to replay from here" in made.page.get_by_role("dialog").inner_text()
    made.page.get_by_role("button", name="Fork at turn 1").click()
    assert "before turn 1" in made.page.get_by_role("dialog", name="Fork at turn 1").inner_text()


@pytest.mark.parametrize(
    ("step", "title"), [("1-end", "Fork at turn 2"), ("3-end", "Fork at turn 4"), ("4-end", "Nothing follows")]
)
def test_the_end_of_a_turn_is_forked_at_the_next_one(session: Any, step: str, title: str) -> None:
    session.open(f"#{session.id}-{step[0]}?at={step}")
    session.page.keyboard.press("f")
    dialog = session.page.get_by_role("dialog", name=title)
    assert ("before turn" if title.startswith("Fork") else "nothing to replay") in dialog.inner_text()
    if title == "Nothing follows":
        dialog.get_by_role("button", name="Fork at turn 4").click()
        assert session.page.get_by_role("dialog", name="Fork at turn 4").is_visible()


LONG_NAME = "get_reservation_details_of_a_customer_who_has_many"


def many_alike(name: str) -> Row:
    """A session without state, of a turn with calls of one tool."""
    calls = [ToolCalled(name, {"reservation_id": f"R{at}"}, "ok") for at in range(4)]
    made = unchanged(turn_of(1, "Cancel all of them", "Done.", calls))
    made.aligned = [AlignedCall(at, at, name + (f"#{at + 1}" if at else "")) for at in range(4)]
    made = row(result("alike", [made]))
    for key in ("versions", "others"):
        made.pop(key, None)
    return made


@pytest.mark.parametrize("width", [390, 700, 1440])
def test_calls_of_one_tool_are_told_apart_in_the_list_of_steps(opened: Any, width: int) -> None:
    for name in ("get_details", LONG_NAME):
        rows = [many_alike(name)]
        made = opened(rows, viewport={"width": width, "height": 900})
        made.open(f"#{anchors_of(rows)[0]}")
        names = made.page.locator(".step.k-call b")
        assert names.nth(1).inner_text().replace("\n", "") == name + "#2"
        inside = "(b) => { const range = document.createRange(); range.selectNode(b.lastChild);"
        inside += " return range.getBoundingClientRect().right <= b.closest('.step').getBoundingClientRect().right; }"
        assert names.nth(1).evaluate(inside), "the number is seen"
        if name == "get_details":
            assert made.page.locator(".step.k-call .gist").all_inner_texts() == ["R0", "R1", "R2", "R3"]
            assert names.nth(1).evaluate("(b) => b.firstChild.scrollWidth <= b.firstChild.clientWidth"), (
                "no name is cut"
            )


@pytest.mark.parametrize("width", [390, 700])
def test_a_session_without_state_fits_a_narrow_window(opened: Any, width: int) -> None:
    rows = [many_alike("get_details")]
    made = opened(rows, viewport={"width": width, "height": 844})
    made.open(f"#{anchors_of(rows)[0]}")
    boxes = [made.page.locator(part).bounding_box() for part in (".rail", ".state-here", ".steps", ".turn-here")]
    for above, below in itertools.pairwise(boxes):
        assert above["height"] > 40
        assert above["y"] + above["height"] <= below["y"], "nothing overlaps"
    made.page.locator(".state-here").get_by_role("button", name="Fork here").click()
    assert made.page.get_by_role("dialog", name="Fork at turn 1").is_visible()


ODD_PATHS = [
    "fixtures/it's here/a b.session.yaml",
    'fixtures/$(touch x)`y`";&|*?.session.yaml',
    "fixtures/\x1b[31m\u202e\\'\n\r\t.session.yaml",
    "-fixtures/ü \U0001f9fe.session.yaml",
    "fixtures/\udcff\udc80.session.yaml",
]


@pytest.mark.parametrize("path", ODD_PATHS)
def test_what_is_pasted_is_quoted(opened: Any, path: str) -> None:
    rows = [row(told()) | {"cassette": path}]
    made = opened(rows)
    made.open(f"#{anchors_of(rows)[0]}?at=v1")
    made.page.keyboard.press("f")
    command, test = fork_texts(made.page)
    script = f"pytest() {{ printf '%s\\0' \"$@\"; }}; {command}"
    shown = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout.split(b"\0")
    assert shown == [os.fsencode(path.replace("-fix", "./-fix")), b"--statebase-fork=version 1", b""]
    namespace: dict[str, Any] = {}
    exec(test, namespace)
    (function,) = [value for name, value in namespace.items() if name.startswith("test_")]
    (mark,) = function.pytestmark
    assert (mark.args, mark.kwargs) == ((path,), {"fork": "version 1"})
    assert command.isprintable()


def test_the_next_failure_is_one_key_away(opened: Any) -> None:
    rows = [row(told()), row(clean()), row(still_failing()), broken_plan()]
    made = opened(rows)
    ids = anchors_of(rows)
    page = made.page
    made.open(f"#{ids[0]}")
    for key, address in [("j", f"#{ids[2]}-2"), ("j", f"#{ids[3]}"), ("j", f"#{ids[3]}"), ("k", f"#{ids[2]}-2")]:
        page.keyboard.press(key)
        until(page, "hash => location.hash === hash", arg=address)
        page.locator("h1", has_text=rows[ids.index(address[1:13])]["cassette"][9:12]).wait_for()
    assert step_of(page) == "Turn 2 · User: Please refund it."


@pytest.mark.parametrize(
    "fork", ["turn 9", "turn 1", "version 0", "version 4", "last-good", "last good", "my plan", ""]
)
def test_what_could_not_begin_says_why(opened: Any, fork: str) -> None:
    made = opened([broken_plan() | {"fork": fork}, row(told())])
    page = made.page
    made.open(f"#{anchors_of([broken_plan() | {'fork': fork}])[0]}")
    assert "unknown key `expcet`" in page.locator(".why-box").inner_text()
    assert page.locator(".rail").count() == 0
    made.open("#traces")
    page.locator(".trace-count", has_text=re.compile(r"traces?$")).wait_for()
    assert page.locator(".trace").count() > 0


def test_a_coding_agent_gets_the_brief_of_a_session_in_which_no_turn_is_to_blame(opened: Any) -> None:
    warned = row(clean()) | {"outcome": "failed", "failure": "pytest: a warning is an error"}
    made = opened([broken_plan(), warned, row(still_failing())])
    page = made.page
    for at, (begin, why) in enumerate(
        [("# The replay is `error`", "expcet"), ("# The replay is `failed`", "a warning")]
    ):
        made.open(f"#{anchors_of([broken_plan(), warned])[at]}")
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        page.get_by_role("button", name="Copy for a coding agent").click()
        until(page, "begin => window.copied.startsWith(begin)", arg=begin)
        assert why in page.evaluate("copied")
    made.open(f"#{anchors_of([row(still_failing())])[0]}-1")
    assert page.get_by_role("button", name="Copy for a coding agent").count() == 0, "its turn 2 has one"


def test_keys_of_a_session_that_was_left_do_nothing(opened: Any) -> None:
    rows = [row(told()), broken_plan()]
    made = opened(rows)
    first, second = anchors_of(rows)
    made.open(f"#{first}")
    made.page.keyboard.press("j")
    made.page.locator("h1", has_text="typo").wait_for()
    for key in ("ArrowRight", "f"):
        made.page.keyboard.press(key)
    assert hash_of(made.page) == f"#{second}"
    assert made.page.get_by_role("dialog").count() == 0


def test_it_prints_without_what_only_scrolls(session: Any) -> None:
    session.page.emulate_media(media="print")
    assert not session.page.locator(".steps").is_visible()
    assert session.page.locator(".history").is_visible()
    height = "(one => one.scrollHeight - one.clientHeight)(document.querySelector('.state-here'))"
    assert session.page.evaluate(height) <= 0


def test_results_without_a_timeline_still_read(opened: Any) -> None:
    rows = [{key: value for key, value in row(told()).items() if key not in ("versions", "others", "traces")}]
    made = opened(rows)
    made.open(f"#{anchors_of(rows)[0]}")
    assert step_of(made.page) == "Turn 2 · User: Please refund it."
    assert "These results do not tell the states of the session." in state_of(made.page)
    assert made.page.locator(".history").count() == 0


@pytest.mark.parametrize("numbers", [(2, 2, 2), (-1, -7, 2), (0, 1, 2), (2**53 + 1, 10**30, 10**400), (3, 2, 1)])
@pytest.mark.parametrize("version", [2, -1, 10**30])
def test_odd_numbers_of_turns_and_versions_are_walked(opened: Any, numbers: tuple[int, ...], version: int) -> None:
    """Results of strangers number turns as they like, and place versions in turns that are not there."""
    made = row(told()) | {"fork": f"turn {numbers[0]}"}
    for turn, number in zip(made["turns"], numbers, strict=True):
        turn["turn"] = number
    made["versions"][1] |= {"turn": version, "calls": 10**30}
    made["traces"] = [{"action": "session.created", "turn": None}, {"action": "odd", "turn": None, "calls": 0}]
    there = opened([made])
    page = there.page
    there.open(f"#{anchors_of([made])[0]}")
    steps = int(str(track(page).get_attribute("aria-valuemax")))
    assert page.locator(".history tbody tr").count() == len(made["versions"])
    for address in page.locator(".history th a").evaluate_all("links => links.map(link => link.hash)"):
        there.open(address)
        assert track(page).get_attribute("aria-valuetext")
    track(page).focus()
    page.keyboard.press("Home")
    for _ in range(steps):
        page.keyboard.press("ArrowRight")
    assert track(page).get_attribute("aria-valuenow") == str(steps)


def test_a_turn_with_a_number_below_none_has_its_link(opened: Any) -> None:
    made = row(told())
    made["turns"][0]["turn"] = -1
    there = opened([made])
    there.open(f"#{anchors_of([made])[0]}--1-c2")
    assert step_of(there.page).startswith("Turn -1 · call 2 of 2 · issue_refund")
    assert there.page.locator(".unknown").count() == 0


EVIL = MARKUP + UNSEEN
ODD_KEY = recording(EVIL, "__proto__")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("made", [row(told(recording(EVIL, EVIL))), hostile(), row(told(recording("w" * 200_000)))])
def test_hostile_recordings_are_text(opened: Any, made: Row, width: int) -> None:
    page = opened([made], viewport={"width": width, "height": 800}).page
    page.goto(page.url + f"#{anchors_of([made])[0]}")
    track(page).focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.querySelectorAll('#page :is(img, script, iframe, form, base)').length") == 0
    names = page.evaluate(ALL_ATTRIBUTES)
    assert not [name for name in names if name.startswith("on") or name in ("src", "srcdoc")]
    page.keyboard.press("f")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_was_said_is_shown_as_it_is(opened: Any) -> None:
    made = row(told(recording(EVIL, EVIL)))
    opened_page = opened([made])
    opened_page.open(f"#{anchors_of([made])[0]}?at=v2")
    assert visible(EVIL) in opened_page.page.locator(".state-here q").text_content()


def test_states_that_are_too_long_do_not_hide_the_others(opened: Any) -> None:
    made = row(told(recording("w" * 200_000)))
    opened_page = opened([made])
    address = f"#{anchors_of([made])[0]}"
    opened_page.open(f"{address}?at=v2")
    assert "200,097 characters in all" in state_of(opened_page.page)
    opened_page.open(f"{address}?at=v3")
    assert opened_page.page.locator(".state-here tr", has_text="status").inner_text().endswith('"open"')


def test_a_state_of_which_the_page_holds_a_part_is_not_guessed(opened: Any) -> None:
    made = row(told())
    made["versions"][0]["state"] = {"!cut": {"head": '{status: "ne', "size": 90_000}}
    opened_page = opened([made])
    opened_page.open(f"#{anchors_of([made])[0]}?at=v1")
    assert "too long for the report; the cassette has it in full" in state_of(opened_page.page)
    cells = opened_page.page.locator(".history tbody tr").nth(1).locator("td").all_inner_texts()
    assert "too long for the report" in cells


def test_a_key_that_means_something_to_a_script_is_a_key(opened: Any) -> None:
    made = row(told(ODD_KEY))
    opened_page = opened([made])
    opened_page.open(f"#{anchors_of([made])[0]}?at=v2")
    shown = opened_page.page.locator(".state-here tr", has_text="__proto__")
    assert visible(EVIL)[:20] in shown.inner_text()
    assert opened_page.page.evaluate("Object.keys(Object.prototype)") == []


@pytest.mark.parametrize("count", [60, 600])
def test_long_sessions_scroll_in_their_own_box(opened: Any, count: int) -> None:
    said = {"type": "text", "content": "on and on"}
    events: list[Any] = [SessionCreated("sess", state={"n": 0})]
    for number in range(1, count + 1):
        events += [TurnStarted(number, said), StateUpdated(number, {"n": number}), TurnAdded(said)]
    ledger = Ledger(events)
    rows = [row(result("long", [unchanged(turn) for turn in ledger.turns], recording=ledger))]
    made = opened(rows, viewport={"width": 800, "height": 800})
    made.open(f"#{anchors_of(rows)[0]}-{count}?at=v{count}")
    page = made.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    seen = page.locator(".state-here tr")
    assert [seen.locator(tag).inner_text() for tag in ("del", "ins")] == [str(count - 1), str(count)]
    head, box = page.locator(".playhead").bounding_box(), page.locator(".rail-box").bounding_box()
    assert box["x"] <= head["x"] <= box["x"] + box["width"]
    assert page.locator(".step").count() < 60
    page.mouse.click(head["x"] + head["width"] * 1.5, head["y"] + 5)
    assert step_of(page).startswith(f"Turn {count} · Agent"), "the step that was pointed at"


def test_the_command_and_the_test_really_run(browser: Any, pytester: pytest.Pytester) -> None:
    project = Project(pytester)
    project.cassette()
    made = project.run("--statebase-report=report.html")
    made.assert_outcomes(passed=1)
    opened_page = Opened(browser, project.path / "report.html")
    try:
        page = opened_page.page
        page.locator("a[href^='#s-']").first.click()
        page.get_by_role("button", name="Fork here, at version 1").click()
        command, test = fork_texts(page)
    finally:
        opened_page.context.close()
    assert shlex.split(command) == [
        "pytest",
        "fixtures/toy.session.yaml",
        "--statebase-fork=version 1",
        "--statebase-agent=toy:Toy",
    ]
    outcome = pasted(command, project.path)
    assert "1 passed" in outcome, outcome
    assert "fixtures/toy.session.yaml::version-1 PASSED" in outcome, outcome
    (project.path / "test_pasted.py").write_text(test, encoding="utf-8")
    outcome = pasted("pytest test_pasted.py", project.path)
    assert "test_toy_from_version_1 PASSED" in outcome, outcome


def pasted(command: str, directory: Path) -> str:
    """What a shell says where that is pasted."""
    script = f'pytest() {{ "$PYTHON" -m pytest -v -p no:cacheprovider "$@"; }}; {command}'
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": path}
    return subprocess.run(["bash", "-c", script], cwd=directory, env=environment, capture_output=True, text=True).stdout
