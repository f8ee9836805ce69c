"""The place in a project's code from which a library was called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import takewhile
from types import FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LOOPS = ("_run_once", "unrolled_run")
"""asyncio's and trio's."""
_TURN = os.path.join(_PACKAGE, "engine", "turn.py")


def site_of(frame: FrameType | None) -> str | None:
    """`agent.py:12 in lookup`: the innermost place that is no library's, seen from a frame outwards.

    An agent that is installed is told apart from the libraries that it uses by where its turn begins. None where
    there are only libraries, as in a thread of a pool or a task of an event loop.
    """
    return innermost(takewhile(_is_no_loop, outwards(frame)))


def site_here() -> str | None:
    """The same for whoever calls."""
    return site_of(sys._getframe(1))


def site_of_call() -> str | None:
    """The same for who called the function of a project that has led here: a stub stands in its place."""
    frames = (one for one in outwards(sys._getframe(1)) if not one.f_code.co_filename.startswith(_PACKAGE))
    stub = next(frames, None)
    return None if stub is None else site_of(stub.f_back)


def innermost(frames: Iterable[FrameType]) -> str | None:
    """The same for frames in order, the innermost first."""
    entry: FrameType | None = None
    installed: list[FrameType] = []
    for frame in frames:
        file = frame.f_code.co_filename
        if file == _TURN:
            entry = installed[-1] if installed else None
            break
        if file.startswith((_PACKAGE, "<frozen")):
            continue
        home = _home(file)
        if home is None:
            return _told(frame)
        if home:
            installed.append(frame)
    if entry is None:
        return None
    home = _home(entry.f_code.co_filename)
    return next(_told(frame) for frame in installed if _home(frame.f_code.co_filename) == home)


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame, who called it, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_no_loop(frame: FrameType) -> bool:
    """Whoever runs an event loop is not who called what runs in it."""
    return frame.f_code.co_name not in _LOOPS or _home(frame.f_code.co_filename) is None


def _home(file: str) -> str | None:
    """The installed package that a file belongs to, empty for the standard library, None for a project's own."""
    for part in _INSTALLED:
        before, found, rest = file.rpartition(part)
        if found:
            return before + part + rest.partition(os.sep)[0]
    return "" if file.startswith(_STANDARD) else None


def _told(frame: FrameType) -> str:
    code = frame.f_code
    here = os.getcwd() + os.sep
    file = code.co_filename
    file = file[len(here) :] if file.startswith(here) else os.path.basename(file)
    return f"{file}:{frame.f_lineno} in {code.co_name}"
