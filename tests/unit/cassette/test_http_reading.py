"""HTTP recordings as they are found: every form that vcrpy wrote, and every way in which a file can be broken."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_statebase.cassette.http import http_from, read_http
from pytest_statebase.errors import FileError, HttpError
from pytest_statebase.wire.exchange import Exchange, Failure, Request, Response


def answered(body: Any, headers: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    response = {"status": {"code": 200, "message": "OK"}, "headers": headers or {}, "body": body, **more}
    return {"request": {"method": "GET", "uri": "http://api.test/x", "headers": {}, "body": None}, "response": response}


def one(interaction: dict[str, Any]) -> Exchange:
    data = yaml.safe_dump({"interactions": [interaction], "version": 1}).encode()
    (exchange,) = http_from(data, where="r.yaml").exchanges
    return exchange


def body_of(interaction: dict[str, Any]) -> bytes:
    answer = one(interaction).answer
    assert isinstance(answer, Response)
    return answer.body


def refusal(data: bytes | str) -> str:
    with pytest.raises(HttpError) as caught:
        http_from(data if isinstance(data, bytes) else data.encode(), where="r.yaml")
    return str(caught.value)


WHOLE = """\
interactions:
- turn: 2
  during: 0
  at: '2026-03-15T10:24:01Z'
  latency_ms: 118
  request:
    method: POST
    uri: https://api.example.com:8443/v1/refunds?b=2&a=1
    headers:
      Accept: ['*/*']
      X-Two: [one, two]
    body: '{"order": 1047}'
  response:
    status: {code: 201, message: Created}
    headers:
      content-type: [application/json]
    body: {string: '{"id": "R-1"}'}
