"""What outlives a replay: the guard, as long as something may go on that one of its turns began."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from ..wire.guard import guarded
from .handlers import is_anything_left
from .threads import threads_take_context_along
from .web.fence import check

_lock = threading.Lock()
_kept: ExitStack | None = None


def keep_guard() -> None:
    """To be called at the end of a replay, while its own guard still stands.

    Where a thread, timer, job or task is left, the guard stays, and whatever that starts belongs to its replay, too.
    Code of which no replay is known is asked nothing. Where nothing is left any more, the guard goes.
    """
    global _kept
    with _lock:
        is_left = is_anything_left()
        if is_left and _kept is None:
            _kept = ExitStack()
            _kept.enter_context(guarded(check, names=False))
            _kept.enter_context(threads_take_context_along())
        elif not is_left and _kept is not None:
            _kept.close()
            _kept = None
