"""Frames as lines: every event and exchange comes back equal, and a line that is not as it was written is refused."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from typing import Any
from zlib import crc32

import pytest

from pytest_statebase import events
from pytest_statebase.cassette.shapes import BY_EVENT
from pytest_statebase.events import (
    Event,
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    Said,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.frames import Between, Frame, SessionClosed, SessionCut, SessionOpened, TurnClosed, TurnOpened
from pytest_statebase.journal.lines import Head as LineHead
from pytest_statebase.journal.lines import checked, frame_of, head_of, line_of, payload_of
from pytest_statebase.wire.exchange import Exchange, Failure, Request, Response

AT = "2026-03-15T10:00:00.000001Z"
TEXT = {"type": "text", "content": "Grüße \ud800 ~\t\n"}
MORE = {"at": AT, "extra": {"trace": (1, 2), "event": "mine"}}
INNER: list[Event] = [
    Said("Let me see", **MORE),
    ToolCalled("t", {"a": Decimal("1.0")}, ["x"], None, True, 1, [0], "c1", 1.5, "helper", AT, 0, {"reasoning": "why"}),
    ToolCalled("t", "no JSON", error={"type": "m:E", "message": "no", "args": (1,)}),
    ToolCalled("t", {}, None),
    StateUpdated(1, {"a": (1,)}, "why", "key", during=0, **MORE),
    StateRolledBack(2, 0, None, "wrong", "operator", during=1, **MORE),
    MemoryAdded("likes tea", "fact", ["x"], "m1", "key", during=0, **MORE),
    MemoryUpdated(1, "likes tea", "likes coffee", "fact", [], {"a": 1}, "key", during=0, **MORE),
    MemoryDeleted(1, "likes coffee", "key", during=0, **MORE),
    MemorySearched("tea", [{"content": "likes tea", "score": 0.5}], during=0, **MORE),
]
TURN = (
    TurnStarted(3, [TEXT, TEXT], AT, True),
    *INNER,
    TurnAdded(TEXT, {"type": "E"}, "r", {"m": 1}, True, "key", **MORE),
)
REQUEST = Request("POST", "https://x.example/ä?q=1", (("A", "1"), ("a", "2")), b"\xff\x00")
EXCHANGES = (
    Exchange(REQUEST, Response(200, "OK", (("B", ""),), "Grüße".encode(), "cut off", True), 3, 0, AT, 12),
    Exchange(Request("GET", "http://y.example/"), Failure("timeout", "too slow")),
    Exchange(Request("GET", "http://y.example/"), Response(204)),
)
FRAMES: list[Frame] = [
    SessionOpened(SessionCreated("s", "a", "u", AT, {"a": (1,)}, {"m": 1}, "key", "why", True, {"more": 1})),
    SessionOpened(SessionCreated("s\ud800\n\t")),
    TurnOpened("s", TEXT, AT),
    TurnOpened("s", None),
    TurnClosed("s", TURN, EXCHANGES, {"before": {1: 2}}),
    TurnClosed("s", (TurnStarted(1), TurnAdded()), state_before=None),
    Between("s", tuple(INNER), EXCHANGES),
    Between("s"),
    SessionClosed("s", "completed", ("errors", "slow"), AT),
    SessionClosed("s", None, ()),
    SessionClosed("s"),
    SessionCut("s", "queue full", AT),
]


def again(frame: Frame) -> Frame:
    line, uncopied = line_of(frame, 7, 1.0)
    assert uncopied == 0
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    head = head_of(line)
    assert (head.number, head.session) == (7, frame.session)
    return frame_of(head, payload_of(line))


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_comes_back_equal(frame: Frame) -> None:
    assert again(frame) == frame


def test_every_field_of_every_event_is_tried() -> None:
    """So that a field that is added later is not forgotten here."""
    tried: dict[type, set[str]] = {}
    created = [frame.created for frame in FRAMES if isinstance(frame, SessionOpened)]
    for event in [*TURN, *created]:
        for field in dataclasses.fields(event):
            default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
            if getattr(event, field.name) != default:
                tried.setdefault(type(event), set()).add(field.name)
    not_captured = {events.SessionForked, events.SessionEnded}
    assert tried == {kind: {f.name for f in dataclasses.fields(kind)} for kind in BY_EVENT if kind not in not_captured}


def test_the_time_of_a_line_is_that_of_what_happened() -> None:
    assert head_of(line_of(TurnOpened("s", TEXT, AT), 1, 5.0)[0]).time == pytest.approx(1773568800.000001)
    assert head_of(line_of(TurnOpened("s", TEXT), 1, 5.0)[0]).time == 5.0
    assert head_of(line_of(TurnOpened("s", TEXT, "yesterday"), 1, 5.0)[0]).time == 5.0


def test_every_changed_bit_and_every_cut_is_seen() -> None:
    line = line_of(TurnOpened("s", {"type": "text", "content": "hello"}, AT), 1, 1.0)[0]
    for at in range(len(line)):
        for bit in range(8):
            changed = bytearray(line)
            changed[at] ^= 1 << bit
            with pytest.raises(ValueError):
                head_of(bytes(changed))
        with pytest.raises(ValueError):
            head_of(line[:at])


def hostile(kind: str, payload: Any) -> bytes:
    """A line with a check sum that fits."""
    return checked(LineHead(kind, 1, "s", 1.0), payload if isinstance(payload, str) else json.dumps(payload))


def failed(request: list[Any], kind: str = "closed") -> dict[str, Any]:
    return {"request": request, "failed": [kind, ""]}


STARTED, ADDED = {"event": "TurnStarted", "number": 1}, {"event": "TurnAdded"}
HOSTILE: list[tuple[str, Any]] = [
    ("opened", {"event": "SessionCreated", "id": "another"}),
    ("opened", {"event": "SessionCreated"}),
    ("opened", {"event": "TurnStarted", "number": 1}),
    ("opened", {"event": ["SessionCreated"], "id": "s"}),
    ("opened", []),
    ("opened", None),
    ("closed", {"events": []}),
    ("closed", {}),
    ("closed", {"events": {}}),
    ("closed", {"events": [STARTED]}),
    ("closed", {"events": [ADDED, STARTED]}),
    ("closed", {"events": [STARTED, STARTED, ADDED]}),
    ("closed", {"events": [STARTED, {"event": "SessionEnded"}, ADDED]}),
    ("closed", {"events": [STARTED, {"event": "SessionCreated", "id": "s"}, ADDED]}),
    ("closed", {"events": [STARTED, {"event": "ToolCalled", "tool": 1}, ADDED]}),
    ("closed", {"events": [STARTED, {"event": "ToolCalled", "tool": "t", "after": ["x"]}, ADDED]}),
    ("closed", {"events": [STARTED, {"event": "ToolCalled", "tool": "t", "unknown": 1}, ADDED]}),
    ("closed", {"events": [STARTED, {"event": "ToolCalled", "tool": "t", "extra": []}, ADDED]}),
    ("closed", {"events": [STARTED, {"event": "StateUpdated"}, ADDED]}),
    ("closed", {"events": [STARTED, {"event": "__class__"}, ADDED]}),
    ("closed", {"events": [STARTED, 1, ADDED]}),
    ("closed", {"events": [STARTED, ADDED], "exchanges": {}}),
    ("closed", {"events": [STARTED, ADDED], "exchanges": [{}]}),
    ("closed", {"events": [STARTED, ADDED], "exchanges": [{"request": ["GET", "u", [], ""]}]}),
    ("closed", {"events": [STARTED, ADDED], "exchanges": [failed(["GET", "u", [["a"]], ""])]}),
    ("closed", {"events": [STARTED, ADDED], "exchanges": [failed(["GET", "u", [], ["%"]])]}),
    ("closed", {"events": [STARTED, ADDED], "exchanges": [failed(["GET", "u", [], []])]}),
    ("closed", {"events": [STARTED, ADDED], "exchanges": [failed(["GET", "u", [], ""], "unheard of")]}),
    ("between", {"events": [STARTED]}),
    ("between", {"events": [{"event": "SessionForked", "id": "x", "source": "s", "point": "p", "version": 0}]}),
    ("turn", {"input": 1, "at": None}),
    ("turn", {"at": None}),
    ("end", {"reason": None, "keep": [1], "at": None}),
    ("end", {"reason": 1, "keep": None, "at": None}),
    ("cut", {"reason": None, "at": None}),
    ("closed", "[" * 100_000),
    ("closed", '{"events": [{"~": ["!object", {"type": "os:system", "fields": {}}]}]}'),
    ("closed", "not JSON"),
    ("unknown", {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "payload"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_lines_are_refused(kind: str, payload: Any) -> None:
    line = hostile(kind, payload)
    head = head_of(line)
    with pytest.raises(ValueError):
        frame_of(head, payload_of(line))


HEADS = [
    "[]", "{}", "1", "", "[" * 50_000, "9" * 5000, '["closed", 1, "s", NaN]', '["closed", "1", "s", 1.0]',
    f'["closed", {2**70}, "s", 1.0]', '["closed", 1, null, 1.0]',
]  # fmt: skip


@pytest.mark.parametrize("head", HEADS, ids=range(len(HEADS)))
def test_hostile_heads_are_refused(head: str) -> None:
    rest = head.encode() + b"\t{}\n"
    with pytest.raises(ValueError):
        head_of(b"%08x\t%b" % (crc32(rest), rest))


def test_a_line_without_a_payload_is_refused() -> None:
    rest = b'["closed", 1, "s", 1.0]\n'
    with pytest.raises(ValueError):
        head_of(b"%08x\t%b" % (crc32(rest), rest))
