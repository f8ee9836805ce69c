"""The HTTP requests of a replay in its row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..compare.model import Observed, ReplayedRequest, ReplayResult, Source
from ..wire.exchange import Answer, Failure, Request, Response
from ..wire.forms import body_of, query_of
from .jsonsafe import json_safe
from .modelcalls import asked_by, said_by

READS = frozenset({"GET", "HEAD", "OPTIONS"})


def requests_row(result: ReplayResult) -> dict[str, int]:
    """Requests and model calls by how they were answered; empty where there were none."""
    counted: Counter[str] = Counter()
    for turn in result.turns:
        for request in turn.replayed.requests if turn.replayed else ():
            counted[("model_" if request.model else "") + _how(request)] += 1
    return dict(counted)


def _how(request: ReplayedRequest) -> str:
    if request.source is Source.RECORD:
        return "answered"
    if request.kept:
        return "kept"
    return "unrecorded" if request.source is Source.NONE else request.source.value


def turn_requests(seen: Observed, *, short: bool = False) -> list[dict[str, Any]]:
    """The requests of a turn, for a person. short: without what was said in them.

    `asked` is what the agent sent, `recorded` the recorded request that answered it, or is most like it, where that
    says something else; `answer` is what it got, or what that one had got. See `_said` and `_answered`.
    """
    rows = [_request(request) for request in seen.requests]
    if short:
        return rows
    before: list[Any] = []
    for row, request in zip(rows, seen.requests, strict=True):
        row |= _contents(request)
        messages = row.get("asked", {}).get("messages")
        if messages is not None and "recorded" not in row:
            row["asked"] = _without_earlier(row["asked"], before)
            before = messages
    return rows


def _request(request: ReplayedRequest) -> dict[str, Any]:
    row: dict[str, Any] = {"method": request.method, "address": request.address, "source": request.source.value}
    flags = [name for name in ("model", "renamed", "kept", "unrecorded") if getattr(request, name)]
    if request.recorded_turn is not None and request.recorded_turn != request.turn:
        row["from_turn"] = request.recorded_turn
    if flags:
        row["flags"] = flags
    if request.explanation:
        row["explanation"] = request.explanation
    if request.hint:
        row["hint"] = request.hint
    return row


def _contents(request: ReplayedRequest) -> dict[str, Any]:
    exchange = request.exchange
    sent = request.asked or (exchange.request if exchange else None)
    if sent is None:
        return {}
    row: dict[str, Any] = {"asked": _said(sent, model=request.model)}
    if exchange is None:
        return row
    recorded = row["asked"] if exchange.request is sent else _said(exchange.request, model=request.model)
    if recorded != row["asked"]:
        row["recorded"] = recorded
    return row | {"answer": _answered(exchange.answer, exchange.request, model=request.model)}


def _said(request: Request, *, model: bool) -> dict[str, Any]:
    """`query` and `body`; of a model call that can be read, what `asked_by` tells."""
    if model and (talk := asked_by(request)):
        return talk
    told = {"query": query_of(request), "body": _shown(request)}
    return {key: json_safe(value) for key, value in told.items() if value not in ({}, None)}


def _without_earlier(asked: dict[str, Any], before: Sequence[Any]) -> dict[str, Any]:
    """Without the messages that the call before in this turn had already, whose number stands in `earlier`."""
    messages = asked["messages"]
    if not before or "left" in asked or messages[: len(before)] != before:
        return asked
    return {**asked, "messages": messages[len(before) :], "earlier": len(before)}


def _answered(answer: Answer, request: Request, *, model: bool) -> dict[str, Any]:
    """`status` with the model's `message` or the `body`; of none that came back, how it `failed`."""
    if isinstance(answer, Failure):
        return {"failed": answer.kind, "message": json_safe(answer.message)}
    row: dict[str, Any] = {"status": answer.status}
    message = said_by(answer, request) if model else None
    if message is not None:
        row["message"] = json_safe(message)
    elif answer.body:
        row["body"] = json_safe(_shown(answer))
    if answer.cut:
        row["cut"] = answer.cut
    return row


def _shown(message: Request | Response) -> Any:
    """The value of a body; of bytes that are no text, their number."""
    value = body_of(message).value
    return f"{len(value):,} bytes" if isinstance(value, bytes) else value


def is_write(request: Mapping[str, Any]) -> bool:
    """Whether a request of a row is neither a read nor a model call."""
    return request["method"].upper() not in READS and "model" not in request.get("flags", ())
