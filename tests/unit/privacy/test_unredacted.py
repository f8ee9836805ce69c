"""What was redacted with numbered placeholders holds nothing that is to be redacted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_statebase.cassette.placeholders import Placeholders, Unredacted
from pytest_statebase.cassette.redaction import redacted_exchange
from pytest_statebase.privacy.hiding import Hiding
from pytest_statebase.wire.exchange import Exchange, Request, Response

KEY = "sk-proj-q7Wm3nXk2LpR8sTvYz41"


def exchange(asked: object, given: object, query: str = "api_key=9f8e7d6c5b4a39281706&x=1") -> Exchange:
    headers = (("Authorization", f"Bearer {KEY}"), ("Content-Type", "application/json"), ("Cookie", "sid=abc123def"))
    return Exchange(
        Request("POST", f"https://api.example.com/a?{query}", headers, json.dumps(asked).encode()),
        Response(200, "OK", (("Set-Cookie", "sid=xyz987uvw"),), json.dumps(given).encode()),
    )


SECRETS = exchange(
    {"client_secret": "hunter2-Sommer!", "header": f"Bearer {KEY}", "pin": 4711, "auth": {"token": f"Bearer {KEY}"}},
    {"access_token": "ya29.A0ARrdaM-long", "nested": json.dumps({"password": "hunter2-Sommer!"}), "ok": True},
)


def redacted(one: Exchange) -> Exchange:
    placeholders = Placeholders("s")

    def make(kind: str, identity: str, like: str, *, is_number: bool = False) -> str:
        given = placeholders.number if is_number else placeholders.of
        return str(given(kind, identity, like))

    return redacted_exchange(one, hider=Hiding(make))


def test_placeholders_are_no_secrets() -> None:
    clean = redacted(SECRETS)
    assert b"REDACTED-" in clean.request.body
    assert redacted_exchange(clean, hider=Unredacted()) == clean


@pytest.mark.parametrize("body", [{"password": "hunter2-Sommer!"}, {"note": f"it is {KEY}"}, {"pin": 4711}])
def test_what_is_left_is_found(body: dict[str, object]) -> None:
    clean = redacted(SECRETS)
    left = replace(clean, request=replace(clean.request, body=json.dumps(body).encode()))
    assert redacted_exchange(left, hider=Unredacted()) != left
