"""Bodies lose their encoding, whatever state they are in."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.wire.encoding import decoded
from pytest_statebase.wire.exchange import Headers, Response
from pytest_statebase.wire.framing import rendered, unchunked
from pytest_statebase.wire.streams import pieces


def _raw_deflate(body: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return encoder.compress(body) + encoder.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZIP": gzip.compress,
    "deflate": zlib.compress,
    "deflate ": _raw_deflate,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "identity": lambda body: body,
    "gzip, br": lambda body: brotli.compress(gzip.compress(body)),
}
BODY = json.dumps({"text": "ä" * 5000, "numbers": list(range(2000))}).encode()
EVENTS = (("content-type", "text/event-stream"),)


@pytest.mark.parametrize("name", ENCODERS)
def test_encodings_are_undone_and_headers_fit(name: str) -> None:
    sent = ENCODERS[name](BODY)
    headers = (("Content-Encoding", name), ("Transfer-Encoding", "chunked"), ("X-A", "1"))

    assert decoded(headers, sent) == ((("X-A", "1"), ("content-length", str(len(BODY)))), BODY)


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("body", [BODY, b"{}", b"data: [DONE]\n\n", "grüße".encode()])
def test_bodies_that_are_decoded_already_are_left_alone(name: str, body: bytes) -> None:
    headers = (("content-encoding", name), ("content-length", "7"))

    assert decoded(headers, body) == ((("content-length", str(len(body))),), body)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_of_a_body_that_was_cut_off_what_came_is_decoded(name: str) -> None:
    sent = ENCODERS[name](BODY)
    headers, body = decoded((("content-encoding", name),), sent[: len(sent) * 3 // 4])

    assert BODY.startswith(body)
    assert headers == (("content-length", str(len(body))),)


def test_several_members() -> None:
    compress = zstandard.ZstdCompressor().compress
    assert decoded((("content-encoding", "gzip"),), gzip.compress(b"a") + gzip.compress(b"b"))[1] == b"ab"
    assert decoded((("content-encoding", "zstd"),), compress(b"a") + compress(b"b"))[1] == b"ab"


@pytest.mark.parametrize("name", ["gzip", "br", "compress"])
def test_what_cannot_be_decoded_keeps_its_encoding(name: str) -> None:
    body = b"\xff\xfe\x00\x01" * 10
    headers, found = decoded((("content-encoding", name),), body)

    assert (dict(headers)["content-encoding"], found) == (name, body)


def test_without_its_library_a_body_keeps_its_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("brotli", "brotlicffi"):
        monkeypatch.setitem(sys.modules, name, None)
    sent = brotli.compress(BODY)

    assert decoded((("content-encoding", "br"),), sent)[1] == sent


def test_an_empty_body_keeps_the_length_that_is_told() -> None:
    headers: Headers = (("content-length", "500"), ("content-encoding", "gzip"))
    assert decoded(headers, b"") == ((("content-length", "500"),), b"")
    assert decoded((), b"x") == ((), b"x")


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "br", "zstd"]))
def test_any_body_comes_back(body: bytes, name: str) -> None:
    assert decoded((("content-encoding", name),), ENCODERS[name](body))[1] == body


@given(st.text(st.sampled_from("a:\n\r ")).map(str.encode), st.sampled_from(["text/event-stream", "application/jsonl"]))
def test_pieces_are_the_body(body: bytes, kind: str) -> None:
    response = Response(200, "", (("content-type", kind),), body)
    head, _, framed = rendered(response, "GET").partition(b"\r\n\r\n")

    assert b"".join(pieces(response)) == body
    assert b"" not in pieces(response)
    assert unchunked(framed) == (body, True)
    assert b"chunked" in head


@given(st.binary(max_size=60))
def test_chunks_that_are_none_do_not_fail(raw: bytes) -> None:
    unchunked(raw)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_events_end_at_blank_lines_of_every_kind(end: bytes) -> None:
    events = [b"data: a" + end * 2, b"data: b" + end + b"id: 1" + end * 2, b"data: c"]

    assert list(pieces(Response(200, "", EVENTS, b"".join(events)))) == events


def test_no_header_breaks_out_of_its_line() -> None:
    wire = rendered(Response(200, "OK", (("x-a", "1\r\nx-b: 2"), ("x-c", "→")), b""), "GET")

    assert wire.split(b"\r\n")[1:3] == [b"x-a: 1 x-b: 2", "x-c: →".encode()]
