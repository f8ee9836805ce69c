"""Recorded calls that the tool's function would not take today: seen from the names of their arguments alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from ..cassette.plan import ToolRules
from ..compare.model import Unbound
from ..ledger import Ledger, ToolCalled
from .tools import CONTEXT_NAMES, Tool


def unbound_calls(ledger: Ledger, tools: Iterable[Tool], rules: Mapping[str, ToolRules]) -> tuple[Unbound, ...]:
    """The tools of which recorded calls lack an argument or have one that the function does not take."""
    known = {tool.name: tool for tool in tools}
    found: dict[str, tuple[list[int], set[str], set[str]]] = {}
    for event in ledger.events if known else ():
        if type(event) is not ToolCalled or type(event.arguments) is not dict or event.tool not in known:
            continue
        required, taken = _parameters(known[event.tool])
        names = frozenset(event.arguments)
        if required <= names and (taken is None or names <= taken):
            continue
        lacks, unknown = required - names, frozenset() if taken is None else names - taken
        lacks, unknown = _counted(lacks, unknown, rules.get(event.tool))
        if lacks or unknown:
            count, all_lacks, all_unknown = found.setdefault(event.tool, ([0], set(), set()))
            count[0] += 1
            all_lacks |= lacks
            all_unknown |= unknown
    return tuple(
        Unbound(tool, count[0], tuple(sorted(lacks)), tuple(sorted(unknown)))
        for tool, (count, lacks, unknown) in found.items()
    )


def _counted(
    lacks: frozenset[str], unknown: frozenset[str], rules: ToolRules | None
) -> tuple[frozenset[str], frozenset[str]]:
    """Without what the tool's rules speak of: added arguments, and those that are ignored."""
    if rules is None:
        return lacks, unknown
    if "arguments" in rules.ignore:
        return frozenset(), frozenset()
    ignored = {rule.removeprefix("arguments.") for rule in rules.ignore}
    return lacks - ignored - rules.added.keys(), unknown - ignored


@lru_cache(maxsize=4096)
def _parameters(tool: Tool) -> tuple[frozenset[str], frozenset[str] | None]:
    """The arguments that a call must have, and all that it may have; None where it may have any."""
    parameters = tool.signature.parameters.values()
    bound = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    required = frozenset(p.name for p in bound if p.default is p.empty and p.name not in CONTEXT_NAMES)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return required, None
    return required, frozenset(p.name for p in parameters)
