"""What is proposed beside an imported record: a short plan, and the tools for `statebase.yaml`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..ledger import Ledger

if TYPE_CHECKING:
    from ..cassette import Plan

_LONGEST_TITLE = 72
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_PLAIN = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})

_QUESTIONS = frozenset(
    {"can", "check", "count", "fetch", "find", "get", "has", "is", "list", "load", "look", "lookup", "query"}
    | {"read", "search", "show", "think"}
)
_DEFAULTS = """\
# Defaults for the cassettes in this directory and below.
#
# These tools are called in the imported sessions. A tool counts as a write, whose answer is used once, unless it is
# marked `reads: true`: then it has no effect and may be answered again. Which tools have no effect, no recording says:
# take the `# ` off the lines of those, and off the line `tools:`.
#
# tools:
"""


def propose_plan(ledger: Ledger, title: str | None) -> Plan:
    """The plan to write beside a record: session, agent and title, nothing that is guessed."""
    from ..cassette import Plan

    created = ledger.created
    return Plan(session=created.id, agent=created.agent_id, title=(shorten(title) or None) if title else None)


def first_words(ledger: Ledger) -> str | None:
    """What the user said first, for a title; None where there is none."""
    return next((turn.text for turn in ledger.turns if turn.text.strip()), None)


def shorten(text: str) -> str:
    """One line of at most 72 characters, printable."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 1].rstrip() + "…"


def defaults_text(calls: Mapping[str, int]) -> str:
    """The text of a first `statebase.yaml`: each tool a commented line with its number of calls.

    calls: the number of calls by tool.
    """
    if not calls:
        return (
            "# Defaults for the cassettes in this directory and below. No tool was called in the imported sessions.\n"
        )
    entries = {f"{_key(tool)}: {{{_proposed(tool)}}}": count for tool, count in sorted(calls.items())}
    width = max(map(len, entries))
    lines = (f"#   {entry:<{width}}  # {count} call{'' if count == 1 else 's'}\n" for entry, count in entries.items())
    return _DEFAULTS + "".join(lines)


def _proposed(tool: str) -> str:
    """What a commented line says of a tool: a name that begins like a question may be one, any other is a write."""
    return "reads: true" if re.split(r"[_.-]", tool.lower())[0] in _QUESTIONS else "reads: false"


def _key(tool: str) -> str:
    if _PLAIN_KEY.fullmatch(tool) and tool.lower() not in _NOT_PLAIN:
        return tool
    return json.dumps(tool)
