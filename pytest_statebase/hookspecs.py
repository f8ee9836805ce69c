"""The hooks that users may implement in a conftest or a plugin."""

from __future__ import annotations

from pathlib import Path
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


@pytest.hookspec(firstresult=True)
def pytest_statebase_import(path: Path, data: Any) -> Any:
    """The sessions of a file in a format of the project's own; None leaves the file to others.

    Asked by `pytest-statebase import` for every file, before the formats that it knows itself.
    data: what the file holds: a JSON value, of JSON Lines a list of them, the text of what is no JSON, bytes of what is
    no text.
    Return a list (or generator), each item an `importers.ImportedSession`, a `Ledger`, a list of chat messages, or a
    mapping with `messages` and what else is known (`id`, `agent_id`, `user_id`, `created_at`, `metadata`).
    """


@pytest.hookspec
def pytest_statebase_redact() -> Any:
    """Sorts of values that must not be written, beside those that are known: a list of `privacy.Rule`, or None.

    Asked by the commands that write cassettes or check them, and by replays: each rule has a name and a pattern, or a
    function that tells where in a text such a value stands.
    """
