"""The page on the report names every key that the page has."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import pytest_statebase

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((Path(pytest_statebase.__file__).parent / "report" / "page" / "templates" / "app").glob("*.js"))
ADDED = re.compile(r'^ *keys\.add\(("[^"\n]+"), ("[^"\n]+"), .+?(?:, "(\w+)")?\);$', re.MULTILINE)
SIGNS = {
    "ArrowLeft": "←",
    "ArrowRight": "→",
    "ArrowUp": "↑",
    "ArrowDown": "↓",
    "Escape": "Esc",
    "PageUp": "PgUp",
    "PageDown": "PgDn",
}


def test_every_key_is_in_the_table() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    there = set()
    for keys, words, view in ADDED.findall(text):
        names = ", ".join(f"`{SIGNS.get(key, key)}`" for key in json.loads(keys).split(" "))
        there.add((view or "everywhere", names, json.loads(words)))
    assert len(there) == text.count("keys.add(") > 0, "each is added in one line"
    assert documented() == there


def documented() -> set[tuple[str, str, str]]:
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    _, _, table = text.partition("| where | key | what |\n| --- | --- | --- |\n")
    found, where = set(), ""
    for line in table.partition("\n\n")[0].splitlines():
        place, key, words = (cell.strip() for cell in line.strip("|").split("|"))
        where = place or where
        found.add((where, key, words))
    return found


def test_the_sample_of_a_brief_is_one(pytester: pytest.Pytester) -> None:
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    sample = text.partition("```markdown\n")[2].partition("```")[0]
    shutil.copytree(ROOT / "fixtures", pytester.path / "fixtures")
    agent = "--statebase-agent=support_agent.production:SupportAgent"
    pytester.makeini("[pytest]\npythonpath = fixtures\nstatebase_tools = support_agent.tools:*\n")
    result = pytester.runpytest_subprocess("--statebase-replay", agent, "--statebase-sidecar=failures")
    assert result.ret == 1
    (written,) = (pytester.path / "failures").glob("second-refund-*.md")
    lines = iter(written.read_text(encoding="utf-8").splitlines())
    assert [line for line in sample.splitlines() if line not in lines] == []
