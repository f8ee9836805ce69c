"""`init`: the first cassette, of what is found in a project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_statebase.cassette import load_cassette
from pytest_statebase.cli import finding, main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def init(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["init", "--no-ci", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def chat(id: str, *, turns: int = 1, fails: bool = False) -> dict[str, Any]:
    call = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    turn = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": '{"error": "no"}' if fails else "yes"},
        {"role": "assistant", "content": "Hello"},
    ]
    return {"session_id": id, "messages": turn * turns}


def write(path: str, *sessions: dict[str, Any]) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(json.dumps(session) + "\n" for session in sessions), encoding="utf-8")


def cassettes() -> list[str]:
    return [load_cassette(path).ledger.id for path in sorted(Path("fixtures").glob("*.session.yaml"))]


def test_of_an_export_the_shortest_session_in_which_something_went_wrong() -> None:
    sessions = [chat("short"), chat("long", turns=3, fails=True), chat("wrong", turns=2, fails=True)]
    write("data/traces.jsonl", *sessions)
    output = init()
    assert cassettes() == ["wrong"]
    assert "fixtures has its first cassette, of session wrong" in output
    assert "recorded sessions were found in data/traces.jsonl, 3 sessions of use;" in output
    assert "the shortest in which something went wrong (errors: look_up said that it failed)" in output
    assert "pytest-statebase import data/traces.jsonl --out fixtures" in output


def test_where_nothing_went_wrong_the_shortest() -> None:
    write("chats.jsonl", chat("long", turns=3), chat("short"))
    assert "this is the shortest." in init()
    assert cassettes() == ["short"]


def test_other_files_are_passed_over() -> None:
    Path("package.json").write_text('{"name": "x"}', encoding="utf-8")
    Path("config.json").write_text('{"a": [1]}', encoding="utf-8")
    Path("broken.json").write_text("{", encoding="utf-8")
    for directory in (".venv/lib", "node_modules/x", "env-1", "deep/er/and/deeper"):
        write(f"{directory}/traces.json", chat(directory.replace("/", "-")))
    Path("env-1/pyvenv.cfg").write_text("", encoding="utf-8")
    output = init()
    assert cassettes() == []
    assert "pytest-statebase capture -- python app.py" in output
    assert "pytest-statebase pull --failed" in output
    write("fixtures/chat.json", chat("mine"))
    init()
    assert cassettes() == ["mine"]


def test_cassettes_that_there_are_stay_alone() -> None:
    write("chats.jsonl", chat("one"))
    init()
    write("chats.jsonl", chat("two"))
    assert "fixtures holds cassettes already, fixtures/one.session.yaml is the first" in init()
    assert cassettes() == ["one"]


def test_no_first_cassette_where_none_is_wanted() -> None:
    write("chats.jsonl", chat("one"))
    init("--no-first")
    assert cassettes() == []


def test_the_search_is_bounded_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_FILES", 30)
    for number in range(100):
        Path(f"f{number:03}.txt").write_text("", encoding="utf-8")
    write("z/traces.json", chat("one"))
    assert "No recorded session was found in the first 30 files and directories" in init()


def test_likely_names_are_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_EXPORTS", 1)
    write("a.json", chat("unlikely"))
    write("exports/b.json", chat("likely"))
    init()
    assert cassettes() == ["likely"]


def test_no_more_is_read_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    write("traces-1.json", {"no": "session", "x": "y" * 1000})
    write("traces-2.json", chat("one"))
    monkeypatch.setattr(finding, "MOST_BYTES", 1_050)
    assert "No recorded session was found in the first" in init()
    monkeypatch.setattr(finding, "MOST_BYTES", 5_000)
    init()
    assert cassettes() == ["one"]


def test_hostile_sessions() -> None:
    write("chats.jsonl", chat("../../x\x1b[2J\u202e", fails=True))
    output = init()
    assert all(char == "\n" or char.isprintable() for char in output)
    assert cassettes() == ["../../x\x1b[2J\u202e"]
    command = next(line for line in output.splitlines() if "Look at it: " in line).partition("Look at it: ")[2]
    shown = CliRunner().invoke(main, command.split()[1:])
    assert shown.exit_code == 0, shown.output
    assert sorted(path.name for path in Path().iterdir()) == [
        ".gitattributes",
        ".github",
        "chats.jsonl",
        "conftest.py",
        "fixtures",
        "pytest.ini",
    ]
