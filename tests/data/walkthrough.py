"""Goes the way of an engineer after a change of the prompt: some sixty changed turns, until all is green.

    STATEBASE_DATA=... python -m tests.data.walkthrough [DIRECTORY]

A project is made of sessions of gpt-4.1. The agent under test re-enacts, turn by turn, what a fine-tuned model did on
the same tasks; what the recording cannot answer, a simulator answers from that model's own recording. Prints every
command with what it printed, and at the end how many commands and decisions it took.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_statebase.cassette import Cassette

from .real_sessions import PRODUCTION, Other, pairs

ROOT = Path(__file__).parents[2]
RETAIL = 2
"""As many sessions of retail as make it about sixty turns with those of airline."""
_MODULES = {"pytest": "pytest", "pytest-statebase": "pytest_statebase.cli"}

CONFTEST = """\
import agents


def pytest_statebase_agent(cassette):
    return agents.agent(cassette)
"""
AGENTS = """\
from tests.data.walkthrough import agent, simulate
"""
INI = f"""\
[pytest]
pythonpath = . {ROOT}
statebase_mode = isolated
statebase_unrecorded = simulate
statebase_simulator = agents:simulate
filterwarnings = ignore
"""
DEFAULTS = """\
tools:
  calculate: {reads: true}
  find_user_id_by_email: {reads: true}
  find_user_id_by_name_zip: {reads: true}
  get_flight_status: {reads: true}
  get_order_details: {reads: true}
  get_product_details: {reads: true}
  get_reservation_details: {reads: true}
  get_user_details: {reads: true}
  list_all_product_types: {reads: true}
  search_direct_flight: {reads: true}
  search_onestop_flight: {reads: true}
"""

_AGENTS: dict[str, Other] = {}


def agent(cassette: Cassette) -> Other:
    """The other model on the task of a cassette."""
    if not _AGENTS:
        data = Path(os.environ["STATEBASE_DATA"])
        for domain in ("airline", "retail"):
            _AGENTS.update({one.ledger.id: Other(other.ledger) for one, other in pairs(data, domain)})
    return _AGENTS[cassette.ledger.id]


def simulate(call: Any, state: Any, cassette: Cassette) -> Any:
    """What the other model's own recording has for the call that it is making."""
    return agent(cassette).simulate(call, state, cassette)


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the engineer."""

    why: str
    command: str
    decision: bool = False


REPLAY = "pytest --statebase-replay --tb=no"


def accept(*what: str) -> str:
    """The command that accepts this."""
    return " ".join([REPLAY, *(f"--statebase-accept={shlex.quote(one)}" for one in what)])


WAY: tuple[Step, ...] = (
    Step("What did the change do?", REPLAY),
    Step(
        "It looks things up in another order, and other things. Turns that begin to differ with a read are right.",
        accept("tools.get_*", "tools.find_*", "tools.search_*", "tools.calculate"),
        decision=True,
    ),
    Step("What is left?", REPLAY),
    Step("Reservations are no longer cancelled. Why?", "pytest-statebase show airline-task-35-trial-0 --turn 5"),
    Step("And what happens now?", "pytest fixtures/airline-task-35-trial-0.session.yaml -v"),
    Step(
        "It goes by the refund policy, which production did not. Right.",
        accept("tools.cancel_reservation"),
        decision=True,
    ),
    Step("What about the bookings?", "pytest fixtures/airline-task-25-trial-0.session.yaml -v"),
    Step("It books one turn earlier or later. Right.", accept("tools.book_reservation"), decision=True),
    Step(
        "It hands more over to people, as the new prompt says, and is silent from then on.",
        accept("tools.transfer_to_human_agents", "output"),
        decision=True,
    ),
    Step(
        "Updates are made a turn earlier or later, too, and a bag of a gold member is free. Right.",
        accept("tools.update_*", "tools.modify_*"),
        decision=True,
    ),
    Step(
        "A certificate is no longer sent: the customer was handed over before. Right.",
        accept("tools.send_certificate"),
        decision=True,
    ),
    Step("Green?", REPLAY),
)


@dataclass(slots=True)
class Walk:
    """A walk in one directory, and what came of it."""

    directory: Path
    say: Callable[[str], None]
    commands: int = 0
    decisions: int = 0
    code: int = 0

    def run(self, command: str) -> None:
        """Run a command as a person would type it; it is printed with what it prints."""
        program, *arguments = shlex.split(command)
        if program == "pytest":
            arguments += ["-p", "no:cacheprovider"]
        done = subprocess.run(
            [sys.executable, "-m", _MODULES[program], *arguments],
            cwd=self.directory,
            env={**os.environ, "COLUMNS": "100", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        self.code = done.returncode
        self.say(f"$ {command}\n{done.stdout}{done.stderr}")

    def step(self, step: Step) -> None:
        """One step: the question or the decision, then the command."""
        self.say(f"# {step.why}")
        self.commands += 1
        self.decisions += step.decision
        self.run(step.command)


def set_up(data: Path, directory: Path, say: Callable[[str], None]) -> Walk:
    """The project before the change: imported cassettes, the tools that only read, the agent under test."""
    walk = Walk(directory, say)
    for domain in ("airline", "retail"):
        walk.run(f"pytest-statebase import {data}/tau2-bench/{domain}__{PRODUCTION}.json.gz --out fixtures")
    plans = sorted((directory / "fixtures").glob("retail-*.session.yaml"))
    for plan in plans[RETAIL:]:
        plan.unlink()
        plan.with_name(plan.name.replace(".session.", ".record.")).unlink()
    files = {"conftest.py": CONFTEST, "agents.py": AGENTS, "pytest.ini": INI, "fixtures/statebase.yaml": DEFAULTS}
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    return walk


def walk(data: Path, directory: Path, say: Callable[[str], None] = print) -> Walk:
    """The whole way. Its last command's exit code is 0 where all is green."""
    done = set_up(data, directory, say)
    for step in WAY:
        done.step(step)
    say(f"{done.commands} commands, {done.decisions} decisions")
    return done


def main(arguments: Sequence[str]) -> int:
    """Walk in a directory, by default one that is thrown away."""
    data = Path(os.environ["STATEBASE_DATA"]).resolve()
    if arguments:
        Path(arguments[0]).mkdir(parents=True)
        return walk(data, Path(arguments[0]).resolve()).code
    with tempfile.TemporaryDirectory() as work:
        return walk(data, Path(work)).code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
