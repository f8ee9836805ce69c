"""How many calls a turn may make before it counts as a loop: tied to the calls that the recorded turn made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..compare.model import ReplayedCall
from ..ledger import Turn
from ..values import freeze
from .explain import show_call

TIMES = 10
"""How many times the recorded number of calls, and of equal calls, a turn may make."""
FEWEST = 100
"""Calls that any turn may make."""
FEWEST_EQUAL = 25
"""Equal calls that any turn may make, and refused ones after a call that has no answer."""


class Bounds:
    """Counts the calls of one turn."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._recorded = len(turn.calls)
        self._equal: Counter[Any] | None = None
        self._refused: Counter[Any] = Counter()

    def exceeded(self, calls: Sequence[ReplayedCall]) -> str | None:
        """Why the last of `calls` is one too many; None where it is not."""
        if len(calls) <= min(self._recorded, FEWEST_EQUAL):
            return None
        if len(calls) > max(FEWEST, TIMES * self._recorded):
            return f"it made {len(calls)} calls where {_times(self._recorded)} recorded"
        if len(calls) <= self._recorded or len(calls) <= FEWEST_EQUAL:
            return None
        equal = self._count(calls)
        if equal <= FEWEST_EQUAL:
            return None
        most = max(Counter(map(_key, self._turn.calls)).values(), default=0)
        return f"it made the same call {equal} times" if equal > max(FEWEST_EQUAL, TIMES * most) else None

    def _count(self, calls: Sequence[ReplayedCall]) -> int:
        if self._equal is None:
            self._equal = Counter(map(_key, calls[:-1]))
        key = _key(calls[-1])
        self._equal[key] += 1
        return self._equal[key]

    def refuse(self, tool: str, arguments: Any) -> str | None:
        """Count a call that was refused after one without an answer; why it is one too many, or None."""
        if self._refused.total() < FEWEST_EQUAL:
            self._refused[show_call(tool, arguments)] += 1
            return None
        return f"it went on calling, more than {FEWEST_EQUAL} times, after a call had no answer"

    def loop(self, calls: Sequence[ReplayedCall]) -> str | None:
        """The call that was made most often, in words, where any was made more than once."""
        if self._refused:
            shown, times = self._refused.most_common(1)[0]
            return f"{shown} was refused at least {_count(times)}"
        counted = Counter(map(_key, calls))
        if not counted:
            return None
        key, times = counted.most_common(1)[0]
        if times == 1:
            return _by_tool(calls)
        call = next(call for call in calls if _key(call) == key)
        return f"{show_call(call.tool, call.arguments)} was called {_count(times)}"


def _by_tool(calls: Sequence[ReplayedCall]) -> str | None:
    tool, times = Counter(call.tool for call in calls).most_common(1)[0]
    return f"{tool} was called {_count(times)}, each time with other arguments" if times > 1 else None


def _key(call: Any) -> Any:
    return call.tool, freeze(call.arguments)


def _times(number: int) -> str:
    return f"{number} {'was' if number == 1 else 'were'}" if number else "none was"


def _count(times: int) -> str:
    return "once" if times == 1 else f"{times} times"
