"""Where an agent waits for what a thread of its event loop does for it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ...wire.sites import innermost, outwards


def site_of_waiting(handler: Any) -> str | None:
    """The place in the agent that waits for another thread or task; None where that cannot be told."""
    limit = getattr(getattr(handler, "run", None), "limit", None)
    if limit is None:
        return None
    task = limit.task
    site = _of_trio() or (None if task is None else _of_asyncio(task))
    return site or innermost(outwards(sys._current_frames().get(limit.thread)))


def _of_asyncio(task: asyncio.Task[Any]) -> str | None:
    try:
        tasks = [task, *asyncio.all_tasks(task.get_loop())]
    except RuntimeError:  # the loop changed them meanwhile
        tasks = [task]
    for one in tasks:
        frames = list(_frames(one.get_coro()))
        if any(frame.f_code.co_name in _LOOK_UPS for frame in frames):
            return innermost(reversed(frames))
    return None


def _of_trio() -> str | None:
    trio = sys.modules.get("trio")
    if trio is None or not trio.lowlevel.in_trio_task():
        return None
    task = trio.lowlevel.current_task()
    while task is not None:
        site = innermost(reversed(list(_frames(task.coro))))
        if site is not None:
            return site
        task = task.parent_nursery.parent_task if task.parent_nursery is not None else None
    return None


_LOOK_UPS = ("getaddrinfo", "getnameinfo", "run_in_executor", "to_thread")


def _frames(awaited: Any) -> Iterator[FrameType]:
    """The suspended frames of a coroutine, the outermost first."""
    while awaited is not None:
        for frame, inner in (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await")):
            if hasattr(awaited, frame):
                if getattr(awaited, frame) is not None:
                    yield getattr(awaited, frame)
                awaited = getattr(awaited, inner)
                break
        else:
            return
