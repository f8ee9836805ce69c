"""The arguments of a call that count in matching."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from ..cassette.plan import ANY, Plan
from ..compare.paths import IgnoreRules
from .tools import Tool
from .volatile import rename


class Canonicaliser:
    """(tool, arguments) → the arguments that count.

    What equals its default is left out, what is ignored removed, the fork's own id read as the source's.
    """

    def __init__(self, plan: Plan, rules: IgnoreRules, tools: Mapping[str, Tool], fork_id: str, source_id: str) -> None:
        self._tool_rules = plan.tools
        self._rules = rules
        self._tools = tools
        self._ids = {fork_id: source_id}

    def is_write(self, tool: str) -> bool:
        """Whether calls of a tool have effects: unless the project marks it `reads: true`, they do."""
        rules = self._tool_rules.get(tool)
        return rules is None or not rules.reads

    def bind(self, tool: str, arguments: Any) -> Any:
        """Arguments without those that equal their parameter's default."""
        known = self._tools.get(tool)
        return arguments if known is None or type(arguments) is not dict else known.canonical(arguments)

    def __call__(self, tool: str, arguments: Any, ordinal: int = 0) -> Any:
        """ordinal: which of the tool's calls in the turn it is, from 1; 0 where it has no place, nor rules for one."""
        if type(arguments) is not dict:
            return arguments
        arguments = rename(self.bind(tool, arguments), self._ids)
        return self._rules.arguments(tool, arguments, ordinal) if self._rules else arguments

    def lenient(self, tool: str, arguments: Any) -> Iterator[Any]:
        """Canonical arguments as recordings from before some of them were added would have them, most kept first."""
        rules = self._tool_rules.get(tool)
        if rules is None or not rules.added or type(arguments) is not dict:
            return
        new = [name for name, value in rules.added.items() if value == ANY and name in arguments]
        for size in range(1, len(new) + 1):
            for left_out in combinations(new, size):
                yield {name: value for name, value in arguments.items() if name not in left_out}