version: 1
"""


def test_everything_that_an_interaction_says() -> None:
    (exchange,) = http_from(WHOLE.encode(), where="r.yaml").exchanges
    assert exchange == Exchange(
        Request(
            "POST",
            "https://api.example.com:8443/v1/refunds?b=2&a=1",
            (("Accept", "*/*"), ("X-Two", "one"), ("X-Two", "two")),
            b'{"order": 1047}',
        ),
        Response(201, "Created", (("content-type", "application/json"),), b'{"id": "R-1"}'),
        turn=2,
        during=0,
        at="2026-03-15T10:24:01Z",
        latency_ms=118,
    )


def test_the_extra_keys_may_be_missing() -> None:
    exchange = one(answered({"string": "x"}))
    assert (exchange.turn, exchange.during, exchange.at, exchange.latency_ms) == (None, None, None, None)


@pytest.mark.parametrize(
    "body",
    [{"string": "é"}, {"string": "é".encode()}, "é", {"base64_string": "w6k="}, {"string": "é", "encoding": "utf-8"}],
    ids=["text", "binary", "bare", "base64", "with-encoding"],
)
def test_bodies_in_each_of_their_forms(body: Any) -> None:
    assert body_of(answered(body)) == "é".encode()


@pytest.mark.parametrize("body", [None, {"string": None}, {"string": ""}, ""])
def test_no_body(body: Any) -> None:
    assert body_of(answered(body)) == b""


def test_a_body_that_was_parsed_is_json_again() -> None:
    value = {"text": "é", "number": 1.0, "none": None, "list": [True, {}]}
    interaction = answered(None, parsed_body=value)
    del interaction["response"]["body"]
    assert json.loads(body_of(interaction)) == value


def test_a_mapping_as_body_is_json() -> None:
    interaction = answered({"string": "x"})
    interaction["request"]["body"] = {"messages": [{"role": "user"}]}
    assert json.loads(one(interaction).request.body) == {"messages": [{"role": "user"}]}


def test_what_was_encoded_is_decoded() -> None:
    zipped = gzip.compress(b'{"a": 1}')
    headers = {"content-encoding": ["gzip"], "content-length": [str(len(zipped))], "transfer-encoding": ["chunked"]}
    answer = one(answered({"string": zipped}, headers)).answer
    assert isinstance(answer, Response)
    assert answer.body == b'{"a": 1}'
    assert answer.headers == (("content-length", "8"),)


def test_what_only_says_that_it_is_encoded_stays() -> None:
    answer = one(answered({"string": '{"a": 1}'}, {"Content-Encoding": ["gzip"], "Content-Length": ["30"]})).answer
    assert isinstance(answer, Response)
    assert answer.body == b'{"a": 1}'
    assert answer.header("content-encoding") is None
    assert answer.header("content-length") == "8"


def test_an_answer_to_head_keeps_its_length() -> None:
    interaction = answered({"string": ""}, {"content-length": ["512"]})
    interaction["request"]["method"] = "HEAD"
    answer = one(interaction).answer
    assert isinstance(answer, Response)
    assert answer.header("content-length") == "512"


def test_header_values_of_any_type() -> None:
    interaction = answered({"string": ""}, {"a": "bare", "b": [b"bytes"], "c": [12], "d": None, "e": [True]})
    answer = one(interaction).answer
    assert isinstance(answer, Response)
    assert answer.headers == (("a", "bare"), ("b", "bytes"), ("c", "12"), ("e", "True"))


def test_the_form_that_was_recorded_of_httpx() -> None:
    interaction = answered(None)
    interaction["response"] = {"status_code": 200, "http_version": "HTTP/1.1", "headers": {"a": "b"}, "content": "hi"}
    assert one(interaction).answer == Response(200, "", (("a", "b"),), b"hi")


def test_a_failure_and_a_stream_that_was_cut() -> None:
    failed = {**answered({"string": ""}), "failed": {"kind": "timeout", "message": "read timed out"}}
    cut = {**answered({"string": "data: 1\n\nda"}), "cut": "peer closed connection"}
    assert one(failed).answer == Failure("timeout", "read timed out")
    assert one(cut).answer == Response(200, "OK", (), b"data: 1\n\nda", "peer closed connection")


def test_json() -> None:
    data = json.dumps({"interactions": [answered({"string": "é"})], "version": 1}).encode()
    (exchange,) = http_from(data, where="r.json").exchanges
    assert exchange.answer == Response(200, "OK", (), "é".encode())


def test_an_empty_recording_of_vcrpy_is_one() -> None:
    assert http_from(b"interactions: []\nversion: 1\n", where="r.yaml").exchanges == ()


def test_scalars_as_yaml_1_1_means_them() -> None:
    words = "[yes, NO, ~, 0x1F, 017, 1_000, 1e3, 1.5e+3, .inf, 12:30:45, 2026-01-01, =, on-call, -, 'no']"
    with pytest.raises(HttpError):  # a dash alone is a list's mark
        http_from(f"interactions: {words}\nversion: 1".encode(), where="r.yaml")
    words = words.replace(" -,", "")
    text = (
        "interactions:\n- request: {method: GET, uri: 'http://a.test/'}\n  response:\n    status: {code: 200}\n"
        f"    parsed_body: {words}\nversion: 1\n"
    )
    (exchange,) = http_from(text.encode(), where="r.yaml").exchanges
    assert isinstance(exchange.answer, Response)
    assert json.loads(exchange.answer.body) == [
        *(True, False, None, 31, 15, 1000, "1e3", 1500.0, float("inf"), 45045, "2026-01-01", "=", "on-call", "no")
    ]


def test_words_of_the_one_dialect_do_not_become_words_of_the_other() -> None:
    from pytest_statebase.cassette.yamlread import parse

    assert [document.value for document in parse(b"[no, ~x, 017]", where="x")] == [["no", "~x", "017"]]
    test_scalars_as_yaml_1_1_means_them()
    assert [document.value for document in parse(b"[no, 017, 1e3]", where="x")] == [["no", "017", 1000.0]]


def test_the_tags_that_vcrpy_reads() -> None:
    text = """\
