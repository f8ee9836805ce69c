"""Rules and accepted baselines that no longer matter, told once a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..compare.model import Upkeep

_Found = Sequence[Mapping[str, Any]]
"""What the replays of one cassette, or of all of them, say."""


def upkeep_row(found: Upkeep) -> dict[str, Any]:
    """What a row keeps of it; empty where there are neither rules nor baselines."""
    told: dict[str, Any] = {"own": dict(found.own), "inherited": dict(found.inherited)}
    told |= {"accepted": list(found.accepted), "reached": list(found.reached), "problems": list(found.problems)}
    told["partial"] = found.partial
    return {key: value for key, value in told.items() if value}


def upkeep_warnings(rows: Iterable[Mapping[str, Any]], *, whole: bool = True) -> list[str]:
    """What the rows of a run say together, each once.

    whole: every cassette was replayed. If not, what `statebase.yaml` says may matter to the others, and turns may be
    reached by replays that were left out.
    """
    by_cassette: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("upkeep"):
            by_cassette.setdefault(row["cassette"], []).append(row["upkeep"])
    warnings = [f"{cassette}: {text}" for cassette, found in by_cassette.items() for text in _of_one(found, whole)]
    everything = [one for found in by_cassette.values() for one in found]
    if whole and not any(one.get("partial") for one in everything):
        warnings += [f"statebase.yaml: {text}" for text in _unused(everything, "inherited")]
    return warnings


def _of_one(found: _Found, whole: bool) -> Iterator[str]:
    yield from _unused(found, "own")
    problems = list(dict.fromkeys(problem for one in found for problem in one.get("problems", ())))
    yield from problems
    reached = {turn for one in found for turn in one.get("reached", ())}
    for turn in sorted({turn for one in found for turn in one.get("accepted", ())} - reached) if whole else ():
        if not any(problem.startswith(f"turn {turn} ") for problem in problems):
            yield f"turn {turn} is accepted, and no replay reaches it"


def _unused(found: _Found, key: str) -> Iterator[str]:
    """The rules that some replay was run with and none needed."""
    use: dict[str, bool] = {}
    for one in found:
        for rule, used in one.get(key, {}).items():
            use[rule] = use.get(rule, False) or used
    return (f"the ignore rule `{rule}` hid nothing" for rule, used in use.items() if not used)
