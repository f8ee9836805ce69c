"""Recorded exchanges that nobody asked for and of which no verdict speaks: model calls, and those without turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ...compare.model import Observed, Source
from ...compare.requests import request_name
from ...wire.exchange import Exchange
from .requests import Requests

_TOLD = 3


def left_over(forks: Sequence[Requests], observed: Sequence[Observed], *, whole: bool) -> Iterator[str]:
    """A line each, for the warnings of a replay.

    forks: those of the replay, which have the same recording. whole: all turns of the session were to be replayed;
    where some were not, nobody knows which of them the exchanges without turns belong to.
    """
    if not forks or not forks[0].recorded():
        return
    yield from _model_calls(forks, observed)
    if whole and not any(map(_broke_off, observed)):
        yield from _without_turns(forks, observed)


def _model_calls(forks: Sequence[Requests], observed: Iterable[Observed]) -> Iterator[str]:
    # Of a turn that was answered by other models' words, the recorded ones are the past.
    turns = {seen.number for seen in observed if not _broke_off(seen) and True not in _anew([seen])}
    left = [one for fork in forks for one in fork.unused(turns & fork.turns) if _is_own_model_call(fork, one)]
    if left:
        count = sum(one.turn in turns and _is_own_model_call(forks[0], one) for one in forks[0].recorded())
        where = sorted({one.turn or 0 for one in left})
        told = f"turn{'s' if len(where) > 1 else ''} {_some(list(map(str, where)))}"
        yield f"{len(left)} of {count} recorded model calls of the replayed turns were not made: {told}"


def _is_own_model_call(fork: Requests, exchange: Exchange) -> bool:
    """One of the agent: what a tool asked belongs to the call of the tool."""
    return exchange.during is None and fork.is_model(exchange.request) and not fork.is_ignored(exchange.request)


def _without_turns(forks: Sequence[Requests], observed: Iterable[Observed]) -> Iterator[str]:
    recorded = [one for one in forks[0].recorded() if one.turn is None]
    if not recorded:
        return
    unused = [{id(one) for one in fork.unused({None})} for fork in forks]
    anew = _anew(observed)
    left = [
        one.request
        for one in recorded
        if all(id(one) in each for each in unused)
        and not forks[0].is_ignored(one.request)
        and not (anew and forks[0].is_model(one.request) in anew)
    ]
    if left:
        named = Counter(map(request_name, left))
        told = [name if count == 1 else f"{name} ({count} times)" for name, count in named.most_common()]
        yield f"{len(left)} of {len(recorded)} recorded requests answered nothing: {_some(told)}"


def _broke_off(seen: Observed) -> bool:
    return seen.missed or seen.error is not None


def _anew(observed: Iterable[Observed]) -> set[bool]:
    """Whether model calls (True) or others (False) were answered otherwise than by the recording."""
    requests = (request for seen in observed for request in seen.requests)
    return {request.model for request in requests if request.source in (Source.ACCEPTED, Source.LIVE)}


def _some(told: Sequence[str]) -> str:
    return ", ".join([*told[:_TOLD], *(["…"] if len(told) > _TOLD else [])])
