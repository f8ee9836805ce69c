"""Settings of the tests as a whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

# The replays of this project run without the libraries of its tests, and pytest loads this file for them as well.
with contextlib.suppress(ImportError):
    from hypothesis import settings

    # The first example pays for imports, and machines that run tests are busy: a deadline tells nothing there.
    settings.register_profile("statebase", deadline=None)
    settings.load_profile("statebase")


@pytest.fixture(scope="session", autouse=True)
def unheard() -> Iterator[None]:
    """Runs inside tests tell a CI service nothing of what they replay, whatever runs the tests."""
    names = ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "TF_BUILD")
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    yield
    os.environ.update(kept)


@pytest.fixture(scope="session", autouse=True)
def quick_children() -> Iterator[None]:
    """Runs of pytest inside tests go without two plugins that import more than all of ours and are not needed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTEST_ADDOPTS", "-p no:langsmith_plugin -p no:hypothesispytest")
        yield
