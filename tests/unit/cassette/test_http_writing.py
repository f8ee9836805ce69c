"""What is written reads back equal here, and vcrpy loads it and answers a real client with it."""

from __future__ import annotations

import gzip
import os
import re
import stat
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import vcr
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vcr.serialize import deserialize
from vcr.serializers import yamlserializer

from pytest_statebase.cassette.http import http_from, read_http
from pytest_statebase.cassette.httpwrite import http_bytes, write_http, written
from pytest_statebase.errors import HttpError
from pytest_statebase.wire.exchange import Answer, Exchange, Failure, Request, Response

QUIET = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# What headers, addresses and methods may be made of; bodies are anything.
tokens = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,12}", fullmatch=True).filter(
    lambda name: name.lower() not in ("content-encoding", "transfer-encoding", "content-length")
)
values = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)
headers = st.lists(st.tuples(tokens, values), max_size=5).map(tuple)
awkward = st.sampled_from(
    [
        "",
        " ",
        "\n",
        "null",
        "yes",
        "1e3",
        "a: b",
        "- a",
        "'",
        '"',
        "\\",
        "\t",
        "\r\n",
        "# a",
        "\x85",
        "\u2028",
        "😀",
        "\x00",
        "{",
        "?",
    ]
)
texts = st.lists(st.one_of(awkward, st.text(max_size=60)), max_size=8).map("".join)
bodies = st.one_of(
    st.binary(max_size=60),
    texts.map(lambda text: text.encode("utf-8", "replace")),
    st.lists(texts, max_size=4).map(
        lambda some: "".join(f"data: {one}\n\n" for one in some).encode("utf-8", "replace")
    ),
)
addresses = st.builds(
    "https://{}.example.com/{}?{}".format, st.from_regex(r"[a-z]{1,8}", fullmatch=True), tokens, tokens
)
requests = st.builds(Request, st.sampled_from(["GET", "POST", "PUT"]), addresses, headers, bodies)
shown = st.text(max_size=30)
answers: st.SearchStrategy[Answer] = st.one_of(
    st.builds(Response, st.integers(200, 599), values, headers, bodies, st.one_of(st.none(), shown)),
    st.builds(Failure, st.sampled_from(["connect", "timeout", "closed"]), shown),
)
counts = st.one_of(st.none(), st.integers(0, 50))
exchanges = st.lists(
    st.builds(Exchange, requests, answers, counts, counts, st.one_of(st.none(), shown), counts), max_size=4
)


@QUIET
@given(exchanges)
def test_exchanges_read_back_equal(some: list[Exchange]) -> None:
    back = http_from(http_bytes(some), where="r.yaml").exchanges
    assert back == tuple(map(written, some))
    for one, other in zip(some, back, strict=True):
        assert other.request.body == one.request.body
        assert sorted(other.request.headers) == sorted(one.request.headers)
        if isinstance(one.answer, Response):
            assert isinstance(other.answer, Response)
            assert other.answer.body == one.answer.body


@QUIET
@given(exchanges)
def test_vcrpy_loads_the_same(some: list[Exchange]) -> None:
    theirs, answers = deserialize(http_bytes(some).decode(), yamlserializer)
    assert len(theirs) == len(some)
    for one, request, response in zip(map(written, some), theirs, answers, strict=True):
        assert (request.method, request.uri) == (one.request.method, one.request.url)
        assert (request.body or b"") == one.request.body
        assert {name.lower() for name in request.headers} == {name.lower() for name, _ in one.request.headers}
        if isinstance(one.answer, Response):
            assert response["status"] == {"code": one.answer.status, "message": one.answer.reason}
            assert response["body"]["string"] == one.answer.body
            assert [(name, value) for name, some in response["headers"].items() for value in some] == [
                *one.answer.headers
            ]


@QUIET
@given(exchanges)
def test_writing_what_was_read_changes_nothing(some: list[Exchange]) -> None:
    data = http_bytes(some)
    assert http_bytes(http_from(data, where="r.yaml").exchanges) == data
    assert b"\r" not in data
    assert b"&id" not in data


def asked(path: str, body: bytes, *, answer: Answer | None = None) -> Exchange:
    url = f"http://localhost:1/{path}"
    reply = answer or Response(200, "OK", (("Content-Type", "text/plain"), ("X-Path", path)), body)
    return Exchange(Request("POST" if body else "GET", url, (("Host", "localhost:1"),), body), reply, turn=1)


BODIES = [
    b"",
    b"plain",
    "größe 😀\n\n  two\t\nlines \n".encode(),
    b'{"a": "b"}',
    b"data: 1\r\n\r\ndata: 2\n\n",
    bytes(range(256)),
]


