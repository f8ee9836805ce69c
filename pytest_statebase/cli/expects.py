"""The single rules of an `expect`, and what the recording makes of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..cassette.plan import Expect, OutputExpect, ToolsExpect
from ..compare import check
from ..compare.expect import recorded_state
from ..ledger import Ledger
from ..values import ABSENT
from .values_text import call_text, value_text


class ExpectRule(NamedTuple):
    """One rule of the `expect` of a turn."""

    keys: tuple[str, ...]
    """Where it stands below the turn: `("output", "contains")`."""
    text: str
    """`output contains "already refunded"`."""
    alone: Expect
    """An `expect` of this rule alone."""


def rules_of(expect: Expect) -> Iterator[ExpectRule]:
    """Each rule by itself, in the order tools, state, output."""
    if expect.tools is not None:
        for name in ("called", "not_called"):
            for entry in getattr(expect.tools, name):
                call = entry if isinstance(entry, str) else call_text(entry.tool, entry.arguments)
                alone = Expect(tools=ToolsExpect(**{name: (entry,)}))
                yield ExpectRule(("tools", name), f"{call} {name.replace('_', ' ')}", alone)
    for path, wanted in expect.state.items():
        yield ExpectRule(("state", path), f"state {path} is {value_text(wanted)}", Expect(state={path: wanted}))
    if expect.output is not None:
        yield from _output_rules(expect.output)


def _output_rules(rules: OutputExpect) -> Iterator[ExpectRule]:
    for name in ("contains", "not_contains", "matches"):
        for part in getattr(rules, name):
            alone = Expect(output=OutputExpect(**{name: (part,)}))
            yield ExpectRule(("output", name), f"output {_WORDS[name]} {value_text(part)}", alone)
    if rules.equals is not ABSENT:
        alone = Expect(output=OutputExpect(equals=rules.equals))
        yield ExpectRule(("output", "equals"), f"output equals {value_text(rules.equals)}", alone)


_WORDS = {"contains": "contains", "not_contains": "does not contain", "matches": "matches"}


def recording_meets(expect: Expect, ledger: Ledger, number: int) -> bool:
    """Whether the recorded turn itself is as expected."""
    turn = ledger.turn(number)
    return not check(expect, turn.output, turn.calls, recorded_state(ledger, turn))
