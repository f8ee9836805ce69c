"""The comment that the documentation shows is what the sample agent gets."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_comment_of_the_sample_agent(tmp_path: Path) -> None:
    for name in ("fixtures", "conftest.py", "pyproject.toml"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    (tmp_path / "tests").mkdir()
    agent = "--statebase-agent=support_agent.production:SupportAgent"
    command = [sys.executable, "-m", "pytest", "--statebase-replay", agent, "--statebase-summary=comment.md"]
    subprocess.run([*command, "-p", "no:cacheprovider"], cwd=tmp_path, check=False, capture_output=True)
    written = (tmp_path / "comment.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    shown = page.split("```markdown\n", 1)[1].split("```", 1)[0]
    assert written.startswith(shown)
