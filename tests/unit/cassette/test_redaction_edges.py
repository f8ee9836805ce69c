"""No secret slips through at the edges: beyond what is looked into, in damaged bodies, in odd layouts."""

from __future__ import annotations

import base64
import gzip
import json
from urllib.parse import quote, quote_plus, unquote

import pytest

from pytest_statebase.cassette.redaction import redacted, redacted_exchange
from pytest_statebase.wire.exchange import Exchange, Request, Response

KEY = "sk-proj-" + "Ab1-" * 8
FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=b"


def clean(body: bytes | str, kind: str = "application/json") -> bytes:
    data = body.encode() if isinstance(body, str) else body
    once = redacted(Request("POST", "https://x.test/", (("content-type", kind),), data))
    assert redacted(once) == once
    return once.body


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"a": "%s"}' % ("sk-" + "a-" * 100 + "1"), '{"a": "REDACTED"}'),
        ('{"a": "%s"}' % ("sk-" + "a-" * 20 + "1"), '{"a": "REDACTED"}'),
        ('{"a": "sk-learn-and-other-words-of-it"}', '{"a": "sk-learn-and-other-words-of-it"}'),
        ("Bearer " + "a" * 3000 + "1", "Bearer REDACTED"),
        ('{"%s_password": "hush"}' % ("x" * 300), '{"%s_password": "REDACTED"}' % ("x" * 300)),
        ("https://x.test/?%stoken=hush" % ("x" * 300), "https://x.test/?%stoken=REDACTED" % ("x" * 300)),
        ('{"token": "%s", "logprob": 1}' % ("x" * 501), '{"token": "REDACTED", "logprob": 1}'),
        ('{"token": "%s", "logprob": 1}' % ("x" * 500), '{"token": "%s", "logprob": 1}' % ("x" * 500)),
    ],
)
def test_long_texts(body: str, expected: str) -> None:
    assert clean(body) == expected.encode()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"api_keys": [null, 1, ["hush"], "b"]}', '{"api_keys": [null, 1, ["REDACTED"], "REDACTED"]}'),
        ("{'password': \"it's\", 'a': 'b'}", "{'password': \"REDACTED\", 'a': 'b'}"),
        ("https://x.test/#access_token=hush&a=1", "https://x.test/#access_token=REDACTED&a=1"),
        ("https://x.test/?u%5Bpassword%5D=hush", "https://x.test/?u%5Bpassword%5D=REDACTED"),
        ("https://x.test/?u[password]=hush", "https://x.test/?u[password]=REDACTED"),
        ("-eyJx-eyJhbGciOiJI.eyJzdWIiOiIx.dozjgNryP4J3 end", "-REDACTED end"),
        ("eyJhbGciOiJI-eyJhbGciOiJI and-eyJhbGciOiJI.eyJzdWIiOiIx.a.b", "eyJhbGciOiJI-eyJhbGciOiJI and-REDACTED"),
    ],
)
def test_odd_layouts(body: str, expected: str) -> None:
    assert clean(body, "text/plain") == expected.encode()


def test_lists_of_indented_json_in_json() -> None:
    body = json.dumps({"arguments": json.dumps({"api_keys": ["hush", "hush2"], "a": ["b"]}, indent=1)})
    assert json.loads(json.loads(clean(body))["arguments"]) == {"api_keys": ["REDACTED", "REDACTED"], "a": ["b"]}


def test_as_many_keys_as_there_are() -> None:
    keys = [f"sk-proj-{number:032}" for number in range(500)]
    assert clean(", ".join(keys)) == ", ".join(["REDACTED"] * 500).encode()


@pytest.mark.parametrize("times", [1, 3, 10, 23])
def test_base64_of_base64(times: int) -> None:
    said = f"the key is {KEY}".encode()
    for _ in range(times):
        said = base64.b64encode(said)
    told = clean(said)
    for _ in range(times):
        told = base64.b64decode(told)
    assert told == b"the key is REDACTED"


def test_deeper_base64_is_redacted_unseen() -> None:
    said = b"nothing of that kind"
    for _ in range(26):
        said = base64.b64encode(said)
    told = clean(said)
    for _ in range(24):
        told = base64.b64decode(told)
    assert told == b"REDACTED"


def test_base64_of_what_is_no_text() -> None:
    told = clean(json.dumps({"data": base64.b64encode(b"\xff\x00" + KEY.encode() + b"\x00").decode()}))
    assert base64.b64decode(json.loads(told)["data"]) == b"\xff\x00REDACTED\x00"


GZIP = gzip.compress(b'{"token": "hush"}', mtime=0)