def test_vcrpy_answers_a_real_client(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    write_http(path, [asked(f"p{number}", body) for number, body in enumerate(BODIES)])
    with vcr.use_cassette(str(path), record_mode="none", match_on=("method", "uri", "body")):
        for number, body in enumerate(BODIES):
            with urllib.request.urlopen(f"http://localhost:1/p{number}", body or None) as reply:
                assert (reply.status, reply.read()) == (200, body)
                assert reply.headers["X-Path"] == f"p{number}"


def test_vcrpy_answers_httpx(tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    path = tmp_path / "r.yaml"
    zipped = gzip.compress(b'{"a": 1}')
    headers = (
        ("content-encoding", "gzip"),
        ("content-type", "application/json"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
    )
    write_http(path, [asked("zipped", b"", answer=Response(200, "OK", headers, zipped))])
    with vcr.use_cassette(str(path), record_mode="none"):
        reply = httpx.get("http://localhost:1/zipped")
    assert reply.json() == {"a": 1}
    assert reply.headers.get_list("set-cookie") == ["a=1", "b=2"]


def test_where_no_answer_came_vcrpy_answers_with_a_status_that_no_server_has(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    write_http(path, [asked("x", b"", answer=Failure("connect", "connection refused"))])
    with vcr.use_cassette(str(path), record_mode="none"), pytest.raises(urllib.error.HTTPError, match="599: no answer"):
        urllib.request.urlopen("http://localhost:1/x")
    assert read_http(path).exchanges[0].answer == Failure("connect", "connection refused")


LAYOUT = """\
interactions:
- turn: 2
  during: 0
  at: "2026-03-15T10:24:01Z"
  latency_ms: 118
  request:
    method: POST
    uri: https://api.example.com/v1/chat
    headers:
      accept:
      - "*/*"
      content-type:
      - application/json
    body: '{"model":"m","messages":[{"role":"user","content":"It''s late"}]}'
  response:
    status: {code: 200, message: OK}
    headers:
      content-type:
      - text/event-stream
    body:
      string: |+
        data: {"text": "It was"}

        data: [DONE]

- turn: 3
  request:
    method: GET
    uri: https://api.example.com/
    headers: {}
    body: null
  cut: peer closed
  response:
    status: {code: 200, message: ""}
    headers: {}
    body:
      string: !!binary |
        AAH/
- request:
    method: GET
    uri: https://down.example.com/
    headers: {}
    body: null
  failed: {kind: connect, message: Connection refused}
  response:
    status: {code: 599, message: no answer}
    headers: {}
    body:
      string: ""
version: 1
"""


def test_the_layout() -> None:
    kind = (("content-type", "text/event-stream"),)
    some = [
        Exchange(
            Request(
                "POST",
                "https://api.example.com/v1/chat",
                (("accept", "*/*"), ("content-type", "application/json")),
                b'{"model":"m","messages":[{"role":"user","content":"It\'s late"}]}',
            ),
            Response(200, "OK", kind, b'data: {"text": "It was"}\n\ndata: [DONE]\n\n'),
            turn=2,
            during=0,
            at="2026-03-15T10:24:01Z",
            latency_ms=118,
        ),
        Exchange(Request("GET", "https://api.example.com/"), Response(200, "", (), b"\0\1\xff", "peer closed"), turn=3),
        Exchange(Request("GET", "https://down.example.com/"), Failure("connect", "Connection refused")),
    ]
    assert http_bytes(some).decode() == LAYOUT


def test_a_word_more_in_a_long_body_is_a_small_difference() -> None:
    words = " ".join(f"word{number}" for number in range(500))
    before, after = (http_bytes([asked("x", f'{{"text":"{one}"}}'.encode())]) for one in (words, words + " more"))
    changed = set(before.splitlines()) ^ set(after.splitlines())
    assert len(changed) <= 4
    assert max(map(len, before.splitlines())) <= 120


def test_the_file_is_new_whole_and_readable_by_all(tmp_path: Path) -> None:
    path = tmp_path / "new.http.yaml"
    write_http(path, [asked("x", b"1")])
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert path.stat().st_nlink == 1
    assert [file.name for file in tmp_path.iterdir()] == ["new.http.yaml"]
    before = path.read_bytes()
    with pytest.raises(HttpError, match="which is not overwritten"):
        write_http(path, [asked("y", b"2")])
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["new.http.yaml"]


def test_a_file_that_comes_up_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.yaml"
    link = os.link

    def late(source: str, target: str) -> None:
        path.write_bytes(b"theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(HttpError, match="which is not overwritten"):
        write_http(path, [])
    assert path.read_bytes() == b"theirs"
    assert [file.name for file in tmp_path.iterdir()] == ["r.yaml"]


def test_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: str) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    write_http(tmp_path / "r.yaml", [asked("x", b"1")])
    assert len(read_http(tmp_path / "r.yaml").exchanges) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["r.yaml"]


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(HttpError, match=re.escape("cannot be written")):
        write_http(tmp_path / "gone" / "r.yaml", [])


def test_other_readers_of_yaml_agree() -> None:
    root = yaml.safe_load(LAYOUT)
    assert root == yaml.load(LAYOUT, Loader=yaml.SafeLoader)
    assert [item.get("turn") for item in root["interactions"]] == [2, 3, None]
