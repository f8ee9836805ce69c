"""Divergences that a plan knows of: excused until their day has passed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

from .model import Divergence, Group, Kind, KnownUse, TurnResult, Verdict

if TYPE_CHECKING:
    from ..cassette.plan import Known, Plan


def today() -> date:
    """The day by the system's clock."""
    return date.today()


def mark_known(results: Iterable[TurnResult], plan: Plan, *, day: date | None = None) -> None:
    """Excuse each turn of which all divergences are known, with what follows from them in the same turn.

    The turns that a replay did not get to because of an excused turn are excused with it.
    day: the last day of an entry is this one or a later one; by default the system's.
    """
    day = day or today()
    valid = {known.fingerprint: known for known in plan.known if day <= known.until}
    expired = {known.fingerprint: known for known in plan.known if known.fingerprint not in valid}
    exact = plan.compare.get("output") == "exact"
    stopped_by: tuple[Known, ...] = ()
    for result in results:
        if result.verdict is Verdict.NOT_REPLAYED:
            result.known, result.excused = stopped_by, bool(stopped_by) and not result.beyond_until
            continue
        prints = [found.fingerprint for found in result.divergences if not found.note]
        result.known = tuple(dict.fromkeys(valid[one] for one in prints if one in valid))
        result.expired = tuple(dict.fromkeys(expired[one] for one in prints if one in expired))
        excused = {known.fingerprint for known in result.known}
        judged = [found for found in result.divergences if _counts(found, exact=exact)]
        if result.verdict.group is Group.FAIL and excused:
            result.excused = all(found.fingerprint in excused or found.follows in excused for found in judged)
        if result.excused and result.verdict in (Verdict.UNRECORDED, Verdict.ERROR):
            stopped_by = result.known


def _counts(found: Divergence, *, exact: bool) -> bool:
    return not found.note and (exact or found.kind is not Kind.TEXT)


def known_uses(plan: Plan, results: Iterable[TurnResult], *, day: date | None = None) -> tuple[KnownUse, ...]:
    """Every entry of the plan's `known`, and whether the replay had its divergence."""
    if not plan.known:
        return ()
    day = day or today()
    seen = {found.fingerprint for result in results for found in result.divergences if not found.note}
    return tuple(KnownUse(known, known.fingerprint in seen, day > known.until) for known in plan.known)
