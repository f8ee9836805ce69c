"""What a plan expects of a turn: checked, and refused where it proves nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..cassette.plan import CallExpect, tool_of
from ..errors import PlanError
from ..ledger import Ledger, SessionCreated, StateRolledBack, StateUpdated, ToolCalled, Turn
from ..values import ABSENT, same
from .model import Divergence, Facet, Kind, ReplayedCall
from .pairing import is_refused
from .paths import lookup, parse_steps, render_key

if TYPE_CHECKING:
    from ..cassette.plan import Expect, OutputExpect, Plan, ToolsExpect

_SCALARS = (str, int, float, bool, type(None))


def check(expect: Expect, output: Any, calls: Iterable[ToolCalled | ReplayedCall], state: Any) -> list[Divergence]:
    """The rules of `expect` that do not hold, in the order tools, state, output; empty where all hold.

    output: `{type, content}` or ABSENT; calls: those of either side; state: at the turn's end, or ABSENT.
    """
    found: list[Divergence] = []
    if expect.tools is not None:
        found += _check_tools(expect.tools, calls)
    for path, wanted in expect.state.items():
        found += _check_state(path, wanted, state)
    if expect.output is not None:
        found += _check_output(expect.output, output)
    return found


def _failed(facet: Facet, path: str, replayed: Any, detail: str) -> Divergence:
    return Divergence(facet, Kind.EXPECT, path, replayed=replayed, detail=detail)


def _check_tools(rules: ToolsExpect, calls: Iterable[ToolCalled | ReplayedCall]) -> list[Divergence]:
    made = [(call.tool, call.arguments) for call in calls if not is_refused_call(call)]
    found = []
    for entry in rules.called:
        if not any(_is_as_expected(entry, *call) for call in made):
            found.append(_not_called(entry, made))
    for entry in rules.not_called:
        arguments = next((call[1] for call in made if _is_as_expected(entry, *call)), ABSENT)
        if arguments is not ABSENT:
            tool = tool_of(entry)
            found.append(_failed(Facet.TOOLS, f"tools.{render_key(tool)}", arguments, f"{_named(entry)} was called"))
    return found


def _not_called(entry: str | CallExpect, made: list[tuple[str, Any]]) -> Divergence:
    """What is wrong, beside the arguments of the call that comes nearest."""
    tool = tool_of(entry)
    others = [arguments for name, arguments in made if name == tool]
    nearest: Any = ABSENT
    if others and isinstance(entry, CallExpect):
        nearest = max(
            others, key=lambda arguments: sum(_stands_at(*rule, arguments) for rule in entry.arguments.items())
        )
    return _failed(Facet.TOOLS, f"tools.{render_key(tool)}", nearest, f"{_named(entry)} was not called")


def _named(entry: str | CallExpect) -> str:
    if isinstance(entry, str):
        return entry
    return f"{entry.tool} with {', '.join(f'{path}: {brief(value)}' for path, value in entry.arguments.items())}"


def _is_as_expected(entry: str | CallExpect, tool: str, arguments: Any) -> bool:
    if isinstance(entry, str):
        return tool == entry
    return tool == entry.tool and all(_stands_at(*rule, arguments) for rule in entry.arguments.items())


def _stands_at(path: str, wanted: Any, arguments: Any) -> bool:
    """Whether a value stands at a path inside arguments; an argument of just that name comes first."""
    if isinstance(arguments, Mapping) and path in arguments:
        return same(wanted, arguments[path])
    found = lookup(arguments, parse_steps(path))
    return bool(found) and all(same(wanted, value) for value in found)


def is_refused_call(call: ToolCalled | ReplayedCall) -> bool:
    """Whether the call was refused because of an earlier miss; no recorded one was."""
    return isinstance(call, ReplayedCall) and is_refused(call)


def _check_state(path: str, wanted: Any, state: Any) -> list[Divergence]:
    values = [] if state is ABSENT else lookup(state, parse_steps(path))
    at = f"state{path}" if path.startswith("[") else f"state.{path}"
    if not values:
        return [_failed(Facet.STATE, at, ABSENT, f"{at} does not exist, {brief(wanted)} was wanted")]
    wrong = [value for value in values if not same(wanted, value)]
    return [
        _failed(Facet.STATE, at, value, f"{at} is {brief(value)}, {brief(wanted)} was wanted") for value in wrong[:1]
    ]


def _check_output(rules: OutputExpect, output: Any) -> list[Divergence]:
    content = output.get("content") if isinstance(output, Mapping) else output
    text = "" if content is ABSENT else content if isinstance(content, str) else _as_json(content)
    details = [f"output does not contain {part!r}" for part in rules.contains if part not in text]
    details += [f"output contains {part!r}" for part in rules.not_contains if part in text]
    details += [f"output does not match {pattern!r}" for pattern in rules.matches if not re.search(pattern, text)]
    if rules.equals is not ABSENT and not same(rules.equals, content):
        details.append(f"output is not equal to {brief(rules.equals)}")
    return [_failed(Facet.OUTPUT, "output", content, detail) for detail in details]


def _as_json(content: Any) -> str:
    try:
        return json.dumps(content, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # keys that JSON does not have, cycles
        return repr(content)


def brief(value: Any) -> str:
    """A value in one line of 80 characters at most."""
    text = _as_json(value) if isinstance(value, (*_SCALARS, list, dict)) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_plan(ledger: Ledger, plan: Plan) -> None:
    """Refuse what can only be seen with the record at hand, before anything is replayed.

    Raises PlanError for a malformed state path, and for an `expect` of a failing turn that the recording already
    meets: it would prove nothing.
    """
    for number, expect in plan.expect.items():
        for path in expect.state:
            _check_path(plan, number, path, f"expect.{number}.state.{path}")
        for name in ("called", "not_called") if expect.tools is not None else ():
            _check_entries(plan, number, name, getattr(expect.tools, name))
    for number in sorted(plan.failing & plan.expect.keys()):
        turn, expect = ledger.turn(number), plan.expect[number]
        if turn.error is None and not check(expect, turn.output, turn.calls, recorded_state(ledger, turn)):
            raise PlanError(
                f"`expect` of turn {number} is met by the recording itself, which is marked as failing",
                where=_place(plan, number),
                remedy="Add a rule that the recorded turn breaks: what it said, a tool it called, the state it left.",
            )


def _check_entries(plan: Plan, number: int, name: str, entries: Iterable[str | CallExpect]) -> None:
    for at, entry in enumerate(entries):
        for path in entry.arguments if isinstance(entry, CallExpect) else ():
            places = [f"expect.{number}.tools.{name}{item}.arguments.{path}" for item in (f"[{at}]", "")]
            _check_path(plan, number, path, *places)


def _check_path(plan: Plan, number: int, path: str, *places: str) -> None:
    """Raises PlanError for a malformed one; its place is looked up then only: that reads the whole plan again."""
    try:
        parse_steps(path)
    except PlanError:
        found = (plan.where.get(place) for place in places)
        parse_steps(path, where=next(filter(None, found), None) or _place(plan, number))
        raise


def _place(plan: Plan, number: int) -> str | None:
    return plan.where.get(f"expect.{number}")


def recorded_state(ledger: Ledger, turn: Turn) -> Any:
    """The recorded state at the turn's end, not to be changed; ABSENT where none was recorded."""
    version = turn.version_after
    return ABSENT if version is None else _value_of(ledger.version_of(version).event)


def _value_of(event: SessionCreated | StateUpdated | StateRolledBack) -> Any:
    return event.state if isinstance(event, SessionCreated) else event.value
