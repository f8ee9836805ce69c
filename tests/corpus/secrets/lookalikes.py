"""What looks like a secret or like personal data and is none: it must stay, for calls depend on it."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any

from pytest_statebase.cassette.personal import luhn

from .case import ALNUM, DIGITS, HEX, UPPER, Case, dice, thrown


def lookalikes() -> Iterator[Case]:
    """By what they are: ids, numbers, texts, code, data."""
    found = [*_ids(), *_numbers(), *_times(), *_texts(), *_named(), *_code(), *_data(), *_examples()]
    for kind, value in found:
        yield Case(kind, f"{kind} {str(value)[:40]}", "", value)


def _ids() -> Iterator[tuple[str, Any]]:
    throw = dice("ids")
    for _ in range(6):
        made = uuid.UUID(int=throw.getrandbits(128), version=4)
        yield "uuid", {"order_id": str(made)}
        yield "uuid", f"order {made} was shipped"
    for size in (32, 40, 56, 64, 96, 128):
        yield "hash", {"checksum": thrown(f"hash {size}", HEX, size)}
        yield "hash", f"sha: {thrown(f'hash text {size}', HEX, size)}"
    yield "hash", {"integrity": "sha384-" + base64.b64encode(thrown("sri", ALNUM, 48).encode()).decode()}
    yield "trace", {"traceparent": f"00-{thrown('t1', HEX, 32)}-{thrown('t2', HEX, 16)}-01"}
    yield "trace", {"trace_id": thrown("t3", HEX, 32), "span_id": thrown("t4", HEX, 16)}
    yield "trace", f"x-amzn-trace-id: Root=1-{thrown('t5', HEX, 8)}-{thrown('t6', HEX, 24)}"
    for begin in (
        "call_",
        "chatcmpl-",
        "msg_",
        "req_",
        "toolu_",
        "resp_",
        "run_",
        "thread_",
        "asst_",
        "evt_",
        "cus_",
        "pi_",
    ):
        yield "id", {"id": begin + thrown(begin, ALNUM, 24)}
    for begin in ("ord_", "ORD-", "W", "INV-2026-", "#", "PROJ-", "RMA", "TKT-"):
        yield "order", {"order_id": begin + thrown(begin, DIGITS, 7)}
        yield "order", f"Your order {begin}{thrown(begin, DIGITS, 7)} is on its way."
    yield "id", {"ulid": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
    yield "id", {"arn": "arn:aws:iam::123456789012:role/service-role/deploy"}
    yield "id", {"account": "AC" + thrown("twilio account", HEX, 32)}
    yield "id", {"session_id": thrown("session", ALNUM, 26), "request_id": thrown("request", ALNUM, 22)}
    yield "id", {"etag": f'"{thrown("etag", HEX, 32)}"', "version_id": thrown("v", ALNUM, 32)}
    yield "sku", {"sku": "SKU-" + thrown("sku", UPPER + DIGITS, 10)}
    yield "sku", "Article 4006381333931 (EAN), MPN WH-1000XM4/B"
    yield "tracking", {"tracking": "1Z999AA10123456784", "carrier": "ups"}
    yield "tracking", "Sendung 00340434161094042557 ist unterwegs"


def _numbers() -> Iterator[tuple[str, Any]]:
    for size in (13, 14, 15, 16, 19):
        digits = "4" + thrown(f"not luhn {size}", DIGITS, size - 1)
        if luhn(digits) == 0:
            digits = digits[:-1] + str((int(digits[-1]) + 1) % 10)
        yield "not luhn", {"reference": digits}
        yield "not luhn", f"reference {digits} was booked"
    yield "iban like", "DE12 3456 7890 1234 5678 90 is no account"
    yield "iban like", {"code": "GB00WEST12345698765432"}
    yield "isbn", "ISBN 978-3-16-148410-0 and 0-306-40615-2"
    yield "isbn", {"isbn": "9783161484100"}
    yield "coordinates", {"lat": 52.520008, "lng": 13.404954}
    yield "coordinates", "52.520008, 13.404954 and -33.8688197, 151.2092955"
    yield "amount", {"total_cents": 129900, "total": 1299.0, "tax": "1,299.00 EUR"}
    yield "amount", "Total: 1 234 567.89 EUR, 12.345.678,90 EUR"
    yield "version", {"version": "2026.03.15.1234", "image": "app:1.24.0-rc.1+build.5678"}
    yield "version", "python 3.11.7 (main, Dec  8 2023), numpy==1.26.4, 10.15.7.4567"
    yield "address", {"ip": "192.168.100.200", "ip6": "2001:0db8:85a3:0000:0000:8a2e:0370:7334"}
    yield "address", {"mac": "00:1B:44:11:3A:B7", "port": 54321}
    yield "ticks", {"ticks": 638123456789012345, "ns": 1773570225123456789}
    yield "postcode", "90210-1234 Beverly Hills, 10117 Berlin, SW1A 1AA"
    yield "range", "pages 1234-5678, years 1999-2026, rows 100000-200000"
    yield "table", "| 100 200 300 | 400 500 600 | 7000 8000 |"


def _times() -> Iterator[tuple[str, Any]]:
    for value in (
        "2026-03-15T10:23:45.123456Z", "2026-03-15 10:23:45", "20260315102345", "15.03.2026 10:23", "03/15/2026",
        "Sun, 15 Mar 2026 10:23:45 GMT", "1773570225", "1773570225123", "2026-W11-7", "PT36H15M", "10:23:45.678",
    ):  # fmt: skip
        yield "date", {"at": value}
        yield "date", f"It arrives {value}, we hope."


def _texts() -> Iterator[tuple[str, Any]]:
    for text in (
        "I forgot my password, can you help?", "Your password must have 12 letters.", "Password reset was sent.",
        "The token has expired, please sign in again.", "Which key do you mean?", "The secret is to be patient.",
        "Please enter the code that we sent you.", "Use the PIN pad.", "Basic shipping is free.",
        "a bearer of good news",
        "max_tokens: 4096", "tokens used: 1,234 of 8,192", "token limit reached (128000)", "error code: 40401",
        "follow @statebase_io or @jane", "npm i @types/node@20.11.5", "git@github.com:corp/repo.git",
        "ping user@localhost",
        "price @ 12.50/kg", "see RFC 7519, section 4.1.2", "call 1047 failed, phone support is closed",
        "room 415, floor 2",
        "key: value", "auth: none", "pass: 12, fail: 0", "secret santa: 24 December", "sk-learn and sk-image",
        "risk-based",
    ):  # fmt: skip
        yield "prose", text


def _named() -> Iterator[tuple[str, Any]]:
    for value in (
        {"next_page_token": "CAUQAA" + thrown("page", ALNUM, 20)}, {"max_tokens": 4096, "prompt_tokens": 12},
        {"token": "Hello", "logprob": -0.31, "bytes": [72]}, {"key": "PROJ-1047"}, {"primary_key": "order_id"},
        {"password": ""}, {"password": None}, {"password_changed_at": "2026-03-15"}, {"has_password": True},
        {"token_type": "bearer"}, {"token_count": 17}, {"properties": {"token": {"type": "string"}}},
        {"key": "status", "value": "open"}, {"name": "color", "value": "red"},
        {"idempotency_key": thrown("i", HEX, 32)},
        {"cache_key": "orders:1047:v2"}, {"sort_key": "2026#03"}, {"secret_id": "projects/1/secrets/db"},
        {"author": "Jane"}, {"phone_model": "Pixel 8"}, {"smartphone": "1234567"},
        {"card_type": "visa", "last4": "4242"},
        {"public_key_id": "k1"},
    ):  # fmt: skip
        yield "named", value


def _code() -> Iterator[tuple[str, Any]]:
    for text in (
        "token = get_token(request)", "password = os.environ['DB_PASSWORD']", "api_key=api_key, timeout=3",
        "const token = process.env.TOKEN;", "DB_PASSWORD=${DB_PASSWORD}", "password: {{ .Values.password }}",
        "def login(user: str, password: str) -> Token:", "self.token = token", "api_key: Optional[str] = None",
        "<input type=\"password\" name=\"password\">", "SELECT token FROM sessions WHERE user_id = 1047",
        "if password == confirm_password:", "--password-file /run/secrets/db", "grant_type=refresh_token",
        "Authorization: Bearer <token>", "Accept: application/json",
        "https://docs.corp.com/guide/authentication?section=tokens#password-reset",
        "import secrets; from getpass import x",
    ):  # fmt: skip
        yield "code", text


def _data() -> Iterator[tuple[str, Any]]:
    png = b"\x89PNG\r\n\x1a\n" + dice("png").randbytes(3000)
    yield "base64", {"image": base64.b64encode(png).decode()}
    yield "base64", "data:image/png;base64," + base64.b64encode(png[:600]).decode()
    yield "base64", {"chunk": base64.urlsafe_b64encode(dice("url").randbytes(900)).decode()}
    yield "base64", {"text": base64.b64encode(b"The order was delivered on Tuesday, as we said.").decode()}
    yield "bytes", {"raw": dice("raw").randbytes(2000)}
    yield "embedding", {"embedding": [round(dice(f"e{n}").uniform(-1, 1), 8) for n in range(40)]}
    yield "signature", {"thinking": "…", "signature": base64.b64encode(dice("sig").randbytes(200)).decode()}
    yield "path", {"path": "/var/lib/docker/overlay2/" + thrown("path", HEX, 64) + "/merged"}
    yield "path", "C:\\Users\\Public\\Documents\\2026-03-15_invoice_1047.pdf"
    yield "color", {"color": "#a1b2c3", "gradient": "linear-gradient(90deg, #00d2ff 0%, #3a47d5 100%)"}
    yield "words", {"slug": "how-to-return-an-order-that-arrived-damaged-2026"}
    yield "words", {"class": "FooBarBazQuxServiceImplementationFactoryBean2"}
    yield "json", json.dumps({"orders": [{"id": 1047, "status": "open", "key": "A-1"}], "next_token": None})


def _examples() -> Iterator[tuple[str, Any]]:
    yield "example", {"phone": "+1 202-555-0143"}
    yield "example", {"api_key": "REDACTED", "password": "********", "token": "xxxxxxxx"}
