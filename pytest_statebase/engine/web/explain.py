"""Why no recording answers a request, in words."""

from __future__ import annotations

from ...compare.diff import Difference
from ...compare.paths import render
from ...values import ABSENT
from ...wire.exchange import Exchange, Request
from .modeldiff import snippets
from .pool import Missed

_SHOWN = 4
_LONG = 160


def explain(missed: Missed, request: Request, turn: int) -> str:
    """One sentence, then what differs from the nearest recording, a line each."""
    what = f"turn {turn} sent {request.method} {request.address}"
    if missed.reason == "used up":
        told = {1: "and that is used", 2: "both used"}.get(missed.used, "all used")
        return f"{what} once more: extra call, {missed.used} recorded, {told}"
    if missed.reason == "before the fork" and missed.nearest is not None:
        return (
            f"{what}, which was recorded in turn {missed.nearest.turn}, before the fork: from there only reads answer"
        )
    if missed.reason == "never recorded":
        near = "" if missed.nearest is None else f"; the nearest one is {_named(missed.nearest)}"
        return f"{what}, which was never recorded{near}"
    place = "" if missed.nearest is None else _place(missed.nearest)
    lines = [f"  differs at {_told(difference)}" for difference in missed.differences[:_SHOWN]]
    more = len(missed.differences) - _SHOWN
    if more > 0:
        lines.append(f"  and {more} more")
    return "\n".join([f"{what}, and the request differs from the recorded one{place}{':' if lines else ''}", *lines])


def _named(exchange: Exchange) -> str:
    return f"{exchange.request.method} {exchange.request.address}{_place(exchange)}"


def _place(exchange: Exchange) -> str:
    return "" if exchange.turn is None else f" of turn {exchange.turn}"


def _told(difference: Difference) -> str:
    path, recorded, asked = render(difference.path[1:]), difference.recorded, difference.replayed
    if difference.detail is not None:
        return f"{path}: {difference.detail}"
    if recorded is ABSENT:
        return f"{path}: {_short(asked)} was not recorded"
    if asked is ABSENT:
        return f"{path}: {_short(recorded)} is missing"
    old, new = snippets(recorded, asked) if _are_texts(recorded, asked) else (_short(recorded), _short(asked))
    return f"{path}: recorded {old}, sent {new}"


def _are_texts(*values: object) -> bool:
    return all(isinstance(value, str) for value in values)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 20]} …"
