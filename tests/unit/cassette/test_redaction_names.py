"""Which names hold secrets, what tells of doubtful ones, names of one's own, and keys known from other requests."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pytest_statebase.cassette.redaction import all_known, redacted, redacted_exchange, set_secret_names
from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.web.pool import Exchanges, Found
from pytest_statebase.wire.exchange import Exchange, Request, Response

KEY = "shopkey-7f3a9c1e5b2d4860"
JSON = (("content-type", "application/json"),)


def clean_header(name: str, value: str = KEY) -> str:
    return redacted(Request("GET", "https://api.test/x", ((name, value),), b"")).headers[0][1]


def clean_json(value: object) -> object:
    body = json.dumps(value).encode()
    return json.loads(redacted(Request("POST", "https://api.test/x", JSON, body)).body)


@pytest.mark.parametrize(
    "name",
    ["X-Shop-Key", "Authentication", "X-Shop-Credential", "X-Shop-Credentials", "Shop-Access", "key",
     "DD-APPLICATION-KEY", "X-Admin-Key", "Server-Key", "x_shop_key", "Shop-Auth", "X-Shop-Password", "X-Shop-Secret",
     "X-Shop-Token", "Credential"],
)  # fmt: skip
def test_headers_by_their_last_word(name: str) -> None:
    assert clean_header(name) == "REDACTED"


@pytest.mark.parametrize(
    "name",
    ["Idempotency-Key", "X-Idempotency-Key", "Sec-WebSocket-Key", "Surrogate-Key", "X-Cache-Key", "Partition-Key",
     "X-Monkey", "X-Next-Page-Token", "Access-Control-Allow-Credentials", "X-Accessibility", "Keyword", "X-Author"],
)  # fmt: skip
def test_headers_that_open_nothing(name: str) -> None:
    assert clean_header(name) == KEY


@pytest.mark.parametrize(
    ("name", "value"),
    [("key", KEY), ("k", KEY), ("key", "aB3dE5gH7jK9mN1pQ3sT"), ("pin", "4711"), ("pin", "00471123"), ("pin", KEY)],
)
def test_doubtful_names_with_values_that_tell(name: str, value: str) -> None:
    assert clean_json({"auth": {name: value, "other": value[:3]}}) == {"auth": {name: "REDACTED", "other": value[:3]}}
    assert clean_json({"said": json.dumps({name: value})}) == {"said": json.dumps({name: "REDACTED"})}
    clean = redacted(Request("GET", f"https://api.test/x?{name}={value}&page=2", (), b""))
    assert clean.url == f"https://api.test/x?{name}=REDACTED&page=2"


@pytest.mark.parametrize(
    ("name", "value"),
    [("key", "PROJ-1047"), ("key", "order-1047-item-2093-of-2026"), ("key", "uploads/2024/03/aB3dE5gH7jK9mN1pQ3sT.png"),
     ("key", "d41d8cd98f00b204e9800998ecf8427e"), ("key", "123e4567-e89b-12d3-a456-426614174000"),
     ("key", "01HZX3K8YJ3K8YJ3K8YJ3K8YJ3"), ("key", "lastVisitedProductCategory2"), ("key", 12345678), ("k", 40),
     ("k", "agent frameworks 2026"), ("pin", 13), ("pin", "13"), ("pin", "GPIO4"), ("pin", 471100001111),
     ("key", ["a", "b"]), ("key", None), ("pin", 4.25), ("pin", 1000.5), ("keys", KEY)],
)  # fmt: skip
def test_doubtful_names_with_values_that_are_none(name: str, value: object) -> None:
    assert clean_json({name: value}) == {name: value}


def test_a_pin_that_is_a_number() -> None:
    assert clean_json({"pin": 4711, "door": 4711}) == {"pin": 0, "door": 4711}


# --- Secrets whose name stands around or beside them

DICE = "Zq7Xw92LmPd4TbV8"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"client_secret": {"value": "ek_68af29", "expires_at": 1}},
         {"client_secret": {"value": "REDACTED", "expires_at": 1}}),
        ({"token": {"id": DICE, "raw": DICE}}, {"token": {"id": DICE, "raw": "REDACTED"}}),
        ({"api_key": {"a": {"b": [1]}, "Value": "hush"}, "value": "said"},
         {"api_key": {"a": {"b": [1]}, "Value": "REDACTED"}, "value": "said"}),
        ({"api_keys": [{"value": "hush"}, {"value": "hush"}]},
         {"api_keys": [{"value": "REDACTED"}, {"value": "REDACTED"}]}),
        ({"token": {"token": {"value": "a } b"}},
         "x": {"value": "c"}}, {"token": {"token": {"value": "REDACTED"}}, "x": {"value": "c"}}),
        ({"otp": {"value": 482913}, "value": 482913}, {"otp": {"value": 0}, "value": 482913}),
        ({"credentials": {"user": DICE}}, {"credentials": {"user": "REDACTED"}}),
        ({"access_tokens": [DICE]}, {"access_tokens": ["REDACTED"]}),
        ({"headers": [{"name": "X-Api-Key", "value": "hush"}, {"name": "Accept", "value": "a"}]},
         {"headers": [{"name": "X-Api-Key", "value": "REDACTED"}, {"name": "Accept", "value": "a"}]}),
        ({"env": [{"Name": "OPENAI_API_KEY", "Type": "x", "Value": "hush"}]},
         {"env": [{"Name": "OPENAI_API_KEY", "Type": "x", "Value": "REDACTED"}]}),
        ({"headers": [{"name": "X-Shop-Key", "value": DICE}]},
         {"headers": [{"name": "X-Shop-Key", "value": "REDACTED"}]}),
        ({"grant_type": "authorization_code", "code": DICE}, {"grant_type": "authorization_code", "code": "REDACTED"}),
    ],
)  # fmt: skip
def test_names_around_and_beside(value: object, expected: object) -> None:
    assert clean_json(value) == expected
    assert clean_json({"said": json.dumps(value, indent=1)}) == {"said": json.dumps(expected, indent=1)}
    assert clean_json({"said": repr(value)}) == {"said": repr(expected)}
    assert clean_json(expected) == expected


@pytest.mark.parametrize(
    "value",
    [
        {"token_usage": {"value": DICE, "total": 3}, "prompt_tokens_details": {"cached_tokens": 1}, "tokens": [1, 2]},
        {"properties": {"password": {"type": "string", "description": "The password.", "default": "none"}}},
        {"token": {"id": 1, "text": "a1b2c3d4e5f6g7h8", "logprob": -0.5}},
        {"authorization": {"amount": {"value": "10.00", "currency": "EUR"}, "id": DICE, "status": "approved"}},
        [{"name": "get_token", "input": {"value": "a"}}, {"name": "Reset password", "value": "3 days"}],
        [{"name": "api_key"}, {"value": "a"}],
        {"name": "max_output_tokens", "value": "100"},
        {"code": DICE, "type": "coupon"},
    ],
)  # fmt: skip
def test_what_only_stands_near_such_names(value: object) -> None:
    assert clean_json(value) == value


@pytest.mark.parametrize("sign", ["grant_type=authorization_code", "code_verifier=REDACTED"])
def test_codes_of_requests_for_a_token(sign: str) -> None:
    kind = (("content-type", "application/x-www-form-urlencoded"),)
    clean = redacted(Request("POST", "https://api.test/x", kind, f"code=hush&{sign}&state=a".encode())).body
    assert clean == f"code=REDACTED&{sign}&state=a".encode()
    assert redacted(Request("POST", "https://api.test/x", kind, b"code=DE&state=a")).body == b"code=DE&state=a"


# --- Names of one's own


@pytest.fixture
def own_names() -> Iterator[None]:
    assert clean_header("X-Acme-Member") == KEY, "so that what is remembered of it is in the way"
    set_secret_names(["X-Acme-Member", "customer_code", ""])
    yield
    set_secret_names(())
    assert clean_header("X-Acme-Member") == KEY
    assert clean_json({"customerCode": "c"}) == {"customerCode": "c"}


@pytest.mark.usefixtures("own_names")
def test_names_of_ones_own() -> None:
    assert clean_header("x-acme-member", "m") == "REDACTED"
    assert clean_json({"a": [{"customerCode": "c", "customer": "c"}]}) == {
        "a": [{"customerCode": "REDACTED", "customer": "c"}]
    }
    asked = Request("GET", "https://api.test/x?customer-code=c&x=c", (), b"")
    assert redacted(asked).url == "https://api.test/x?customer-code=REDACTED&x=c"
    form = (("content-type", "application/x-www-form-urlencoded"),)
    assert redacted(Request("POST", "https://api.test/x", form, b"customer_code=c&x=c")).body == (
        b"customer_code=REDACTED&x=c"
    )


# --- Keys that are known from other requests


def test_a_key_is_known_in_other_messages() -> None:
    known = all_known(
        (), Request("GET", "https://api.test/x", (("X-Shop-Key", KEY), ("Accept", "text/plain-2026")), b"")
    )
    asked = Request("POST", "https://model.test/v1/chat", JSON, json.dumps({"said": f"used {KEY}"}).encode())
    assert json.loads(redacted(asked, known).body) == {"said": "used REDACTED"}
    clean = redacted_exchange(Exchange(asked, Response(200, "OK", JSON, f'"{KEY} text/plain-2026"'.encode())), known)
    assert isinstance(clean.answer, Response)
    assert clean.answer.body == b'"REDACTED text/plain-2026"'
    assert redacted_exchange(clean, known) == clean
    assert KEY.encode() in redacted(asked).body, "of which nothing tells by itself"


@pytest.mark.parametrize("value", ["production", "short-1", "REDACTED", "Bearer REDACTED", ""])
def test_a_word_is_known_nowhere_else(value: str) -> None:
    assert all_known((), Request("GET", "https://api.test/x", (("X-Shop-Key", value),), b"")) == ()


def test_a_recording_with_secrets_in_it_answers_all_the_same() -> None:
    """Such as one that another library made."""
    asked = Request(
        "POST", f"https://api.test/x?api_key={KEY}&page=2", JSON, json.dumps({"pin": "4711", "n": 1}).encode()
    )
    recorded = Exchange(asked, Response(200, "OK", (), b"hi"), 1)
    for one in (recorded, redacted_exchange(recorded)):
        pool = Exchanges([one], rules=IgnoreRules(()))
        found = pool.answer(redacted(asked), 1)
        assert isinstance(found, Found)
        assert found.exchange is one
