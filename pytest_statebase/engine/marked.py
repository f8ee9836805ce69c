"""What `@pytest_statebase.tool` says of a tool, as rules like those of `statebase.yaml`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..cassette import Cassette
from ..cassette.plan import ToolRules
from .tools import Tool


def with_marked_rules(cassette: Cassette, tools: Iterable[Tool]) -> Cassette:
    """The cassette with the marks `reads` and `live` of the tools added to what its plan says of them."""
    told = [tool for tool in tools if tool.reads or tool.live]
    if not told:
        return cassette
    rules = dict(cassette.plan.tools)
    for tool in told:
        known = rules.get(tool.name, ToolRules())
        rules[tool.name] = replace(known, reads=known.reads or tool.reads, live=known.live or tool.live)
    return replace(cassette, plan=replace(cassette.plan, tools=rules))
