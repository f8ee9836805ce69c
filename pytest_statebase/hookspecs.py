"""The hooks that users may implement in a conftest or a plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .cassette import Cassette


@pytest.hookspec(firstresult=True)
def pytest_statebase_agent(cassette: Cassette) -> Any:
    """The agent under test for a cassette: a function, class, object or `module:attribute`; None leaves it to others.

    Asked where neither --statebase-agent nor a fixture `statebase_agent` of the project names one.
    `cassette.plan.agent` is the agent's name in production.
    """
