"""`doctor`: how a capture fares."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import Result

from pytest_statebase.frames import Frame
from pytest_statebase.journal import Limits, Writer
from pytest_statebase.ledger import ToolCalled
from pytest_statebase.recorder.cleaning import cleaning_of
from tests.journals import session, write_journal

Run = Callable[..., Result]
SECRET = "sk-secret-4711"


@pytest.fixture
def captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_journal(Path("captured"), session(SECRET, ["a", "b"], ["c"]), session("two", ["a"]))
    return Path("captured")


def findings(run: Run, *arguments: object) -> list[tuple[str, str, str]]:
    result = run("doctor", *arguments, "--json")
    assert SECRET not in result.output
    found = json.loads(result.stdout)
    listed = [(one["state"], one["what"], one["do"]) for place in found["places"] for one in place["findings"]]
    assert result.exit_code == (1 if found["mend"] else 0)
    assert all(do for state, _, do in listed if state != "ok")
    return listed


def wrong(run: Run, *arguments: object) -> list[tuple[str, str, str]]:
    return [one for one in findings(run, *arguments) if one[0] == "mend"]


def test_all_is_well(captured: Path, run: Run) -> None:
    told = {what: state for state, what, _ in findings(run, captured)}
    assert told["captured and its files are open to their owner alone"] == "ok"
    assert told["1 journal with 2 sessions: every line is as it was written"] == "ok"
    assert told["no process captures here now"] == "look"
    assert any(what.startswith("kept: 3 turns with 10 events, ") for what in told)
    assert any("of 1.0 GB that they may by default" in what for what in told)
    assert wrong(run, captured) == []


def test_journals_of_the_project_are_found(captured: Path, run: Run) -> None:
    result = run("doctor")
    assert "\ncaptured\n" in result.output
    assert "1 journal with 2 sessions" in result.output


def test_a_capture_without_a_journal_is_found_where_it_is_usual(captured: Path, run: Run) -> None:
    for path in captured.iterdir():
        path.unlink()
    status(captured, troubles={"disk": {"count": 3, "last": "now", "what": "the journal cannot be written"}})
    assert (
        "mend",
        "disk, 3 times: the journal cannot be written, last now",
        "Make room on the disk, or give the directory a place that can be written.",
    ) in findings(run)


def test_who_writes(captured: Path, run: Run) -> None:
    writer = Writer("captured")
    for frame in session("three", ["a"]):
        writer.put(frame)
    assert writer.flush(60)
    told = [(state, what) for state, what, _ in findings(run, captured)]
    assert any(state == "ok" and what.startswith(f"process {os.getpid()} captures since 20") for state, what in told)
    assert not any("no process captures" in what for _, what in told)
    assert writer.stop(60)


KILLED = """
import os, signal, sys
from pytest_statebase.journal import Writer
from tests.journals import session
writer = Writer("captured")
for frame in session("killed", ["a"]):
    writer.put(frame)
assert writer.flush(60)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_who_was_killed(captured: Path, run: Run) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])}
    done = subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    told = [(state, what, do) for state, what, do in findings(run, captured) if "without an end" in what]
    assert [(state, do) for state, _, do in told] == [
        ("look", "Nothing: the turns that it had reported as kept are in its journal.")
    ]


def refusing(frame: Frame) -> Frame:
    raise ValueError(SECRET)


def test_turns_that_were_not_kept(captured: Path, run: Run) -> None:
    writer = Writer("captured", redact=refusing)
    for frame in session("three", ["a"], ["b"]):
        writer.put(frame)
    writer.stop(60)
    small = Writer("captured", limits=Limits(frame_bytes=10))
    for frame in session("four", ["a" * 1000]):
        small.put(frame)
    small.stop(60)
    found = {what: do for _, what, do in wrong(run, captured)}
    assert found["1 turn not kept: redaction"].startswith("The redactor raised: correct it.")
    assert "1 turn not kept: too large" in found
    # The one line of the log, with how often.
    assert any(what.startswith("redaction, ") and "failed, so that it is not kept" in what for what in found)
    looked = [what for state, what, _ in findings(run, captured) if state == "look"]
    assert "2 sessions cut where turns were lost" in looked


def test_damaged_lines(captured: Path, run: Run) -> None:
    journal = next(captured.glob("*.journal"))
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"sk-secret", b"sk-changed")
    journal.write_bytes(b"".join([*lines, b"01234567\tto"]))
    [(_, what, do)] = wrong(run, captured)
    assert what == f"{journal}:3: the check sum does not fit"
    assert "backup" in do
    assert any(
        state == "look" and what.startswith(f"{journal}:{len(lines) + 1}: the line ends before its time")
        for state, what, _ in findings(run, captured)
    )


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_modes(captured: Path, run: Run) -> None:
    journal = next(captured.glob("*.journal"))
    journal.chmod(0o644)
    captured.chmod(0o755)
    found = {what: do for _, what, do in wrong(run, captured)}
    assert found == {
        "captured is open to others than its owner": "chmod 700 captured",
        f"{journal} is open to others than its owner": f"chmod 600 {journal}",
    }


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.mark.parametrize(("free", "state"), [(10 * 1024**3, "ok"), (500 * 1024**2, "look"), (1024**2, "mend")])
def test_room_on_the_disk(captured: Path, run: Run, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(free, 0, free))
    [told] = [one for one in findings(run, captured) if "are free" in one[1]]
    assert told[0] == state


def status(captured: Path, **more: Any) -> None:
    told: Mapping[str, Any] = {"capture": 1, "pid": 0, "ended": True, **more}
    (captured / "20260101-1-x.status").write_text(json.dumps(told), encoding="utf-8")
    (captured / "20260101-1-x.status").chmod(0o600)


def test_what_was_taken_out_and_how_much_waited(captured: Path, run: Run) -> None:
    status(captured, redacted={"e-mail address": 12, "card number": 1}, queue={"frames": 0, "most_frames": 9_000})
    told = {what: state for state, what, _ in findings(run, captured)}
    assert told["taken out before anything was written: 1 card number, 12 e-mail address"] == "ok"
    assert told["at most 9,000 frames waited to be written; by default 10,000 may"] == "look"


def test_what_a_writer_tells_of_its_redactor_and_its_queue(captured: Path, run: Run) -> None:
    writer = Writer("captured", redact=cleaning_of("captured", None, "default", ()))
    for frame in session("three", [ToolCalled("mail", {"to": "kim.lee@corp-mail.com"}, "ok")]):
        writer.put(frame)
    writer.stop(60)
    told = {what: state for state, what, _ in findings(run, captured)}
    assert told["taken out before anything was written: 1 email"] == "ok"
    assert any(state == "ok" and what.endswith("waited to be written") for what, state in told.items())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "[]",
        '{"capture": 2}',
        '{"capture": 1, "pid": "x", "kept": [1], "lost": {"by": {"disk": "many"}}, "troubles": {"a": 1}, "queue": 3}',
        '{"capture": 1, "pid": 1e400, "troubles": {"\\u001b[2J": {"count": 1, "what": "\\u001b]0;x", "last": 5}}}',
        '{"capture": 1, "pid": 99999999999999999999999, "ended": false, "journal": "../../etc/passwd"}',
    ],
)
def test_hostile_status_files(captured: Path, run: Run, text: str) -> None:
    path = captured / "x\x1b[31m.status"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    for result in (run("doctor", captured), run("doctor", captured, "--json")):
        assert result.exit_code in (0, 1)
        assert all(char == "\n" or char.isprintable() for char in result.output)
