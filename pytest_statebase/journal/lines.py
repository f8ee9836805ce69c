r"""Frames as lines of a journal, and back.

`CRC⇥[KIND, NUMBER, SESSION, TIME]⇥PAYLOAD\n`: CRC-32 of all that follows the first tab, in eight hex digits; NUMBER
counts the lines of one process; TIME in seconds since 1970. Head and payload are JSON in ASCII, so that neither holds a
tab or a line break.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from math import isfinite
from operator import attrgetter
from typing import Any
from zlib import crc32

from ..cassette.shapes import BY_EVENT, MalformedError, built, check_fields
from ..events import Event, SessionCreated, SessionEnded, SessionForked, TurnAdded, TurnStarted
from ..frames import Between, Frame, SessionClosed, SessionCut, SessionOpened, TurnClosed, TurnOpened, frame_at
from ..values import ABSENT
from ..wire.exchange import Answer, Exchange, Failure, Headers, Request, Response
from .tagged import tagged_text, value_of

KINDS: Mapping[type, str] = {
    SessionOpened: "opened",
    TurnOpened: "turn",
    TurnClosed: "closed",
    Between: "between",
    SessionClosed: "end",
    SessionCut: "cut",
}
HEADER = "journal"
"""The kind of the first line of a file: which process wrote it, and in which format."""

_MOST_LINES = 1 << 62


@dataclass(frozen=True, slots=True)
class Head:
    """What a line says before its payload."""

    kind: str
    number: int
    session: str
    time: float


def line_of(frame: Frame, number: int, now: float) -> tuple[bytes, int]:
    """The line of a frame, and how many parts of its values could not be stored.

    number: of the line, among those of its process. now: the time where the frame itself tells none.
    Raises whatever the frame deserves that would not read back.
    """
    at = seconds_of(frame_at(frame))
    head = Head(KINDS[type(frame)], number, frame.session, now if at is None else at)
    text, uncopied = tagged_text(_payload(frame))
    return checked(head, text), uncopied


def checked(head: Head, payload: str) -> bytes:
    """The line with its check sum."""
    line = f"{json.dumps([head.kind, head.number, head.session, round(float(head.time), 6)])}\t{payload}\n".encode(
        "ascii"
    )
    return b"%08x\t%b" % (crc32(line), line)


def head_of(line: bytes) -> Head:
    """The head of a whole line, its check sum tested.

    Raises ValueError, with the reason, where the line is not as it was written.
    """
    check, _, rest = line.partition(b"\t")
    if check != b"%08x" % crc32(rest):
        raise ValueError("the check sum does not fit")
    try:
        head = json.loads(rest[: rest.index(b"\t")])
    except RecursionError:
        raise ValueError("the head nests too deep") from None
    match head:
        case [str() as kind, int() as number, str() as session, float() as time] if abs(
            number
        ) < _MOST_LINES and isfinite(time):
            return Head(kind, number, session, time)
    raise ValueError("the head has another form")


def payload_of(line: bytes) -> Any:
    """What a whole line holds after its head.

    Raises ValueError where it is no JSON, or has tags that are not known.
    """
    return value_of(line.split(b"\t", 2)[2].decode("ascii"))


def frame_of(head: Head, payload: Any) -> Frame:
    """The frame that a line tells.

    Raises ValueError, with the reason, where it tells none.
    """
    try:
        return _FRAMES[head.kind](head.session, payload)
    except LookupError as error:
        raise ValueError(f"something is missing in it: {error}") from None
    except MalformedError as error:
        raise ValueError(error.what) from None
    except (TypeError, AttributeError) as error:
        raise ValueError(f"it has another form: {error}") from None


def seconds_of(at: str | None) -> float | None:
    """A time of an event in seconds since 1970; None where the text is no time."""
    if at is None:
        return None
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


# --- Frames as plain mappings


def _payload(frame: Frame) -> dict[str, Any]:
    match frame:
        case SessionOpened(created):
            return event_form(created)
        case TurnOpened():
            return {"input": _typed(frame.input, dict, list, _NONE), "at": _typed(frame.at, str, _NONE)}
        case TurnClosed() | Between():
            events = _whole(frame.events) if type(frame) is TurnClosed else _inner(frame.events, 0, None)
            form: dict[str, Any] = {"events": list(map(event_form, events))}
            if frame.exchanges:
                form["exchanges"] = list(map(_exchange_form, frame.exchanges))
            if type(frame) is TurnClosed and frame.state_before is not ABSENT:
                form["state_before"] = frame.state_before
            return form
        case SessionClosed():
            keep = None if frame.keep is None else [_typed(rule, str) for rule in frame.keep]
            return {"reason": _typed(frame.reason, str, _NONE), "keep": keep, "at": _typed(frame.at, str, _NONE)}
        case SessionCut():
            return {"reason": _typed(frame.reason, str), "at": _typed(frame.at, str, _NONE)}


def _fields_of(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]], tuple[Any, ...]]:
    known = fields(kind)
    names = tuple(field.name for field in known)
    return names, attrgetter(*names), tuple(_NEVER if field.default is MISSING else field.default for field in known)


_NEVER = object()
_FIELDS = {kind: _fields_of(kind) for kind in BY_EVENT}


def event_form(event: Event) -> dict[str, Any]:
    """The event as a mapping of its fields, without those that are as by default.

    Raises MalformedError for a field of a wrong type.
    """
    kind = type(event)
    names, values, defaults = _FIELDS[kind]
    form = {
        name: value for name, value, default in zip(names, values(event), defaults, strict=True) if value is not default
    }
    if not form.get("extra", True):
        del form["extra"]
    check_fields(BY_EVENT[kind], form)
    return {"event": kind.__name__, **form}


_SHAPES = {kind.__name__: shape for kind, shape in BY_EVENT.items()}


def _event(form: dict[str, Any]) -> Event:
    kind = form.pop("event")
    shape = _SHAPES.get(kind)
    if shape is None:
        raise ValueError(f"an unknown event: {kind!r:.60}")
    event: Event = built(shape, form)
    return event


def _created(session: str, payload: Any) -> SessionOpened:
    event = _event(payload)
    if not isinstance(event, SessionCreated) or event.id != session:
        raise ValueError("a session that begins with something else")
    return SessionOpened(event)


def _turn(session: str, payload: dict[str, Any]) -> TurnClosed:
    events = _whole(tuple(map(_event, _typed(payload["events"], list))))
    return TurnClosed(session, events, _exchanges(payload), payload.get("state_before", ABSENT))


def _whole(events: tuple[Event, ...]) -> tuple[Event, ...]:
    if len(events) < 2 or type(events[0]) is not TurnStarted or type(events[-1]) is not TurnAdded:
        raise ValueError("a turn without its beginning or its end")
    return _inner(events, 1, -1)


def _between(session: str, payload: dict[str, Any]) -> Between:
    events = tuple(map(_event, _typed(payload["events"], list)))
    return Between(session, _inner(events, 0, None), _exchanges(payload))


def _inner(events: tuple[Event, ...], first: int, last: int | None) -> tuple[Event, ...]:
    """The events, none of which may begin or end anything but the first and the last of a turn."""
    if any(type(event) in _FRAMING for event in events[first:last]):
        raise ValueError("an event that cannot stand where it does")
    return events


_FRAMING = (SessionCreated, TurnStarted, TurnAdded, SessionForked, SessionEnded)


def _typed(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise ValueError(f"something else than it should hold: {value!r:.60}")
    return value


_NONE = type(None)


def _closed(session: str, payload: dict[str, Any]) -> SessionClosed:
    keep = _typed(payload["keep"], list, _NONE)
    rules = None if keep is None else tuple(_typed(rule, str) for rule in keep)
    return SessionClosed(session, _typed(payload["reason"], str, _NONE), rules, _typed(payload["at"], str, _NONE))


_FRAMES: Mapping[str, Callable[[str, Any], Frame]] = {
    "opened": _created,
    "turn": lambda session, payload: TurnOpened(
        session, _typed(payload["input"], dict, list, _NONE), _typed(payload["at"], str, _NONE)
    ),
    "closed": _turn,
    "between": _between,
    "end": _closed,
    "cut": lambda session, payload: SessionCut(
        session, _typed(payload["reason"], str), _typed(payload["at"], str, _NONE)
    ),
}


# --- Exchanges


def _exchange_form(exchange: Exchange) -> dict[str, Any]:
    request, answer = exchange.request, exchange.answer
    form: dict[str, Any] = {
        "request": [request.method, request.url, _headers_form(request.headers), _body_form(request.body)]
    }
    if isinstance(answer, Failure):
        form["failed"] = [answer.kind, answer.message]
    else:
        form["response"] = [
            answer.status, answer.reason, _headers_form(answer.headers), _body_form(answer.body), answer.cut,
            answer.is_encoded,
        ]  # fmt: skip
    for name in ("turn", "during", "at", "latency_ms"):
        value = getattr(exchange, name)
        if value is not None:
            form[name] = value
    return form


def _headers_form(headers: Headers) -> list[list[str]]:
    return [[name, value] for name, value in headers]


def _body_form(body: bytes) -> str | list[str]:
    """A text where it is one, else a list with the text in base64."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return [base64.b64encode(body).decode("ascii")]


