"""The plugin's options and ini keys, read into one object."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .plugin_ci import add_keys as add_ci_keys
from .plugin_outputs import both, outputs_of

if TYPE_CHECKING:
    from .engine.options import ReplayOptions
    from .engine.web.fence import Fence
    from .engine.web.options import WebOptions
    from .report.outputs import Outputs

SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
ROWS: pytest.StashKey[list[dict[str, Any]]] = pytest.StashKey()
"""The result rows of the replays that an item made."""
SUFFIX = ".session.yaml"
"""How the names of plans end: the files that are collected."""

_BOTH = {
    "agent": "The agent under test, module:attribute.",
    "mode": "continuous (default): the agent's own replies carry on; isolated: every turn is a fork of its own.",
    "unrecorded": "What answers a call that the recording does not: fail (default), simulate or call (the tool runs).",
    "clock": "recorded (default): the clock of a turn starts when it was recorded, and ticks; real: it is left alone.",
    "http": "What HTTP requests but model calls may go live: none (default), new_episodes (those that no recording "
    "answers) or all.",
    "model": "Which model calls go live, with the tools stubbed: none (recorded, the default), those that no recording "
    "answers (auto) or all (live).",
    "report": "Where the HTML report is written (default statebase-report.html, with --statebase-replay).",
    "report-assets": "inline (default): the report is one file; external: style sheet and scripts are beside it.",
    "report-url": "Where the report will be published: links of summaries and JUnit lead there.",
    "results": "Also write the results as JSON Lines to this file.",
    "summary": "Also write a Markdown summary to this file, for a comment on a pull request.",
    "sidecar": "Also write Markdown to this directory: index.md and a file for each failing turn.",
    "history": "Append this run to this file, and tell the trend of the runs in it.",
}
_CHOICES = {
    "mode": ("continuous", "isolated"),
    "unrecorded": ("fail", "simulate", "call"),
    "clock": ("recorded", "real"),
    "http": ("none", "new_episodes", "all"),
    "model": ("recorded", "auto", "live"),
    "report-assets": ("inline", "external"),
}
_METAVARS = {"agent": "MODULE:ATTR", "report-url": "URL", "sidecar": "DIR"}
_PINS = ("random", "uuid")
_HOSTS = {
    "allowed_hosts": "What replays may reach: host, host:port, *.example.com, 127.0.0.1:8000. By default nothing.",
    "blocked_hosts": "What is refused in a replay without a verdict: telemetry, for example.",
}
MAX_MODEL_CALLS = 200


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
    group.addoption(
        "--statebase-accept",
        action="append",
        nargs="?",
        const="all",
        metavar="WHAT",
        dest="statebase_accept",
        help="Make what the replays did the accepted baseline: all (default), a session, SESSION:TURN, a turn or a "
        "fingerprint. May be given several times.",
    )
    group.addoption(
        "--statebase-max-model-calls",
        type=int,
        metavar="N",
        dest="statebase_max_model_calls",
        help=f"How many model calls may go live in this run (default {MAX_MODEL_CALLS}).",
    )
    group.addoption(
        "--statebase-base-results",
        metavar="PATH",
        dest="statebase_base_results",
        help="Results of the base branch (--statebase-results of a run there): tell what this change did.",
    )
    for name, text in _BOTH.items():
        key = f"statebase_{name.replace('-', '_')}"
        group.addoption(
            f"--statebase-{name}",
            dest=key,
            action="append" if name == "agent" else "store",
            metavar=_METAVARS.get(name) or (name.rpartition("-")[2].upper() if name in _CHOICES else "PATH"),
            choices=_CHOICES.get(name),
            help=text + (" Twice for A/B." if name == "agent" else ""),
        )
        parser.addini(key, text)
    _add_keys(parser)
    _add_privacy(parser)


def _add_keys(parser: pytest.Parser) -> None:
    """The ini keys that have no option."""
    parser.addini("statebase_cassettes", "Directories or files with cassettes.", type="args", default=["fixtures"])
    parser.addini("statebase_tools", "The agent's tools: module:name or module:* (public functions).", type="linelist")
    parser.addini("statebase_turn_timeout", "Seconds that a turn may take (default 60); 0 for no limit.", default="60")
    parser.addini("statebase_pin", "What chance is the same on every run: random, uuid.", type="args", default=[])
    for name, text in _HOSTS.items():
        parser.addini(f"statebase_{name}", text, type="args", default=[])
    parser.addini("statebase_model_hosts", "Further hosts of models: host or host:port.", type="args", default=[])
    parser.addini(
        "statebase_api_hosts", "Further hosts of StateBase: requests there are answered from the fork.", type="args"
    )
    add_ci_keys(parser)
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
    outputs: Outputs
    rootdir: Path
    turn_timeout: float
    clock: str
    pin: tuple[str, ...]
    allowed_hosts: tuple[str, ...]
    blocked_hosts: tuple[str, ...]
    http: str = "none"
    model: str = "recorded"
    model_hosts: tuple[str, ...] = ()
    api_hosts: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    redact: tuple[str, ...] = ()
    rules: tuple[Any, ...] = ()
    """Those of the hook."""
    names: str | None = None
    max_model_calls: int = MAX_MODEL_CALLS
    shared_budget: Path | None = None
    """Where the workers of pytest-xdist count the model calls of the run together."""
    pending: Path | None = None
    """Where live answers are kept until they are accepted; None where pytest keeps no cache."""
    accept: tuple[str, ...] = ()
    """What is to become the accepted baseline."""
    left_over: Fence | None = None
    """Knows what threads tried that replays of this process had left behind; None before the first replay."""
    _options: ReplayOptions | None = None
    _stubs: ExitStack | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Read them; raises pytest.UsageError for an ini value that means nothing."""
        replaying = bool(config.getoption("statebase_replay"))
        _check_points(config)
        return cls(
            replaying=replaying,
            agents=tuple(dict.fromkeys(config.getoption("statebase_agent") or ())),
            ini_agent=config.getini("statebase_agent") or None,
            fork=config.getoption("statebase_fork"),
            until=config.getoption("statebase_until"),
            mode=_choice(config, "mode"),
            unrecorded=_choice(config, "unrecorded") or "fail",
            simulator=config.getini("statebase_simulator") or None,
            tools=tuple(name for line in config.getini("statebase_tools") for name in line.split()),
            cassettes=tuple(config.rootpath / name for name in config.getini("statebase_cassettes")),
            outputs=outputs_of(config, replaying=replaying, assets=_choice(config, "report-assets")),
            rootdir=config.rootpath,
            turn_timeout=_seconds(config, "turn_timeout"),
            clock=_choice(config, "clock") or "recorded",
            pin=_pins(config),
            allowed_hosts=_hosts(config, "allowed_hosts"),
            blocked_hosts=_hosts(config, "blocked_hosts"),
            http=_choice(config, "http") or "none",
            model=_choice(config, "model") or "recorded",
            model_hosts=_hosts(config, "model_hosts"),
            api_hosts=_hosts(config, "api_hosts"),
            secrets=tuple(config.getini("statebase_secrets")),
            redact=tuple(config.getini("statebase_redact")),
            rules=tuple(rule for rules in config.hook.pytest_statebase_redact() for rule in rules or ()),
            names=config.getini("statebase_names") or None,
            max_model_calls=_max_model_calls(config),
            shared_budget=_shared_budget(config),
            pending=_pending(config),
            accept=_accept(config),
        )

    def options(self) -> ReplayOptions:
        """The engine's options; tools and simulator are imported the first time."""
        if self._options is None:
            from .cassette.redaction import set_secret_names
            from .engine.agents import import_attribute
            from .engine.options import make_options
            from .privacy import RedactionOptions, rules_from, set_redaction

            if self.secrets:
                set_secret_names(self.secrets)
            if self.redact or self.rules or self.names:
                finder = import_attribute(self.names, what="name detector") if self.names else None
                set_redaction(RedactionOptions(rules=(*rules_from(self.redact), *self.rules), names=finder))

            simulator = import_attribute(self.simulator, what="simulator") if self.simulator else None
            self._options = make_options(
                fork=self.fork,
                until=self.until,
                mode=self.mode,
                tools=self.tools,
                unrecorded=self.unrecorded,
                simulator=simulator,
                turn_timeout=self.turn_timeout,
                clock=self.clock,
                pin=self.pin,
                web=self._web(),
                allowed_hosts=self.allowed_hosts,
                blocked_hosts=self.blocked_hosts,
                api_hosts=self.api_hosts,
            )
        return self._options

    def _web(self) -> WebOptions:
        from .engine.web.budget import Budget
        from .engine.web.models import ModelHosts
        from .engine.web.options import WebOptions

        return WebOptions(
            self.http,  # type: ignore[arg-type]
            self.model,  # type: ignore[arg-type]
            ModelHosts.parse(self.model_hosts),
            Budget(self.max_model_calls, self.shared_budget),
            self.pending,
            reuse=bool(self.accept),
        )

    def keep_stubbed(self, config: pytest.Config, agent: Any) -> None:
        """From the first replay of a run of replays to its end no tool runs live, not even in a thread left over.

        Nor does such a thread reach a host.

        agent: what is under test, which a pattern may have taken for a tool.
        """
        if not self.replaying or self._stubs is not None:
            return
        from .engine.tools import stubbed, with_marked
        from .engine.web.doorway import door_here
        from .engine.web.fence import fenced_between
        from .wire.intercept import intercepted

        self._stubs = ExitStack()
        tools = with_marked(self.options().tools)
        self._stubs.enter_context(stubbed(tool for tool in tools if tool.function is not agent))
        options = self.options()
        self._stubs.enter_context(intercepted(door_here))
        self.left_over = self._stubs.enter_context(fenced_between(options.allowed_hosts, options.blocked_hosts))
        config.add_cleanup(self._stubs.close)


