"""Plans as pytest collects them, and replays as it runs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ExceptionChainRepr, ExceptionInfo, ReprEntryNative, ReprFileLocation, ReprTraceback

from .cassette import Cassette, load_cassette
from .errors import StatebaseError
from .plugin_settings import ROWS, Settings, settings_of
from .plugin_stuck import stop_when_stuck
from .report.ci.joblog import printable

if TYPE_CHECKING:
    from .cassette.plan import ReplaySpec
    from .engine.agents import Agent


class ReplayFailed(Exception):
    """A replay that does not pass; `row` says why."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        super().__init__(row["failure"])


def _replay_item() -> None:
    """What an item stands for; fixtures are looked up on the item's own request."""


class NoTests(pytest.Module):
    """A Python file in a run of replays: nothing of it is imported or run."""

    def _getobj(self) -> ModuleType:
        return ModuleType(self.path.stem)

    def collect(self) -> Iterator[pytest.Item]:
        """Nothing."""
        return iter(())


class CassetteFile(pytest.Module):
    """A plan. It derives from Module because other plugins' fixtures look for one above every item."""

    def _getobj(self) -> ModuleType:
        return ModuleType(self.path.name.replace(".", "_"))

    def collect(self) -> Iterator[pytest.Item]:
        """One item a replay of the plan and agent; reads the plan alone, not the record."""
        try:
            cassette = load_cassette(self.path)
        except StatebaseError as error:
            yield CassetteItem.make(self, "unreadable", error=error)
            return
        for name, spec, agent in named_replays(cassette, settings_of(self.config)):
            yield CassetteItem.make(self, name, cassette=cassette, spec=spec, agent=agent)


def named_replays(cassette: Cassette, settings: Settings) -> Iterator[tuple[str, ReplaySpec, str | None]]:
    """The replays that a run makes of a cassette: the item's name, what is replayed, and the option's agent."""
    names: set[str] = set()
    for spec in specs_of(cassette, settings):
        for agent in settings.agents or (None,):
            name = spec.fork.slug + (f"-{_safe(agent)}" if agent and len(settings.agents) > 1 else "")
            yield _unique(name, names), spec, agent


def specs_of(cassette: Cassette, settings: Settings) -> list[ReplaySpec]:
    """The replays that a run makes of a cassette, for each agent."""
    specs = list(cassette.plan.replays)
    if settings.fork is None:
        return specs
    from .ledger import ForkPoint

    return [replace(specs[0], fork=ForkPoint.parse(settings.fork))]


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", name)


def _unique(name: str, taken: set[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    taken.add(candidate)
    return candidate


class CassetteItem(pytest.Function):
    """One replay of a cassette. It derives from Function so that fixtures, autouse ones too, apply."""

    cassette: Cassette | None = None
    spec: ReplaySpec | None = None
    agent: str | None = None
    error: StatebaseError | None = None

    @classmethod
    def make(cls, parent: CassetteFile, name: str, **attributes: Any) -> CassetteItem:
        """An item with its attributes set."""
        item: CassetteItem = cls.from_parent(parent, name=name, callobj=_replay_item)
        for key, value in attributes.items():
            setattr(item, key, value)
        return item

    def runtest(self) -> None:
        """Replay and judge; raises ReplayFailed where the replay does not pass."""
        if self.error is not None:
            raise self.error
        assert self.cassette is not None
        from .engine.runner import run

        # A copy, so that the recording that it reads goes when the replay is over.
        cassette = replace(self.cassette)
        options = settings_of(self.config).options()
        make_ready(cassette, settings_of(self.config))
        agent = self._agent(cassette)
        settings_of(self.config).keep_stubbed(self.config, agent.source)
        stop_when_stuck(self.config)
        result = run(cassette, agent, options, self.spec)
        row = keep_result(self, result, cassette)
        if row["failure"] and row["gate"] != "warn":
            raise ReplayFailed(row)

    def _agent(self, cassette: Cassette) -> Agent:
        from .engine.agents import as_agent

        return as_agent(self.agent or self._request.getfixturevalue("statebase_agent"))

    def repr_failure(self, excinfo: ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """The failure in the words of the report, with one line as its message (JUnit, short summary)."""
        error = excinfo.value
        if not isinstance(error, (StatebaseError, ReplayFailed)):
            return super().repr_failure(excinfo)
        if isinstance(error, StatebaseError):
            row = keep_error(self, error)
        else:
            row = error.row
        from .report.grouping import in_one_line
        from .report.terminal import failure_lines, plain

        text = plain(failure_lines(row, verbosity=self.config.get_verbosity()))
        entry = ReprEntryNative([printable(text) + "\n"])
        crash = ReprFileLocation(str(self.path), 1, printable(in_one_line(row)))
        return ExceptionChainRepr([(ReprTraceback([entry], None, style="native"), crash, None)])

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the item comes from: its plan. A line, because pytest wants one where an item is skipped."""
        return self.path, 0, self.name

    def agent_name(self) -> str | None:
        """The agent of the command line or ini, where one is named there."""
        return self.agent or settings_of(self.config).ini_agent


def keep_result(item: pytest.Item, result: Any, cassette: Cassette) -> dict[str, Any]:
    """Keep a replay's result as a row, for the report of the run."""
    from .report.raised import placed_trace
    from .report.results import result_to_row

    reads = [name for name, rules in cassette.plan.tools.items() if rules.reads]
    settings = settings_of(item.config)
    row = result_to_row(result, nodeid=item.nodeid, reads=reads)
    row["cassette"] = relative_to(row["cassette"], settings.rootdir)
    for turn in row["turns"]:
        error = (turn["replayed"] or {}).get("error")
        if isinstance(error, dict) and isinstance(error.get("trace"), str):
            placed = placed_trace(error["trace"], settings.rootdir)
            turn["replayed"] = {**turn["replayed"], "error": {**error, "trace": placed}}
    if result.agent in settings.agents:
        row["agent_given"] = True
    for known in row.get("known", ()):
        known["where"] = relative_to(known["where"], settings.rootdir)
    if settings.accept:
        from .plugin_accept import OFFER, offer_of

        row[OFFER] = offer_of(result, cassette, settings.accept)
    item.stash.setdefault(ROWS, []).append(row)
    return row


def make_ready(cassette: Cassette, settings: Settings) -> None:
    """Where a baseline is to be accepted, a broken one is no obstacle."""
    if settings.accept:
        from .plugin_accept import forgive

        forgive(cassette, settings.accept)


def keep_error(item: pytest.Item, error: StatebaseError) -> dict[str, Any]:
    """Keep a replay that could not begin as a row."""
    from .report.results import error_row

    cassette, spec = getattr(item, "cassette", None), getattr(item, "spec", None)
    agent = item.agent_name() if isinstance(item, CassetteItem) else None
    fork = str(spec.fork) if spec else ""
    path = relative_to(str(item.path), settings_of(item.config).rootdir)
    facts = facts_of(cassette) if cassette else {}
    row = error_row(path, fork, str(error), nodeid=item.nodeid, agent=agent, **facts)
    item.stash.setdefault(ROWS, []).append(row)
    return row


def facts_of(cassette: Cassette) -> dict[str, Any]:
    """What a row says of a replay that did not begin: what is in the plan."""
    plan = cassette.plan
    return {"session": plan.session or "", "owner": plan.owner, "title": plan.title}


def relative_to(path: str, rootdir: Path) -> str:
    """A path as rows name it: from the root of the project on, where it is below it."""
    try:
        return Path(path).relative_to(rootdir).as_posix()
    except ValueError:
        return path
