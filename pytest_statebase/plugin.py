"""The pytest plugin: options, collection, fixtures and the marker. What they do stands in the modules that they import.

Installed but unused it costs next to nothing: everything else is imported when a cassette is met.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from . import hookspecs
from .plugin_outputs import is_asked_for_output
from .plugin_settings import SUFFIX, Settings, add_options, settings_of

if TYPE_CHECKING:
    from .plugin_marker import Replayer
    from .statebase import LocalClient

_MARKER = (
    "statebase(session, fork=None, until=None): the recorded session (id or plan file) that the fixture "
    "statebase_replay replays."
)
RESULTS = "statebase-results"
COLLECTED: pytest.StashKey[bool] = pytest.StashKey()
"""At least one cassette was met, whatever was deselected afterwards."""


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("statebase_replay"):
        settings = settings_of(config)
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = [str(path) for path in _existing(settings)]
    if config.getoption("statebase_replay") or config.getoption("numprocesses", None) or is_asked_for_output(config):
        # Under pytest-xdist the controller collects nothing itself, and must not miss what its workers send.
        _watch(config)


def _existing(settings: Settings) -> tuple[Path, ...]:
    for path in settings.cassettes:
        if not path.exists():
            raise pytest.UsageError(
                f"statebase_cassettes names {path.name!r}, and there is no {path}\n"
                "Record, import or pull a session there, or set the ini key to where the cassettes are."
            )
    return settings.cassettes


def _watch(config: pytest.Config, session: pytest.Session | None = None) -> None:
    """Gather results from now on. session: what is to run is known already."""
    if not config.pluginmanager.has_plugin(RESULTS):
        from .plugin_results import Results

        results = Results(config, settings_of(config))
        config.pluginmanager.register(results, RESULTS)
        if session is not None:
            results.pytest_collection_finish(session)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.getoption("statebase_replay") or collection_path.name.endswith(SUFFIX):
        return None
    return True if collection_path.is_file() and collection_path.name != "__init__.py" else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(SUFFIX):
        return None
    config = parent.config
    if not config.getoption("statebase_replay") and not parent.session.isinitpath(file_path):
        return None
    _watch(config)
    config.stash[COLLECTED] = True
    from .plugin_nodes import CassetteFile

    return CassetteFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Python files are no cassettes, also where they are named on the command line of a run of replays."""
    if not parent.config.getoption("statebase_replay"):
        return None
    from .plugin_nodes import NoTests

    return NoTests.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """An agent of the command line or ini that does not import ends the run before anything is replayed."""
    if session.config.getoption("collectonly") or not session.config.pluginmanager.has_plugin(RESULTS):
        return
    settings = settings_of(session.config)
    from .engine.agents import import_attribute
    from .errors import AgentError

    for name in (*settings.agents, *([settings.ini_agent] if settings.ini_agent else ())):
        try:
            import_attribute(name, what="agent")
        except AgentError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> str | None:
    if config.getoption("statebase_replay") and not items and config.args_source is not config.ArgsSource.ARGS:
        if config.stash.get(COLLECTED, False):
            return None
        where = ", ".join(map(str, config.args))
        return f"statebase: no cassettes ({SUFFIX}) in {where}"
    return None


@pytest.fixture
def statebase_agent(request: pytest.FixtureRequest) -> Any:
    """The agent under test. Override it in a conftest; by default it comes from the hook or the ini key."""
    settings = settings_of(request.config)
    cassette = getattr(request.node, "cassette", None)
    found = request.config.hook.pytest_statebase_agent(cassette=cassette) if cassette is not None else None
    found = found if found is not None else settings.ini_agent
    if found is None:
        from .engine.agents import HOW_TO_NAME_AN_AGENT
        from .errors import AgentError

        raise AgentError("there is no agent to replay against", remedy=HOW_TO_NAME_AN_AGENT)
    return found


@pytest.fixture
def statebase_replay(request: pytest.FixtureRequest) -> Iterator[Replayer]:
    """Replays the session that the test's marker names; see `Replayer`."""
    _watch(request.config, request.session)
    from .plugin_marker import Replayer

    replayer = Replayer(request)
    yield replayer
    replayer.close()


@pytest.fixture
def statebase_client(request: pytest.FixtureRequest) -> Iterator[LocalClient]:
    """A local client that holds every cassette; tools answer from the fork that was made last."""
    from .plugin_client import local_client

    with local_client(request.config) as client:
        yield client
