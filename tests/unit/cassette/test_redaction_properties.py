"""Wherever a secret stands, no bytes of a redacted exchange hold it, and both sides of a match come out the same."""

from __future__ import annotations

import base64
import gzip
import json
import string
import zlib
from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import quote, quote_plus, urlencode

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_statebase.cassette.httpwrite import http_bytes
from pytest_statebase.cassette.redaction import redacted, redacted_exchange
from pytest_statebase.wire.exchange import Exchange, Headers, Request, Response

Placed: TypeAlias = tuple[str, Headers, bytes]
"""Address, headers and body of a request that carries a secret."""

URL = "https://api.example.com/v1/x"
NAMES = st.sampled_from(["password", "apiKey", "access_token", "client-secret", "X_AUTH_TOKEN", "user_password"])
LETTERS = string.ascii_letters + string.digits
# Not a word of the texts around it, and not part of `REDACTED`.
secrets = st.one_of(
    st.text(LETTERS + "+/=-_.~", min_size=9, max_size=40).map(lambda text: f"q7{text}Z"),
    st.text(LETTERS + " \"'\\&%=;,<>{}[]\n\té\u2028😀", min_size=9, max_size=30).map(lambda text: f"q7x{text}Z"),
)
keys = st.text(LETTERS, min_size=20, max_size=40).map(lambda text: f"sk-proj-{text}7")
texts = st.text(LETTERS + " .,:é\n", max_size=30)


def json_of(tree: Any, levels: int) -> str:
    """JSON, as a string of other JSON so many times."""
    text = json.dumps(tree)
    for _ in range(levels):
        text = json.dumps({"arguments": text, "n": 1})
    return text


def kind(name: str) -> Headers:
    return (("content-type", name),)


def multipart(name: str, value: bytes, boundary: str) -> bytes:
    def part(name: str, value: bytes) -> bytes:
        return f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value + b"\r\n"

    return part("a", b"b") + part(name, value) + part("c", b"\xff\x00") + f"--{boundary}--\r\n".encode()


@st.composite
def by_name(draw: st.DrawFn, secret: str) -> Placed:
    """Places that tell by a name that there is a secret."""
    name, around, levels = draw(NAMES), draw(texts), draw(st.integers(0, 3))
    tree = draw(
        st.sampled_from([{name: secret}, {"a": [around, {name: secret, "b": around}]}, {name: [around, [secret]]}])
    )
    text = json_of(tree, levels)
    boundary = draw(st.sampled_from(["b", "----x1", "=_7"]))
    return draw(
        st.sampled_from([
            (f"{URL}?a={quote(around)}&{name}={quote(secret, safe='')}", (), b""),
            (f"{URL}?{name}={quote_plus(secret)}&a=b#c", (), b""),
            (URL, (("Set-Cookie", f"sid={quote(secret, safe='')}; Path=/"), ("Cookie", f"a={quote(secret)}")), b""),
            (URL, kind("application/json"), text.encode()),
            (URL, (), f"data: {text}\n\ndata: [DONE]\n\n".encode()),
            (URL, kind("application/x-www-form-urlencoded"), urlencode({"a": around, name: secret}).encode()),
            (URL, kind("application/x-www-form-urlencoded"), urlencode({"a": text, "b": around}).encode()),
            (URL, kind(f"multipart/form-data; boundary={boundary}"), multipart(name, secret.encode(), boundary)),
            (URL, kind(f"multipart/form-data; boundary={boundary}"), multipart("a", text.encode(), boundary)),
            (URL, kind("application/json"), json.dumps({"a": base64.b64encode(text.encode()).decode()}).encode()),
            (URL, (), base64.urlsafe_b64encode(gzip.compress(text.encode())).rstrip(b"=")),
            (URL, kind("application/json"), gzip.compress(text.encode())),
        ])
    )  # fmt: skip


@st.composite
def by_form(draw: st.DrawFn, secret: str) -> Placed:
    """Places where the form of a key is all that tells."""
    text = f"{draw(texts)} {secret} {draw(texts)}"
    url, headers, body = draw(by_name(text))
    place = draw(st.sampled_from(["elsewhere", "text", "path", "header", "binary"]))
    if place == "text":
        return URL, kind("text/plain"), text.encode()
    if place == "path":
        return f"{URL}/{secret}/y", (), b""
    if place == "header":
        return URL, (("x-note", text.replace("\n", " ")),), b""
    if place == "binary":
        return URL, kind("application/octet-stream"), b"\xff\x00" + secret.encode() + b"\x00"
    return url, headers, body


