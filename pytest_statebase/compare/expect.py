"""What a plan expects of a turn: checked, refused where it proves nothing, drafted where it is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import PlanError
from ..ledger import Ledger, SessionCreated, StateRolledBack, StateUpdated, ToolCalled, Turn
from ..values import ABSENT, same
from .model import Divergence, Facet, Kind, ReplayedCall, TurnResult
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
    made = {call.tool: call.arguments for call in calls if not _is_refused(call)}
    found = []
    for tool in rules.called:
        if tool not in made:
            found.append(_failed(Facet.TOOLS, f"tools.{render_key(tool)}", ABSENT, f"{tool} was not called"))
    for tool in rules.not_called:
        if tool in made:
            found.append(_failed(Facet.TOOLS, f"tools.{render_key(tool)}", made[tool], f"{tool} was called"))
    return found


def _is_refused(call: ToolCalled | ReplayedCall) -> bool:
    return isinstance(call, ReplayedCall) and is_refused(call)


def _check_state(path: str, wanted: Any, state: Any) -> list[Divergence]:
    values = [] if state is ABSENT else lookup(state, parse_steps(path))
    at = f"state{path}" if path.startswith("[") else f"state.{path}"
    if not values:
        return [_failed(Facet.STATE, at, ABSENT, f"{at} does not exist, {_brief(wanted)} was wanted")]
    wrong = [value for value in values if not same(wanted, value)]
    return [
        _failed(Facet.STATE, at, value, f"{at} is {_brief(value)}, {_brief(wanted)} was wanted") for value in wrong[:1]
    ]


def _check_output(rules: OutputExpect, output: Any) -> list[Divergence]:
    content = output.get("content") if isinstance(output, Mapping) else output
    text = "" if content is ABSENT else content if isinstance(content, str) else _as_json(content)
    details = [f"output does not contain {part!r}" for part in rules.contains if part not in text]
    details += [f"output contains {part!r}" for part in rules.not_contains if part in text]
    details += [f"output does not match {pattern!r}" for pattern in rules.matches if not re.search(pattern, text)]
    if rules.equals is not ABSENT and not same(rules.equals, content):
        details.append(f"output is not equal to {_brief(rules.equals)}")
    return [_failed(Facet.OUTPUT, "output", content, detail) for detail in details]


def _as_json(content: Any) -> str:
    try:
        return json.dumps(content, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # keys that JSON does not have, cycles
        return repr(content)


def _brief(value: Any) -> str:
    text = _as_json(value) if isinstance(value, (*_SCALARS, list, dict)) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_plan(ledger: Ledger, plan: Plan) -> None:
    """Refuse what can only be seen with the record at hand, before anything is replayed.

    Raises PlanError for a malformed state path, and for an `expect` of a failing turn that the recording already
    meets: it would prove nothing.
    """
    for number, expect in plan.expect.items():
        for path in expect.state:
            _check_path(plan, number, path)
    for number in sorted(plan.failing & plan.expect.keys()):
        turn, expect = ledger.turn(number), plan.expect[number]
        if turn.error is None and not check(expect, turn.output, turn.calls, recorded_state(ledger, turn)):
            raise PlanError(
                f"`expect` of turn {number} is met by the recording itself, which is marked as failing",
                where=_place(plan, number),
                remedy="Add a rule that the recorded turn breaks: what it said, a tool it called, the state it left.",
            )


def _check_path(plan: Plan, number: int, path: str) -> None:
    try:
        parse_steps(path)
    except PlanError:
        parse_steps(path, where=plan.where.get(f"expect.{number}.state.{path}") or _place(plan, number))
        raise


def _place(plan: Plan, number: int) -> str | None:
    return plan.where.get(f"expect.{number}")


def recorded_state(ledger: Ledger, turn: Turn) -> Any:
    """The recorded state at the turn's end, not to be changed; ABSENT where none was recorded."""
    version = turn.version_after
    return ABSENT if version is None else _value_of(ledger.version_of(version).event)


def _value_of(event: SessionCreated | StateUpdated | StateRolledBack) -> Any:
    return event.state if isinstance(event, SessionCreated) else event.value


def draft_expect(result: TurnResult) -> str:
    """The `expect` block of a changed turn, as YAML to paste: what it does now and the recorded one did not."""
    lines = ["expect:", f"  {result.turn}:"]
    tools, state = _draft_tools(result), _draft_state(result)
    if tools:
        lines.append(f"    tools: {{{', '.join(tools)}}}")
    if state:
        lines.append(f"    state: {{{', '.join(state)}}}")
    output = _draft_output(result)
    if output and not (tools or state):
        lines.append(f"    output: {{{output}}}")
    if len(lines) == 2:
        lines.append('    output: {contains: "…"}  # what a right answer says and the recorded one does not')
    return "\n".join(lines)


def _draft_tools(result: TurnResult) -> list[str]:
    recorded = [call.tool for call in result.recorded.calls]
    replayed = [call.tool for call in result.calls if not _is_refused(call)]
    called = [_quoted(tool) for tool in dict.fromkeys(replayed) if tool not in recorded]
    not_called = [_quoted(tool) for tool in dict.fromkeys(recorded) if tool not in replayed]
    parts = [f"called: [{', '.join(called)}]"] if called else []
    return parts + ([f"not_called: [{', '.join(not_called)}]"] if not_called else [])


def _draft_state(result: TurnResult) -> list[str]:
    entries = []
    for divergence in result.divergences:
        judged = divergence.facet is Facet.STATE and divergence.kind in (Kind.VALUE, Kind.TYPE, Kind.ADDED)
        if judged and not divergence.note and isinstance(divergence.replayed, _SCALARS) and divergence.path != "state":
            path = divergence.path.removeprefix("state").removeprefix(".")
            entries.append(f"{_quoted(path)}: {_quoted(divergence.replayed)}")
    return entries[:5]


def _draft_output(result: TurnResult) -> str | None:
    ours, theirs = _text_of(result.recorded.output), _text_of(result.replayed.output if result.replayed else ABSENT)
    if theirs is None:
        return None
    sentences = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", theirs)]
    parts = [part[:80].rpartition(" ")[0] if len(part) > 80 else part for part in sentences]
    fresh = next((part for part in parts if part and (ours is None or part not in ours)), None)
    return f"contains: {_quoted(fresh)}" if fresh else None


def _text_of(output: Any) -> str | None:
    content = output.get("content") if isinstance(output, Mapping) else None
    return content if isinstance(content, str) else None


def _quoted(value: Any) -> str:
    """A scalar as YAML: plain where that is safe."""
    if (
        isinstance(value, str)
        and re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", value, re.ASCII)
        and value.lower() not in _WORDS
    ):
        return value
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return ".nan" if value != value else ".inf" if value > 0 else "-.inf"
    return json.dumps(value, ensure_ascii=False)


_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
