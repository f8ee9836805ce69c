"""No secret is left in an exchange, no ordinary text is harmed, and both sides of a match come out the same."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_statebase.cassette.httpwrite import http_bytes
from pytest_statebase.cassette.redaction import redacted, redacted_exchange
from pytest_statebase.wire.exchange import Exchange, Failure, Headers, Request, Response

JSON = (("content-type", "application/json"),)
FORM = (("content-type", "application/x-www-form-urlencoded"),)


def request(body: bytes | str = b"", headers: Headers = (), url: str = "https://api.example.com/v1/x") -> Request:
    return Request("POST", url, headers, body.encode() if isinstance(body, str) else body)


def clean_body(body: bytes | str, headers: Headers = JSON) -> str:
    clean = redacted(request(body, headers))
    assert redacted(clean) == clean
    return clean.body.decode()


def answer_of(asked: Request, body: bytes | str, headers: Headers = JSON) -> Response:
    data = body.encode() if isinstance(body, str) else body
    clean = redacted_exchange(Exchange(asked, Response(200, "OK", headers, data)))
    assert redacted_exchange(clean) == clean
    assert clean.request == redacted(asked)
    assert isinstance(clean.answer, Response)
    return clean.answer


def test_secrets_outside_of_the_authorization_header() -> None:
    secrets = ["sec-auth-1", "sec-key-2", "sec-cookie-3", "sec-query-4", "sec-set-5", "sec-body-6"]
    auth, key, cookie, query, set_cookie, token = secrets
    asked = Request(
        "GET",
        f"https://api.example.com/v1/x?api_key={query}&page=2",
        (("AUTHORIZATION", f"Bearer {auth}"), ("X-Api-Key", key), ("Cookie", f"session={cookie}; theme=dark")),
    )
    headers = (("SET-cookie", f"sid={set_cookie}; Path=/; HttpOnly"), *JSON)
    reply = Response(200, "OK", headers, json.dumps({"access_token": token, "expires_in": 3600}).encode())
    clean = redacted_exchange(Exchange(asked, reply))
    data = http_bytes([clean]).decode()
    assert not [secret for secret in secrets if secret in data]
    assert clean.request.url == "https://api.example.com/v1/x?api_key=REDACTED&page=2"
    assert clean.request.headers == (
        ("AUTHORIZATION", "Bearer REDACTED"),
        ("X-Api-Key", "REDACTED"),
        ("Cookie", "session=REDACTED; theme=REDACTED"),
    )
    assert isinstance(clean.answer, Response)
    assert clean.answer.headers[0] == ("SET-cookie", "sid=REDACTED; Path=/; HttpOnly")
    assert clean.answer.body == b'{"access_token": "REDACTED", "expires_in": 3600}'


def test_another_key_asks_the_same() -> None:
    one, other = (
        request(
            '{"q": 1}', (("authorization", f"Bearer {key}"), ("cookie", f"s={key}")), f"https://x.test/?api_key={key}"
        )
        for key in ("sk-live-1234567890abcdef", "dummy")
    )
    assert redacted(one) == redacted(other)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "api_key",
            "apiKey",
            "API-KEY",
            "x-api-key",
            "openai_api_key",
            "access_token",
            "accessToken",
            "refresh_token",
        ),
        *("id_token", "token", "client_secret", "clientSecret", "secret", "password", "user_password", "passwd", "pwd"),
        *(
            "private_key",
            "SecretAccessKey",
            "aws_secret_access_key",
            "SessionToken",
            "AccessKeyId",
            "csrf_token",
            "otp",
        ),
        *("authorization", "jwt", "connectionString", "SecretString", "passphrase", "bot_token", "webhook_secret"),
    ],
)
def test_names_of_secrets_at_any_depth(name: str) -> None:
    secret = "hush hush"
    data = json.dumps({"a": [{"b": {name: secret, "other": "kept"}}]})
    assert clean_body(data) == data.replace(secret, "REDACTED")
    assert clean_body(data.replace(": ", ":")) == data.replace(": ", ":").replace(secret, "REDACTED")
    assert clean_body(f"data: {data}\n\ndata: [DONE]\n\n", ()) == f"data: {data}\n\ndata: [DONE]\n\n".replace(
        secret, "REDACTED"
    )
    assert secret not in clean_body(json.dumps({"arguments": data})), "JSON in a string of JSON"
    assert secret not in clean_body(json.dumps({"log": json.dumps({"arguments": data})}))
    assert secret not in clean_body(f"{{'{name}': '{secret}'}}"), "as Python shows a mapping"
    assert secret not in clean_body(f"<r><a:{name}>{secret}</a:{name}></r>", ())
    assert secret not in clean_body(data[: data.index("other") - 6]), "cut off"


def test_values_with_escapes_lists_and_numbers() -> None:
    assert clean_body(r'{"password": "a\"b\\", "next": "kept"}') == '{"password": "REDACTED", "next": "kept"}'
    assert json.loads(clean_body(json.dumps({"x": json.dumps({"password": 'a"b\\', "y": "kept"})})))["x"] == (
        '{"password": "REDACTED", "y": "kept"}'
    )
    assert clean_body('{"api_keys": ["one", "two"], "x": ["kept"]}') == (
        '{"api_keys": ["REDACTED", "REDACTED"], "x": ["kept"]}'
    )
    assert clean_body('{"otp": 123456, "password": -1.5, "x": 7}') == '{"otp": 0, "password": 0, "x": 7}'
    assert (
        clean_body('{"password": null, "token": "", "secret": true}')
        == '{"password": null, "token": "", "secret": true}'
    )


HARMLESS = [
    '{"max_tokens": 1024, "usage": {"total_tokens": 15, "prompt_tokens": 10, "token": 3, "cached_tokens": 0}}',
    '{"next_page_token": "CAUQAA", "nextPageToken": "x", "continuation_token": "y", "pageToken": "z", "cursor": "c"}',
    '{"stop_token": "###", "eos_token": "</s>", "tokenizer": "cl100k", "tokens": ["Hel", "lo"]}',
    '{"logprobs": {"content": [{"token": "Hello", "logprob": -0.1, "bytes": [72], "top_logprobs": []}]}}',
    '{"key": "PROJ-1047", "keys": ["a", "b"], "primary_key": "id", "sort_key": "date", "keyword": "token"}',
    '{"signature": "EqQBCgIYAhIMTG9uZyBzaWduYXR1cmU=", "thoughtSignature": "AXLI2nxlU6gsWZaZ", "session_id": "sess_1"}',
    '{"properties": {"password": {"type": "string"}, "token": {"type": ["string", "null"]}}, "required": ["password"]}',
    '{"id": "chatcmpl-AbC123dEf456GhI789jKl", "system_fingerprint": "fp_44709d6fcb", "model": "gpt-4o-2024-08-06"}',
    '{"id": "call_9XyZ1234567890abcdefGHIJ", "request_id": "req_011CaGoMcMyMnhMwste6i8r"}',
    '{"text": "Use Bearer authentication, or Basic understanding of tokens; the key is under the mat."}',
    '{"text": "risk-assessment-of-something-long, task-sk-spinner, sk-learn, a disk-based-architecture-1"}',
    '{"uuid": "123e4567-e89b-12d3-a456-426614174000", "sha": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4"}',
    '{"password_policy": "strong", "secret_santa": "Mia", "is_secret": false, "token_type": "bearer"}',
    '{"url": "https://example.com/search?q=password&key=name&page_token=abc&sort=token"}',
    '{"image": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}',
    f'{{"base64": "{base64.b64encode(b"nothing but a plain text in here").decode()}"}}',
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ\n-----END CERTIFICATE-----",
    "Passwords and tokens: ask for the secret. email me at me@example.com, see http://example.com/@me",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_not_harmed(text: str) -> None:
    assert clean_body(text) == text
    assert clean_body(json.dumps({"content": text})) == json.dumps({"content": text})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("access-control-allow-credentials", "true"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("anthropic-ratelimit-input-tokens-limit", "400000"),
        ("idempotency-key", "stainless-python-retry-1"),
        ("openai-organization", "org-example"),
        ("etag", 'W/"354-OTp0SPQOT5j9LS3jmfXKKKv3JTU"'),
        ("authorization-realm", "shop"),
        ("mcp-session-id", "1868a90c-5c5e"),
        ("user-agent", "OpenAI/Python 1.99.0"),
        ("www-authenticate", 'Bearer realm="example"'),
    ],
)
def test_ordinary_headers_are_not_harmed(name: str, value: str) -> None:
    assert redacted(request(headers=((name, value),))).headers == ((name, value),)


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ("Bearer abc", "Bearer REDACTED"),
        ("Basic dXNlcjpwYXNz", "Basic REDACTED"),
        ("Token abc", "Token REDACTED"),
        ("AWS4-HMAC-SHA256 Credential=AKIA/20260101, Signature=ab", "AWS4-HMAC-SHA256 REDACTED"),
        ("sk-abc def", "REDACTED"),
        ("abc", "REDACTED"),
        ("", ""),
    ],
)
def test_schemes_stay(value: str, clean: str) -> None:
    assert redacted(request(headers=(("Proxy-Authorization", value),))).headers == (("Proxy-Authorization", clean),)


@pytest.mark.parametrize("name", ["X-Goog-Api-Key", "api-key", "X-Vault-Token", "PRIVATE-TOKEN", "X-Hub-Signature-256"])
def test_other_headers_of_secrets(name: str) -> None:
    assert redacted(request(headers=((name, "abc"),))).headers == ((name, "REDACTED"),)


def test_cookies_that_were_joined() -> None:
    joined = "a=one; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/, b=two; Secure,c="
    reply = answer_of(request(), b"", (("Set-Cookie", joined),))
    assert reply.headers[0][1] == "a=REDACTED; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/, b=REDACTED; Secure,c="


FORMS = {
    "openai": "sk-" + "a1B2c3D4e5F6g7H8i9J0",
    "openai project": "sk-proj-" + "Ab_c-1234567890abcdef",
    "anthropic": "sk-ant-api03-" + "Ab_c-1234567890abcdef",
    "openrouter": "sk-or-v1-" + "0123456789abcdef0123",
    "stripe": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "github fine": "github_pat_" + "11ABCDEFG0abcdefghij_ABCDEFGH",
    "gitlab": "glpat-" + "abcDEF123456ghiJKL78",
    "slack": "xoxb-" + "123456789012-abcdefGHIJKL",
    "google": "AIza" + "SyA-1234567890abcdefghijklmnopqrstu",
    "google oauth": "ya29." + "a0AfH6SMBx-1234567890",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "huggingface": "hf_" + "abcdefghijKLMNOPQRST1234",
    "groq": "gsk_" + "abcdefghijKLMNOPQRST1234",
    "sendgrid": "SG." + "abcdefghijklmnopqrstuv.0123456789abcdefghijklmnopqrstuvwxyzABCDEFG",
    "langsmith": "lsv2_pt_" + "0123456789abcdef0123456789abcdef_0123456789",
    "tavily": "tvly-dev-" + "abcdefghijKLMNOPQRST1234",
    "xai": "xai-" + "abcdefghijKLMNOPQRST1234" * 3,
}


@pytest.mark.parametrize("secret", FORMS.values(), ids=FORMS)
def test_keys_are_known_by_their_form(secret: str) -> None:
    for text in ("It is {}.", '{{"x": "{}"}}', "OPENAI_API_KEY={}", "({})", "größe {}\n", "a.b.c/{}?x", "{},{}"):
        assert secret not in clean_body(text.format(secret, secret), ())
    assert clean_body(f"It is {secret} indeed", ()) == "It is REDACTED indeed"
    assert secret not in redacted(request(url=f"https://x.test/{secret}/y?q={secret}")).url
    assert secret not in clean_body(f"q={secret}", FORM)
    inside = base64.b64encode(f"key: {secret}".encode()).decode()
    clean = clean_body(f'{{"data": "{inside}"}}')
    assert base64.b64decode(json.loads(clean)["data"]) == b"key: REDACTED"
    assert secret.encode() not in redacted(request(b"\xff\x00" + secret.encode() + b"\x00")).body


def test_forms_that_need_their_surroundings() -> None:
    block = "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"
    key = block.format("MIIEowIBAAKCAQEAw5Qz\n" * 3)
    assert clean_body(f"before {key} after", ()) == "before REDACTED after"
    assert clean_body(json.dumps({"pem": key, "x": 1})) == '{"pem": "REDACTED", "x": 1}'
    assert "MIIEow" not in clean_body(key[: len(key) - 40], ())
    assert clean_body("curl -H 'Authorization: Bearer 8f14e45fceea167a5a36'", ()).endswith("Bearer REDACTED'")
    assert clean_body("AccountName=x;AccountKey=abcdefghijklmnop0123==;Suffix=y", ()) == (
        "AccountName=x;AccountKey=REDACTED;Suffix=y"
    )
    assert clean_body("postgres://app:hunter2@db.example.com/x", ()) == "postgres://REDACTED@db.example.com/x"
    assert clean_body("https://hooks.slack.com/services/T0001/B0001/" + "x" * 24, ()).endswith("/services/REDACTED")
    assert redacted(
        request(url="https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0/go")
    ).url == ("https://api.telegram.org/botREDACTED/go")


def test_addresses() -> None:
    def clean(url: str) -> str:
        return redacted(request(url=url)).url

    assert clean("https://me:pw@x.test/a?b=c#d") == "https://REDACTED@x.test/a?b=c#d"
    assert clean("https://x.test/?q=a%20b&X=%C3%A9&token=t&empty=&flag") == (
        "https://x.test/?q=a%20b&X=%C3%A9&token=REDACTED&empty=&flag"
    )
    assert clean("https://s3.test/o?X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-Expires=60") == (
        "https://s3.test/o?X-Amz-Credential=REDACTED&X-Amz-Signature=REDACTED&X-Amz-Expires=60"
    )
    assert clean("https://x.test/?key=abc&sig=1") == "https://x.test/?key=abc&sig=REDACTED"
    assert clean("https://x.test/?key=0123456789abcdef0") == "https://x.test/?key=REDACTED"
    reply = answer_of(
        request(), '{"next": "https://x.test/a?page=2\\u0026access_token=abc"}', (("Location", "/a?token=q"),)
    )
    assert reply.body == b'{"next": "https://x.test/a?page=2\\u0026access_token=REDACTED"}'
    assert reply.headers == (("Location", "/a?token=REDACTED"),)


def test_forms() -> None:
    body = "grant_type=client_credentials&client_id=a%20b&client_secret=s+s&data=%7B%22password%22%3A%22x%22%7D&empty="
    assert clean_body(body, FORM) == (
        "grant_type=client_credentials&client_id=a%20b&client_secret=REDACTED&data="
        + quote('{"password":"REDACTED"}', safe="")
        + "&empty="
    )


@pytest.mark.parametrize("content", [b"plain", b"\xff\xfe\x00"], ids=["text", "binary"])
def test_multipart(content: bytes) -> None:
    def body(token: str, secret: str) -> bytes:
        return (
            b'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n' + token.encode() + b"\r\n"
            b'--b\r\nContent-Disposition: form-data; name="f"; filename="key.bin"\r\nContent-Type: x/y\r\n\r\n'
            + content
            + b'\r\n--b\r\nContent-Disposition: form-data; name="meta"\r\n\r\n{"password": "'
            + secret.encode()
            + b'"}\r\n--b--\r\n'
        )

    headers = (("content-type", "multipart/form-data; boundary=b"), ("content-length", "1"))
    clean = redacted(request(body("hush", "hush"), headers))
    assert clean.body == body("REDACTED", "REDACTED")
    assert clean.header("content-length") == str(len(clean.body))
    assert redacted(clean) == clean


def test_gzip_without_a_word_about_it() -> None:
    secret = FORMS["openai"]
    clean = redacted(request(gzip.compress(f'{{"k": "{secret}", "n": 1}}'.encode(), mtime=0)))
    assert gzip.decompress(clean.body) == b'{"k": "REDACTED", "n": 1}'
    assert clean == redacted(request(gzip.compress(f'{{"k": "{secret}", "n": 1}}'.encode(), 1, mtime=5)))
    assert redacted(clean) == clean
    harmless = gzip.compress(b'{"n": 1}')
    assert redacted(request(harmless)).body == harmless
    nested = base64.b64encode(gzip.compress(f"x {secret}".encode())).decode()
    assert secret.encode() not in gzip.decompress(base64.b64decode(clean_body(nested, ())))


def test_an_event_stream_of_aws_keeps_its_frames() -> None:
    def frame(payload: bytes) -> bytes:
        head = b"\x0b:event-type\x07\x00\x05chunk"
        prelude = struct.pack(">II", len(head) + len(payload) + 16, len(head))
        data = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
        return data + struct.pack(">I", zlib.crc32(data))

    kind = (("content-type", "application/vnd.amazon.eventstream"), ("content-length", "7"))
    body = frame(b'{"text":"x"}') + frame(b'{"token":"hush"}') + frame(b"") + frame(b'{"a":1}')[:20]
    reply = answer_of(request(), body, kind)
    assert reply.body == frame(b'{"text":"x"}') + frame(b'{"token":"REDACTED"}') + frame(b"") + frame(b'{"a":1}')[:20]
    assert reply.header("content-length") == str(len(reply.body))


def test_what_the_answer_repeats_of_the_requests_secrets() -> None:
    basic = base64.b64encode(b"mia:hunter2-hunter2").decode()
    asked = request(
        headers=(("Authorization", f"Basic {basic}"), ("X-Api-Key", "k3y-of-mia"), ("Cookie", "sid=c00kie/of+mia")),
        url="https://x.test/?access_token=qu3ry token",
    )
    told = [
        basic,
        "hunter2-hunter2",
        "mia:hunter2-hunter2",
        "k3y-of-mia",
        "c00kie/of+mia",
        "c00kie%2Fof%2Bmia",
        "qu3ry",
    ]
    body = f"You sent {' and '.join(told)} token; {base64.b64encode(b'the key was k3y-of-mia').decode()} end"
    reply = answer_of(asked, body, (("set-cookie", "again=k3y-of-mia; Path=/"), ("x-echo", "got k3y-of-mia")))
    text = reply.body.decode()
    assert not [one for one in told if one in text and one != "qu3ry"]
    assert reply.headers == (("set-cookie", "again=REDACTED; Path=/"), ("x-echo", "got REDACTED"))
    encoded = text.split("; ")[1].split()[0]
    assert base64.b64decode(encoded) == b"the key was REDACTED"


def test_words_that_happen_to_be_secrets_do_not_leave_texts() -> None:
    asked = request(
        '{"prompt": "the customer is undefined"}', (("x-api-key", "customer"), ("cookie", "a=undefined; b=en"), *JSON)
    )
    assert redacted(asked).body == asked.body


def test_failures_and_cuts() -> None:
    exchange = Exchange(request(), Failure("connect", "no route to https://x.test/?api_key=abc"))
    assert redacted_exchange(exchange).answer == Failure("connect", "no route to https://x.test/?api_key=REDACTED")
    cut = Response(200, "OK", JSON, b'{"access_token": "ab', f"lost after {FORMS['aws']}")
    assert redacted_exchange(replace(exchange, answer=cut)).answer == Response(
        200, "OK", JSON, b'{"access_token": "REDACTED', "lost after REDACTED"
    )


def test_lengths_fit_and_nothing_else_changes() -> None:
    headers = (("Content-Length", "25"), ("Accept", "*/*"), *JSON)
    clean = redacted(request('{"password": "x", "n": 1 }', headers))
    assert clean.headers == (("Content-Length", str(len(clean.body))), ("Accept", "*/*"), *JSON)
    same = request('{"n": 1 }', (("Content-Length", "500"), *JSON))
    assert redacted(same) == same


names = st.sampled_from(["password", "token", "a", "api_key", "text", "max_tokens", "cookie", "next_page_token"])
strings = st.one_of(
    st.text(max_size=12),
    st.sampled_from([*FORMS.values(), "REDACTED", 'a"b\\', "Bearer 8f14e45fceea167a5a36", "?token=abc&x=1"]),
)
trees = st.recursive(
    st.one_of(strings, st.integers(), st.none(), st.booleans()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3), inner.map(lambda one: json.dumps(one))
    ),
    max_leaves=8,
)
HEADER_NAMES = ["authorization", "cookie", "set-cookie", "x-api-key", "accept", "content-type"]
headers = st.lists(st.tuples(st.sampled_from(HEADER_NAMES), strings), max_size=4).map(tuple)


@settings(max_examples=300, deadline=None)
@given(trees, headers, trees, headers, st.booleans())
def test_it_is_the_same_every_time_and_leaves_json_json(
    body: object, sent: Headers, said: object, got: Headers, spaced: bool
) -> None:
    separators = None if spaced else (",", ":")
    asked = request(json.dumps(body, separators=separators), (*sent, *JSON))
    reply = Response(200, "OK", (*got, *JSON), json.dumps(said, ensure_ascii=False).encode())
    clean = redacted_exchange(Exchange(asked, reply, turn=1))
    assert redacted_exchange(clean) == clean
    assert clean == redacted_exchange(Exchange(asked, reply, turn=1))
    assert clean.request == redacted(asked) == redacted(redacted(asked))
    json.loads(clean.request.body)
    assert isinstance(clean.answer, Response)
    json.loads(clean.answer.body)
    assert not [one for one in FORMS.values() if one.encode() in clean.request.body + clean.answer.body]


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=200), st.sampled_from(["", "application/json", "multipart/form-data", "text/plain", FORM[0][1]])
)
def test_any_bytes_go_through(body: bytes, kind: str) -> None:
    clean = redacted(request(body, (("content-type", kind),)))
    assert redacted(clean) == clean
