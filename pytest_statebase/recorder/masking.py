"""Secrets that an HTTP request of a session showed, out of what else the session holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from ..cassette.redaction import REDACTED, Echoes
from ..events import Event, SessionCreated, ToolCalled, TurnStarted
from ..values import TypedData


def without_secrets(events: Iterable[Event], secrets: Echoes) -> Iterator[Event]:
    """The events without secrets that the session gave to the agent: in an input, a state or what a tool returned.

    From there on they are masked wherever they stand, so that a replay, which gives the mask to the agent, finds the
    same mask in what the agent does with it. What the agent had from elsewhere stays: a replay brings that itself.
    """
    given: list[str] = []
    for event in events:
        known = len(given)
        given += [secret for secret in secrets if secret not in given and _holds(_given_by(event), secret)]
        if isinstance(event, ToolCalled) and given:
            masked = replace(event, result=_masked(event.result, given), error=_masked(event.error, given))
            yield replace(masked, arguments=_masked(event.arguments, given[:known]), extra=_masked(event.extra, given))
        elif given:
            yield replace(event, **{one.name: _masked(getattr(event, one.name), given) for one in fields(event)})
        else:
            yield event


def _given_by(event: Event) -> Any:
    match event:
        case TurnStarted():
            return event.input
        case SessionCreated():
            return event.state
        case ToolCalled():
            return [event.result, event.error]
    return None


def _holds(value: Any, secret: str) -> bool:
    return _masked(value, [secret]) is not value


def _masked(value: Any, secrets: list[str]) -> Any:
    """The value without the secrets; the very same where it holds none, or is nested too deeply to be looked at."""
    try:
        return _looked_through(value, secrets)
    except RecursionError:
        return value


def _looked_through(value: Any, secrets: list[str]) -> Any:
    kind = type(value)
    if kind is str:
        for secret in secrets:
            value = value.replace(secret, REDACTED) if secret in value else value
        return value
    if kind is bytes:
        for coded in map(str.encode, secrets):
            value = value.replace(coded, REDACTED.encode()) if coded in value else value
        return value
    if kind is TypedData:
        inside = _looked_through(value.fields, secrets)
        return value if inside is value.fields else replace(value, fields=inside)
    if kind is dict:
        made = {key: _looked_through(item, secrets) for key, item in value.items()}
        return made if any(made[key] is not item for key, item in value.items()) else value
    if kind in (list, tuple, set, frozenset):
        old = list(value)
        new = [_looked_through(item, secrets) for item in old]
        return kind(new) if any(one is not other for one, other in zip(old, new, strict=True)) else value
    return value
