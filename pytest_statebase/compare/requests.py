"""The HTTP requests of a turn beside those that were recorded. Calls of models are counted, and never judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..values import ABSENT
from ..wire.exchange import Exchange, Request
from ..wire.forms import body_of, query_of
from .diff import Difference
from .model import Divergence, Facet, Kind, Observed, ReplayedRequest, Source
from .paths import IGNORED, IgnoreRules, render

IsModel: TypeAlias = Callable[[Request], bool]
_Placed: TypeAlias = tuple[int, Exchange]
"""A recorded exchange with its place in its file, from 0."""


@dataclass(slots=True)
class Traffic:
    """The exchanges of a session that a turn is to have sent, and which of them a replay has.

    Those that a tool sent while it ran belong to the call of the tool, and those of models are judged by their answers.
    """

    recorded: dict[int, list[_Placed]]
    """By turn."""
    accepted: dict[int, list[_Placed]]
    first: int
    """The first turn that is replayed."""
    isolated: bool
    made: set[int]
    """Places of recorded exchanges that were made, in whatever turn."""

    @classmethod
    def of(
        cls,
        exchanges: Sequence[Exchange],
        observed: Iterable[Observed],
        is_model: IsModel,
        first: int,
        *,
        isolated: bool,
        accepted: Sequence[Exchange] = (),
    ) -> Traffic:
        """Look through all turns of a replay. isolated: each of them is a replay of its own."""
        made = {place for seen in observed for place in _made(seen, Source.RECORD)}
        return cls(_by_turn(exchanges, is_model), _by_turn(accepted, is_model), first, isolated, made)

    def divergences(self, turn: int, seen: Observed, rules: IgnoreRules, *, broke_off: bool) -> list[Divergence]:
        """How what the turn sent differs from the record: what is missing, then what is there besides.

        broke_off: the turn came to no end, so that nothing is missing from it.
        """
        made = set(_made(seen, Source.RECORD)) if self.isolated else self.made
        missing = [] if broke_off else _not_made(self.recorded.get(turn, ()), made, rules)
        return [*missing, *self._others(seen, rules)]

    def from_accepted(self, turn: int, seen: Observed, rules: IgnoreRules, *, broke_off: bool) -> list[Divergence]:
        """How it differs from what was accepted, where that differs from the record."""
        made = set(_made(seen, Source.ACCEPTED))
        missing = [] if broke_off else _not_made(self.accepted.get(turn, ()), made, rules)
        anew = [one for one in seen.requests if one.unrecorded or one.source is Source.LIVE]
        return [*missing, *_told(anew, rules)]

    def _others(self, seen: Observed, rules: IgnoreRules) -> list[Divergence]:
        found = _told(seen.requests, rules)
        for request in seen.requests:
            turn = request.recorded_turn
            if request.model or request.source is not Source.RECORD or turn in (None, request.turn):
                continue
            if turn is not None and turn >= self.first and not _is_hidden(request.method, request.address, rules):
                found.append(_divergence(Kind.MOVED, request.method, request.address, f"recorded in turn {turn}"))
        return found


def _by_turn(exchanges: Iterable[Exchange], is_model: IsModel) -> dict[int, list[_Placed]]:
    turns: dict[int, list[_Placed]] = defaultdict(list)
    for place, one in enumerate(exchanges):
        if one.turn is not None and one.during is None and not is_model(one.request):
            turns[one.turn].append((place, one))
    return turns


def _made(seen: Observed, source: Source) -> Iterable[int]:
    return (one.recorded_index for one in seen.requests if one.source is source and one.recorded_index is not None)


def _not_made(exchanges: Iterable[_Placed], made: set[int], rules: IgnoreRules) -> list[Divergence]:
    """One divergence for the requests of one kind: they have one path."""
    left: dict[tuple[str, str], list[Exchange]] = defaultdict(list)
    for place, one in exchanges:
        if place not in made and not is_hidden(one.request, rules):
            left[one.request.method, one.request.address].append(one)
    found = []
    for (method, address), missing in left.items():
        said = [_said(one.request, rules) for one in missing]
        told = said[0] if len(said) == 1 else ABSENT if all(one is ABSENT for one in said) else said
        count = "1 recorded call not made" if len(missing) == 1 else f"{len(missing)} recorded calls not made"
        found.append(_divergence(Kind.MISSING, method, address, count, recorded=told))
    return found


def _said(request: Request, rules: IgnoreRules) -> Any:
    """Query and body of a request, as far as they count; ABSENT where there are none."""
    query, body = query_of(request), body_of(request).value
    said = {"query": rules.strip(query, ("http", "query")), "body": rules.strip(body, ("http", "body"))}
    told = {key: value for key, value in said.items() if value not in ({}, None) and value is not IGNORED}
    return told or ABSENT


def _told(requests: Iterable[ReplayedRequest], rules: IgnoreRules) -> list[Divergence]:
    """What of these requests the recording does not have."""
    found: list[Divergence] = []
    beyond: dict[tuple[str, str], list[ReplayedRequest]] = defaultdict(list)
    for one in requests:
        is_new = one.unrecorded or one.source in (Source.LIVE, Source.ACCEPTED)
        if one.model or not is_new or _is_hidden(one.method, one.address, rules):
            continue
        if one.differences:
            found += [_differing(one, difference) for difference in one.differences]
        else:
            beyond[one.method, one.address].append(one)
    for (method, address), extra in beyond.items():
        count = "a request" if len(extra) == 1 else f"{len(extra)} requests"
        why = next((one.explanation for one in extra if one.unrecorded and one.explanation), None)
        found.append(_divergence(Kind.EXTRA, method, address, why or f"{count} that the recording does not have"))
    return found


def _differing(request: ReplayedRequest, found: Difference) -> Divergence:
    """A request that was recorded otherwise."""
    what = f"{request.method} {request.address}"
    detail = what if found.detail is None else f"{what}: {found.detail}"
    return Divergence(Facet.HTTP, found.kind, render(found.path), found.recorded, found.replayed, detail=detail)


def _divergence(kind: Kind, method: str, address: str, detail: str, recorded: Any = ABSENT) -> Divergence:
    return Divergence(Facet.HTTP, kind, render(("http", _name(method, address))), recorded, detail=detail)


def is_hidden(request: Request, rules: IgnoreRules) -> bool:
    """Whether `ignore` has the request as a whole."""
    return _is_hidden(request.method, request.address, rules)


def request_name(request: Request) -> str:
    """What `ignore` calls a request: `POST api.example.com/v1/refunds`."""
    return _name(request.method, request.address)


def _is_hidden(method: str, address: str, rules: IgnoreRules) -> bool:
    return rules.hides(("http", _name(method, address)))


def _name(method: str, address: str) -> str:
    return f"{method} {address.partition('://')[2] or address}"


def mark_rules(rules: IgnoreRules, exchanges: Iterable[Exchange]) -> None:
    """Mark the rules that would hide something of these requests: they are used, though nothing differs there."""
    for one in exchanges:
        if not rules.unmatched():
            return
        request = one.request
        _said(request, rules)
        rules.strip({name.lower(): value for name, value in request.headers}, ("http", "headers"))
        is_hidden(request, rules)