interactions:
- request:
    method: POST
    uri: http://a.test/
    headers: {!!python/unicode "A": !!python/tuple [!!python/str "b"]}
    body: !!python/object/new:_io.BytesIO
      state: !!python/tuple [!!binary "AAE=", 0, null]
  response: {status: {code: 200}, body: {string: x}}
- request:
    method: POST
    uri: http://a.test/
    body: !!python/object/apply:builtins.iter
      args: [[a, !!binary "Yg=="]]
  response: {status: {code: !!int "200"}, body: {string: !!str 12}}
version: 1
"""
    first, second = http_from(text.encode(), where="r.yaml").exchanges
    assert (first.request.body, first.request.headers) == (b"\0\1", (("A", "b"),))
    assert second.request.body == b"ab"
    assert second.answer == Response(200, "", (), b"12")


def test_no_object_is_ever_built(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    text = f"interactions: [!!python/object/apply:os.system ['touch {witness}']]\nversion: 1\n"
    message = refusal(text)
    assert "os.system names an object, which is never built" in message
    assert message.startswith("r.yaml:1:16: ")
    assert not witness.exists()


def test_anchors_are_copied_apart_within_a_limit() -> None:
    shared = (
        "interactions:\n- request: {method: GET, uri: 'http://a.test/', headers: &h {a: [b]}}\n"
        "  response: {status: {code: 200}, headers: *h, body: {string: x}}\nversion: 1\n"
    )
    (exchange,) = http_from(shared.encode(), where="r.yaml").exchanges
    assert isinstance(exchange.answer, Response)
    assert exchange.answer.headers == (("a", "b"),)
    bomb = ["a: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    assert "the aliases stand for too much" in refusal("\n".join([*bomb, "interactions: *a8", "version: 1"]))


BROKEN = {
    "empty": (b"", "is empty (0 bytes)"),
    "blank": (b" \n\n", "blank space"),
    "latin-1": (WHOLE.replace("Created", "Erstéllt").encode("latin-1"), "r.yaml:14:38: "),
    "utf-16": (WHOLE.encode("utf-16"), "is UTF-16, not UTF-8"),
    "a list": (b"- 1\n", "no `interactions`"),
    "a text": (b"hello\n", "no `interactions`"),
    "ruby": (b"http_interactions: []\nrecorded_with: VCR 6\n", "a recording of Ruby's VCR"),
    "before 1.0": (b"- request: {method: GET}\n  response: {}\n", "vcrpy before 1.0"),
    "no version": (WHOLE.removesuffix("version: 1\n").encode(), "there is no `version`: the file may be cut off"),
    "version 2": (
        WHOLE.replace("version: 1", "version: 2").encode(),
        "r.yaml:18: the recording has version 2; version 1",
    ),
    "version true": (WHOLE.replace("version: 1", "version: true").encode(), "version True"),
    "no list": (b"interactions: {a: 1}\nversion: 1\n", "r.yaml:1: `interactions` is dict, not a list"),
    "null": (b"interactions:\nversion: 1\n", "`interactions` is NoneType"),
    "two documents": (WHOLE.encode() + b"---\n" + WHOLE.encode(), "there are 2 documents"),
    "conflict": (
        WHOLE.replace("version", "<<<<<<< ours\nversion").encode(),
        "r.yaml:18: there are conflict markers of a merge",
    ),
    "twice": (WHOLE.replace("    body: '{", "    body: x\n    body: '{").encode(), "the key 'body' stands twice"),
    "no request": (WHOLE.replace("  request:", "  asked:").encode(), "r.yaml:2: interaction 1: `request` is missing"),
    "no method": (WHOLE.replace("    method: POST\n", "").encode(), "`method` is missing"),
    "no uri": (WHOLE.replace("    uri:", "    ur:").encode(), "`url` is missing"),
    "relative": (WHOLE.replace("https://api.example.com:8443", "").encode(), "no whole address"),
    "bad port": (WHOLE.replace("8443", "port").encode(), "no whole address"),
    "bad status": (WHOLE.replace("201", "ok").encode(), "the status is 'ok'"),
    "bad turn": (WHOLE.replace("turn: 2", "turn: two").encode(), "`turn` is 'two', and no count"),
    "bad failure": (WHOLE.replace("  request:", "  failed: nowhere\n  request:").encode(), "connect, timeout, closed"),
    "bad headers": (WHOLE.replace("headers:\n      content-type: [application/json]", "headers: 7").encode(), "is 7"),
    "an interaction that is none": (b"interactions: [7]\nversion: 1\n", "r.yaml:1: interaction 1: it is 7"),
    "bad base64": (b'interactions: [!!binary "A"]\nversion: 1\n', "!!binary cannot be read"),
    "foreign tag": (b"interactions: !mine []\nversion: 1\n", "the tag !!!mine is none of a recording"),
    "merge key": (b"interactions: [{<<: {a: 1}}]\nversion: 1\n", "merge keys (<<) are not read"),
    "deep": (b"interactions: " + b"[" * 5000, "nesting is deeper than"),
    "json cut off": (b'{"interactions": [{"request": {"met', "it may have been cut off"),
    "json twice": (b'{"interactions": [], "interactions": [], "version": 1}', "stands twice"),
    "json deep": (b'{"interactions": ' + b"[" * 100_000, "nesting is"),
}


@pytest.mark.parametrize(("data", "message"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_is_told_in_one_message(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(data)
    with pytest.raises(HttpError) as caught:
        read_http(path)
    told = str(caught.value)
    assert message in told.replace(str(path), "r.yaml")
    assert str(path) in told
    assert "\n  " in told, "there is a remedy"
    assert path.read_bytes() == data


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(HttpError, match="there is no such file") as caught:
        read_http(tmp_path / "gone.http.yaml")
    assert "Restore it, or correct `http` in the plan." in str(caught.value)


@pytest.mark.parametrize("layout", ["vcrpy", "version first"])
def test_a_file_that_was_cut_anywhere_never_reads_as_a_shorter_one(layout: str) -> None:
    interactions = [{**answered({"string": f"line {number}\n"}), "turn": number} for number in range(4)]
    root = {"interactions": interactions, "version": 1}
    whole = yaml.safe_dump(root, sort_keys=layout == "vcrpy").encode()
    if layout != "vcrpy":
        whole = b"version: 1\n" + whole.removesuffix(b"version: 1\n")
    assert len(http_from(whole, where="r.yaml").exchanges) == 4
    shorter = 0
    for end in range(len(whole) - 1):
        with contextlib.suppress(FileError):
            shorter += len(http_from(whole[:end] or b" ", where="r.yaml").exchanges) < 4
    # Where the version stands first, a cut between two interactions cannot be seen.
    assert shorter == 0 if layout == "vcrpy" else shorter < len(whole) / 10


MESSAGE = "- {kind: message, direction: sent, data: {text: hi}}\n"


def test_what_is_no_http_is_left_out_and_told() -> None:
    data = WHOLE.replace("version: 1\n", MESSAGE + "version: 1\n").encode()
    recording = http_from(data, where="r.yaml")
    assert len(recording.exchanges) == 1
    assert recording.skipped == ("r.yaml:18: messages of a socket, no HTTP",)


def test_a_file_with_nothing_but_websockets_is_refused() -> None:
    assert "no HTTP exchange in it, but messages of a socket" in refusal(f"version: 1\ninteractions:\n{MESSAGE}")


def test_the_locale_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(
        yaml.safe_dump({"interactions": [answered({"string": "é"})], "version": 1}, allow_unicode=True).encode()
    )
    code = """
import sys
from pytest_statebase.cassette.http import read_http
from pytest_statebase.cassette.httpwrite import write_http

recording = read_http(sys.argv[1])
write_http(sys.argv[1] + ".new", recording.exchanges)
print(recording.exchanges[0].answer.body)
"""
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr("é".encode())
    assert "é".encode() in Path(f"{path}.new").read_bytes()
