"""The end of the process where a turn cannot be ended: once, by whoever finds that first, and undisturbed."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


def _stop_process(message: str) -> None:
    stream = sys.__stderr__
    if stream is not None:
        stream.write(f"\n{message}\n")
        stream.flush()
    os._exit(70)


_stop: Callable[[str], None] = _stop_process
_lock = threading.Lock()


def on_stuck(stop: Callable[[str], None] | None) -> None:
    """Have `stop` end the process where a turn cannot be ended; it gets the message and must not return.

    None: the message goes to standard error, and the process exits with status 70.
    """
    global _stop
    _stop = stop or _stop_process


def claim() -> bool:
    """Whether the caller is to `stop`; False where another thread is at it already."""
    return _lock.acquire(blocking=False)


def stop(message: str) -> None:
    """End the process, after `claim`."""
    try:
        _stop(message)
    finally:
        _lock.release()


def wait_if_stopping() -> None:
    """Go no further while another thread ends the process: what it writes must not change under it."""
    if _lock.locked():
        with _lock:
            return
