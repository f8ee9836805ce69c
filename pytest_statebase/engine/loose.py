"""Tasks that an async agent starts and does not wait for."""

from __future__ import annotations

import asyncio
from typing import Any

_STEPS = 20
"""Enough for a task to reach its first call; one that waits for something else is left behind."""


async def with_loose_tasks(awaitable: Any) -> Any:
    """What `awaitable` gives, once the tasks that it started and left have had their chance to begin.

    In production the event loop goes on, and what they call is called; here it must not be lost with the turn.
    """
    try:
        before = asyncio.all_tasks()
    except RuntimeError:  # another event loop, which knows no loose tasks
        return await awaitable
    result = await awaitable
    for _ in range(_STEPS):
        if not asyncio.all_tasks() - before:
            break
        await asyncio.sleep(0)
    return result
