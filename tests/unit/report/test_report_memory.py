"""What a turn added to memory, in rows, terminal and page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_statebase import Cassette, record_session, replay
from pytest_statebase.report.page.html import write_html
from pytest_statebase.report.results import result_to_row
from pytest_statebase.report.runs import Run
from pytest_statebase.report.terminal import failure_lines, plain


def remembers(what: str) -> Any:
    def agent(session_id: str, statebase: Any) -> str:
        statebase.memory.add(what, "preference", session_id, ["drinks"])
        return "Noted."

    return agent


def row() -> dict[str, Any]:
    ledger = record_session(remembers("Likes tea"), ["I like tea"], session_id="sess_memory")
    return result_to_row(replay(Cassette.from_ledger(ledger), remembers("Likes <coffee>")))


def test_rows_hold_both_sides() -> None:
    turn = row()["turns"][0]
    assert turn["recorded"]["memory"] == [{"content": "Likes tea", "type": "preference", "tags": ["drinks"]}]
    assert turn["replayed"]["memory"] == [{"content": "Likes <coffee>", "type": "preference", "tags": ["drinks"]}]
    assert turn["divergences"][0]["facet"] == "memory"


def test_the_terminal_names_the_memory() -> None:
    text = plain(failure_lines(row()))
    assert "memory[0].content" in text
    assert "Likes tea" in text
    assert "Likes <coffee>" in text


def test_the_page_shows_both_sides(tmp_path: Path) -> None:
    write_html(tmp_path / "report.html", Run([row()], {"started_at": "2026-01-01T00:00:00+00:00"}))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Added to memory" in text
    assert "Likes &lt;" in text
    assert "<coffee>" not in text
