"""What a run says before its first model call goes live: how many there may be, and what they may cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .cassette import Cassette, load_cassette
from .engine.options import parse_until
from .engine.runner import span_of
from .engine.web.models import ModelHosts
from .engine.web.pending import Pending
from .engine.web.usage import estimate
from .errors import StatebaseError
from .plugin_nodes import specs_of
from .plugin_settings import Settings
from .report.grouping import plural
from .wire.exchange import Exchange


@dataclass(slots=True)
class _Planned:
    """The recorded model calls of all replays of a run, those of one turn once a replay."""

    calls: list[Exchange] = field(default_factory=list)
    kept: int = 0
    """Answers of earlier live runs, which nobody has accepted yet."""


def live_lines(settings: Settings, plans: Iterable[Path]) -> list[str]:
    """Lines for the terminal, before anything is replayed; nothing for a run in which no model call may go live.

    plans: the files of the cassettes that were collected.
    """
    if settings.model == "recorded":
        return []
    hosts = ModelHosts.parse(settings.model_hosts)
    planned = _Planned()
    for plan in sorted(set(plans)):
        try:
            _add(planned, load_cassette(plan), settings, hosts)
        except StatebaseError:
            continue  # its item says so
    told = estimate(planned.calls, hosts)
    limit = f"at most {settings.max_model_calls:,} go out (--statebase-max-model-calls)"
    if planned.kept:
        limit += f"; {plural(planned.kept, 'answer')} of an earlier run {'is' if planned.kept == 1 else 'are'} kept"
        limit += ", and not asked for again where the request is the same"
    if not told.calls:
        return [f"statebase: no model call is recorded, so nobody knows how many there will be; {limit}"]
    return [f"statebase: {_which(settings.model)}: {told.text()}; {limit}"]


def _which(model: str) -> str:
    return "model calls without a recording go live" if model == "auto" else "all model calls go live"


def _add(planned: _Planned, cassette: Cassette, settings: Settings, hosts: ModelHosts) -> None:
    """Add what each replay of a cassette may ask."""
    last = None if settings.until is None else parse_until(settings.until)
    agents = settings.agents or (settings.ini_agent,)
    for spec in specs_of(cassette, settings):
        point, first, until = span_of(cassette.ledger, cassette.plan, spec, until=last)
        asked = [one for one in _exchanges(cassette, range(first, until + 1)) if hosts.is_model(one.request)]
        for agent in agents:
            planned.calls += asked
            if settings.pending is not None and agent is not None:
                pending = Pending(settings.pending, str(cassette.path), str(point), agent)
                is_new = settings.model == "live" and not settings.accept and pending.is_complete
                kept = () if is_new else pending.exchanges()
                planned.kept += sum(hosts.is_model(one.request) for one in kept)


def _exchanges(cassette: Cassette, turns: range) -> Iterator[Exchange]:
    """What the agent sends in these turns: as accepted, where anything was, else as recorded; tools send nothing."""
    accepted = cassette.accepted_http.exchanges if cassette.accepted_http else ()
    recorded = cassette.http.exchanges if cassette.http else ()
    anew = {one.turn for one in accepted}
    for one in (*accepted, *(one for one in recorded if one.turn is None or one.turn not in anew)):
        if one.during is None and (one.turn is None or one.turn in turns):
            yield one
