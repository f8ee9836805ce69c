"""Replays recorded sessions that others made, and prints what came of it.

    STATEBASE_DATA=... python -m tests.data.real_sessions

Every session is imported to cassettes on disk, read back and replayed against itself; then one agent's recordings of
three domains are replayed against what another agent did on the same tasks, once with a simulator that answers misses
from the other agent's own recording and once without.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_statebase import ABSENT, Ledger, UnrecordedCall, load_cassette, replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.cassette.plan import DIRECTORY, Plan, StubsFrom, ToolRules
from pytest_statebase.cli import main as command_line
from pytest_statebase.compare.model import Source
from pytest_statebase.engine.redactions import concealed
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.ledger import ToolCalled
from pytest_statebase.testing import Reenact
from pytest_statebase.values import freeze

DOMAINS = ("airline", "retail", "telecom-solo")
PRODUCTION, FIXED = "gpt-4.1", "ft-gpt-4.1-sft"
_READS = ("get_", "find_", "list_", "search_", "check_", "calculate", "can_", "run_speed_test", "think")


def files(data: Path) -> list[Path]:
    """Every file of recorded sessions."""
    return [*(data / "tau2-bench").glob("*.json.gz"), *(data / "tau-bench").glob("*.json.gz")]


def sessions(path: Path) -> list[ImportedSession]:
    """The sessions of one file; all of them can be read."""
    found = list(import_file(path))
    assert all(isinstance(one, ImportedSession) for one in found), found
    return found  # type: ignore[return-value]


def with_reads(cassette: Cassette) -> Cassette:
    """The cassette with the tools that only look marked as reads, as a project would in its statebase.yaml."""
    tools = {call.tool for turn in cassette.ledger.turns for call in turn.calls}
    rules = {tool: ToolRules(reads=True) for tool in tools if tool.startswith(_READS)}
    every: dict[str, ToolRules] = _AllReads(rules)
    return replace(cassette, plan=replace(cassette.plan, tools=every))


class _AllReads(dict[str, ToolRules]):
    """Rules by name's beginning, for tools that the recording does not know as well."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key) or (ToolRules(reads=True) if key.startswith(_READS) else default)


@dataclass
class SelfReplay:
    """What came of replaying recordings against themselves."""

    sessions: int = 0
    turns: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    odd: list[str] = field(default_factory=list)


def self_replay(data: Path, work: Path) -> SelfReplay:
    """Import every file through the command line, then replay each cassette against itself."""
    total = SelfReplay()
    for path in files(data):
        out = work / path.name.split(".json")[0]
        command_line.main(["import", str(path), "--out", str(out)], standalone_mode=False)
        for plan in sorted(out.glob("*.session.yaml")):
            cassette = load_cassette(plan)
            result = replay(cassette, Reenact(cassette))
            total.sessions += 1
            total.turns += result.verdicts
            total.calls += Counter(result.counts())
            if result.verdicts.keys() != {"unchanged"} or result.unused or not result.passed:
                total.odd.append(f"{plan.name}: {dict(result.verdicts)} {result.counts()} {result.failure}")
    return total


class Other(Reenact):
    """Re-enacts the other agent, knows what each of its calls really got, and simulates misses from that."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.event: ToolCalled | None = None
        self.got: list[ToolCalled] = []

    def _call(self, tools: Any, event: ToolCalled) -> None:  # type: ignore[override]
        self.event = event
        self.got.append(event)
        super()._call(tools, event)

    def simulate(self, call: Any, state: Any, cassette: Cassette) -> Any:
        if self.event is None or self.event.result is ABSENT:
            raise UnrecordedCall("the other recording does not know either")
        return self.event.result


@dataclass
class Cross:
    """One domain: the production recordings against the other agent."""

    sessions: int = 0
    answered: int = 0
    simulated: int = 0
    flagged: int = 0
    wrong_unflagged: int = 0
    wrong_flagged: int = 0
    finished: int = 0
    """Sessions that came past their last turn without a simulator."""
    clean_turns: int = 0
    all_turns: int = 0
    """Turns in `isolated`, and those of them without a miss."""
    causes: Counter[str] = field(default_factory=Counter)


def cross(data: Path, domain: str) -> Cross:
    """Replay one domain's production recordings against the other agent."""
    total = Cross()
    for recorded, other in pairs(data, domain):
        cassette = with_reads(Cassette.from_ledger(recorded.ledger, Plan()))
        total.sessions += 1
        _simulated(cassette, other.ledger, total)
        _strict(cassette, other.ledger, total)
    return total


def pairs(
    data: Path, domain: str, agents: tuple[str, str] = (PRODUCTION, FIXED)
) -> Iterator[tuple[ImportedSession, ImportedSession]]:
    """The two agents' sessions of the same task."""
    recorded, others = (sessions(data / "tau2-bench" / f"{domain}__{agent}.json.gz") for agent in agents)
    by_name = {other.name: other for other in others}
    return ((one, by_name[one.name]) for one in recorded)


