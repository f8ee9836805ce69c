"""A project with the recordings of the sample agent, and one recording that holds everything, hostile text too."""

from __future__ import annotations

import datetime
import decimal
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_statebase.cassette import write_record
from pytest_statebase.cli import ages, main
from pytest_statebase.ledger import (
    Ledger,
    MemoryAdded,
    MemorySearched,
    Said,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)

FIXTURES = Path(__file__).parents[3] / "fixtures"
Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    def run(*arguments: object) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory; its cassettes are those of the sample agent."""
    (tmp_path / "fixtures").mkdir()
    for file in FIXTURES.glob("*.yaml"):
        if ".accepted." not in file.name:
            shutil.copy(file, tmp_path / "fixtures")
    agent = "statebase_agent = support_agent.fixed:SupportAgent\nstatebase_tools =\n    support_agent.tools:*\n"
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {FIXTURES}\n{agent}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ages, "now", lambda: datetime.datetime(2026, 12, 10, 12, tzinfo=datetime.UTC))
    return tmp_path


@pytest.fixture
def everything(project: Path) -> Path:
    """A record with every sort of event."""
    first = {"a": 1, "items": [0, 1], "price": decimal.Decimal("1.10")}
    events = [
        SessionCreated("evil\x1b[31m", "agent\x07", "u", "2026-12-01T00:00:00Z", first, actor="ops", reasoning="begun"),
        StateUpdated(1, {**first, "a": 2}, reasoning="an operator\nfixed it", actor="ops", at="2026-12-01T00:00:01Z"),
        TurnStarted(1, [{"type": "text", "content": "one"}, {"type": "text", "content": "two\x1b[2J \u202eevil"}]),
        Said("Let me look."),
        ToolCalled("look", {"x\x1b": "=1+1"}, {"big": "x" * 5000}, step=1, agent="researcher"),
        ToolCalled("inner", "not json \x00", error={"type": "a:Broken", "message": "boom\x1b"}, step=1, during=0),
        ToolCalled("sure", {}, "Error: no", is_error=True),
        ToolCalled("unknown"),
        StateUpdated(2, {"a": list(range(200)), "items": [1]}, reasoning="why"),
        MemoryAdded("likes \x1b", "preference", ["t\x1b"]),
        MemorySearched("what", [{"content": "x\x1b"}]),
        TurnAdded({"type": "text", "content": ""}, reasoning="=cmd()", metadata={"latency_ms": 12}),
        StateRolledBack(3, 0, first, reason="undone", actor="ops"),
        TurnStarted(2),
        TurnAdded({"type": "data", "content": {"x": [1, 2]}}, interrupted=True),
        TurnStarted(3, {"type": "text", "content": "日本語" * 60}),
        TurnAdded({"type": "text", "content": "a\n\nb\n" + "long " * 300}),
        TurnStarted(4, {"type": "text", "content": "and?"}),
        TurnAdded(),
        SessionEnded("crash\x1b", {"type": "text", "content": "hello?"}),
    ]
    path = project / "fixtures" / "everything.record.yaml"
    write_record(path, Ledger(events))
    return path
