"""Recorded results in today's shape, made by the functions that `statebase.yaml` names (`result: module:function`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..cassette import Cassette
from ..cassette.moves import placed_events
from ..cassette.plan import ToolRules
from ..errors import AgentError, PlanError
from ..ledger import Event, Ledger, ToolCalled
from ..values import ABSENT, copy_value
from .agents import import_attribute
from .mcp_log import with_hints

Reshape = Callable[[Any], Any]


def reshaped(cassette: Cassette) -> Cassette:
    """The cassette with recorded results as its tools give them today, and what MCP servers hinted of their tools.

    Raises PlanError where a function does not import, or raises for a recorded result.
    """
    named = {tool: rules for tool, rules in cassette.plan.tools.items() if rules.result}
    functions = {tool: _function(tool, rules) for tool, rules in named.items()}
    ledger = cassette.ledger
    cassette = with_hints(cassette)
    if not named:
        return cassette
    return replace(cassette, _ledger=Ledger(_events(ledger, functions, named)))


def _function(tool: str, rules: ToolRules) -> Reshape:
    try:
        found = import_attribute(rules.result or "", what="function")
    except AgentError as error:
        what = f"`result` of `{tool}`: {error.what}"
        raise PlanError(what, where=rules.where or None, remedy=error.remedy) from error
    if not callable(found):
        what = f"`result` of `{tool}` names {rules.result}, which cannot be called"
        raise PlanError(what, where=rules.where or None, remedy="Name a function that takes a recorded result.")
    return found  # type: ignore[no-any-return]


def _events(ledger: Ledger, functions: Mapping[str, Reshape], rules: Mapping[str, ToolRules]) -> Iterator[Event]:
    for event, (turn, call) in placed_events(ledger):
        if type(event) is ToolCalled and event.tool in functions and _has_result(event):
            place = f"session {ledger.id}, turn {turn}, call {call}"
            event = replace(event, result=_reshaped(event, functions, rules, place))
        yield event


def _has_result(call: ToolCalled) -> bool:
    return call.result is not ABSENT and call.error is None


def _reshaped(event: ToolCalled, functions: Mapping[str, Reshape], rules: Mapping[str, ToolRules], place: str) -> Any:
    told = rules[event.tool]
    try:
        return functions[event.tool](copy_value(event.result))
    except Exception as error:
        raise PlanError(
            f"`result` of `{event.tool}`: {told.result} raised {type(error).__name__}: {error} ({place})",
            where=told.where or None,
            remedy="It gets every recorded result of the tool: give back those that have today's shape as they are.",
        ) from error
