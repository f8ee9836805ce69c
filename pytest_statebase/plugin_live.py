"""What a run says before its first model call goes live: how many there may be, and what they may cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .cassette import load_cassette
from .engine.web.models import ModelHosts
from .engine.web.usage import estimate
from .errors import StatebaseError
from .plugin_settings import Settings
from .wire.exchange import Exchange


def live_lines(settings: Settings, plans: Iterable[Path]) -> list[str]:
    """Lines for the terminal, before anything is replayed; nothing for a run in which no model call may go live.

    plans: the files of the cassettes that were collected; each is counted once.
    """
    if settings.model == "recorded":
        return []
    hosts = ModelHosts.parse(settings.model_hosts)
    told = estimate(_exchanges(plans), hosts)
    limit = f"at most {settings.max_model_calls:,} go out (--statebase-max-model-calls)"
    if not told.calls:
        return [f"statebase: no model call is recorded, so nobody knows how many there will be; {limit}"]
    return [f"statebase: {_which(settings.model)}: {told.text()}; {limit}"]


def _which(model: str) -> str:
    return "model calls without a recording go live" if model == "auto" else "all model calls go live"


def _exchanges(plans: Iterable[Path]) -> Iterator[Exchange]:
    for plan in sorted(set(plans)):
        try:
            cassette = load_cassette(plan)
            for recording in (cassette.http, cassette.accepted_http):
                yield from recording.exchanges if recording else ()
        except StatebaseError:
            continue  # its item says so
