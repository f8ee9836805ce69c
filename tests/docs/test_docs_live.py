"""What the page on HTTP says of running once live and replaying offline from then on, run as it stands there."""

from __future__ import annotations

import re

import pytest

from tests.docs.test_docs import BLOCK, ROOT, assert_shown, run
from tests.frameworks.model_server import ModelServer
from tests.plugin.test_live import change_prompt, project, server, tools_ran

__all__ = ["project", "server"]
PAGE = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
STEPS = [(match["name"], match["text"]) for match in BLOCK.finditer(PAGE) if match["what"] == "live"]
PROMPT = re.compile(r"system text became \*([^*]+)\*")


def test_run_once_live_then_offline(
    project: pytest.Pytester, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    (record,) = [text for name, text in STEPS if name == "record"]
    for path in (project.path / "fixtures").iterdir():
        path.unlink()
    project.makepyfile(record=f"from agent import agent as my_agent\n{record}")
    assert project.runpython("record.py").ret == 0
    (project.path / "live.log").unlink()

    prompt = PROMPT.search(PAGE)
    assert prompt is not None
    change_prompt(project, f"{' '.join(prompt[1].split())}.")
    (stale,) = [text for name, text in STEPS if name == "stale"]
    assert_shown(stale, run(project, "pytest --statebase-replay"))

    calls = []
    for text in [text for name, text in STEPS if name == "run"]:
        command, _, shown = text.removeprefix("$ ").partition("\n")
        before = server.count
        result = run(project, command)
        assert result.ret == 0, result.stdout.str()
        assert_shown(shown, result)
        calls.append(server.count - before)
        if "--statebase-accept" in command:
            server.stop()
            monkeypatch.delenv("OPENAI_API_KEY")
    assert calls == [5, 0, 0]
    assert not tools_ran(project)
    made = {path.name for path in (project.path / "fixtures").iterdir()}
    assert {"shop.accepted.yaml", "shop.accepted.http.yaml"} <= made
