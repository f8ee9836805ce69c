"""Settings of the tests as a whole."""

from __future__ import annotations

import contextlib
import os

# The replays of this project run without the libraries of its tests, and pytest loads this file for them as well.
with contextlib.suppress(ImportError):
    from hypothesis import settings

    # The first example pays for imports, and machines that run tests are busy: a deadline tells nothing there.
    settings.register_profile("statebase", deadline=None)
    settings.load_profile("statebase")

# Runs inside tests must tell a service nothing of what they replay, whatever runs the tests.
for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "TF_BUILD"):
    os.environ.pop(name, None)
