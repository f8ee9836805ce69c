"""What a project says of redaction counts for its commands, which tell how much was taken out, and nothing of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Run
from pytest_statebase.cassette import set_secret_names
from pytest_statebase.privacy import RedactionOptions, set_redaction

CONFTEST = """
from pytest_statebase.privacy import Rule

def pytest_statebase_redact():
    return [Rule("initials", lambda text: [(text.index("J.D."), text.index("J.D.") + 4)] if "J.D." in text else [])]
"""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    set_redaction(RedactionOptions())
    set_secret_names(())


@pytest.fixture
def chat(project: Path) -> Path:
    messages = [
        {"role": "user", "content": "I am J.D., member M-123456, jane.doe@corp.com"},
        {"role": "assistant", "content": json.dumps({"zugangswort": "wort-eins"})},
    ]
    (project / "chat.json").write_text(json.dumps({"id": "chat_1", "messages": messages}), encoding="utf-8")
    lines = "[pytest]\nstatebase_secrets = zugangswort\nstatebase_redact =\n    member = M-\\d{6}\n"
    (project / "pytest.ini").write_text(lines, encoding="utf-8")
    (project / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    return project


def test_import_takes_out_what_the_project_names(chat: Path, run: Run) -> None:
    result = run("import", "chat.json", "--out", "chats")
    assert result.exit_code == 0, result.output
    told = next(line for line in result.stdout.splitlines() if line.startswith("Redacted: "))
    for part in ("secrets in 1 place", "e-mail addresses in", "member (a rule) in", "initials (a rule) in"):
        assert part in told
    for file in (chat / "chats").iterdir():
        text = file.read_text("utf-8")
        for value in ("J.D.", "M-123456", "corp.com", "wort-eins"):
            assert value not in text, (file.name, value)
            assert value not in result.output
    assert run("lint", "chats", "--strict", "--skip", "reasoning").exit_code == 0


def test_a_line_that_is_no_rule(chat: Path, run: Run) -> None:
    (chat / "pytest.ini").write_text("[pytest]\nstatebase_redact = member M-\n", encoding="utf-8")
    result = run("import", "chat.json", "--out", "chats")
    assert result.exit_code != 0
    assert "Write `name = pattern`" in result.output
    assert not (chat / "chats").exists()
