"""Live answers are kept as they come, survive a process that is killed, and have one writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_statebase.engine.web.pending import Pending, exchange_from, exchange_line
from pytest_statebase.errors import StatebaseError
from pytest_statebase.wire.exchange import Answer, Exchange, Failure, Request, Response

KEY = "sk-proj-abcdefghijklmnopqrstuvwx"
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


def exchange(number: int, answer: Answer | None = None) -> Exchange:
    headers = (("Authorization", f"Bearer {KEY}"), ("x-twice", "1"), ("x-twice", "2"))
    request = Request("POST", "https://api.openai.com/v1/responses", headers, f'{{"input":"{number}"}}'.encode())
    given = answer or Response(200, "OK", (("content-type", "application/json"),), b'{"output":"\xc3\xa9"}')
    return Exchange(request, given, turn=2, during=1, at="2026-01-01T00:00:00Z", latency_ms=12)


def bodies(pending: Pending) -> list[bytes]:
    return [one.request.body for one in pending.exchanges()]


@pytest.fixture
def pending(tmp_path: Path) -> Iterator[Pending]:
    made = Pending(tmp_path / "live" / "answers", "fixtures/shop.session.yaml", "turn 2", "agent:run")
    yield made
    made.discard()


def test_nothing_is_made_before_there_is_something(pending: Pending) -> None:
    assert pending.exchanges() == []
    assert not pending.is_complete
    pending.complete()
    pending.discard()
    assert not pending.path.parent.exists()


def test_answers_come_back_as_they_were(pending: Pending) -> None:
    answers: list[Answer] = [
        Response(200, "OK", (("set-cookie", "[REDACTED]"), ("set-cookie", "b")), b"data: {}\n\n", "the peer closed"),
        Response(200, "", (), b"\xff\x00\n\x80"),
        Failure("timeout", "read\ntimed out\udc80"),
        Response(204),
    ]
    for number, answer in enumerate(answers):
        given = Exchange(Request("GET", f"http://127.0.0.1/{number}", (("a", "\u2028é"),), b"\n"), answer, turn=None)
        assert exchange_from(exchange_line(given)) == given
        pending.append(given)
    assert [one.answer for one in pending.exchanges()][1:] == answers[1:]
    assert pending.path.read_bytes().count(b"\n") == len(answers)


def test_when_an_exchange_was_made_is_kept(pending: Pending) -> None:
    pending.append(exchange(1))
    found = pending.exchanges()[0]
    assert (found.turn, found.during, found.at, found.latency_ms) == (2, 1, "2026-01-01T00:00:00Z", 12)


@pytest.mark.parametrize(
    "answer",
    [
        Failure("closed", "the client waited no longer"),
        Response(200, "OK", (), b"data: 1\n\n", "the client read no further"),
    ],
)
def test_what_nobody_knows_to_be_the_agents_own_doing_is_passed_over(pending: Pending, answer: Answer) -> None:
    pending.append(exchange(1, answer))
    assert pending.exchanges() == []
    pending.append(exchange(2, answer), let_go=True)
    assert bodies(pending) == [b'{"input":"2"}']


def test_answers_are_in_the_order_of_their_requests(pending: Pending) -> None:
    for second in (3, 1, 2):
        pending.append(replace(exchange(second), at=f"2026-01-01T00:00:0{second}Z"))
    assert bodies(pending) == [b'{"input":"1"}', b'{"input":"2"}', b'{"input":"3"}']


def test_another_run_goes_on_where_the_first_one_ended(pending: Pending, tmp_path: Path) -> None:
    pending.append(exchange(1))
    assert not pending.is_complete
    again = Pending(tmp_path / "live" / "answers", "fixtures/shop.session.yaml", "turn 2", "agent:run")
    again.append(exchange(2))
    assert bodies(again) == [b'{"input":"1"}', b'{"input":"2"}']
    again.complete()
    again.complete()
    assert pending.is_complete
    assert pending.path.read_bytes().count(b"complete") == 1
    pending.append(exchange(3))
    assert not pending.is_complete, "a run began that has not ended"
    assert len(bodies(pending)) == 3
    pending.discard()
    assert bodies(again) == []


def test_each_replay_has_a_file_of_its_own(tmp_path: Path) -> None:
    keys = [
        ("a/x.yaml", "f", "g"),
        ("b/x.yaml", "f", "g"),
        ("a/x.yaml", "f2", "g"),
        ("a/x.yaml", "f", "g2"),
        ("a/x.yamlf", "", "g"),
    ]
    assert len({Pending(tmp_path, *key).path for key in keys}) == len(keys)


@pytest.mark.parametrize(
    "name", ["", "con.session.yaml", "../..", "a\0b", "x" * 500, "ü / 💥\n", "\udc80", "-rf", "C:\\x\\y"]
)
def test_names_are_safe(tmp_path: Path, name: str) -> None:
    made = Pending(tmp_path, name, "turn 2", "agent\n:/run")
    assert made.path.parent == tmp_path
    assert made.path.name.removesuffix(".jsonl").replace("-", "").replace("_", "").isascii()
    assert len(made.path.name) < 100
    assert "." not in made.path.stem
    made.append(exchange(1))
    assert len(made.exchanges()) == 1
    made.discard()


# --- Files that something happened to


def test_a_line_that_was_half_written_is_passed_over(pending: Pending) -> None:
    pending.append(exchange(1))
    pending.append(exchange(2))
    pending.complete()  # lets the file go, as the end of the process does
    data = pending.path.read_bytes()
    second = data.index(b"\n") + 1
    for end in (second + 1, second + 40, data.index(b"\n", second)):
        pending.path.write_bytes(data[:end])
        assert bodies(pending) == [b'{"input":"1"}']
        pending.append(exchange(3))
        assert bodies(pending)[0] == b'{"input":"1"}'
        assert bodies(pending)[-1] == b'{"input":"3"}'
        pending.complete()


@pytest.mark.parametrize(
    "damage",
    [b"\0" * 4096, b"\xff\xfe\n", b"{}\n", b"null\n", b"[]\n", b"\n\n", b'{"request":[]}\n', b"[" * 5_000],
)
def test_damage_costs_no_more_than_itself(pending: Pending, damage: bytes) -> None:
    pending.append(exchange(1))
    pending.path.write_bytes(damage + b"\n" + pending.path.read_bytes())
    assert bodies(pending) == [b'{"input":"1"}']
    assert not pending.is_complete


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StatebaseError, match="a live answer cannot be kept"):
        Pending(tmp_path / "file", "x", "f", "a").append(exchange(1))


# --- Several writers

WRITER = """
import sys, time
from pathlib import Path
from pytest_statebase.engine.web.pending import Pending
from tests.unit.engine.test_pending import exchange

