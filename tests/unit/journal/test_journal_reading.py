"""Journals as sessions: turns of many processes, torn and damaged files, gaps, numbers."""

from __future__ import annotations

import os
import shutil
import threading
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from journal_frames import at, state, turn

from pytest_statebase import Cassette, Verdict, replay
from pytest_statebase.cassette import record_bytes
from pytest_statebase.cassette.record import ledger_from
from pytest_statebase.errors import FileError
from pytest_statebase.events import (
    MemoryAdded,
    MemoryDeleted,
    MemoryUpdated,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.frames import Between, Frame, SessionClosed, SessionCut, SessionOpened, TurnClosed, TurnOpened
from pytest_statebase.journal import CapturedSession, Damage, Limits, Writer, read_sessions
from pytest_statebase.testing import Reenact
from pytest_statebase.values import ABSENT, Uncopied
from pytest_statebase.wire.exchange import Exchange, Failure, Request


def write(directory: Path, frames: Sequence[Frame], **limits: Any) -> Path:
    """The journal of a process that puts these frames; its first file."""
    before = set(directory.glob("*.journal")) if directory.exists() else set()
    writer = Writer(directory, limits=Limits(**limits))
    for frame in frames:
        assert writer.put(frame)
    assert writer.stop(20)
    return min(set(directory.glob("*.journal")) - before)


def opened(session: str, value: Any = ABSENT, *, second: int = 0, **more: Any) -> SessionOpened:
    return SessionOpened(SessionCreated(session, at=at(second), state=value, **more))


def said(session: str, number: int, second: int = -1) -> TurnOpened:
    return TurnOpened(session, {"type": "text", "content": f"{session} {number}"}, at(number if second < 0 else second))


def read(*paths: Path, replays: bool = True) -> list[CapturedSession]:
    """The sessions of undamaged journals; each must be one that can be written, read and replayed."""
    damaged: list[Damage] = []
    sessions = list(read_sessions(paths, damaged=damaged))
    assert damaged == []
    for session in sessions:
        assert ledger_from(record_bytes(session.ledger), where="x").events == session.ledger.events
        if not replays:
            continue
        result = replay(Cassette.from_ledger(session.ledger), Reenact(session.ledger))
        assert {one.verdict for one in result.turns} == {Verdict.UNCHANGED}
    return sessions


def only(*paths: Path, replays: bool = True) -> CapturedSession:
    (session,) = read(*paths, replays=replays)
    return session


def inputs(session: CapturedSession) -> list[tuple[int, str]]:
    return [(one.number, one.text) for one in session.ledger.turns]


def states(session: CapturedSession) -> list[tuple[int, Any]]:
    return [(one.version, one.state) for one in session.ledger.versions]


# --- One process


def test_a_session_is_put_together(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [
            opened("s", {"n": 0}, agent_id="support"),
            said("s", 1),
            turn("s", 1, before={"n": 0}, more=(state(1, {"n": 1}),)),
            said("s", 2),
            turn("s", 2, before={"n": 1}),
            SessionClosed("s", "completed", ("errors",), at(9)),
        ],
    )
    session = only(path)
    assert (session.id, session.keep, session.cut, session.notes) == ("s", ("errors",), None, ())
    assert session.ledger.created.agent_id == "support"
    assert inputs(session) == [(1, "s 1"), (2, "s 2")]
    assert states(session) == [(0, {"n": 0}), (1, {"n": 1})]
    ended = session.ledger.ended
    assert ended is not None
    assert (ended.reason, ended.at, ended.input) == ("completed", at(9), None)
    assert session.sources[0] == f"{path}:2"


def test_the_input_that_nobody_answered_is_in_the_end(tmp_path: Path) -> None:
    session = only(write(tmp_path, [opened("s"), said("s", 1), turn("s", 1), said("s", 2)]))
    assert session.ledger.ended is not None
    assert session.ledger.ended.input == {"type": "text", "content": "s 2"}
    assert session.ledger.ended.reason is None


def test_an_input_that_nobody_answered_before_others_were_is_told(tmp_path: Path) -> None:
    session = only(
        write(tmp_path, [said("s", 1), turn("s", 1), said("s", 2, 20), said("s", 2, 30), turn("s", 2, second=30)])
    )
    assert inputs(session) == [(1, "s 1"), (2, "s 2")]
    assert session.ledger.ended is not None
    assert session.ledger.ended.input is None
    assert [at(20) in note for note in session.notes] == [True]


def test_sessions_come_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    for second in (30, 10, 20):
        write(tmp_path, [turn(f"s{second}", 1, second=second)])
    assert [one.id for one in read(tmp_path)] == ["s10", "s20", "s30"]


def test_what_happened_between_turns_stands_there(tmp_path: Path) -> None:
    back = StateRolledBack(2, 0, {"n": 0}, "wrong", "operator", at(2))
    frames = [
        opened("s", {"n": 0}),
        turn("s", 1, more=(state(1, {"n": 1}),)),
        Between("s", (back,), (Exchange(Request("GET", "http://x"), Failure("closed")),)),
        turn("s", 2, before={"n": 0}, second=3),
    ]
    session = only(write(tmp_path, frames))
    assert states(session) == [(0, {"n": 0}), (1, {"n": 1}), (2, {"n": 0})]
    assert session.ledger.versions[2].turn is None
    assert session.exchanges[0].turn == 1
    assert session.ledger.created.http


def test_exchanges_have_the_numbers_of_their_turns(tmp_path: Path) -> None:
    exchange = Exchange(Request("GET", "http://x"), Failure("closed"), 1, 0)
    one = turn("s", 1, second=1)
    two = turn("s", 1, second=2)
    write(tmp_path, [TurnClosed("s", one.events, (exchange,))])
    write(tmp_path, [TurnClosed("s", two.events, (exchange, exchange))])
    session = only(tmp_path)
    assert [(one.turn, one.during) for one in session.exchanges] == [(1, 0), (2, 0), (2, 0)]


def test_how_calls_stand_to_each_other_is_kept(tmp_path: Path) -> None:
    calls = (
        ToolCalled("a", {}, 1, step=1),
        ToolCalled("b", {}, 2, step=1, after=[0]),
        ToolCalled("c", {}, 3, step=1, during=1),
    )
    path = write(
        tmp_path, [TurnClosed("s", (TurnStarted(1, None, at(1)), *calls, TurnAdded({"type": "text", "content": "x"})))]
    )
    assert only(path).ledger.turns[0].calls == list(calls)


# --- Several processes


def test_turns_of_processes_come_in_the_order_of_time(tmp_path: Path) -> None:
    write(tmp_path, [opened("s", {"n": 0}), turn("s", 1, second=10), turn("s", 2, second=30)])
    write(tmp_path, [opened("s", {"n": 0}), turn("s", 1, second=20), turn("s", 2, second=40)])
    session = only(tmp_path)
    assert inputs(session) == [(1, "s 1"), (2, "s 1"), (3, "s 2"), (4, "s 2")]
    assert [one.started.at for one in session.ledger.turns] == [at(10), at(20), at(30), at(40)]
    assert session.cut is None


def test_versions_are_numbered_through_and_a_state_from_outside_is_one(tmp_path: Path) -> None:
    write(
        tmp_path, [opened("s", {"n": 0}), turn("s", 1, before={"n": 0}, more=(state(1, {"n": 1}), state(2, {"n": 2})))]
    )
    write(
        tmp_path,
        [
            opened("s", {"n": 5}, second=20),
            turn("s", 1, second=20, before={"n": 5}, more=(state(1, {"n": 6}),)),
            turn("s", 2, second=30, before={"n": 6}, more=(StateRolledBack(2, 0, {"n": 5}, "wrong"),)),
        ],
    )
    session = only(tmp_path)
    assert states(session) == [(0, {"n": 0}), (1, {"n": 1}), (2, {"n": 2}), (3, {"n": 5}), (4, {"n": 6}), (5, {"n": 5})]
    outside = session.ledger.versions[3]
    assert outside.turn is None
    assert isinstance(outside.event, StateUpdated)
    assert outside.event.at == at(20)
    back = session.ledger.versions[5].event
    assert isinstance(back, StateRolledBack)
    assert back.to_version == 3


def test_a_state_that_is_equal_makes_no_version(tmp_path: Path) -> None:
    write(tmp_path, [opened("s", {"n": (1,)}), turn("s", 1, before={"n": (1,)})])
    assert states(only(tmp_path)) == [(0, {"n": (1,)})]


def test_a_state_that_differs_by_type_alone_makes_one(tmp_path: Path) -> None:
    write(tmp_path, [opened("s", {"n": 1}), turn("s", 1, before={"n": True})])
    assert len(states(only(tmp_path))) == 2


def test_the_first_state_that_is_known_is_version_0(tmp_path: Path) -> None:
    write(tmp_path, [opened("s"), turn("s", 1, before={"n": 3})])
    assert states(only(tmp_path)) == [(0, {"n": 3})]


def test_a_rollback_to_what_nobody_has_is_a_new_state(tmp_path: Path) -> None:
    write(tmp_path, [opened("s", {"n": 0}), turn("s", 1, more=(StateRolledBack(7, 3, {"n": 9}, "wrong", "op"),))])
    event = only(tmp_path).ledger.versions[1].event
    assert event == StateUpdated(1, {"n": 9}, "wrong", "op")


def test_memories_have_the_numbers_of_the_session(tmp_path: Path) -> None:
    write(tmp_path, [turn("s", 1, more=(MemoryAdded("a"), MemoryAdded("b")))])
    second = (
        MemoryAdded("c"),
        MemoryUpdated(1, "c", "C"),
        MemoryDeleted(1, "b"),  # of the process before
        MemoryUpdated(4, "gone", "back"),  # of a time from which nothing is left
    )
    write(tmp_path, [turn("s", 1, more=second, second=20)])
    events = [one for one in only(tmp_path, replays=False).ledger.events if "Memory" in type(one).__name__]
    assert [(type(one).__name__, getattr(one, "number", None)) for one in events] == [
        ("MemoryAdded", None), ("MemoryAdded", None), ("MemoryAdded", None), ("MemoryUpdated", 3), ("MemoryDeleted", 2),
        ("MemoryAdded", None), ("MemoryUpdated", 4),
    ]  # fmt: skip


def test_what_a_later_process_knows_of_the_session_is_added(tmp_path: Path) -> None:
    write(tmp_path, [opened("s", agent_id="support"), turn("s", 1)])
    write(tmp_path, [opened("s", second=20, agent_id="other", user_id="u"), turn("s", 1, second=20)])
    created = only(tmp_path).ledger.created
    assert (created.agent_id, created.user_id, created.at) == ("support", "u", at(0))


def test_feedback_and_other_metadata_add_up(tmp_path: Path) -> None:
    write(tmp_path, [opened("s", metadata={"app": "shop", "feedback": [{"value": "up"}]}), turn("s", 1)])
    write(tmp_path, [opened("s", second=20, metadata={"feedback": [{"value": "down"}], "app": "x", "more": 1})])
    write(tmp_path, [opened("s", second=30)])
    metadata = only(tmp_path).ledger.created.metadata
    assert metadata == {"app": "shop", "feedback": [{"value": "up"}, {"value": "down"}], "more": 1}


def test_the_rules_of_all_processes_count(tmp_path: Path) -> None:
    write(tmp_path, [turn("s", 1), SessionClosed("s", None, ("slow",), at(2)), SessionClosed("s", None, (), at(3))])
    write(tmp_path, [turn("s", 1, second=20), SessionClosed("s", None, ("errors", "slow"), at(21))])
    write(tmp_path, [turn("t", 1), SessionClosed("t", None, (), at(2))])
    write(tmp_path, [turn("u", 1)])
    assert {one.id: one.keep for one in read(tmp_path)} == {"s": ("slow", "errors"), "t": (), "u": None}


def test_a_process_that_was_never_asked_does_not_speak_against_a_session(tmp_path: Path) -> None:
    write(tmp_path, [turn("killed", 1), turn("told", 1), SessionClosed("told", None, (), at(2)), opened("told")])
    write(tmp_path, [turn("killed", 1, second=20), SessionClosed("killed", None, (), at(21))])
    write(tmp_path, [turn("again", 1), SessionClosed("again", None, (), at(2)), turn("again", 2, second=20)])
    assert {one.id: one.keep for one in read(tmp_path)} == {"killed": None, "told": None, "again": None}


# --- Gaps


def test_a_cut_session_ends_before_the_gap(tmp_path: Path) -> None:
    write(
        tmp_path,
        [opened("s", {"n": 0}), said("s", 1), turn("s", 1), said("s", 2), SessionCut("s", "queue full", at(2))],
    )
    write(
        tmp_path,
        [opened("s", {"n": 7}, second=20), turn("s", 1, second=20, before={"n": 7}), SessionClosed("s", "done")],
    )
    first, second = read(tmp_path)
    assert (first.id, first.cut, inputs(first)) == ("s", "queue full", [(1, "s 1")])
    assert first.ledger.ended is not None
    assert (first.ledger.ended.reason, first.ledger.ended.input) == ("cut", None)
    assert (second.id, inputs(second), states(second)) == ("s-after-gap-1", [(1, "s 1")], [(0, {"n": 7})])
    assert second.cut == "its first turns are not in the journals"
    assert second.ledger.id == "s"
    assert second.ledger.ended is not None
    assert second.ledger.ended.reason == "done"


def test_a_turn_that_is_missing_is_a_gap(tmp_path: Path) -> None:
    path = write(tmp_path, [turn("s", number) for number in range(1, 6)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    assert [(one.id, len(one.ledger.turns)) for one in read(path)] == [("s", 2), ("s-after-gap-1", 2)]


def test_a_turn_that_never_ended_is_no_gap(tmp_path: Path) -> None:
    frames = [
        said("s", 1),
        turn("s", 1),
        said("s", 2),
        said("s", 3),
        said("s", 4),
        turn("s", 4),
        said("s", 5),
        turn("s", 5),
    ]
    session = only(write(tmp_path, frames))
    assert (session.cut, inputs(session)) == (None, [(1, "s 1"), (2, "s 4"), (3, "s 5")])
    assert [at(2) in note or at(3) in note for note in session.notes] == [True, True]


def test_the_first_turn_that_never_ended_is_no_gap_either(tmp_path: Path) -> None:
    session = only(write(tmp_path, [said("s", 1), said("s", 2), turn("s", 2)]))
    assert (session.cut, inputs(session)) == (None, [(1, "s 2")])


def test_a_turn_whose_line_is_damaged_is_a_gap(tmp_path: Path) -> None:
    path = write(tmp_path, [said("s", 1), turn("s", 1), said("s", 2), turn("s", 2), said("s", 3), turn("s", 3)])
    path.write_bytes(path.read_bytes().replace(b'{"number":2}', b'{"number":9}'))
    assert [(one.id, len(one.ledger.turns)) for one in read_sessions([path])] == [("s", 1), ("s-after-gap-1", 1)]


def test_a_session_whose_beginning_was_removed_says_so(tmp_path: Path) -> None:
    session = only(write(tmp_path, [turn("s", 5, before={"n": 4}), turn("s", 6)]))
    assert session.cut == "its first turns are not in the journals"
    assert inputs(session) == [(1, "s 5"), (2, "s 6")]
    assert states(session) == [(0, {"n": 4})]


def test_a_session_without_a_turn_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, [opened("s"), said("s", 1), opened("t"), turn("t", 1)])
    assert [one.id for one in read(tmp_path)] == ["t"]


# --- What could not be stored


def test_what_could_not_be_stored_is_told_and_the_rest_can_be_replayed(tmp_path: Path) -> None:
    lock = threading.Lock()
    events = (
        TurnStarted(1, {"type": "text", "content": "hi"}, at(1)),
        ToolCalled("query", {"connection": lock, "id": 1}, {"rows": [lock]}),
        ToolCalled("query", {"id": 2}, error={"type": "m:E", "message": "no", "args": Uncopied(ValueError)}),
        StateUpdated(1, {"lock": [lock], "n": (1,)}),
        TurnAdded({"type": "text", "content": "done"}, metadata={"handle": lock}),
    )
    session = only(write(tmp_path, [TurnClosed("s", events, state_before={"lock": lock})]), replays=False)
    first, second = session.ledger.turns[0].calls
    assert first.arguments == {"connection": "<not copied: _thread:lock>", "id": 1}
    assert first.result is ABSENT
    assert second.error == {"type": "m:E", "message": "no"}
    assert states(session) == [
        (0, {"lock": "<not copied: _thread:lock>"}),
        (1, {"lock": ["<not copied: _thread:lock>"], "n": (1,)}),
    ]
    assert [(one.tool, one.field, one.keys) for one in session.unstored] == [
        (None, "state", ("lock",)),
        ("query", "arguments", ("connection",)),
        ("query", "result", ("rows",)),
        ("query", "error", ("args",)),
        (None, "value", ("lock",)),
        (None, "metadata", ("handle",)),
    ]


# --- Files


def test_a_last_line_that_was_never_finished_is_told_apart(tmp_path: Path) -> None:
    path = write(tmp_path, [turn("s", 1), turn("s", 2)])
    whole = path.read_bytes()
    second = whole.rstrip(b"\n").rindex(b"\n") + 1
    for cut in range(second + 1, len(whole), 7):
        path.write_bytes(whole[:cut])
        damaged: list[Damage] = []
        assert [inputs(one) for one in read_sessions([path], damaged=damaged)] == [[(1, "s 1")]]
        assert [(one.is_torn, one.where) for one in damaged] == [(True, f"{path}:3")]


def test_a_damaged_line_is_told_and_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, [turn("s", 1), turn("t", 1), turn("t", 2)])
    data = bytearray(path.read_bytes())
    data[data.index(b'"t 1"') + 1] ^= 1
    path.write_bytes(data)
    damaged: list[Damage] = []
    sessions = list(read_sessions([path], damaged=damaged))
    assert [(one.id, one.cut) for one in sessions] == [("s", None), ("t", "its first turns are not in the journals")]
    assert [str(one) for one in damaged] == [f"{path}:3: the check sum does not fit"]


def test_nothing_is_read_of_a_journal_of_another_version(tmp_path: Path) -> None:
    path = write(tmp_path / "newer", [turn("s", 1)])
    other = write(tmp_path / "own", [turn("t", 1)])
    first, *rest = path.read_bytes().splitlines(keepends=True)
    head = first.partition(b"\t")[2].replace(b'"journal":1', b'"journal":2')
    path.write_bytes(b"".join([b"%08x\t%b" % (crc32(head), head), *rest]))
    damaged: list[Damage] = []
    assert [one.id for one in read_sessions([path, other], damaged=damaged)] == ["t"]
    (told,) = damaged
    assert str(told).startswith(f"{path}:1: a journal in format 2")
    assert "newer" in told.remedy


def test_any_damage_costs_no_more_than_what_is_damaged(tmp_path: Path) -> None:
    path = write(tmp_path, [turn(f"s{number}", 1) for number in range(5)])
    whole = path.read_bytes()
    for position in range(0, len(whole), 23):
        for change in (b"", b"\n", b"\x00\xff", b"\t"):
            path.write_bytes(whole[:position] + change + whole[position + 1 :])
            assert len(list(read_sessions([path]))) >= 3


@pytest.mark.parametrize(
    "data",
    [b"", b"\n\n\n", b"\x00" * 5000, b"{}\n" * 100, b"\xff" * 5000 + b"\n", b"a" * 100_000, b"00000000\t\t\n"],
    ids=range(7),
)
def test_a_file_that_is_no_journal_holds_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.journal"
    path.write_bytes(data)
    damaged: list[Damage] = []
    assert list(read_sessions([path], damaged=damaged)) == []
    assert bool(damaged) == bool(data.strip())


def test_a_line_beyond_any_length_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_statebase.journal.read.LONGEST_LINE", 5_000)
    path = write(tmp_path, [turn("s", 1), turn("long", 1, "x" * 3_000_000), turn("t", 1)])
    damaged: list[Damage] = []
    assert [one.id for one in read_sessions([path], damaged=damaged)] == ["s", "t"]
    assert [one.where for one in damaged] == [f"{path}:3"]


def test_a_journal_given_twice_or_copied_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path, [turn("s", 1), turn("s", 2)])
    shutil.copy(path, tmp_path / "copy.journal")
    (tmp_path / "link.journal").symlink_to(path)
    assert inputs(only(path, tmp_path, path)) == [(1, "s 1"), (2, "s 2")]


