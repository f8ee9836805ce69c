from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_statebase.cli import main

HELLO = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def written(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_import(tmp_path: Path) -> None:
    source = written(tmp_path / "all.json", [{"id": "a", "messages": HELLO}, {"id": "b", "messages": HELLO}])
    out = tmp_path / "out"
    result = run("import", source, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"2 sessions, 2 turns, 0 calls; files: 5 written, 0 unchanged, 0 refused; in {out}\n"
    assert result.stderr == ""
    again = run("import", source, "--out", out)
    assert again.exit_code == 0
    assert "files: 0 written, 5 unchanged, 0 refused" in again.stdout


def test_only_the_sessions_that_are_wanted(tmp_path: Path) -> None:
    source = written(tmp_path / "all.json", [{"id": name, "messages": HELLO} for name in ("a-1", "a-2", "b")])
    out = tmp_path / "out"
    assert run("import", source, "--out", out, "--session", "a-*", "--session", "none").exit_code == 0
    assert sorted(path.name for path in out.glob("*.record.yaml")) == ["a-1.record.yaml", "a-2.record.yaml"]
    missed = run("import", source, "--out", out, "--session", "none")
    assert missed.exit_code == 1
    assert "No session is called none. Some of the 3: " in missed.stderr
    assert "a-1" in run("import", source, "--out", out, "--session", "a-11").stderr


def test_bad_sessions_and_files_do_not_lose_the_others(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    source = written(tmp_path / "all.json", [HELLO, [{"role": "robot", "content": "\x1b]0;x\x07"}, *HELLO], HELLO])
    result = run("import", broken, source, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert f"Not imported: {broken}:1:2: is not JSON" in result.stderr
    assert f"Not imported: {source}: [1][0]: has the unknown role 'robot'" in result.stderr
    assert "2 sessions, 2 turns, 0 calls (2 not imported); files: 5 written" in result.stdout
    assert "Traceback" not in result.output


def test_other_content_is_refused(tmp_path: Path) -> None:
    source = written(tmp_path / "chat.json", HELLO)
    out = tmp_path / "out"
    assert run("import", source, "--out", out).exit_code == 0
    before = (out / "chat.record.yaml").read_bytes()
    written(source, [HELLO[0], {"role": "assistant", "content": "Goodbye"}])
    result = run("import", source, "--out", out)
    assert result.exit_code == 1
    assert "exists with other content" in result.stderr
    assert "0 sessions, 0 turns, 0 calls (1 not imported); files: 0 written, 0 unchanged, 1 refused" in result.stdout
    assert (out / "chat.record.yaml").read_bytes() == before


def test_nothing_is_made_where_nothing_can_be_imported(tmp_path: Path) -> None:
    result = run("import", written(tmp_path / "x.json", {"no": "session"}), "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "Known are lists of chat messages" in result.stderr
    assert not (tmp_path / "out").exists()


def test_lone_surrogates_do_not_stop_it(tmp_path: Path) -> None:
    source = tmp_path / "x.json"
    source.write_text('[{"role": "user", "content": "\\ud800"}, {"role": "\\ud800"}]', encoding="utf-8")
    result = run("import", source, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "unknown role" in result.stderr


@pytest.mark.parametrize("arguments", [["import"], ["import", "none.json"], ["nonsense"]])
def test_usage_errors(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_out_that_is_a_file(tmp_path: Path) -> None:
    source = written(tmp_path / "chat.json", HELLO)
    assert run("import", source, "--out", source).exit_code == 2
    result = run("import", source, "--out", source / "below")
    assert result.exit_code == 1
    assert "the directory cannot be made" in result.stderr


def test_as_a_program(tmp_path: Path) -> None:
    source = written(tmp_path / "chat.json", HELLO)
    command = [sys.executable, "-m", "pytest_statebase.cli", "import", source.name, "--out", "out"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONIOENCODING": "ascii", "PATH": ""}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == (
        "1 session, 1 turn, 0 calls; files: 3 written, 0 unchanged, 0 refused; in out"
    )
    assert run.stderr == ""


def test_what_is_wrong_in_the_same_way_is_told_once(tmp_path: Path) -> None:
    source = tmp_path / "lines.jsonl"
    source.write_text("".join(f'{{"n": {number}}}\n' for number in range(6)))
    result = run("import", str(source), "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert result.stderr.count("is no session of a format that is known") == 1
    assert f"Not imported: {source}:1: is no session" in result.stderr
    assert f"The same at 5 other places: {source}:2, {source}:3, {source}:4, …" in result.stderr
