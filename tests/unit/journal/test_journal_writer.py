"""The writer of journals: what it takes stands on disk, and what it cannot take hurts nobody."""

from __future__ import annotations

import json
import logging
import os
import resource
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from journal_frames import at, frames_in, turn, turns_in

from pytest_statebase.errors import OptionError
from pytest_statebase.events import (
    Event,
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    Said,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.frames import Between, Frame, SessionClosed, SessionCut, SessionOpened, TurnClosed, TurnOpened
from pytest_statebase.journal import Limits, Writer, files, read_sessions, read_statuses
from pytest_statebase.values import TypedData, Uncopied

ROOT = Path(__file__).parents[3]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "captured"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def status_of(directory: Path) -> dict[str, Any]:
    (status,) = read_statuses(directory)
    return status


def put_all(writer: Writer, frames: list[Frame]) -> list[tuple[str, bool]]:
    """Put frames and stop; the session of each with whether it was kept."""
    kept: list[tuple[str, bool]] = []
    for frame in frames:
        if not writer.put(frame, lambda is_kept, session=frame.session: kept.append((session, is_kept))):  # type: ignore[misc]
            kept.append((frame.session, False))
    assert writer.stop(20)
    return kept


# --- What was taken is there


def test_what_was_kept_is_read_back_equal(directory: Path) -> None:
    frames: list[Frame] = [
        SessionOpened(SessionCreated("s", "agent", at=at(0), state={"a": (1, 2)})),
        TurnOpened("s", {"type": "text", "content": "s 1"}, at(1)),
        *(turn("s", number, {"found": (number,)}, before={"n": number}) for number in range(1, 20)),
        Between("s", (MemoryAdded("likes tea", at=at(30)),)),
        SessionClosed("s", "completed", ("errors",), at(31)),
    ]
    assert put_all(Writer(directory), frames) == [("s", True)] * len(frames)
    assert frames_in(directory) == frames


def test_kept_is_said_when_the_write_has_returned(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    def slow(fd: int, data: Any) -> int:
        time.sleep(0.02)
        done = os.write(fd, data)
        log.append("written")
        return done

    monkeypatch.setattr(files, "_write", slow)
    writer = Writer(directory)
    writer.put(turn("s", 1), lambda kept: log.append("kept"))
    writer.stop(20)
    assert log == ["written", "written", "kept"]  # the header, the turn


def test_with_fsync_kept_is_said_when_the_disk_has_it(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(files.os, "fsync", lambda fd: log.append("synced"))
    writer = Writer(directory, limits=Limits(fsync=True))
    writer.put(turn("s", 1), lambda kept: log.append("kept"))
    writer.stop(20)
    assert log[:2] == ["synced", "kept"]


def test_files_are_for_their_owner_alone(directory: Path) -> None:
    old = os.umask(0)
    try:
        put_all(Writer(directory), [turn("s", 1)])
    finally:
        os.umask(old)
    assert mode(directory) == 0o700
    modes = {path.suffix or path.name: mode(path) for path in directory.iterdir()}
    assert modes == {".journal": 0o600, ".status": 0o600, ".gitignore": 0o600}
    assert (directory / ".gitignore").read_text() == "*\n"


def test_many_threads_put_at_once(directory: Path) -> None:
    writer, kept = Writer(directory), list[bool]()

    def work(thread: int) -> None:
        for number in range(1, 101):
            writer.put(turn(f"s{thread}", number), kept.append)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.stop(20)
    assert kept == [True] * 800
    assert sorted(turns_in(directory)) == [(f"s{thread}", number) for thread in range(8) for number in range(1, 101)]


def test_a_put_in_the_middle_of_a_put_does_not_wait_for_itself(directory: Path) -> None:
    writer = Writer(directory)
    with writer._lock:
        assert writer.put(turn("from a signal handler", 1))
    assert writer.stop(20)
    assert turns_in(directory) == [("from a signal handler", 1)]


def test_the_redactor_makes_what_is_written(directory: Path) -> None:
    def redact(frame: Frame) -> Frame:
        assert isinstance(frame, TurnClosed)
        return turn(frame.session, 7, "gone")

    put_all(Writer(directory, redact=redact), [turn("s", 1, "secret")])
    assert frames_in(directory) == [turn("s", 7, "gone")]


def test_what_the_redactor_is_given_is_settled(directory: Path) -> None:
    seen: list[Frame] = []

    def redact(frame: Frame) -> Frame:
        seen.append(frame)
        return frame

    put_all(Writer(directory, redact=redact), [turn("s", 1, {"lock": threading.Lock(), "n": (1,)})])
    (frame,) = seen
    assert isinstance(frame, TurnClosed)
    result = frame.events[1].result  # type: ignore[union-attr]
    assert result["n"] == (1,)
    assert type(result["lock"]) is Uncopied


# --- What goes wrong


def test_an_object_that_cannot_be_stored_is_a_marker_and_is_counted(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = put_all(Writer(directory), [turn("s", n, {"lock": threading.Lock(), "n": n}) for n in (1, 2)])
    assert kept == [("s", True)] * 2
    assert status_of(directory)["uncopied"] == 2
    assert status_of(directory)["troubles"]["uncopied"]["count"] == 2
    assert len(caplog.records) == 1
    first = frames_in(directory)[0].events[1]  # type: ignore[union-attr]
    assert first.result["n"] == 1  # type: ignore[union-attr]
    assert repr(first.result["lock"]) == "<not copied: _thread:lock>"  # type: ignore[union-attr]


def test_a_redactor_that_raises_loses_the_turn_and_the_rest_of_its_session(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def redact(frame: Frame) -> Frame:
        if isinstance(frame, TurnClosed) and frame.session == "bad" and frame.events[0].number == 2:  # type: ignore[union-attr]
            raise ValueError("sk-secret-of-the-user")
        return frame

    frames: list[Frame] = [turn(session, number) for number in (1, 2, 3) for session in ("bad", "good")]
    kept = put_all(Writer(directory, redact=redact), frames)
    assert [is_kept for session, is_kept in kept if session == "good"] == [True] * 3
    assert [is_kept for session, is_kept in kept if session == "bad"] == [True, False, False]
    assert turns_in(directory) == [("bad", 1), ("good", 1), ("good", 2), ("good", 3)]
    status = status_of(directory)
    assert status["lost"] == {"turns": 2, "by": {"redaction": 1, "session cut": 1}}
    assert status["cut_sessions"] == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "ValueError" in caplog.text
    assert "sk-secret" not in caplog.text + json.dumps(status)


def test_a_redactor_that_gives_no_frame_loses_the_turn(directory: Path) -> None:
    kept = put_all(Writer(directory, redact=lambda frame: None), [turn("s", 1)])  # type: ignore[arg-type, return-value]
    assert kept == [("s", False)]
    assert status_of(directory)["lost"]["turns"] == 1


class Stall:
    """A disk that does not come back, until it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        monkeypatch.setattr(files, "_write", self.write)

    def write(self, fd: int, data: Any) -> int:
        self.reached.set()
        assert self.go_on.wait(60)
        return os.write(fd, data)


def test_a_stalled_disk_costs_turns_and_neither_time_nor_memory(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stall, kept = Stall(monkeypatch), list[bool]()
    limits = Limits(queue_bytes=400_000)
    writer = Writer(directory, limits=limits)
    taken = []
    for number in range(1, 301):
        for session in ("a", "b"):
            taken.append(writer.put(turn(session, number, "x" * 1000), kept.append))
            assert writer.waiting()[1] <= limits.queue_bytes
    assert 20 < sum(taken) < 400
    assert kept == []
    assert writer.is_cut("a")
    assert not taken[-1]
    # A session that begins afterwards finds no place either, and is told so.
    assert not writer.put(turn("c", 1, "x" * 10_000))
    stall.go_on.set()
    assert writer.stop(20)
    assert kept == [True] * sum(taken)
    found = turns_in(directory)
    assert len(found) == sum(taken)
    for session in ("a", "b"):
        numbers = [number for name, number in found if name == session]
        assert numbers == list(range(1, len(numbers) + 1))
    cuts = [frame for frame in frames_in(directory) if isinstance(frame, SessionCut)]
    assert sorted((cut.session, cut.reason) for cut in cuts) == [(name, "queue full") for name in "abc"]
    assert {session.id: session.cut for session in read_sessions([directory])} == {"a": "queue full", "b": "queue full"}
    assert status_of(directory)["lost"]["turns"] == 601 - sum(taken)
    assert len(caplog.records) == 1


def test_the_number_of_frames_that_wait_is_bounded_as_well(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stall = Stall(monkeypatch)
    writer = Writer(directory, limits=Limits(queue_frames=10))
    taken = [writer.put(turn(f"s{number}", 1)) for number in range(50)]
    assert sum(taken) == 10
    opened = [writer.put(TurnOpened("s", None, at(number))) for number in range(50)]
    assert sum(opened) == 10
    stall.go_on.set()
    assert writer.stop(20)


def test_a_session_that_has_ended_may_begin_again_after_a_cut(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stall = Stall(monkeypatch)
    writer = Writer(directory, limits=Limits(queue_frames=2))
    taken = [writer.put(turn("s", number)) for number in (1, 2, 3)]
    assert taken == [True, True, False]
    assert writer.put(SessionClosed("s", "completed", at=at(4)))
    stall.go_on.set()
    assert writer.flush(20)
    assert writer.put(turn("s", 5))
    assert writer.stop(20)
    assert [(one.id, len(one.ledger.turns), one.cut is None) for one in read_sessions([directory])] == [
        ("s", 2, False),
        ("s-after-gap-1", 1, False),
    ]


def test_a_turn_that_is_too_large_is_not_kept(directory: Path) -> None:
    writer = Writer(directory, limits=Limits(frame_bytes=10_000))
    kept = put_all(writer, [turn("s", 1), turn("s", 2, "x" * 20_000), turn("s", 3), turn("other", 1)])
    assert sorted(kept) == [("other", True), ("s", False), ("s", False), ("s", True)]
    assert turns_in(directory) == [("s", 1), ("other", 1)]
    assert status_of(directory)["lost"]["by"] == {"too large": 1, "session cut": 1}


def test_that_all_is_lost_is_told_without_a_turn_that_is_kept(directory: Path) -> None:
    assert put_all(Writer(directory, limits=Limits(frame_bytes=1000)), [turn("s", 1, "x" * 5000)]) == [("s", False)]
    assert [type(frame) for frame in frames_in(directory)] == [SessionCut]
    assert status_of(directory)["cut_sessions"] == 1


def test_a_full_disk_loses_turns_and_leaves_whole_lines(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    state = {"is_full": False}
    monkeypatch.setattr(files, "_write", lambda fd, data: os.write(full if state["is_full"] else fd, data))
    writer, kept = Writer(directory), list[tuple[int, bool]]()
    for number in range(1, 10):
        state["is_full"] = 4 <= number <= 6
        writer.put(turn(f"s{number}", 1), lambda is_kept, number=number: kept.append((number, is_kept)))  # type: ignore[misc]
        assert writer.flush(20)
    assert writer.stop(20)
    os.close(full)
    assert kept == [(number, not 4 <= number <= 6) for number in range(1, 10)]
    assert sorted(turns_in(directory)) == [(f"s{number}", 1) for number in (1, 2, 3, 7, 8, 9)]
    status = status_of(directory)
    assert status["lost"]["by"] == {"disk": 3}
    assert "No space left" in status["troubles"]["disk"]["what"]
    assert [record.message.count("No space left") for record in caplog.records] == [1]


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_line_that_was_written_in_part_is_taken_back(directory: Path) -> None:
    writer, kept = Writer(directory), list[bool]()
    with file_size_limit(40_000):
        for number in range(1, 9):
            writer.put(turn("small", number, "x" * 1000), kept.append)
            assert writer.flush(20)
        writer.put(turn("large", 1, "x" * 100_000), kept.append)
        assert writer.flush(20)
        for number in range(9, 60):
            writer.put(turn("small", number, "x" * 1000), kept.append)
            assert writer.flush(20)
    assert writer.stop(20)
    assert kept.count(False) == 2
    assert not kept[8]
    assert len(turns_in(directory)) == kept.count(True)  # and no line is damaged
    assert len(list(directory.glob("*.journal"))) >= 2


def test_half_a_line_that_cannot_be_taken_back_spoils_no_other(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = {"count": 0}

    def write(fd: int, data: Any) -> int:
        calls["count"] += 1
        if calls["count"] == 3:  # after the header and the first turn
            return os.write(fd, bytes(data)[:50])
        if calls["count"] == 4:
            raise OSError(5, "Input/output error")
        return os.write(fd, data)

    def no_truncate(fd: int, size: int) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(files, "_write", write)
    monkeypatch.setattr(files.os, "ftruncate", no_truncate)
    writer, kept = Writer(directory), list[bool]()
    for number in range(1, 5):
        writer.put(turn(f"s{number}", 1), kept.append)
        assert writer.flush(20)
    assert writer.stop(20)
    assert kept == [True, False, True, True]
    damaged: list[Any] = []
    sessions = [session.id for session in read_sessions([directory], damaged=damaged)]
    assert sessions == ["s1", "s3", "s4"]
    assert len(damaged) == 1


def test_a_directory_that_cannot_be_made_hurts_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    kept = put_all(Writer(tmp_path / "file" / "captured"), [turn("s", 1), turn("t", 1)])
    assert sorted(kept) == [("s", False), ("t", False)]
    assert any("Not a directory" in record.message for record in caplog.records)


def test_a_directory_that_is_removed_is_made_again(directory: Path) -> None:
    writer = Writer(directory)
    writer.put(turn("s", 1))
    assert writer.flush(20)
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    kept: list[bool] = []
    writer.put(turn("t", 1), kept.append)
    assert writer.stop(20)
    assert kept == [True]
    assert turns_in(directory) == [("t", 1)]


def test_who_waits_for_a_turn_and_fails_stops_nothing(directory: Path) -> None:
    writer, kept = Writer(directory), list[bool]()
    writer.put(turn("s", 1), lambda is_kept: 1 / 0)  # type: ignore[arg-type, return-value]
    writer.put(turn("s", 2), kept.append)
    assert writer.stop(20)
    assert kept == [True]
    assert status_of(directory)["troubles"]["internal"]["count"] == 1


@pytest.mark.parametrize("frame", [None, 1, TurnClosed("s", (object(),)), TurnClosed("s", None), object()])  # type: ignore[arg-type]
def test_what_is_no_frame_is_refused_without_an_error(directory: Path, frame: Any) -> None:
    writer = Writer(directory)
    writer.put(frame)
    assert writer.put(turn("s", 1))
    assert writer.stop(20)
    assert turns_in(directory) == [("s", 1)]
    assert read_statuses(directory)[0]["troubles"].keys() & {"internal", "encoding"}


class Text(str):
    __slots__ = ()


def _events_with(value: Any) -> Iterator[Event]:
    """Every event with the value in each of its fields, one after the other."""
    whole = {
        "tool": "t",
        "version": 1,
        "to_version": 0,
        "value": 1,
        "text": "x",
        "content": "x",
        "number": 1,
        "was": "x",
    }
    for kind in (
        Said,
        ToolCalled,
        StateUpdated,
        StateRolledBack,
        MemoryAdded,
        MemoryUpdated,
        MemoryDeleted,
        MemorySearched,
    ):
        names = [field.name for field in fields(kind)]
        given = {name: whole[name] for name in names if name in whole} | ({"query": "x"} if "query" in names else {})
        for name in names:
            yield kind(**{**given, name: value})


ODD = [1, -1, 1.5, True, None, "x", Text("x"), b"x", [1], [[]], ["x"], {"a": 1}, {1: 2}, (1,), {1}, 10**5000, object()]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_whatever_stands_in_an_event_what_is_said_to_be_kept_is_read(directory: Path, value: Any) -> None:
    frames: list[Frame] = [
        *(turn(f"s{number}", 1, more=(event,)) for number, event in enumerate(_events_with(value))),
        TurnClosed("input", (TurnStarted(1, value), TurnAdded())),
        TurnClosed("number", (TurnStarted(value), TurnAdded())),
        TurnClosed("output", (TurnStarted(1), TurnAdded(value))),
        TurnClosed("metadata", (TurnStarted(1), TurnAdded(metadata=value))),
        TurnClosed("before", (TurnStarted(1), TurnAdded()), state_before=value),
        TurnClosed("order", (TurnAdded(), TurnStarted(1))),
        TurnClosed("inside", (TurnStarted(1), TurnStarted(2), TurnAdded())),
        TurnOpened("opened", value),
        TurnOpened("opened", None, value),
        SessionOpened(SessionCreated("created", value, metadata=value)),
        SessionClosed("closed", value, value),
        Between("between", (SessionCreated("between"),)),
    ]
    kept = put_all(Writer(directory), frames)
    assert len(kept) == len(frames)
    assert sorted(frame.session for frame in frames_in(directory) if type(frame) is not SessionCut) == sorted(
        session for session, is_kept in kept if is_kept
    )
    assert ("order", False) in kept
    assert ("inside", False) in kept
    assert sum(is_kept for _, is_kept in kept) > 5


def test_a_state_of_another_type_is_settled_before_it_is_redacted(directory: Path) -> None:
    seen: list[Frame] = []

    def redact(frame: Frame) -> Frame:
        seen.append(frame)
        return frame

    put_all(Writer(directory, redact=redact), [turn("s", 1, before=Limits())])
    assert type(seen[0].state_before) is TypedData  # type: ignore[union-attr]


# --- Its end


def test_stop_waits_no_longer_than_it_may(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stall = Stall(monkeypatch)
    writer = Writer(directory, limits=Limits(flush_seconds=0.05))
    writer.put(turn("s", 1))
    assert stall.reached.wait(20)
    assert not writer.stop()
    assert not writer.flush(0.01)
    assert not writer.put(turn("s", 2))
    stall.go_on.set()
    assert writer.stop(20)
    assert turns_in(directory) == [("s", 1)]


def test_stop_twice_and_without_anything_put(directory: Path) -> None:
    writer = Writer(directory)
    assert writer.stop()
    assert writer.stop()
    assert not writer.put(turn("s", 1))
    assert not directory.exists()


def run(script: str, directory: Path) -> str:
    """What a program prints that has the tests' frames at hand."""
    head = """
        import os, sys, time
        from journal_frames import turn
        from pytest_statebase.journal import Limits, Writer
        directory = sys.argv[1]
    """
    code = textwrap.dedent(head) + textwrap.dedent(script)
    paths = os.pathsep.join([str(Path(__file__).parent), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code, str(directory)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_what_was_put_before_the_program_ends_is_written(directory: Path) -> None:
    run("writer = Writer(directory)\nfor number in range(1, 501): writer.put(turn('s', number))", directory)
    assert turns_in(directory) == [("s", number) for number in range(1, 501)]
    assert status_of(directory)["ended"]


def test_each_child_of_fork_has_a_journal_of_its_own(directory: Path) -> None:
    script = """
        writer = Writer(directory)
        for number in range(1, 101):
            writer.put(turn("parent", number))
        children = []
        for child in range(3):
            pid = os.fork()
            if pid == 0:
                kept = []
                for number in range(1, 51):
                    writer.put(turn(f"child-{child}", number), kept.append)
                writer.stop(20)
                os._exit(0 if kept == [True] * 50 else 1)
            children.append(pid)
        writer.put(turn("parent", 101))
        print([os.waitpid(pid, 0)[1] for pid in children])
    """
    assert run(script, directory) == "[0, 0, 0]\n"
    expected = [("parent", number) for number in range(1, 102)]
    expected += [(f"child-{child}", number) for child in range(3) for number in range(1, 51)]
    assert sorted(turns_in(directory)) == sorted(expected)
    assert len(list(directory.glob("*.journal"))) == 4
    assert sorted(status["kept"]["turns"] for status in read_statuses(directory)) == [50, 50, 50, 101]


def test_a_process_of_multiprocessing_writes_all_before_it_ends(directory: Path) -> None:
    script = """
        import multiprocessing
        writer = Writer(directory)
        writer.put(turn("parent", 1))
        def work():
            for number in range(1, 301):
                writer.put(turn("child", number))
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join()
        print(child.exitcode)
    """
    assert run(script, directory) == "0\n"
    assert turns_in(directory) == [("parent", 1), *(("child", number) for number in range(1, 301))]


# --- Rotation, limits, retention


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("queue_frames", 0),
        ("queue_bytes", "1 MB"),
        ("days", -1),
        ("total_bytes", None),
        ("fsync", 1),
        ("file_bytes", True),
    ],
)
def test_a_limit_that_means_nothing_is_an_error(name: str, value: Any) -> None:
    with pytest.raises(OptionError, match=name):
        Limits(**{name: value})


def test_a_journal_that_is_full_goes_on_in_a_new_file(directory: Path) -> None:
    writer = Writer(directory, limits=Limits(file_bytes=5_000))
    for number in range(1, 61):
        writer.put(turn("s", number))
        assert writer.flush(20)
    assert writer.stop(20)
    found = sorted(directory.glob("*.journal"))
    assert len(found) >= 3
    assert all(path.stat().st_size < 6_000 for path in found)
    assert turns_in(directory) == [("s", number) for number in range(1, 61)]


def test_the_oldest_journals_are_removed_where_there_is_too_much(directory: Path) -> None:
    limits = Limits(file_bytes=5_000, total_bytes=20_000)
    writer = Writer(directory, limits=limits)
    for number in range(1, 301):
        writer.put(turn("s", number))
        assert writer.flush(20)
    assert writer.stop(20)
    sizes = [path.stat().st_size for path in directory.glob("*.journal")]
    assert sum(sizes) <= limits.total_bytes + limits.file_bytes
    assert len(sizes) > 2
    assert writer.counts.removed > 5
    (session,) = read_sessions([directory])
    assert session.cut == "its first turns are not in the journals"
    assert session.ledger.turns[-1].text == "s 300"


def old(path: Path, days: float) -> Path:
    path.write_bytes(b"")
    when = time.time() - days * 86_400
    os.utime(path, (when, when))
    return path


def test_journals_are_kept_for_some_days(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    removed, kept = old(directory / "a.0001.journal", 31), old(directory / "b.0001.journal", 29)
    status, other = old(directory / "a.status", 31), old(directory / "notes.txt", 1000)
    put_all(Writer(directory, limits=Limits(days=30)), [turn("s", 1)])
    assert [path.exists() for path in (removed, kept, status, other)] == [False, True, False, True]
    assert status_of(directory)["removed_journals"] == 1


def test_a_journal_that_is_written_to_is_never_removed(directory: Path) -> None:
    other = Writer(directory)
    other.put(turn("s", 1))
    assert other.flush(20)
    (path,) = directory.glob("*.journal")
    os.utime(path, (0, 0))
    writer = Writer(directory, limits=Limits(total_bytes=4, days=1))
    put_all(writer, [turn("t", 1)])
    assert path.exists()
    assert other.stop(20)
    put_all(Writer(directory, limits=Limits(days=None)), [turn("u", 1)])
    assert path.exists()
    os.utime(path, (0, 0))
    put_all(Writer(directory, limits=Limits(days=1)), [turn("v", 1)])
    assert not path.exists()


def test_a_link_to_elsewhere_is_not_followed(directory: Path, tmp_path: Path) -> None:
    directory.mkdir()
    target = tmp_path / "precious"
    target.write_text("precious")
    (directory / "x.0001.journal").symlink_to(target)
    put_all(Writer(directory, limits=Limits(total_bytes=4, days=0)), [turn("t", 1)])
    assert target.read_text() == "precious"


# --- The status


def test_the_status_says_what_became_of_the_turns(directory: Path) -> None:
    put_all(Writer(directory), [turn("s", number) for number in range(1, 4)])
    status = status_of(directory)
    assert status["kept"]["turns"] == 3
    assert status["kept"]["events"] == 9
    assert status["lost"] == {"turns": 0, "by": {}}
    assert status["pid"] == os.getpid()
    queue = status["queue"]
    assert (queue["frames"], queue["bytes"]) == (0, 0)
    assert 1 <= queue["most_frames"] <= 3
    assert queue["most_bytes"] > 0
    assert status["redacted"] == {}
    assert (directory / status["journal"]).exists()
    assert status["troubles"] == {}


def test_a_status_that_cannot_be_read_is_told(directory: Path) -> None:
    directory.mkdir()
    for name, text in (("a", ""), ("b", "[" * 100_000), ("c", "{}"), ("d", '{"capture": 99}')):
        (directory / f"{name}.status").write_text(text)
    assert ["unreadable" in status for status in read_statuses(directory)] == [True] * 4


def test_a_status_that_cannot_be_written_hurts_nobody(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pytest_statebase.journal.writer.write_status", fail)
    assert put_all(Writer(directory), [turn("s", 1)]) == [("s", True)]


def test_logging_that_fails_hurts_nobody(directory: Path) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("broken handler")

    handler = Broken()
    logging.getLogger("pytest_statebase.capture").addHandler(handler)
    try:
        kept = put_all(Writer(directory), [turn("s", 1, threading.Lock())])
    finally:
        logging.getLogger("pytest_statebase.capture").removeHandler(handler)
    assert kept == [("s", True)]
