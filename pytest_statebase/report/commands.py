"""The commands that lead from a result back to its replay."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from ..compare.model import Verdict
from .rows import Row
from .show import visible

_NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", re.ASCII)
_PLAN = ".session.yaml"


def reproduce_command(row: Row, run: Mapping[str, Any]) -> str:
    """What runs this replay alone, from the root directory of the project."""
    options = run.get("options")
    name = str(row.get("nodeid") or row["cassette"])
    if isinstance(options, list) or _PLAN not in name:
        return _line("pytest", _operand(name), *map(str, options or ()), "-v")
    told = {"fork": row.get("fork"), "until": row.get("until") and f"turn {row['until']}", "mode": row.get("mode")}
    agent = row.get("agent")
    told["agent"] = agent if agent and _NAMED.fullmatch(str(agent)) else None
    return _line(
        "pytest",
        _operand(row["cassette"]),
        *(f"--statebase-{key}={value}" for key, value in told.items() if value),
        "-v",
    )


def accept_command(row: Row, turn: Row, run: Mapping[str, Any]) -> str | None:
    """What makes the turn, as it is now, its baseline; None where that would be refused."""
    if turn["verdict"] not in (Verdict.CHANGED, Verdict.UNPROVEN):
        return None
    command = reproduce_command(row, run).removesuffix(" -v")
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
