"""`serve`: recorded sessions over HTTP."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from click.testing import Result

pytest.importorskip("uvicorn")

from pytest_statebase.statebase.app import listening

Run = Callable[..., Result]


def test_it_serves_until_it_is_told_to_stop(project: Path) -> None:
    files = {path: path.read_bytes() for path in (project / "fixtures").iterdir()}
    command = [sys.executable, "-u", "-m", "pytest_statebase.cli", "serve", "fixtures", "--port", "0", "--key", "k"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told, also = process.stdout.readline(), process.stdout.readline()
        assert told.startswith("8 sessions at http://127.0.0.1:")
        url = f"{told.split()[-1]}/v1/sessions/sess_second_refund"
        with urlopen(Request(url, headers={"X-API-Key": "k"}), timeout=30) as answer:
            assert b'"turn_count": 11' in answer.read()
        change = Request(url, b'{"metadata": {"a": 1}}', {"X-API-Key": "k"}, method="PATCH")
        with urlopen(change, timeout=30) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
    assert (process.returncode, rest, errors) == (0, "", "")
    assert also == "Nothing is written to a file. Ctrl-C ends it.\n"
    assert {path: path.read_bytes() for path in (project / "fixtures").iterdir()} == files


def test_what_cannot_be_served(project: Path, run: Run) -> None:
    for place, told in (("nowhere", "there is no such file or directory"), (".git", "there is no such file")):
        result = run("serve", place)
        assert (result.exit_code, told in result.stderr) == (1, True)
    (project / "empty").mkdir()
    assert "there is no cassette here" in run("serve", "empty").stderr
    assert "--key is empty" in run("serve", "fixtures", "--key", "").stderr


def test_a_port_that_is_taken(project: Path, run: Run) -> None:
    with listening("127.0.0.1", 0) as sock:
        result = run("serve", "fixtures", "--port", sock.getsockname()[1])
    assert result.exit_code == 1
    assert "cannot listen on 127.0.0.1 port" in result.stderr
    assert "Give another --host or --port" in result.stderr


def test_without_uvicorn(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("serve", "fixtures")
    assert result.exit_code == 1
    assert "pip install 'pytest-statebase[serve]'" in result.stderr
