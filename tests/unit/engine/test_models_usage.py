"""Tokens as providers report them, and what a live run may cost."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest

from pytest_statebase.engine.web.models import ModelHosts
from pytest_statebase.engine.web.usage import Estimate, estimate, usage
from pytest_statebase.wire.exchange import Exchange, Failure, Request, Response

URL = "https://api.openai.com/v1/chat/completions"


def answer(body: Any, kind: str = "application/json", **headers: str) -> Response:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Response(200, "OK", (("content-type", kind), *((k.replace("_", "-"), v) for k, v in headers.items())), data)


def stream(*events: Any) -> Response:
    body = b"".join(b"event: e\ndata: " + json.dumps(event).encode() + b"\n\n" for event in events)
    return answer(body + b"data: [DONE]\n\n", "text/event-stream; charset=utf-8")


def frames(*payloads: Any) -> Response:
    parts = []
    for payload in payloads:
        data = json.dumps(payload).encode()
        head = b"\x0b:event-type\x07\x00\x08metadata"
        parts.append(struct.pack(">III", 16 + len(head) + len(data), len(head), 0) + head + data + b"\0\0\0\0")
    return answer(b"".join(parts), "application/vnd.amazon.eventstream")


BEGUN = {"input_tokens": 10, "output_tokens": 1}
INVOKED = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 10, "outputTokenCount": 5}}


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        (answer({"usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}), (10, 5)),
        (answer({"usage": {"prompt_tokens": 10, "total_tokens": 10}}), (10, 0)),
        (answer({"usage": {"input_tokens": 10, "output_tokens": 5}}), (10, 5)),
        (answer({"usage": {"input_tokens": 1, "cache_read_input_tokens": 9, "output_tokens": 5}}), (10, 5)),
        (
            answer({"usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 3, "thoughtsTokenCount": 2}}),
            (8, 5),
        ),
        (answer([{"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}}]), (10, 5)),
        (answer({"usage": {"inputTokens": 10, "outputTokens": 5}}), (10, 5)),
        (answer({"usage": {"tokens": {"input_tokens": 10.0, "output_tokens": 5.0}}}), (10, 5)),
        (answer({"prompt_eval_count": 10, "eval_count": 5, "response": "Hi"}), (10, 5)),
        (answer(b'{"response": "H"}\n{"prompt_eval_count": 10, "eval_count": 5}\n', "application/x-ndjson"), (10, 5)),
        (stream({"usage": None}, {"usage": {"prompt_tokens": 10, "completion_tokens": 5}}), (10, 5)),
        (stream({"message": {"usage": BEGUN}}, {"usage": {"output_tokens": 5}}), (10, 5)),
        (stream({"response": {"usage": None}}, {"response": {"usage": {**BEGUN, "output_tokens": 5}}}), (10, 5)),
        (frames({"delta": {"text": "Hi"}}, {"usage": {"inputTokens": 10, "outputTokens": 5}}), (10, 5)),
        (frames({"bytes": base64.b64encode(json.dumps(INVOKED).encode()).decode()}), (10, 5)),
        (answer({}, x_amzn_bedrock_input_token_count="10", x_amzn_bedrock_output_token_count="5"), (10, 5)),
        (answer({"choices": []}), None),
        (answer({"usage": {"prompt_tokens": True, "completion_tokens": "5"}}), None),
        (answer(b"\xff\xfe"), None),
        (answer(b"[" * 100_000), None),
        (Failure("timeout"), None),
    ],
)
def test_usage(given: Any, tokens: tuple[int, int] | None) -> None:
    assert usage(given) == tokens


def test_a_stream_that_was_cut_tells_what_came() -> None:
    whole = stream({"message": {"usage": BEGUN}}, {"usage": {"output_tokens": 5}})
    assert usage(answer(whole.body[:-60], "text/event-stream")) == (10, 1)


def call(given: Any, body: bytes = b"x" * 400, url: str = URL) -> Exchange:
    return Exchange(Request("POST", url, (), body), given)


def test_an_estimate_counts_model_calls_alone() -> None:
    counted = answer({"usage": {"prompt_tokens": 2_900, "completion_tokens": 52}})
    found = estimate([call(counted), call(counted), call(counted, url="https://api.example.com/orders")], ModelHosts())
    assert found == Estimate(2, 5_904, 2)
    assert found.text() == "up to 2 model calls, about 6,000 tokens (recorded usage)"


def test_without_a_report_the_texts_are_counted() -> None:
    said = stream({"choices": [{"delta": {"content": "x" * 100}}]}, {"choices": [{"delta": {"content": "x" * 100}}]})
    found = estimate([call(said)], ModelHosts())
    assert found == Estimate(1, 150, 0)
    assert found.text() == "up to 1 model call, about 150 tokens (guessed from the texts, 4 characters a token)"
    assert estimate([call(Failure("closed"))], ModelHosts()).tokens == 100
    both = estimate([call(said), call(answer({"usage": {"prompt_tokens": 1}}))], ModelHosts())
    assert both.text() == "up to 2 model calls, about 160 tokens (partly recorded usage, partly guessed from the texts)"


def test_no_model_calls() -> None:
    assert estimate([], ModelHosts()).text() == "no model calls"