pending = Pending(Path(sys.argv[1]), "shop", "turn 2", "agent")
number = 0
while True:
    pending.append(exchange(number))
    number += 1
    print(number, flush=True)
    if "once" in sys.argv:
        time.sleep(60)
"""


def writer(directory: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(directory), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_threads_of_one_process_write_whole_lines(pending: Pending) -> None:
    threads = [
        threading.Thread(target=lambda: [pending.append(exchange(number)) for number in range(25)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pending.exchanges()) == 200


@POSIX
def test_what_a_killed_process_had_written_is_there(tmp_path: Path) -> None:
    pending = Pending(tmp_path, "shop", "turn 2", "agent")
    with writer(tmp_path) as process:
        assert first_line(process) == "1"
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        told = process.communicate()[0].split()
    kept = len(pending.exchanges())
    assert kept >= int(told[-1] if told else 1) > 1
    pending.append(exchange(-1))
    assert len(pending.exchanges()) == kept + 1
    pending.discard()


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    pending = Pending(tmp_path, "shop", "turn 2", "agent")
    with writer(tmp_path, "once") as process:
        try:
            assert first_line(process) == "1"
            with pytest.raises(StatebaseError, match=r"another process keeps live answers(.|\n)*--dist=loadfile"):
                pending.append(exchange(2))
            Pending(tmp_path, "shop", "turn 3", "agent").append(exchange(2))
            assert len(pending.exchanges()) == 1
        finally:
            process.kill()
    pending.append(exchange(2))
    assert len(pending.exchanges()) == 2


@POSIX
def test_a_process_that_forked_off_does_not_write_it_either(pending: Pending) -> None:
    pending.append(exchange(1))
    child = os.fork()
    if not child:
        try:
            pending.append(exchange(2))
        except StatebaseError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    pending.append(exchange(3))
    assert len(pending.exchanges()) == 2


def test_as_many_replays_as_there_are_keep_no_files_open(tmp_path: Path) -> None:
    for number in range(1_100):
        one = Pending(tmp_path, "shop", f"turn {number}", "agent")
        one.append(exchange(number))
        one.complete()
    assert one.is_complete
