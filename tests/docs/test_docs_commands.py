"""The excerpts of commands in the documentation are what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_statebase.cli import main

ROOT = Path(__file__).parents[2]
EXCERPT = re.compile(r"<!-- excerpt: pytest-statebase (?P<command>[^\n]+?) -->\n```text\n(?P<shown>.*?)```", re.DOTALL)
FOUND = [match for page in sorted(ROOT.rglob("docs/*.md")) for match in EXCERPT.finditer(page.read_text("utf-8"))]
PASSING = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?|today|\d+ days? ago| +\d+ d\b")
"""What differs from day to day, and where the fixtures are recorded again."""


@pytest.mark.parametrize("found", FOUND, ids=[match["command"] for match in FOUND])
def test_excerpt(monkeypatch: pytest.MonkeyPatch, found: re.Match[str]) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(main, shlex.split(found["command"]))
    assert result.exit_code == 0, result.output
    shown, printed = (PASSING.sub("~", text).splitlines() for text in (found["shown"], result.stdout))
    left = iter(printed)
    for line in shown:
        assert line == "…" or line in left, line


def test_there_are_excerpts() -> None:
    assert {match["command"].split()[0] for match in FOUND} >= {"show", "timeline", "status", "expect"}
