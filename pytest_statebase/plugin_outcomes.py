"""Items of a run that left no row of a replay: skipped, failed around their replay, or never finished."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from .errors import StatebaseError
from .plugin_settings import SUFFIX, settings_of

NOT_RUN = "the run was stopped or its worker crashed before it was judged"


def replays_something(item: pytest.Item) -> bool:
    """Whether an item is one of a cassette, or a test that takes `statebase_replay`."""
    return SUFFIX + "::" in item.nodeid or _takes_replay(item)


def _takes_replay(item: pytest.Item) -> bool:
    return "statebase_replay" in getattr(item, "fixturenames", ())


def marked_of(items: Iterable[pytest.Item]) -> dict[str, dict[str, str]]:
    """What the markers of tests that replay say, by node id; JSON-safe.

    It is asked for tests that may never begin, so that a marker which means nothing is no error here.
    """
    return {item.nodeid: _said(item.get_closest_marker("statebase")) for item in items if _takes_replay(item)}


def _said(marker: pytest.Mark | None) -> dict[str, str]:
    if marker is None:
        return {}
    given = dict(zip(("session",), marker.args, strict=False)) | dict(marker.kwargs)
    return {name: str(given[name]) for name in ("session", "fork") if given.get(name) is not None}


def row_without_replay(
    config: pytest.Config, nodeid: str, message: str, *, marked: dict[str, str] | None = None, unfinished: bool = False
) -> dict[str, Any]:
    """The row of an item that has no replay, with what its plan says of it.

    message: why it has none. marked: what the marker of a test says; None for the item of a cassette.
    unfinished: nothing is known of it; it then blocks where its plan does. An error always blocks.
    """
    from .report.results import error_row

    path = nodeid.partition("::")[0]
    found = _of_marker(config, marked, path) if marked is not None else _of_item(config, nodeid)
    row = error_row(found.path, found.fork, message, nodeid=nodeid, agent=found.agent, **found.facts)
    return {**row, "gate": found.gate, "unfinished": True} if unfinished else row


@dataclass(frozen=True, slots=True)
class _Found:
    """What is known of a replay that was not made."""

    path: str
    fork: str
    agent: str | None
    facts: dict[str, Any]
    gate: str = "block"


def _of_item(config: pytest.Config, nodeid: str) -> _Found:
    from .cassette import load_cassette
    from .plugin_nodes import facts_of, named_replays

    path, _, name = nodeid.rpartition("::")
    settings = settings_of(config)
    try:
        cassette = load_cassette(config.rootpath / path)
    except StatebaseError:
        return _Found(path, "", settings.ini_agent, {})
    for one, spec, agent in named_replays(cassette, settings):
        if one == name:
            return _Found(path, str(spec.fork), agent or settings.ini_agent, facts_of(cassette), cassette.plan.gate)
    return _Found(path, "", settings.ini_agent, facts_of(cassette), cassette.plan.gate)


def _of_marker(config: pytest.Config, marked: dict[str, str], path: str) -> _Found:
    """Of the cassette of a test's session where there is just one, else of the test's file."""
    from .cassette import load_cassette
    from .plugin_marker import sessions_of
    from .plugin_nodes import facts_of, relative_to

    settings = settings_of(config)
    session, fork = marked.get("session", ""), marked.get("fork", "")
    is_plan = session.endswith(SUFFIX)
    plans = [config.rootpath / session] if is_plan else sessions_of(config, settings).get(session, [])
    agent = settings.agents[0] if settings.agents else settings.ini_agent
    try:
        cassette = load_cassette(plans[0]) if len(plans) == 1 else None
    except StatebaseError:
        cassette = None
    if cassette is None:
        return _Found(path, fork, agent, {"session": session})
    fork = fork or settings.fork or str(cassette.plan.replays[0].fork)
    return _Found(relative_to(str(plans[0]), config.rootpath), fork, agent, facts_of(cassette), cassette.plan.gate)


def failure_text(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
    """Why an item failed that made no replay, with the place where; an error of ours says that itself."""
    from .plugin_nodes import relative_to

    when = "its set-up failed" if call.when == "setup" else "it failed before it replayed"
    if call.excinfo is None:
        return f"{when}: {first_line(call, report)}"
    if isinstance(call.excinfo.value, StatebaseError):
        return f"{when}: {call.excinfo.value}"
    place = call.excinfo._getreprcrash()
    where = f"\nat {relative_to(place.path, item.config.rootpath)}:{place.lineno}" if place else ""
    return f"{when}: {call.excinfo.exconly(tryshort=True).strip()}{where}"


def first_line(call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
    """What an item failed with. It may have raised nothing: a strict xfail that passes."""
    text = str(report.longrepr) if call.excinfo is None else call.excinfo.exconly()
    return text.strip().split("\n", 1)[0]


class Outcomes:
    """What became of the items that left no row, as the controller learns it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.marked: dict[str, dict[str, str]] = {}
        self.skipped: dict[str, str] = {}
        self._ended: set[str] = set()

    def note(self, report: pytest.TestReport) -> None:
        """Take in a report."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            self._ended.add(report.nodeid)
        if report.skipped and not hasattr(report, "wasxfail") and self.is_ours(report.nodeid):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self.skipped[report.nodeid] = reason.removeprefix("Skipped").removeprefix(": ")

    def is_ours(self, nodeid: str) -> bool:
        """Whether an item is to replay."""
        return SUFFIX + "::" in nodeid or nodeid in self.marked

    def unfinished(self, collected: Iterable[str], message: str) -> Iterator[dict[str, Any]]:
        """A row for each item that was to replay and of which no outcome is known."""
        for nodeid in collected:
            if nodeid not in self._ended and self.is_ours(nodeid):
                told = f"did not finish: {message}"
                yield row_without_replay(self._config, nodeid, told, marked=self.marked.get(nodeid), unfinished=True)

    def notes(self) -> list[str]:
        """What is to be told of the items that were skipped."""
        return [f"{nodeid}: skipped" + (f": {reason}" if reason else "") for nodeid, reason in self.skipped.items()]