def settings_of(config: pytest.Config) -> Settings:
    """The run's settings, read once."""
    found = config.stash.get(SETTINGS, None)
    if found is None:
        found = config.stash[SETTINGS] = Settings.of(config)
        _check_workers(config, found)
        if found.secrets or found.redact or found.rules or found.names:
            config.add_cleanup(_forget_redaction)
    return found


def _forget_redaction() -> None:
    """What one project calls secret is not what the next run in this process does."""
    from .cassette.redaction import set_secret_names
    from .privacy import RedactionOptions, set_redaction

    set_secret_names(())
    set_redaction(RedactionOptions())


def _accept(config: pytest.Config) -> tuple[str, ...]:
    selectors = tuple(dict.fromkeys(config.getoption("statebase_accept") or ()))
    for text in selectors:
        if text.endswith(".yaml") or "::" in text or (config.invocation_params.dir / text).exists():
            raise pytest.UsageError(
                f"--statebase-accept took {text!r} for what to accept\n"
                f"Write --statebase-accept=all {text}, or --statebase-accept=SESSION."
            )
    return selectors


def _max_model_calls(config: pytest.Config) -> int:
    given = config.getoption("statebase_max_model_calls")
    if given is not None and given < 0:
        raise pytest.UsageError(f"--statebase-max-model-calls={given}: write a number of calls")
    return MAX_MODEL_CALLS if given is None else int(given)


