"""What a change did, beside the results of its base branch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report_data import RUN, broken_plan, changed, clean, hostile, raised, row, still_failing, unrecorded

from pytest_statebase.errors import FileError
from pytest_statebase.report.against import Against, against_lines, compared_with
from pytest_statebase.report.results import write_results
from pytest_statebase.report.terminal import plain, summary_lines, told_failures


def named(found: dict[str, Any], name: str) -> dict[str, Any]:
    """The row as if it were that item's."""
    path = f"fixtures/{name}.session.yaml"
    return {**found, "cassette": path, "nodeid": f"{path}::version-0"}


GOOD, BAD = row(clean()), row(changed())


def against(tmp_path: Path, base: list[Any], rows: list[Any], **options: Any) -> Against:
    write_results(tmp_path / "base.jsonl", base, RUN)
    return compared_with(tmp_path / "base.jsonl", rows, **options)


def names(rows: Any) -> list[str]:
    return [found["cassette"].removeprefix("fixtures/").removesuffix(".session.yaml") for found in rows]


def example(tmp_path: Path) -> Against:
    base = [named(GOOD, "a"), named(GOOD, "b"), named(BAD, "c"), named(BAD, "d"), named(GOOD, "gone")]
    rows = [named(BAD, "new-bad"), named(BAD, "b"), named(GOOD, "a"), named(GOOD, "c"), named(BAD, "d")]
    return against(tmp_path, base, [*rows, named(GOOD, "new")])


def test_each_replay_is_in_one_list(tmp_path: Path) -> None:
    found = example(tmp_path)
    assert names(found.newly_failing) == ["b"]
    assert names(found.newly_passing) == ["c"]
    assert names(found.still_failing) == ["d"]
    assert names(found.new) == ["new-bad", "new"]
    assert names(found.removed) == ["gone"]
    assert names(found.failing) == ["b", "new-bad"]
    assert found.unknown == []


def test_nothing_counts_as_removed_where_sessions_were_chosen(tmp_path: Path) -> None:
    assert against(tmp_path, [named(GOOD, "a"), named(GOOD, "b")], [named(GOOD, "a")], whole=False).removed == []


def test_an_item_is_the_same_with_another_agent_end_and_mode(tmp_path: Path) -> None:
    now = {**named(BAD, "a"), "agent": "moved.elsewhere:Agent", "until": 7, "mode": "isolated"}
    found = against(tmp_path, [named(GOOD, "a")], [now])
    assert names(found.newly_failing) == ["a"]
    assert not found.new
    assert not found.removed


def test_of_two_agents_each_is_compared_with_itself(tmp_path: Path) -> None:
    one, two = {**named(GOOD, "a"), "agent": "a:A"}, {**named(BAD, "a"), "agent": "b:B"}
    found = against(tmp_path, [one, two], [two, one])
    assert (names(found.still_failing), found.newly_failing, found.newly_passing) == (["a"], [], [])


def test_several_replays_of_one_test_are_compared_in_order(tmp_path: Path) -> None:
    base = [named(GOOD, "a"), named(BAD, "a")]
    found = against(tmp_path, base, [named(GOOD, "a"), named(GOOD, "a")])
    assert (len(found.newly_passing), found.newly_failing, found.new) == (1, [], [])


def unfinished(name: str, **facts: Any) -> dict[str, Any]:
    return {**named(broken_plan(), name), "unfinished": True, **facts}


LOST = unfinished("a")


@pytest.mark.parametrize(
    ("base", "now", "lists", "blocks"),
    [
        (GOOD, LOST, "unknown lost", True),
        (GOOD, {**LOST, "gate": "warn"}, "unknown lost", False),
        (BAD, LOST, "unknown", False),
        (LOST, LOST, "unknown", False),
        (LOST, GOOD, "unknown", False),
        (LOST, BAD, "unknown untold", True),
        (LOST, {**BAD, "gate": "warn"}, "unknown untold", False),
        (None, LOST, "new", True),
        (None, {**LOST, "gate": "warn"}, "new", False),
    ],
)
def test_what_did_not_finish_blocks_unless_it_is_known_not_to_have_passed(
    tmp_path: Path, base: Any, now: Any, lists: str, blocks: bool
) -> None:
    """Not to finish is not to pass: a crash of everything is no harmless change."""
    found = against(tmp_path, [named(base, "a")] if base else [], [named(now, "a")])
    every = ("newly_failing", "newly_passing", "still_failing", "new", "removed", "unknown", "lost", "untold")
    assert [name for name in every if getattr(found, name)] == lists.split()
    assert names(found.blocking) == (["a"] if blocks else [])
    assert found.of_rows(lambda row: row) == found


