"""Wires the repaired version of the sample agent to the replays of this project, and pytester to its tests."""

from __future__ import annotations

from typing import Any

import pytest

pytest_plugins = ["pytester"]

_KEYS_OF_TEST_PLUGINS = {"asyncio": "asyncio_default_fixture_loop_scope", "timeout": "timeout"}


@pytest.fixture
def statebase_agent() -> Any:
    """The agent that `pytest --statebase-replay` tests here; `--statebase-agent` puts another in its place."""
    from support_agent.fixed import SupportAgent

    return SupportAgent


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    # The replays run without the plugins of the extra `test`; the ini keys of those must not be errors then.
    for plugin, key in _KEYS_OF_TEST_PLUGINS.items():
        if not pluginmanager.hasplugin(plugin):
            parser.addini(key, f"of the plugin {plugin}, which is not installed")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Benchmarks run when they are asked for, with --benchmark-only.
    if config.pluginmanager.hasplugin("benchmark"):
        config.option.benchmark_skip = True
