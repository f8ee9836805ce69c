"""Recorded sessions of others, replayed as if every tool and every argument had got another name since."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Ledger, replay
from pytest_statebase.cassette import Cassette, Plan, ToolRules
from pytest_statebase.engine.tools import ToolCaller
from pytest_statebase.ledger import ToolCalled
from pytest_statebase.testing import Reenact
from tests.data.real_sessions import files, sessions

_DATA = os.environ.get("STATEBASE_DATA")
pytestmark = pytest.mark.skipif(not _DATA, reason="STATEBASE_DATA does not name the recorded sessions")


class Modern(Reenact):
    """Passes one argument more with every call."""

    @staticmethod
    def _call(tools: ToolCaller, event: ToolCalled) -> None:
        if isinstance(event.arguments, dict):
            event = replace(event, arguments={**event.arguments, "region": "EU"})
        Reenact._call(tools, event)


def moved(ledger: Ledger) -> dict[str, ToolRules]:
    names: dict[str, dict[str, str]] = {}
    for turn in ledger.turns:
        for call in turn.calls:
            arguments: Any = call.arguments if isinstance(call.arguments, dict) else {}
            names.setdefault(call.tool, {}).update({name: f"the_{name}" for name in arguments})
    added = {"region": "any"}
    return {f"new_{tool}": ToolRules(was=(tool,), rename=rename, added=added) for tool, rename in names.items()}


def test_old_recordings_answer_todays_calls() -> None:
    verdicts: Counter[str] = Counter()
    for path in files(Path(str(_DATA))):
        for one in sessions(path)[:25]:
            cassette = Cassette.from_ledger(one.ledger, Plan(tools=moved(one.ledger)))
            verdicts.update(replay(cassette, Modern(cassette)).verdicts)
    assert set(verdicts) == {"unchanged"}
    assert verdicts.total() > 500
