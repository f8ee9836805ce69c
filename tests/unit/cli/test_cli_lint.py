"""`lint` and `redact`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Run
from pytest_statebase.cassette import load_cassette, write_plan, write_record
from pytest_statebase.importers import import_file
from pytest_statebase.importers.model import ImportedSession

MAIL = "jane.doe@corp.com"


@pytest.fixture
def chat(project: Path, run: Run) -> Path:
    """A cassette with an address of e-mail, a phone and a name in it."""
    calls = [{"id": "c", "type": "function", "function": {"name": "find", "arguments": json.dumps({"mail": MAIL})}}]
    messages = [
        {"role": "user", "content": f"I am Jane Doe, {MAIL}"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps({"phone": "030 901820"})},
        {"role": "assistant", "content": "Hello Jane"},
    ]
    (project / "chat.json").write_text(json.dumps({"id": "chat_1", "messages": messages}), encoding="utf-8")
    (session,) = import_file(project / "chat.json")
    assert isinstance(session, ImportedSession)
    # As before sessions were redacted on their way to a file.
    (project / "chats").mkdir()
    write_record(project / "chats" / "chat_1.record.yaml", session.ledger)
    write_plan(project / "chats" / "chat_1.session.yaml", session.plan)
    return project / "chats" / "chat_1.session.yaml"


def test_lint_tells_lines_and_no_values(chat: Path, run: Run) -> None:
    result = run("lint", "chats")
    assert result.exit_code == 0
    line = "      7 email      1 e-mail address: turn 1, input.content; turn 1, tool find, arguments.mail"
    assert line in result.stdout.splitlines()
    assert "1 session records no reasoning at all, as chat logs do.  (--skip reasoning)" in result.stdout
    assert result.stdout.endswith("1 cassette: 2 email, 1 reasoning, 1 phone\n")
    assert "jane" not in result.output.lower()
    assert "901820" not in result.output


def test_lint_is_strict_where_it_is_asked_to_be(chat: Path, run: Run) -> None:
    assert run("lint", "chats", "--strict").exit_code == 1
    rules = ["--skip", "reasoning", "--skip", "email", "--skip", "phone"]
    result = run("lint", "chats", "--strict", *rules)
    assert (result.exit_code, result.stdout) == (0, "1 cassette: nothing found\n")


def test_lint_as_json(chat: Path, run: Run) -> None:
    found = json.loads(run("lint", "chats", "--json").stdout)
    assert found["cassettes"] == 1
    assert found["broken"] == []
    assert {row["rule"] for row in found["findings"]} == {"email", "phone", "reasoning"}
    assert {row["path"] for row in found["findings"]} == {"chats/chat_1.record.yaml", "chats/chat_1.session.yaml"}


def test_lint_tells_what_cannot_be_read(project: Path, run: Run) -> None:
    (project / "fixtures" / "clean.record.yaml").write_text("nothing", encoding="utf-8")
    result = run("lint")
    assert result.exit_code == 1
    assert "broken  fixtures/clean.record.yaml" in result.stderr
    assert "8 cassettes" in result.stdout


def test_redact_writes_new_files_beside_the_old_ones(chat: Path, run: Run) -> None:
    before = {file.name: file.read_bytes() for file in chat.parent.iterdir()}
    result = run("redact", "chats")
    assert result.exit_code == 0, result.output
    assert "1 e-mail address in 3 places, 1 phone number in 1 place" in result.stdout
    assert "chat_1.record.yaml → chats/chat_1-redacted.record.yaml" in result.stdout
    assert "jane" not in result.output.lower()
    assert {name: (chat.parent / name).read_bytes() for name in before} == before
    cassette = load_cassette(chat.with_name("chat_1-redacted.session.yaml"))
    assert MAIL not in cassette.ledger.turns[0].text
    again = run("redact", "chats/chat_1.session.yaml")
    assert again.exit_code == 1
    assert "there is a file already" in again.stderr


def test_redact_in_place_and_elsewhere(chat: Path, run: Run) -> None:
    assert run("redact", "chats", "--dry-run").stdout.startswith("would be    chats/chat_1.record.yaml\n")
    assert MAIL in chat.with_name("chat_1.record.yaml").read_text(encoding="utf-8")
    assert run("redact", "chats", "--out", "clean/ones").exit_code == 0
    assert sorted(file.name for file in (chat.parents[1] / "clean" / "ones").iterdir()) == [
        "chat_1.record.yaml",
        "chat_1.session.yaml",
    ]
    result = run("redact", "chats", "--write")
    assert "chat_1.record.yaml in the place of the old one" in result.stdout
    assert "The old files were replaced." in result.stdout
    assert run("verify", "chats").exit_code == 0
    assert run("redact", "chats", "--write").stdout.startswith("nothing     chats/chat_1.record.yaml\n1 record: 0 red")


def test_redact_one_person(chat: Path, run: Run) -> None:
    result = run("redact", "chats", "--write", "--subject", "Jane Doe")
    assert "1 name in 2 places" in result.stdout
    assert "single words of a name are left in 1 place" in result.stderr
    assert load_cassette(chat).ledger.turns[0].text == f"I am Person 1, {MAIL}"
    result = run("redact", "fixtures", "--dry-run", "--subject", "customer_1")
    assert "1 user id in 1 place" in result.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--out", "x", "--write"], "--out and --write exclude each other"),
        (["--subject", "x"], "--subject: 'x' is too short to be looked for"),
    ],
)
def test_redact_refuses_what_means_nothing(chat: Path, run: Run, options: list[str], told: str) -> None:
    result = run("redact", "chats", *options)
    assert result.exit_code == 1
    assert told in result.stderr


def test_redact_goes_on_after_what_it_cannot_read(chat: Path, run: Run) -> None:
    chat.with_name("a.record.yaml").write_text("nothing", encoding="utf-8")
    result = run("redact", "chats", "--write")
    assert result.exit_code == 1
    assert "not redacted  chats/a.record.yaml" in result.stderr
    assert "1 record: 1 redacted" in result.stdout