def _exchanges(payload: dict[str, Any]) -> tuple[Exchange, ...]:
    return tuple(map(_exchange, _typed(payload.get("exchanges", []), list)))


def _exchange(form: dict[str, Any]) -> Exchange:
    method, url, headers, body = form["request"]
    request = Request(_typed(method, str), _typed(url, str), _headers(headers), _body(body))
    turn, during, latency = (_typed(form.get(name), int, _NONE) for name in ("turn", "during", "latency_ms"))
    return Exchange(request, _answer(form), turn, during, _typed(form.get("at"), str, _NONE), latency)


def _answer(form: dict[str, Any]) -> Answer:
    if "failed" in form:
        kind, message = form["failed"]
        if kind not in ("connect", "timeout", "closed", "unreadable"):
            raise ValueError(f"an unknown failure: {kind!r:.60}")
        return Failure(kind, _typed(message, str))
    status, reason, headers, body, cut, is_encoded = form["response"]
    return Response(
        _typed(status, int),
        _typed(reason, str),
        _headers(headers),
        _body(body),
        _typed(cut, str, _NONE),
        _typed(is_encoded, bool),
    )


def _headers(form: list[list[str]]) -> Headers:
    return tuple((_typed(name, str), _typed(value, str)) for name, value in form)


def _body(form: str | list[str]) -> bytes:
    if type(form) is str:
        return form.encode("utf-8")
    return base64.b64decode(form[0], validate=True)
