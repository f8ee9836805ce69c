"""The way of an engineer after a change of the prompt, as docs/living.md tells it."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.data.walkthrough import ROOT, walk

PAGE = (ROOT / "docs" / "living.md").read_text(encoding="utf-8")
TOLD = re.findall(r"<!-- walk: [^\n]+ -->\n```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def data() -> Path:
    found = os.environ.get("STATEBASE_DATA")
    if not found:
        pytest.skip("STATEBASE_DATA is not set: the recorded sessions of others are not here")
    return Path(found).resolve()


def test_it_ends_green_as_the_page_says(data: Path, tmp_path: Path) -> None:
    said: list[str] = []
    done = walk(data, tmp_path, said.append)
    assert done.code == 0
    printed = iter("\n".join(said).splitlines())
    for line in "".join(TOLD).splitlines():
        assert any(matches(one, line) for one in printed), line
    assert f"**{done.commands} commands and {done.decisions} decisions** for 65 turns" in PAGE
    files = list((tmp_path / "fixtures").glob("*.accepted.yaml"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    assert f"{len(files)} files of about {round(lines, -2):,} lines in all" in PAGE


def matches(printed: str, told: str) -> bool:
    """Whether a line was printed as told; `…` stands for anything."""
    return fnmatchcase(printed.rstrip(), re.sub(r"([\[?*])", r"[\1]", told).replace("…", "*"))
