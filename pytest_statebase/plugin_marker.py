"""`@pytest.mark.statebase(session)` and what the fixture `statebase_replay` hands to a test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from .cassette import Cassette, load_cassette
from .compare.model import ReplayResult
from .engine.agents import Agent, as_agent, loop_is_running
from .engine.options import ReplayOptions, parse_until
from .engine.runner import run, run_async
from .errors import OptionError, StatebaseError
from .ledger import ForkPoint
from .plugin_nodes import keep_result, make_ready
from .plugin_settings import SUFFIX, Settings, settings_of
from .plugin_stuck import stop_when_stuck

_SESSIONS: pytest.StashKey[dict[str, list[Path]]] = pytest.StashKey()


class Replayer:
    """Call it to replay the session of the test's `statebase` marker.

    `result = statebase_replay()`, in an async test `result = await statebase_replay()`. Keywords win over the marker:
    session, agent, fork, until, mode. The result is a ReplayResult; nothing is asserted of it but by the test.
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._settings = settings_of(request.config)
        stop_when_stuck(request.config)
        self._pending = 0

    def __call__(
        self,
        session: str | None = None,
        *,
        agent: Any = None,
        fork: str | None = None,
        until: int | str | None = None,
        mode: str | None = None,
    ) -> Any:
        """Replay and judge. Raises StatebaseError where the replay cannot begin."""
        __tracebackhide__ = True
        try:
            return self._replay(session, agent, fork, until, mode)
        except StatebaseError as error:
            # What is wrong stands in the message; the way through the engine helps nobody.
            raise error.with_traceback(None) from None

    def _replay(
        self, session: str | None, agent: Any, fork: str | None, until: int | str | None, mode: str | None
    ) -> Any:
        marker = self._request.node.get_closest_marker("statebase")
        marked = _arguments(marker)
        cassette = self._cassette(session or marked.get("session"))
        options = self._options(fork or marked.get("fork"), until or marked.get("until"), mode)
        under_test = self._agent(agent, cassette)
        make_ready(cassette, self._settings)
        if loop_is_running():
            self._pending += 1
            return self._later(cassette, under_test, options)
        return self._kept(run(cassette, under_test, options), cassette)

    async def _later(self, cassette: Cassette, agent: Agent, options: ReplayOptions) -> ReplayResult:
        self._pending -= 1
        return self._kept(await run_async(cassette, agent, options), cassette)

    def _kept(self, result: ReplayResult, cassette: Cassette) -> ReplayResult:
        keep_result(self._request.node, result, cassette)
        return result

    def _agent(self, agent: Any, cassette: Cassette) -> Agent:
        if agent is None and self._settings.agents:
            agent = self._settings.agents[0]
        if agent is None:
            self._request.node.cassette = cassette
            agent = self._request.getfixturevalue("statebase_agent")
        return as_agent(agent)

    def _options(self, fork: str | None, until: int | str | None, mode: str | None) -> ReplayOptions:
        options = self._settings.options()
        if fork:
            options = replace(options, fork=ForkPoint.parse(fork))
        if until:
            options = replace(options, until=parse_until(until))
        if mode not in (None, "continuous", "isolated"):
            raise OptionError(f"{mode!r} is no mode", remedy="Modes are continuous and isolated.")
        return replace(options, mode=mode) if mode else options  # type: ignore[arg-type]

    def _cassette(self, session: str | None) -> Cassette:
        if session is None:
            raise OptionError(
                "no session is named",
                remedy='Mark the test with @pytest.mark.statebase("SESSION"), or name it in the call.',
            )
        if session.endswith(SUFFIX):
            return load_cassette(self._settings.rootdir / session)
        found = sessions_of(self._request.config, self._settings).get(session, [])
        if len(found) != 1:
            where = ", ".join(str(path) for path in found or self._settings.cassettes)
            many = f"{len(found)} cassettes hold" if found else "no cassette holds"
            raise OptionError(
                f"{many} the session {session!r}: {where}", remedy=f"Name the plan file (…{SUFFIX}) instead."
            )
        return load_cassette(found[0])

    def close(self) -> None:
        """Fail the test where a replay was begun and never awaited: it proved nothing."""
        if self._pending:
            pytest.fail("statebase_replay() was not awaited: in an async test write `await statebase_replay()`")


def _arguments(marker: pytest.Mark | None) -> dict[str, Any]:
    if marker is None:
        return {}
    given = dict(zip(("session",), marker.args, strict=False)) | dict(marker.kwargs)
    unknown = set(given) - {"session", "fork", "until"}
    if unknown or len(marker.args) > 1:
        raise OptionError(
            f"the marker statebase does not take {', '.join(sorted(unknown)) or 'more than one session'}",
            remedy='Write @pytest.mark.statebase("SESSION", fork="turn 2", until="turn 4").',
        )
    return given


def sessions_of(config: pytest.Config, settings: Settings) -> dict[str, list[Path]]:
    """The plans by the session that they name, read once a run."""
    known = config.stash.get(_SESSIONS, None)
    if known is None:
        known = config.stash[_SESSIONS] = {}
        for path in _plans(settings):
            try:
                session = load_cassette(path).session_id
            except StatebaseError:
                continue
            known.setdefault(session, []).append(path)
    return known


def _plans(settings: Settings) -> list[Path]:
    found: list[Path] = []
    for root in settings.cassettes:
        found += sorted(root.rglob(f"*{SUFFIX}")) if root.is_dir() else [root] if root.exists() else []
    return found
