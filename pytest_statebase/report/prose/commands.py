"""The commands that lead from a result back to its replay."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ...compare.model import Verdict
from ..grouping import PLAN
from ..rows import Row
from ..show import visible


def reproduce_command(row: Row) -> str:
    """What runs this replay alone, from the root directory of the project."""
    name = str(row.get("nodeid") or row["cassette"])
    agent = {"agent": row["agent"]} if row.get("agent_given") else {}
    if PLAN not in name:
        return _line("pytest", _operand(name), *_options(agent), "-v")
    told = {"fork": row.get("fork"), "until": row.get("until") and f"turn {row['until']}", "mode": row.get("mode")}
    return _line("pytest", _operand(row["cassette"]), *_options(told | agent), "-v")


def replay_command(rows: Sequence[Row]) -> str:
    """What makes all replays of a run again."""
    agents = dict.fromkeys(str(row["agent"]) for row in rows if row.get("agent_given"))
    return _line("pytest", "--statebase-replay", *(f"--statebase-agent={agent}" for agent in agents))


def _options(told: Mapping[str, Any]) -> list[str]:
    return [f"--statebase-{key}={value}" for key, value in told.items() if value]


def accept_command(row: Row, turn: Row) -> str | None:
    """What makes the turn, as it is now, its baseline; None where that would be refused."""
    if turn["verdict"] not in (Verdict.CHANGED, Verdict.UNPROVEN):
        return None
    command = reproduce_command(row).removesuffix(" -v")
    return command + " " + shlex.quote(visible(f"--statebase-accept={row.get('session')}:{turn['turn']}"))


def show_command(row: Row, turn: Row, *, what: str = "show") -> str:
    """What tells the recorded turn. what: `show` or `explain`."""
    number = str(turn["turn"])
    path = _operand(row["cassette"])
    return _line("pytest-statebase", what, path, *(["--turn", number, "--full"] if what == "show" else [number]))


def _operand(path: Any) -> str:
    """A path that no program takes for an option."""
    text = str(path)
    return f"./{text}" if text.startswith("-") else text


def _line(*words: str) -> str:
    return " ".join(shlex.quote(visible(word)) for word in words)
