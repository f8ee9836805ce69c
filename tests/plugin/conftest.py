"""A project with a toy agent, its recording and a plan, for pytester to run pytest in."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Ledger, record_session
from pytest_statebase.cassette import write_record
from pytest_statebase.report.page.packing import unpacked
from tests import toy

QUICK = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
"""Hypothesis would import itself anew in every run."""
PLAN = "cassette: 1\nsession: sess_toy\nagent: toy\n"
INI = """
[pytest]
pythonpath = .
asyncio_default_fixture_loop_scope = function
statebase_tools =
    toy:price
    toy:price_later
    toy:stock
"""


class Project:
    """Writes cassettes and runs pytest on them."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        self.fixtures = self.path / "fixtures"
        self.fixtures.mkdir()
        shutil.copy(toy.__file__, self.path / "toy.py")
        self.ini(INI)

    def ini(self, text: str) -> None:
        (self.path / "pytest.ini").write_text(text, encoding="utf-8")

    def ledger(self, agent: type = toy.Toy, session: str = "sess_toy") -> Ledger:
        state = {"turns": 0, "cart": []}
        return record_session(agent, toy.INPUTS, session_id=session, tools=toy.TOOLS, state=state)

    def cassette(self, name: str = "toy", plan: str = PLAN, agent: type = toy.Toy, session: str = "sess_toy") -> Path:
        """Record the toy agent and write plan and record."""
        write_record(self.fixtures / f"{name}.record.yaml", self.ledger(agent, session))
        path = self.fixtures / f"{name}.session.yaml"
        path.write_text(plan.replace("sess_toy", session), encoding="utf-8")
        return path

    def run(self, *args: str, agent: str | None = "toy:Toy") -> pytest.RunResult:
        """Run a replay; in this process, but for what needs processes of its own."""
        named = [f"--statebase-agent={agent}"] if agent else []
        apart = any(argument.startswith(("-n", "-W", "--reruns", "--html")) for argument in args)
        run = self.pytester.runpytest_subprocess if apart else self.pytester.runpytest_inprocess
        return run("--statebase-replay", *QUICK, *named, *args)

    def results(self, name: str = "results.jsonl") -> list[dict[str, Any]]:
        """The rows of a results file, without its first line."""
        lines = (self.path / name).read_text(encoding="ascii").splitlines()
        return [json.loads(line) for line in lines][1:]

    def page(self, name: str = "statebase-report.html") -> str:
        """What the page holds, packed and plain."""
        text = (self.path / name).read_text(encoding="utf-8")
        found = re.findall(r'<script type="text/plain" id="[\w-]+">([^<]*)</script>', text)
        return text + "".join(json.dumps(unpacked(one), ensure_ascii=False) for one in found)

    def hashes(self) -> dict[str, bytes]:
        """Every file of the cassettes, to show that none changed."""
        return {path.name: path.read_bytes() for path in sorted(self.fixtures.iterdir())}


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)
