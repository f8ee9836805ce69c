"""Ids that a streamed answer tells in pieces."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.matching import Pool
from pytest_statebase.engine.web.deltas import joined, with_new_names
from pytest_statebase.engine.web.inventions import Inventions
from pytest_statebase.engine.web.pool import Exchanges, Found, Missed
from pytest_statebase.ledger import Ledger, SessionCreated, TurnAdded, TurnStarted
from pytest_statebase.wire.exchange import Exchange, Request, Response

A, B, C = (f"{letter * 8}-1111-4111-8111-{letter * 12}" for letter in "abc")
SSE, LINES = "text/event-stream; charset=utf-8", "application/x-ndjson"
URL = "http://api.example.com/v1"


def chat(piece: str) -> dict[str, Any]:
    return {"id": "chatcmpl-9f8a7b6c5d4e", "choices": [{"index": 0, "delta": {"content": piece}}], "t": 1.50}


def tool_call(piece: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 1, "function": {"arguments": piece}}]}}]}


def message(piece: str) -> dict[str, Any]:
    delta = {"type": "input_json_delta", "partial_json": piece}
    return {"type": "content_block_delta", "index": 1, "delta": delta}


def response(piece: str) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "item_id": "i", "content_index": 0, "delta": piece}


DIALECTS = pytest.mark.parametrize("event", [chat, tool_call, message, response], ids=lambda one: one.__name__)


def sse(*events: Any, end: str = "\n\n") -> bytes:
    return "".join(f"data: {json.dumps(event)}{end}" for event in (*events,)).encode() + f"data: [DONE]{end}".encode()


def told(body: bytes) -> list[Any]:
    lines = [line.removeprefix(b"data: ") for line in body.splitlines()]
    return [json.loads(line) for line in lines if line.startswith(b"{")]


def post(path: str, body: Any) -> Request:
    return Request("POST", f"{URL}/{path}", (("content-type", "application/json"),), json.dumps(body).encode())


def pool(*recorded: Exchange) -> Exchanges:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "Go"}), TurnAdded("ok")])
    ids = Pool(ledger, 1, lambda tool, arguments, ordinal: arguments, lambda tool: True)
    return Exchanges(recorded, rules=IgnoreRules(), inventions=Inventions(ids, ledger, recorded))


def answered(body: bytes, kind: str = SSE) -> bytes:
    """What the agent gets that made up B where it had made up A."""
    headers = (("content-type", kind), ("content-length", str(len(body))))
    recorded = Exchange(post("chat", {"id": A}), Response(200, "OK", headers, body), 1)
    found = pool(recorded).answer(post("chat", {"id": B}), 1)
    assert isinstance(found, Found)
    assert isinstance(found.answer, Response)
    assert found.answer.header("content-length") == str(len(found.answer.body))
    return found.answer.body


@DIALECTS
@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n"])
def test_an_id_in_pieces_is_renamed(event: Callable[[str], Any], end: str) -> None:
    pieces = ["Ticket ", A[:5], A[5:13], A[13:20], A[20:] + ", and ", A, " again: ", A[:9], A[9:]]
    new = ["Ticket ", B[:5], B[5:13], B[13:20], B[20:] + ", and ", B, " again: ", B[:9], B[9:]]
    assert answered(sse(*map(event, pieces), end=end)) == sse(*map(event, new), end=end)


def test_lines_of_json() -> None:
    lines = [json.dumps({"message": {"content": piece}}) for piece in ("of ", A[:20], A[20:])]
    new = [json.dumps({"message": {"content": piece}}) for piece in ("of ", B[:20], B[20:])]
    assert answered("\n".join(lines).encode(), LINES) == "\n".join(new).encode()


def test_other_texts_at_the_same_time_are_not_mixed_up() -> None:
    def choice(index: int, piece: str) -> Any:
        return {"choices": [{"index": index, "delta": {"content": piece}}]}

    body = sse(choice(0, A[:20]), choice(1, "no "), choice(0, A[20:]), choice(1, A[:7]), choice(1, A[7:]))
    new = sse(choice(0, B[:20]), choice(1, "no "), choice(0, B[20:]), choice(1, B[:7]), choice(1, B[7:]))
    assert answered(body) == new
    alone = sse(choice(0, A[:20]), choice(1, A[20:]))
    assert answered(alone) == alone


def test_what_is_no_stream_or_holds_no_such_id_stays_to_the_byte() -> None:
    odd = b': ping\n\nevent: x\ndata: {"a":  1.50, "b": "\\u00e9"}\n\ndata: {"a": tru\n\ndata: [1, "x"]\n\ndata: "y"\n'
    deep = b"data: " + b"[" * 900 + b'"a"' + b"]" * 900 + b"\n\n"
    for body in (odd, deep, odd + sse(chat("no"), chat(" id"))):
        assert answered(body) == body
    page = sse(chat(A[:20]), chat(A[20:]))
    assert answered(page, "text/plain") == page


def test_names_of_another_length_wherever_it_is_cut() -> None:
    dice = random.Random(3)
    new = {"9f8a7b6c5d4e": "0a1b", "fLxcMYQFvKcO22": "pQ8cZYQ1vKwOdQNXvY7s9B"}

    def renamed(text: str) -> str:
        return re.sub(r"\w{12,}", lambda one: new.get(one[0], one[0]), text)

    for _ in range(300):
        text = " ".join(dice.choices(["one", *new, "é"], k=6))
        cuts = sorted({0, len(text), *(dice.randint(0, len(text)) for _ in range(8))})
        pieces = [text[at:to] for at, to in pairwise(cuts)]
        out = told(with_new_names(sse(*map(chat, pieces)), re.compile(r"\w{12,}"), new.get))
        assert len(out) == len(pieces)
        # What is whole in its piece is left to whoever looks at the bytes.
        assert "".join(renamed(one["choices"][0]["delta"]["content"]) for one in out) == renamed(text)


@DIALECTS
def test_an_id_that_a_stream_gave_in_pieces_is_not_made_up(event: Callable[[str], Any]) -> None:
    stream = sse(event("Refund "), event(A[:11]), event(A[11:]))
    given = Exchange(post("chat", {}), Response(200, "OK", (("content-type", SSE),), stream), 1)
    refund = Exchange(post("refunds", {"order": A}), Response(200), 1)
    known = pool(given, refund)
    assert isinstance(known.answer(post("chat", {}), 1), Found)
    found = known.answer(post("refunds", {"order": B}), 1)
    assert isinstance(found, Missed)
    assert found.reason == "differs"
    assert f"Refund {A}" in joined(stream)
