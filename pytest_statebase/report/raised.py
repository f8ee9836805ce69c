"""What the agent raised in a turn, in words: every output tells it alike."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..compare.model import Kind, Verdict
from .rows import Row
from .show import one_line, visible

_MISSED = frozenset({Verdict.UNRECORDED.value, Verdict.STALE.value, Verdict.INCONCLUSIVE.value})
"""What is raised for want of an answer is told by the reason of the turn."""


def error_text(error: Any) -> str:
    """`ValueError: no such order` on one line, the type without its module."""
    if not isinstance(error, dict) or "type" not in error:
        return one_line(error)
    name = _text(error["type"]).rpartition(":")[2]
    message = _text(error.get("message", ""))
    return f"{name}: {message}" if message else name


def beside_text(error: Any) -> dict[str, Any]:
    """What `error_text` does not say of an error: where its type is from, and its attributes."""
    if not isinstance(error, dict) or "type" not in error:
        return {}
    is_whole = ":" not in _text(error["type"])
    return {key: value for key, value in error.items() if key != "message" and not (key == "type" and is_whole)}


def _text(value: Any) -> str:
    return visible(value) if isinstance(value, str) else one_line(value)


def raised_text(turn: Row, told: Iterable[Row]) -> str | None:
    """What the agent raised in the replay; None where it raised nothing, or where something else says what.

    told: the differences of the turn that are told beside it.
    """
    error = (turn["replayed"] or {}).get("error")
    if error is None or any(found["kind"] == Kind.RAISED and not found.get("note") for found in told):
        return None
    return None if turn["verdict"] in _MISSED and not trace_of(turn) else error_text(error)


def trace_of(turn: Row) -> str | None:
    """Where the agent raised in the replay, innermost last, over several lines as Python has them."""
    error = (turn["replayed"] or {}).get("error")
    trace = error.get("trace") if isinstance(error, dict) else None
    if not trace:
        return None
    return textwrap.dedent(trace if isinstance(trace, str) else one_line(trace)).strip("\n")


_FRAME = re.compile(r'^(\s*File ")(.+)(", line \d)', re.MULTILINE)
_INSTALLED = re.compile(r".*[/\\]((?:site|dist)-packages[/\\].*)")
_STANDARD = re.compile(r".*[/\\](python3\.\d+[/\\].*)")


def placed_trace(trace: str, root: Path) -> str:
    """The same with files named from `root` on, installed ones from their `site-packages` on."""
    return _FRAME.sub(lambda frame: frame[1] + _placed(frame[2], root) + frame[3], trace)


def _placed(name: str, root: Path) -> str:
    installed = _INSTALLED.fullmatch(name)
    if installed:
        return installed[1]
    try:
        return Path(name).relative_to(root).as_posix()
    except ValueError:
        standard = _STANDARD.fullmatch(name)
        return standard[1] if standard else name


def without_trace(error: Any) -> Any:
    """What can be set beside a recorded error, which has no trace."""
    return {key: value for key, value in error.items() if key != "trace"} if isinstance(error, dict) else error