def test_a_run_that_stopped_at_an_old_failure_proves_nothing_of_the_others(tmp_path: Path) -> None:
    base = [named(BAD, "a"), named(GOOD, "b"), named(BAD, "c")]
    found = against(tmp_path, base, [named(BAD, "a"), unfinished("b"), unfinished("c")])
    assert names(found.still_failing) == ["a"]
    assert names(found.unknown) == ["b", "c"]
    assert names(found.blocking) == ["b"]
    (head, line) = plain(against_lines(found)).splitlines()
    assert "0 newly failing, 1 still failing, 2 not finished" in head
    assert line.startswith("not finished   fixtures/b.session.yaml::version-0  ")


def test_a_replay_that_cannot_begin_or_is_unrecorded_fails(tmp_path: Path) -> None:
    base = [named(GOOD, name) for name in "abc"]
    found = against(
        tmp_path, base, [named(broken_plan(), "a"), named(row(unrecorded()), "b"), named(row(raised()), "c")]
    )
    assert names(found.newly_failing) == ["a", "b", "c"]


def test_a_base_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.jsonl"):
        compared_with(tmp_path / "none.jsonl", [])


def test_the_terminal_names_what_fails_now(tmp_path: Path) -> None:
    lines = plain(against_lines(example(tmp_path))).replace(str(tmp_path), "DIR").splitlines()
    why = "turn 2 changed: tools.search_policy, another tool in its place"
    assert lines[0] == (
        "against base   1 newly failing, 1 newly passing, 1 still failing, 2 new, 1 removed  DIR/base.jsonl"
    )
    assert [line.partition(": recorded")[0] for line in lines[1:]] == [
        f"newly failing  fixtures/b.session.yaml::version-0  {why}",
        f"new            fixtures/new-bad.session.yaml::version-0  {why}",
    ]
    assert plain(against_lines(example(tmp_path), verbosity=-1)).count("\n") == 0
    verbose = plain(against_lines(example(tmp_path), verbosity=1)).splitlines()
    assert [line[:15].strip() for line in verbose[1:]] == [
        "newly failing",
        "newly passing",
        "still failing",
        "new",
        "new",
        "removed",
    ]


def test_why_something_fails_is_told_once(tmp_path: Path) -> None:
    """The list of what fails has the reasons of the first; of the others, and where there is no such list, this one."""
    for number in (1, 10, 100):
        base = [named(GOOD, str(one)) for one in range(number)]
        rows = [named(BAD, str(one)) for one in range(number)]
        found = against(tmp_path, base, rows)
        text = plain([*summary_lines(rows), *against_lines(found, told=told_failures(rows))])
        listed = [line for line in text.splitlines() if line.startswith("newly failing")]
        assert listed == [f"newly failing  fixtures/{one}.session.yaml::version-0" for one in range(min(number, 10))]
        assert text.count("turn 2 changed: ") == min(number, 20)
    last = against(tmp_path, base[:95], rows[95:])
    assert plain(against_lines(last, told=told_failures(rows))).count("turn 2 changed: ") == 5
    again = {**rows[0], "agent": "another:One"}
    assert "turn 2 changed: " in plain(against_lines(against(tmp_path, base[1:], [again]), told=rows))


def test_what_blocks_nothing_is_said_to(tmp_path: Path) -> None:
    warn = [{**named(one, name), "gate": "warn"} for name, one in (("a", BAD), ("b", BAD), ("c", GOOD))]
    found = against(tmp_path, [named(GOOD, "a"), named(BAD, "c")], warn)
    lines = plain(against_lines(found, verbosity=1)).splitlines()[1:]
    assert [line.partition(": tools")[0] for line in lines] == [
        "newly failing  fixtures/a.session.yaml::version-0 (gate: warn)  turn 2 changed",
        "newly passing  fixtures/c.session.yaml::version-0",
        "new            fixtures/b.session.yaml::version-0 (gate: warn)  turn 2 changed",
    ]


def test_many_are_counted_and_hostile_names_move_nothing(tmp_path: Path) -> None:
    base = [named(GOOD, str(number)) for number in range(14)]
    rows = [named(row(still_failing()), str(number)) for number in range(14)]
    lines = plain(against_lines(against(tmp_path, base, [*rows, hostile()]))).splitlines()
    assert lines[11] == "               and 4 more (-v names them all)"
    assert len(lines) == 13
    assert all(line.isprintable() for line in lines)
