"""Which rules and accepted baselines a replay needed, for whoever keeps them."""

from __future__ import annotations

from ..cassette import Cassette
from ..cassette.plan import Plan
from ..cassette.record import seal_of
from ..compare import IgnoreRules
from ..compare.model import Upkeep
from ..compare.paths import inherited


def unused_rules(plan: Plan, rules: IgnoreRules) -> list[str]:
    """The plan's own `ignore` entries that hid nothing. Those of `statebase.yaml` are there for others as well."""
    return [text for text, used in rules.use()[inherited(plan) :] if not used]


def upkeep_of(cassette: Cassette, rules: IgnoreRules, wanted: range, stopped: str | None) -> Upkeep:
    """What a replay of the turns `wanted` needed; stopped: why it did not get to their end."""
    accepted = cassette.accepted
    if not rules and accepted is None:
        return Upkeep()
    number = inherited(cassette.plan)
    use = rules.use()
    own, others = ({text: used for text, used in some if used or not stopped} for some in (use[number:], use[:number]))
    if accepted is None:
        return Upkeep(own, others, partial=bool(stopped))
    turns = tuple(sorted(accepted.turns))
    reached = tuple(turn for turn in turns if turn in wanted)
    return Upkeep(own, others, turns, reached, tuple(_problems(cassette)), bool(stopped))


def _problems(cassette: Cassette) -> list[str]:
    accepted = cassette.accepted
    if accepted is None:
        return []
    known = {turn.number for turn in cassette.ledger.turns}
    beyond = [turn for turn in accepted.turns if turn not in known]
    found = [f"turn {turn} is accepted, and the session has no such turn" for turn in beyond]
    if accepted.of is not None and cassette.record_path is not None and seal_of(cassette.record_path) != accepted.of:
        found.append("the baseline was accepted for a record with another seal")
    return found