BUDGET = "statebase_budget"
"""What a worker is told under this key: the directory in which all of them count model calls."""


def _shared_budget(config: pytest.Config) -> Path | None:
    found = getattr(config, "workerinput", {}).get(BUDGET)
    return None if found is None else Path(found)


def _pending(config: pytest.Config) -> Path | None:
    cache = getattr(config, "cache", None)
    return None if cache is None else cache.mkdir("statebase")


def _check_workers(config: pytest.Config, settings: Settings) -> None:
    """What goes live is written as it arrives, by one process a file."""
    is_live = settings.http != "none" or settings.model != "recorded"
    if not is_live or hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        return
    if config.getoption("dist", "no") not in ("loadfile", "no"):
        name = "http" if settings.http != "none" else "model"
        value = getattr(settings, name)
        raise pytest.UsageError(
            f"--statebase-{name}={value} writes answers as they arrive, and needs one worker a file\n"
            "Add --dist=loadfile, or leave -n away."
        )


def _check_points(config: pytest.Config) -> None:
    """A fork point or an end that means nothing ends the run before a cassette is read."""
    fork, until = config.getoption("statebase_fork"), config.getoption("statebase_until")
    if fork is None and until is None:
        return
    from .engine.options import parse_until
    from .errors import ForkError
    from .ledger import ForkPoint

    for option, text, parse in (("fork", fork, ForkPoint.parse), ("until", until, parse_until)):
        try:
            if text is not None:
                parse(text)
        except ForkError as error:
            raise pytest.UsageError(f"--statebase-{option}: {error}") from None


def _add_privacy(parser: pytest.Parser) -> None:
    """What is redacted besides what is known."""
    parser.addini("statebase_redact", "Values that must not be written: name = pattern.", type="linelist", default=[])
    parser.addini("statebase_names", "module:callable that finds the names of people in a text.")
    parser.addini("statebase_secrets", "Names of headers and fields that are secret as well.", type="args", default=[])


def _choice(config: pytest.Config, name: str) -> str | None:
    value = both(config, name.replace("-", "_"))
    if value is not None and value not in _CHOICES[name]:
        raise pytest.UsageError(
            f"statebase_{name.replace('-', '_')} = {value}: choose from {', '.join(_CHOICES[name])}"
        )
    return value  # type: ignore[no-any-return]


def _seconds(config: pytest.Config, name: str) -> float:
    text = config.getini(f"statebase_{name}")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise pytest.UsageError(f"statebase_{name} = {text}: write seconds, or 0 for no limit")
    return seconds


def _pins(config: pytest.Config) -> tuple[str, ...]:
    found = tuple(name for name in config.getini("statebase_pin") if name)
    unknown = [name for name in found if name not in _PINS]
    if unknown:
        raise pytest.UsageError(f"statebase_pin = {unknown[0]}: choose from {', '.join(_PINS)}")
    return found


def _hosts(config: pytest.Config, name: str) -> tuple[str, ...]:
    found = tuple(config.getini(f"statebase_{name}"))
    if found:
        from .errors import OptionError
        from .wire.hosts import Hosts

        try:
            Hosts.parse(found)
        except OptionError as error:
            raise pytest.UsageError(f"statebase_{name}: {error}") from None
    return found