def test_a_format_of_tomorrow_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, [turn("s", 1)])
    from pytest_statebase.journal.lines import Head, checked

    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(checked(Head("journal", 1, "", 1.0), '{"journal":2,"process":"x"}') + b"".join(lines[1:]))
    damaged: list[Damage] = []
    list(read_sessions([path], damaged=damaged))
    assert "format 2" in damaged[0].what


def test_paths_that_hold_no_journal_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        list(read_sessions([tmp_path / "x.journal"]))
    with pytest.raises(FileError, match="holds no journal"):
        list(read_sessions([tmp_path]))


def test_a_journal_that_goes_away_while_it_is_read_is_told(tmp_path: Path) -> None:
    write(tmp_path, [turn("s", 1)])
    two = write(tmp_path, [turn("t", 1, second=5)])
    damaged: list[Damage] = []
    sessions = read_sessions([tmp_path], damaged=damaged)
    next(sessions)
    two.unlink()
    assert list(sessions) == []
    assert [one.where for one in damaged] == [f"{two}:2"]


def test_more_files_than_may_be_open(tmp_path: Path) -> None:
    writer = Writer(tmp_path, limits=Limits(file_bytes=1))
    for number in range(1, 151):
        writer.put(turn("s", number))
        assert writer.flush(20)
    assert writer.stop(20)
    before = len(os.listdir("/proc/self/fd"))
    assert len(only(tmp_path).ledger.turns) == 150
    assert len(os.listdir("/proc/self/fd")) == before


def test_memory_does_not_grow_with_the_journal(tmp_path: Path) -> None:
    def peak(sessions: int) -> int:
        directory = tmp_path / str(sessions)
        write(directory, [turn(f"s{number}", 1, "x" * 20_000) for number in range(sessions)])
        tracemalloc.start()
        assert sum(1 for _ in read_sessions([directory])) == sessions
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(5)
    assert peak(400) - peak(40) < 360 * 1_500