def test_gzip_of_several_members() -> None:
    assert gzip.decompress(clean(GZIP + GZIP)) == b'{"token": "REDACTED"}' * 2
    assert clean(GZIP + b'{"token": "hush"}').endswith(b'{"token": "REDACTED"}')


@pytest.mark.parametrize("missing", [1, 8, 9])
def test_gzip_that_was_cut_off(missing: int) -> None:
    told = clean(GZIP[:-missing])
    assert told.startswith(GZIP[:3])
    assert b"REDACTED" in told
    assert b"hush" not in told
    with pytest.raises(EOFError):
        gzip.decompress(told)


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(b'{"token": "hush"}' * 200_000),
        gzip.compress(GZIP),
        GZIP[:10] + b"\xff" * 20,
        base64.b64encode(gzip.compress(b'{"token": "hush"}' * 200)),
        base64.b64encode(GZIP[:10] + b"\xff" * 20),
    ],
    ids=["a bomb", "gzip of gzip", "damaged", "a bomb in base64", "damaged in base64"],
)
def test_gzip_that_cannot_be_looked_into(body: bytes) -> None:
    told = clean(body)
    while told.startswith(GZIP[:3]):
        told = gzip.decompress(told)
    assert told in (b"REDACTED", base64.b64encode(b"REDACTED"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"password=h\xfcsh&a=\xfc", b"password=REDACTED&a=\xfc"),
        (b'{"password": "a&b=c"}', b'{"password": "REDACTED"}'),
        (f"a&{KEY}&{KEY}=1".encode(), b"a&REDACTED&REDACTED=1"),
    ],
)
def test_forms(body: bytes, expected: bytes) -> None:
    assert clean(body, FORM) == expected


def parts(name: str, value: str, before: str = "") -> str:
    return f"{before}--b\r\nContent-Disposition: form-data; name={name}\r\n\r\n{value}\r\n--b--\r\n"


@pytest.mark.parametrize("name", ['"password"', "password", f'"{"x" * 200}password"', '"u[password]"'])
@pytest.mark.parametrize("value", ["hush", "x--b\r\n--c\r\nhush", "\r\nhush\r\n"])
@pytest.mark.parametrize("kind", [PARTS, "multipart/form-data", "multipart/form-data; boundary=other"])
@pytest.mark.parametrize("before", ["", "A preamble.\r\n"])
def test_parts(name: str, value: str, kind: str, before: str) -> None:
    assert clean(parts(name, value, before), kind) == parts(name, "REDACTED", before).encode()


def test_what_is_no_event_stream_whatever_its_type_says() -> None:
    kind = "application/vnd.amazon.eventstream"
    assert clean('{"token": "hush"}', kind) == b'{"token": "REDACTED"}'
    assert clean(b'\x00\x00\x00\xff\x00\x00\x00\x00\x00\x00\x00\x00{"token": "hush', kind).endswith(b'"REDACTED')


def test_private_keys() -> None:
    lines = "MIIEowIBAAKCAQEAw5Qz\n" * 3
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n"
    assert clean(f"a {begin}\n{headers}{lines}{end} b {begin}\n{lines}{end}") == b"a REDACTED b REDACTED"
    assert clean(f"a {begin}\n{headers}{lines}") == b"a REDACTED\n"
    assert clean(f"a {begin} b {begin}\n{lines}abc") == f"a {begin} b REDACTED".encode()


@pytest.mark.parametrize("secret", ["k3y/of+mia", 'p4ss"w\\örd', "hunter2-hunter2-hunter2", "ab%2Fcd%2Fef%2Fgh"])
def test_spellings_of_what_the_answer_repeats(secret: str) -> None:
    told = {
        secret,
        unquote(secret),
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
    }
    told |= {json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode().rstrip("=")}
    asked = Request("GET", "https://x.test/", (("x-api-key", secret),))
    reply = Response(200, "OK", (), "".join(f"({one})" for one in sorted(told)).encode())
    answer = redacted_exchange(Exchange(asked, reply)).answer
    assert isinstance(answer, Response)
    assert not [one for one in told if f"({one})".encode() in answer.body]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{'password': b'hush'}", "{'password': b'REDACTED'}"),
        ("""{b'password': b"it's hush", 'n': b'1'}""", """{b'password': b"REDACTED", 'n': b'1'}"""),
        ("{'password': b'hu", "{'password': b'REDACTED"),
        ("{'password': b}", "{'password': b}"),
    ],
)
def test_bytes_as_python_shows_them(body: str, expected: str) -> None:
    assert clean(body, "text/plain").decode() == expected
