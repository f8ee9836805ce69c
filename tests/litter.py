"""What the libraries that tests use leave to the garbage collector."""

from __future__ import annotations

import gc
import warnings


def collect() -> None:
    """Collect it here and now: a connection that a client did not close is none of the next test's warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