@st.composite
def in_headers(draw: st.DrawFn, secret: str) -> Placed:
    """Headers and addresses, with a body that says the secret once more."""
    coded = quote(secret, safe="")
    basic = base64.b64encode(f"me:{secret}".encode()).decode()
    url, headers = draw(
        st.sampled_from([
            (URL, (("Authorization", f"Bearer {secret}"),)),
            (URL, (("authorization", f"Basic {basic}"),)),
            (URL, (("X-Api-Key", secret),)),
            (URL, (("Cookie", f"a=b; sid={coded}"),)),
            (f"{URL}?api_key={coded}", ()),
            (f"https://me:{coded}@api.example.com/", ()),
        ])
    )  # fmt: skip
    spell = draw(st.sampled_from([lambda text: text, lambda text: quote(text, safe=""), in_base64, in_json]))
    return url, headers, f"you sent ({spell(secret)}), thank you".encode()


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def in_json(text: str) -> str:
    return json.dumps(text)


def spellings(secret: str) -> set[bytes]:
    """A secret as it stands in texts of any kind."""
    plain = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
    plain |= {json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(json.dumps(secret))[3:-3]}
    return {one.encode() for one in plain}


def layers(data: bytes, depth: int = 0) -> list[bytes]:
    """The bytes, and those in them that are gzip or base64."""
    found = [data]
    if data.startswith(b"\x1f\x8b"):
        found += layers(zlib.decompressobj(31).decompress(data), depth + 1)
    if depth < 4:
        runs = bytes(code if chr(code) in LETTERS + "+/-_" else 32 for code in range(256))
        for run in data.translate(runs).split():
            if len(run) >= 11 and len(run) % 4 != 1:
                found += layers(base64.b64decode(run.translate(bytes.maketrans(b"-_", b"+/")) + b"==="), depth + 1)
    return found


def parts_of(exchange: Exchange) -> list[bytes]:
    """Everything of an exchange, as it is and as it is written."""
    request, answer = exchange.request, exchange.answer
    assert isinstance(answer, Response)
    told = [request.url.encode(), request.body, answer.body, http_bytes([exchange])]
    return [*told, *(value.encode() for _, value in (*request.headers, *answer.headers))]


def held(exchange: Exchange, secret: str) -> list[bytes]:
    spelled = spellings(secret)
    return [layer for part in parts_of(exchange) for layer in layers(part) if any(one in layer for one in spelled)]


def check(secret: str, placed: Placed, said: Placed) -> None:
    url, headers, body = placed
    asked = Request("POST", url, headers, body)
    _, got, told = said
    exchange = Exchange(asked, Response(200, "OK", got, told), turn=1)
    clean = redacted_exchange(exchange)
    assert not held(clean, secret)
    assert redacted_exchange(clean) == clean
    assert clean.request == redacted(asked) == redacted(redacted(asked))


def with_both(places: Callable[[str], st.SearchStrategy[Placed]], of: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return of.flatmap(lambda secret: st.tuples(st.just(secret), places(secret), places(secret)))


@settings(max_examples=300, deadline=None)
@given(with_both(by_name, secrets))
def test_under_the_name_of_a_secret(drawn: tuple[str, Placed, Placed]) -> None:
    check(*drawn)


@settings(max_examples=200, deadline=None)
@given(with_both(by_form, keys))
def test_a_key_of_a_known_form(drawn: tuple[str, Placed, Placed]) -> None:
    check(*drawn)


@settings(max_examples=200, deadline=None)
@given(with_both(in_headers, st.one_of(keys, secrets.filter(lambda secret: secret.isascii() and "\n" not in secret))))
def test_in_a_header_or_an_address_and_repeated(drawn: tuple[str, Placed, Placed]) -> None:
    secret, (url, headers, body), (_, _, told) = drawn
    check(secret, (url, headers, body), (url, (), told))


@settings(max_examples=200, deadline=None)
@given(st.data(), secrets, secrets)
def test_another_secret_in_the_same_place_asks_the_same(data: st.DataObject, one: str, other: str) -> None:
    name, around, levels = data.draw(NAMES), data.draw(texts), data.draw(st.integers(0, 3))

    def asked(secret: str) -> list[Request]:
        text = json_of({"a": around, name: secret}, levels).encode()
        form = urlencode({"a": around, name: secret}).encode()
        zipped = gzip.compress(text)
        coded = json.dumps({"a": base64.b64encode(text).decode()}).encode()
        return [
            Request("POST", URL, kind("application/json"), text),
            Request("POST", f"{URL}?{name}={quote(secret, safe='')}", (("x-api-key", secret),)),
            Request("POST", URL, kind("application/x-www-form-urlencoded"), form),
            Request("POST", URL, kind("multipart/form-data; boundary=b"), multipart(name, secret.encode(), "b")),
            Request("POST", URL, (), zipped),
            Request("POST", URL, kind("application/json"), coded),
        ]

    assert [redacted(request) for request in asked(one)] == [redacted(request) for request in asked(other)]
    recorded = [redacted_exchange(Exchange(request, Response(200))).request for request in asked(one)]
    assert recorded == [redacted(request) for request in asked(other)]
