"""The page on importing names every reason of a grade, and every setting that would mend one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_statebase.importers.modelcalls.making import REASONS as MODEL_REASONS
from pytest_statebase.importers.spans.reasons import REASONS
from pytest_statebase.importers.traced import SOURCES

PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text(encoding="utf-8")
SETTING = re.compile(r"[A-Z]{4,}(?:_[A-Z]+)+(?:=\w+)?|@\w+(?:\([^)]*\))?|\w+=\w+")


OTHERS = ("no-turns", "no-conversation", "own-errors", "no-attachments", "no-events")
"""Of tapes, caches and logs."""


@pytest.mark.parametrize("kind", [*REASONS, *MODEL_REASONS, *OTHERS])
def test_a_reason_is_documented(kind: str) -> None:
    assert f"| `{kind}` |" in PAGE


@pytest.mark.parametrize("kind", REASONS)
def test_what_would_mend_it_is_documented(kind: str) -> None:
    settings = [setting for remedy in REASONS[kind][1].values() for setting in SETTING.findall(remedy)]
    assert [setting for setting in settings if setting not in PAGE] == []


@pytest.mark.parametrize("source", [*(source.format for source in SOURCES), "openai", "tapeagents", "inspect_ai"])
def test_a_format_is_documented(source: str) -> None:
    assert f"`{source}`" in PAGE


def test_every_reason_has_a_setting_to_look_for() -> None:
    assert all(SETTING.search(remedies[""]) for _, remedies in REASONS.values())
