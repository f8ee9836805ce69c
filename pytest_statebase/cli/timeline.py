"""`pytest-statebase timeline`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ..ledger import Trace, input_text
from ..report.times import parse_time
from .output import BOLD, CYAN, DIM, columns, counted, say, say_lines
from .targets import find_cassette

if TYPE_CHECKING:
    from ..report.terminal import Line


@click.command("timeline")
@click.argument("session")
@click.option("--action", "actions", multiple=True, metavar="ACTION", help="Only this action, such as state.updated.")
@click.option("--search", metavar="TEXT", help="Only traces with this text in reasoning, actor or details.")
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="Comma-separated values, whole: id, action, actor, timestamp, reasoning, details.",
)
def command(session: str, actions: tuple[str, ...], search: str | None, as_csv: bool) -> None:
    """List the traces of a session: when, who, what, why.

    SESSION is a plan, a record or the id of a session in the project's cassettes. One line is one trace, oldest
    first, shortened to the width of the terminal. --action may be given several times, and `state` means
    `state.updated` and `state.rolled_back`.
    """
    from ..audit.export import trace_rows

    traces = find_cassette(session).ledger.traces
    found = [trace for trace in traces if _is_wanted(trace, actions, search)]
    if as_csv:
        click.echo("".join(trace_rows(found)), nl=False)
        return
    say_lines(_lines(found, columns()))
    if len(found) < len(traces):
        there = ", ".join(dict.fromkeys(trace.action for trace in traces))
        say(f"{len(found):,} of {counted(len(traces), 'trace')}" + ("" if found else f"; there are {there}"))


def _is_wanted(trace: Trace, actions: tuple[str, ...], search: str | None) -> bool:
    if actions and not any(trace.action == action or trace.action.startswith(f"{action}.") for action in actions):
        return False
    if search is None:
        return True
    from ..audit.export import details_json

    told = (trace.reasoning or "", trace.actor or "", details_json(trace))
    return any(search.casefold() in text.casefold() for text in told)


def _lines(traces: list[Trace], width: int) -> Iterator[Line]:
    when = max((len(_when(trace)) for trace in traces), default=0)
    who = min(max((len(trace.actor or "") for trace in traces), default=0), 20)
    action = max((len(trace.action) for trace in traces), default=0)
    left = width - sum(column + 2 for column in (when, who, action) if column)
    for trace in traces:
        details = _details(trace)
        why = f"why: {trace.reasoning}" if trace.reasoning else ""
        room = max(left - min(len(why) + 2, left // 3), 20) if why else left
        told = _cut(details, room)
        yield [
            (_padded(_when(trace), when), DIM),
            (_padded(_cut(trace.actor or "", who), who), CYAN),
            (_padded(trace.action, action), BOLD),
            (told, {}),
            (f"  {_cut(why, left - len(told) - 2)}" if why else "", DIM),
        ]


def _padded(text: str, width: int) -> str:
    return text.ljust(width) + "  " if width else ""


def _cut(text: str, width: int) -> str:
    from ..report.show import visible

    text = visible(text)
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def _when(trace: Trace) -> str:
    moment = parse_time(trace.timestamp)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else trace.timestamp or ""


def _details(trace: Trace) -> str:
    """What happened, in short."""
    details = trace.details
    match trace.action:
        case "session.created":
            parts = [f"agent {details['agent_id']}" if details.get("agent_id") else ""]
            parts += [f"user {details['user_id']}" if details.get("user_id") else ""]
            parts += [_value(details["initial_state"]) if details.get("initial_state") is not None else ""]
            return ", ".join(part for part in parts if part)
        case "state.updated":
            return f"version {details['version']}: {_changes(details['state_diff'])}"
        case "state.rolled_back":
            return f"version {details['from_version']} back to {details['to_version']}"
        case "turn.added":
            said = _quoted(input_text(details.get("input")))
            return f"turn {details['turn_number']}: {said} → {_output(details.get('output'))}"
        case "memory.created":
            return f"{details['type']}: {_quoted(details['content'])}"
        case "memory.deleted":
            return _quoted(details["content"])
        case "session.forked":
            return f"from {details['source_session']} at version {details['fork_version']}"
    from ..audit.export import details_json

    return details_json(trace)


def _quoted(text: Any) -> str:
    """A text in quotes, cut so that what follows it is seen as well."""
    return f'"{_cut(str(text), 40)}"' if text else "(nothing)"


def _output(output: Any) -> str:
    if output is None:
        return "(none)"
    content = output.get("content") if isinstance(output, dict) else output
    return f'"{content}"' if isinstance(content, str) else _value(content)


def _value(value: Any) -> str:
    from ..report.jsonsafe import json_safe
    from ..report.show import one_line

    return one_line(json_safe(value))


def _changes(diff: Any) -> str:
    parts = [f"+{key} {_value(value)}" for key, value in diff["added"].items()]
    parts += [f"{key} {_value(both['from'])} → {_value(both['to'])}" for key, both in diff["modified"].items()]
    parts += [f"-{key}" for key in diff["removed"]]
    return ", ".join(parts) or "nothing changed"
