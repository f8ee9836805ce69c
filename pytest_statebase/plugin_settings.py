"""The plugin's options and ini keys, read into one object."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .engine.options import ReplayOptions

SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
ROWS: pytest.StashKey[list[dict[str, Any]]] = pytest.StashKey()
"""The result rows of the replays that an item made."""
SUFFIX = ".session.yaml"
"""How the names of plans end: the files that are collected."""

_BOTH = {
    "agent": "The agent under test, module:attribute.",
    "mode": "continuous (default): the agent's own replies carry on; isolated: every turn is a fork of its own.",
    "unrecorded": "What answers a call that the recording does not: fail (default) or simulate.",
    "report": "Where the HTML report is written with --statebase-replay (default statebase-report.html).",
    "results": "Also write the results as JSON Lines to this file.",
}
_CHOICES = {"mode": ("continuous", "isolated"), "unrecorded": ("fail", "simulate")}
DEFAULT_REPORT = "statebase-report.html"


def add_options(parser: pytest.Parser) -> None:
    """Every option and ini key of the plugin."""
    group = parser.getgroup("statebase", "replay of recorded agent sessions")
    group.addoption(
        "--statebase-replay",
        action="store_true",
        dest="statebase_replay",
        help="Replay the cassettes of the ini key statebase_cassettes instead of running the Python tests.",
    )
    group.addoption(
        "--statebase-fork",
        metavar="POINT",
        dest="statebase_fork",
        help="Fork every cassette there instead of where its plan says: 'version V', 'turn N' or last-good.",
    )
    group.addoption(
        "--statebase-until",
        metavar="TURN",
        dest="statebase_until",
        help="Replay up to this turn instead of where the plan says: 'turn N' or end.",
    )
    for name, text in _BOTH.items():
        group.addoption(
            f"--statebase-{name}",
            dest=f"statebase_{name}",
            action="append" if name == "agent" else "store",
            metavar="MODULE:ATTR" if name == "agent" else name.upper() if name in _CHOICES else "PATH",
            choices=_CHOICES.get(name),
            help=text + (" Twice for A/B." if name == "agent" else ""),
        )
        parser.addini(f"statebase_{name}", text)
    parser.addini("statebase_cassettes", "Directories or files with cassettes.", type="args", default=["fixtures"])
    parser.addini("statebase_tools", "The agent's tools: module:name or module:* (public functions).", type="linelist")
    parser.addini("statebase_simulator", "module:callable that answers unrecorded calls: (call, state, cassette).")


@dataclass(slots=True)
class Settings:
    """What options and ini keys say, with relative paths resolved."""

    replaying: bool
    agents: tuple[str, ...]
    """Of the option: it wins over fixture and hook."""
    ini_agent: str | None
    fork: str | None
    until: str | None
    mode: str | None
    unrecorded: str
    simulator: str | None
    tools: tuple[str, ...]
    cassettes: tuple[Path, ...]
    report: Path | None
    results: Path | None
    rootdir: Path
    _options: ReplayOptions | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Read them; raises pytest.UsageError for an ini value that means nothing."""
        replaying = bool(config.getoption("statebase_replay"))
        report = _path(config, "report") or config.invocation_params.dir / DEFAULT_REPORT
        return cls(
            replaying=replaying,
            agents=tuple(config.getoption("statebase_agent") or ()),
            ini_agent=config.getini("statebase_agent") or None,
            fork=config.getoption("statebase_fork"),
            until=config.getoption("statebase_until"),
            mode=_choice(config, "mode"),
            unrecorded=_choice(config, "unrecorded") or "fail",
            simulator=config.getini("statebase_simulator") or None,
            tools=tuple(config.getini("statebase_tools")),
            cassettes=tuple(config.rootpath / name for name in config.getini("statebase_cassettes")),
            report=report if replaying else None,
            results=_path(config, "results"),
            rootdir=config.rootpath,
        )

    def options(self) -> ReplayOptions:
        """The engine's options; tools and simulator are imported the first time."""
        if self._options is None:
            from .engine.agents import import_attribute
            from .engine.options import make_options

            simulator = import_attribute(self.simulator, what="simulator") if self.simulator else None
            self._options = make_options(
                fork=self.fork,
                until=self.until,
                mode=self.mode,
                tools=self.tools,
                unrecorded=self.unrecorded,
                simulator=simulator,
            )
        return self._options


def settings_of(config: pytest.Config) -> Settings:
    """The run's settings, read once."""
    found = config.stash.get(SETTINGS, None)
    if found is None:
        found = config.stash[SETTINGS] = Settings.of(config)
    return found


def _both(config: pytest.Config, name: str) -> Any:
    return config.getoption(f"statebase_{name}") or config.getini(f"statebase_{name}") or None


def _choice(config: pytest.Config, name: str) -> str | None:
    value = _both(config, name)
    if value is not None and value not in _CHOICES[name]:
        raise pytest.UsageError(f"statebase_{name} = {value}: choose from {', '.join(_CHOICES[name])}")
    return value  # type: ignore[no-any-return]


def _path(config: pytest.Config, name: str) -> Path | None:
    option = config.getoption(f"statebase_{name}")
    if option:
        return config.invocation_params.dir / option  # type: ignore[no-any-return]
    ini = config.getini(f"statebase_{name}")
    return config.rootpath / ini if ini else None
