"""A miss in words: the nearest recording, what differs, and the entry to paste."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from ..cassette.personal import is_no_value
from ..cassette.redaction import REDACTED
from ..cassette.secrets import holds_secret_numbers, is_secret_name
from ..compare.model import ReplayedCall
from ..values import freeze
from .entries import Entry
from .matching import Miss

_LIMIT = 160


def explain_miss(call: ReplayedCall, miss: Miss, why: str | None = None, gone: Collection[str] = ()) -> str:
    """A few lines for a person: what was called, why nothing answers, what is nearest, what to paste into the plan.

    why: what kept another source than the recording from answering. gone: recorded tools that there are no more.
    """
    lines = [f"{show_call(call.tool, call.arguments)} has no answer: {_REASONS[miss.reason]}"]
    if why:
        lines[0] += f", and {why}"
    if miss.nearest is not None:
        lines += _nearest(call, miss, miss.nearest)
    if gone:
        lines.append(f"if it is what {' or '.join(sorted(gone))} was when this was recorded, say so in statebase.yaml:")
        lines.append(f"tools: {{{_flow(call.tool)}: {{was: {_flow(min(gone))}}}}}")
    lines.append("if the call is right, say in the plan what it would have answered:")
    lines.append("answers:")
    told = call.arguments
    if isinstance(told, Mapping):
        told = {key: REDACTED if _is_secret(key, value) else value for key, value in told.items()}
    lines.append(f"  - {{tool: {_flow(call.tool)}, arguments: {_flow(told)}, result: ...}}")
    return "\n".join(lines)


def explain_answer(call: ReplayedCall, miss: Miss, source: str) -> str:
    """Why something else than the recording answered a call."""
    return f"{show_call(call.tool, call.arguments)} was answered by {source}: {_REASONS[miss.reason]}"


_REASONS = {
    "never recorded": "the tool was never recorded in this session",
    "drifted": "the recording has the tool, but not with these arguments",
    "no result": "the recording has no result for it, the turn was cut off",
    "used up": "every recording of this call has answered already, and the tool is not marked `reads: true`",
}


def _nearest(call: ReplayedCall, miss: Miss, nearest: Entry) -> list[str]:
    shown = show_call(call.tool, nearest.call.arguments)
    lines = [f"nearest recording: turn {nearest.turn}, call {nearest.index + 1}, {shown}"]
    if miss.reason not in ("used up", "no result"):
        lines += [f"  {line}" for line in _differences(nearest.arguments, call.arguments, miss.forgiven)]
    return lines


def _differences(recorded: Any, replayed: Any, forgiven: Collection[str]) -> list[str]:
    if not (isinstance(recorded, Mapping) and isinstance(replayed, Mapping)):
        return [f"arguments: recorded {show(recorded)}, replayed {show(replayed)}"]
    lines = []
    for key in dict.fromkeys((*recorded, *replayed)):
        if key not in replayed:
            lines.append(f"{key}: recorded {_named(key, recorded[key])}, replayed without it")
        elif key not in recorded and key in forgiven:
            continue
        elif key not in recorded:
            lines.append(f"{key}: recorded without it, replayed {_named(key, replayed[key])}")
        elif freeze(recorded[key]) != freeze(replayed[key]):
            told = _named(key, recorded[key]), _named(key, replayed[key])
            lines.append(f"{key}: recorded {told[0]}, replayed {told[1]}")
    return lines


def show_call(tool: str, arguments: Any) -> str:
    """`lookup_order(order_id='1047')`, cut where it grows long."""
    if not isinstance(arguments, Mapping):
        return f"{tool}({show(arguments)})"
    return f"{tool}({', '.join(f'{key}={_named(key, value)}' for key, value in arguments.items())})"


def _named(name: Any, value: Any) -> str:
    """A value in a line, without what its name tells to be secret: no text of a report says that name beside it."""
    return REDACTED if _is_secret(name, value) else show(value)


def _is_secret(name: Any, value: Any) -> bool:
    if value is None or isinstance(value, bool) or not (isinstance(name, str) and is_secret_name(name)):
        return False
    if isinstance(value, (int, float)):
        return holds_secret_numbers(name)
    return not (isinstance(value, str) and is_no_value(value))


def show(value: Any) -> str:
    """A value in a line, cut at 160 characters."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LIMIT else f"{text[:_LIMIT]}… ({len(text)} characters)"


def _flow(value: Any) -> str:
    """JSON, which is YAML as well."""
    return json.dumps(value, ensure_ascii=False, default=str)
