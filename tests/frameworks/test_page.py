"""What docs/frameworks.md shows is recorded and replayed offline; its table names what is installed for it."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .harness import Bench, framework

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
SAMPLES = dict(re.findall(r"<!-- framework: (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))
NEEDS = {
    "openai": ["openai"],
    "anthropic": ["anthropic"],
    "langgraph": ["langgraph", "langchain_openai"],
    "pydantic-ai": ["pydantic_ai", "openai"],
    "openai-agents": ["agents"],
    "asgi": ["starlette"],
}

# The models that the page names will grow old.
pytestmark = pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")


def setting(text: str, name: str) -> list[str]:
    return " ".join(re.findall(rf"^# {name} = (.*)$", text, re.MULTILINE)).split()


@pytest.fixture
def support(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bench: Bench
) -> ModuleType:
    """A sample as the module that its comment says it is."""
    text = SAMPLES[request.param]
    framework(*NEEDS[request.param])
    (tmp_path / "support.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "support", raising=False)
    bench.tools, bench.ignore = setting(text, "statebase_tools"), setting(text, "ignore")
    return importlib.import_module("support")


def test_every_sample_is_run() -> None:
    assert SAMPLES.keys() == NEEDS.keys()


@pytest.mark.parametrize("support", NEEDS, indirect=True)
def test_a_sample_is_recorded_and_replayed_offline(support: Any, bench: Bench) -> None:
    cassette = bench.record(support.agent, ["Where is order 1047?", "And order 2093?"])
    calls = [(call.tool, call.arguments) for turn in cassette.ledger.turns for call in turn.calls]
    assert calls == [("lookup_order", {"order_id": "1047"}), ("lookup_order", {"order_id": "2093"})]
    bench.unchanged(cassette, support.agent)


def test_the_table_names_what_is_installed() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    installed = {re.split(r"[\[>=]", line)[0] for line in extra["frameworks"]}
    rows = re.findall(r"^\| (`.*?) \| ([\d., and]+) \|", PAGE, re.MULTILINE)
    assert {name for row, _ in rows for name in re.findall(r"`([\w-]+)`", row)} <= installed
    assert len(rows) == 8