def _simulated(cassette: Cassette, other: Ledger, total: Cross) -> None:
    agent = Other(other)
    result = replay(cassette, agent, until="end", unrecorded="simulate", simulator=agent.simulate)
    calls = [call for turn in result.turns for call in turn.calls]
    for call, got in zip(calls, agent.got, strict=True):
        if call.source is Source.SIMULATED:
            total.simulated += 1
            continue
        total.answered += 1
        total.flagged += call.stale
        if freeze(call.result) != freeze(got.result):
            total.wrong_flagged += call.stale
            total.wrong_unflagged += not call.stale


def _strict(cassette: Cassette, other: Ledger, total: Cross) -> None:
    result = replay(cassette, Other(other), until="end")
    total.finished += not any(turn.verdict in ("unrecorded", "not-replayed") for turn in result.turns)
    found = [d for turn in result.turns for d in turn.divergences]
    cause = next((d for d in found if d.follows is None and d.kind != "text"), None)
    total.causes[f"{cause.facet} {cause.kind}" if cause else "none"] += 1
    isolated = replay(cassette, Other(other), until="end", mode="isolated")
    total.all_turns += len(isolated.turns)
    total.clean_turns += sum(turn.verdict != "unrecorded" for turn in isolated.turns)


@dataclass
class Borrowed:
    """One domain: what the other recordings of it answer of what a session's own does not know."""

    misses: int = 0
    """Reads without an answer of the record."""
    answered: int = 0
    wrong: int = 0
    contradicted: int = 0
    """Sessions whose siblings contradict each other, so that they are not asked."""


def borrow(data: Path, work: Path, domain: str) -> Borrowed:
    """`cross` with a simulator, every other recording of the domain named in `stubs_from`; each agent as production."""
    total = Borrowed()
    for agents in ((PRODUCTION, FIXED), (FIXED, PRODUCTION)):
        _borrow(data, work / agents[0], domain, agents, total)
    return total


def _borrow(data: Path, work: Path, domain: str, agents: tuple[str, str], total: Borrowed) -> None:
    source = data / "tau2-bench" / f"{domain}__{agents[0]}.json.gz"
    command_line.main(["import", str(source), "--out", str(work)], standalone_mode=False)
    plans = {cassette.session_id: cassette for cassette in map(load_cassette, sorted(work.glob("*.session.yaml")))}
    for recorded, other in pairs(data, domain, agents):
        cassette = with_reads(plans[recorded.ledger.id])
        siblings = (StubsFrom(DIRECTORY, str(work)),)
        cassette = replace(cassette, plan=replace(cassette.plan, stubs_from=siblings, failing=frozenset(), expect={}))
        agent = Other(other.ledger)
        result = replay(cassette, agent, until="end", unrecorded="simulate", simulator=agent.simulate)
        calls = [call for turn in result.turns for call in turn.calls]
        for call, got in zip(calls, agent.got, strict=True):
            if call.source in (Source.SIMULATED, Source.SIBLING) and call.tool.startswith(_READS):
                total.misses += 1
            if call.source is Source.SIBLING:
                total.answered += 1
                total.wrong += freeze(concealed(call.result)[0]) != freeze(concealed(got.result)[0])
        total.contradicted += any("stubs_from" in warning for warning in result.warnings)


def table(rows: dict[str, Cross]) -> str:
    """The figures as a table for a person."""
    head = f"{'domain':<14}{'sessions':>9}{'answered':>9}{'simulated':>10}{'flagged':>8}{'wrong':>6}{'w/flag':>7}"
    lines = [head + f"{'past last turn':>15}{'isolated, no miss':>18}  first causes"]
    for domain, row in rows.items():
        causes = ", ".join(f"{count} {cause}" for cause, count in row.causes.most_common(3))
        lines.append(
            f"{domain:<14}{row.sessions:>9}{row.answered:>9}{row.simulated:>10}{row.flagged:>8}{row.wrong_unflagged:>6}"
            f"{row.wrong_flagged:>7}{row.finished:>11} of {row.sessions}{row.clean_turns:>11} of {row.all_turns}"
            f"  {causes}"
        )
    return "\n".join(lines)


def main() -> int:
    """Print both; exit code 1 where a self-replay is not unchanged."""
    data = Path(os.environ["STATEBASE_DATA"])
    with tempfile.TemporaryDirectory() as work:
        alone = self_replay(data, Path(work))
    print(f"self-replay: {alone.sessions} sessions, turns {dict(alone.turns)}, calls {dict(alone.calls)}")
    print("\n".join(alone.odd[:20]))
    print(table({domain: cross(data, domain) for domain in DOMAINS}))
    for domain in DOMAINS:
        with tempfile.TemporaryDirectory() as work:
            print(f"stubs_from, {domain}: {borrow(data, Path(work), domain)}")
    return 1 if alone.odd else 0


if __name__ == "__main__":
    sys.exit(main())
