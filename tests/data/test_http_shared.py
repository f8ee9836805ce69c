"""Recordings that others made with vcrpy: what vcrpy loads is loaded with the same requests and answers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_statebase.cassette.http import HttpRecording, http_from, read_http
from pytest_statebase.cassette.httpwrite import http_bytes, written
from pytest_statebase.cassette.redaction import redacted, redacted_exchange
from pytest_statebase.wire.encoding import decoded
from pytest_statebase.wire.exchange import Response
from tests.data.http_files import Seen, body_of, files, seen

_DATA = os.environ.get("STATEBASE_DATA")
pytestmark = pytest.mark.skipif(not _DATA, reason="STATEBASE_DATA does not name the recorded sessions")
PATHS = files(Path(_DATA)) if _DATA else []
EACH = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@EACH
def test_a_file_is_loaded_as_vcrpy_loads_it_or_refused_in_a_sentence(path: Path) -> None:
    before = path.read_bytes()
    one = seen(path)
    assert path.read_bytes() == before
    if one.ours is None:
        assert one.theirs is None, one.our_refusal
        assert "no HTTP exchange" in one.our_refusal
    elif one.theirs is not None:
        compare(one, one.ours)


def compare(one: Seen, ours: HttpRecording) -> None:
    assert one.theirs is not None
    requests, responses = one.theirs
    assert len(ours.exchanges) == len(requests) == len(responses)
    for exchange, request, response in zip(ours.exchanges, requests, responses, strict=True):
        assert (exchange.request.method, exchange.request.url) == (request.method, request.uri)
        assert body_of(exchange.request.body) == body_of(request.body)
        assert isinstance(exchange.answer, Response)
        assert exchange.answer.status == response["status"]["code"]
        if "body" in response:
            headers = tuple((name, values[0]) for name, values in response["headers"].items())
            assert body_of(exchange.answer.body) == body_of(decoded(headers, response["body"]["string"])[1])
        else:
            assert json.loads(exchange.answer.body) == response["parsed_body"]


def readable() -> list[Path]:
    return [path for path in PATHS if seen(path).ours is not None]


def test_fourteen_of_seventeen_files_hold_http() -> None:
    assert (len(readable()), len(PATHS)) == (14, 17)


@EACH
def test_what_was_read_is_written_and_read_again(path: Path) -> None:
    if path not in readable():
        pytest.skip("it holds no HTTP")
    exchanges = read_http(path).exchanges
    assert http_from(http_bytes(exchanges), where="x").exchanges == tuple(map(written, exchanges))


@EACH
def test_redaction_leaves_these_bodies_alone(path: Path) -> None:
    if path not in readable():
        pytest.skip("it holds no HTTP")
    for exchange in read_http(path).exchanges:
        clean = redacted_exchange(exchange)
        assert redacted_exchange(clean) == clean
        assert clean.request == redacted(exchange.request)
        assert clean.request.body == exchange.request.body
        assert isinstance(clean.answer, Response)
        assert isinstance(exchange.answer, Response)
        assert clean.answer.body == exchange.answer.body
