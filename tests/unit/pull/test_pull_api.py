"""Requests that keep to a service's limits and outlast its failures."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pull_answers import answering, error

from pytest_statebase.errors import OptionError, PullError
from pytest_statebase.pull.api import Api, Refused, Stopped, Unavailable
from pytest_statebase.pull.limits import Limits, retry_after

KEY = "sb-secret-1234567890abcdef"


class Slept(list[float]):
    """Time as a test has it: it passes only in sleep."""

    now = 1_000_000_000.0

    def sleep(self, seconds: float) -> None:
        self.append(seconds)
        self.now += seconds


def asked_until(answers: list[Any], path: str = "/v1/x", timeout: float = 5.0) -> tuple[Any, Slept, list[str]]:
    """What `get` gives where the service gives these answers, one after another and the last for ever."""
    slept = Slept()
    left = list(answers)

    def respond(path: str, query: dict[str, str]) -> Any:
        return left.pop(0) if len(left) > 1 else left[0]

    told: list[str] = []
    with (
        answering(respond) as (url, _),
        Api(url, KEY, timeout=timeout, sleep=slept.sleep, now=lambda: slept.now, told=told.append) as api,
    ):
        return api.get(path), slept, told


def test_a_limit_is_waited_out_as_long_as_the_service_says() -> None:
    found, slept, told = asked_until(
        [error(429, "rate_limit_exceeded", retry_after=7), error(429, headers={"retry-after": "3"}), {"a": 1}]
    )
    assert (found, slept) == ({"a": 1}, [7.0, 3.0])
    assert told == ["the service answers 429 (no); try 2 in 7.0 s", "the service answers 429 (no); try 3 in 3.0 s"]


def test_limits_are_no_failures() -> None:
    found, slept, _ = asked_until([*[error(429, retry_after=1)] * 20, {"a": 1}])
    assert (found, len(slept)) == ({"a": 1}, 20)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 507, 520, 524, 529])
def test_failures_are_repeated_with_longer_pauses(status: int) -> None:
    found, slept, _ = asked_until([*[error(status)] * 5, {"a": 1}])
    assert found == {"a": 1}
    assert slept == sorted(slept)
    assert slept[-1] >= 8


@pytest.mark.parametrize("status", [501, 505])
def test_what_a_service_never_does_is_asked_for_once(status: int) -> None:
    with pytest.raises(PullError, match=f"HTTP {status}"):
        asked_until([error(status), {"a": 1}])


def test_but_not_for_ever() -> None:
    with pytest.raises(Unavailable, match=r"the service answers 503 \(no\), 6 times\n  What was pulled so far is kept"):
        asked_until([error(503)])
    with pytest.raises(Unavailable, match="again and again"):
        asked_until([error(429, retry_after=1)])


def test_answers_that_break_off_or_take_too_long_are_asked_for_again() -> None:
    cut = (200, {"content-length": "100"}, b'{"a":')
    with pytest.raises(Unavailable, match=r"no answer within 0\.1 s"):
        asked_until([cut], timeout=0.1)


def test_the_window_of_a_limit_is_kept_without_a_refusal() -> None:
    used_up = {"x-ratelimit-limit": "100", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "12"}
    slept = Slept()
    with (
        answering(lambda path, query: (200, used_up, b"{}")) as (url, _),
        Api(url, KEY, sleep=slept.sleep, now=lambda: slept.now) as api,
    ):
        api.get("/v1/a")
        api.get("/v1/b")
        assert (api._limits.limit, slept, api.repeated) == (100, [12.0], 0)


@pytest.mark.parametrize(
    ("reset", "date", "pause"),
    [
        ("30", None, 30.0),
        ("1000000030", None, 30.0),
        ("1000000030000", None, 30.0),
        ("1000000100", "Sun, 09 Sep 2001 01:47:20 GMT", 60.0),  # the service's clock is 40 s ahead
        ("soon", None, 0.0),
        ("-5", None, 0.0),
        ("nan", None, 0.0),
    ],
)
def test_when_a_window_ends(reset: str, date: str | None, pause: float) -> None:
    limits = Limits(lambda: 1_000_000_000.0)
    limits.note({"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset, **({"date": date} if date else {})})
    assert limits.pause() == pause


@pytest.mark.parametrize(
    ("headers", "told", "expected"),
    [
        ({"retry-after": "9"}, {"retry_after": 2.5}, 2.5),
        ({"retry-after": "9"}, {"retry_after": True}, 9.0),
        ({"retry-after": "Sun, 09 Sep 2001 01:47:00 GMT"}, {}, 20.0),
        ({"retry-after": "later"}, {}, None),
        ({"retry-after": "Mon, 01 Jan 99999999 00:00:00 GMT"}, {}, None),
        ({"retry-after": "-3"}, {"retry_after": "x"}, 0.0),
        ({}, {"retry_after": float("inf")}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "8"}, {}, 8.0),
    ],
)
def test_when_a_request_may_be_repeated(headers: dict[str, str], told: Any, expected: float | None) -> None:
    assert retry_after(headers, told, 1_000_000_000.0) == expected


def test_a_pause_of_hours_is_not_waited_for() -> None:
    with pytest.raises(Stopped, match="wants a pause of 7,200 s"):
        asked_until([error(429, retry_after=7200)])


@pytest.mark.parametrize(
    ("answer", "kind", "what"),
    [
        (error(401, "authentication_failed"), Stopped, r"the key is refused \(no\)"),
        ((302, {"location": "https://elsewhere.example"}, b""), Stopped, r"sends elsewhere \(HTTP 302\)"),
        (error(404, "session_not_found"), Refused, r"refuses this \(HTTP 404: no\)"),
        ((422, {}, b'{"detail": [{"msg": "limit is too large"}]}'), Refused, "HTTP 422: limit is too large"),
        ((418, {}, b"[" * 100_000), Refused, "HTTP 418: HTTP 418"),
        (
            (200, {"content-type": "text/html"}, b"<html>\x1b[31m"),
            PullError,
            r"is no JSON \(text/html, begins with '<html",
        ),
        ((200, {}, b"[" * 100_000 + b"]" * 100_000), PullError, "more than 500 levels"),
        ((200, {}, b"[" * 501 + b"]" * 501), PullError, "more than 500 levels"),
        ((200, {}, b'{"n": ' + b"9" * 5000 + b"}"), PullError, "is no JSON"),
        ((200, {"content-encoding": "gzip"}, b"no gzip"), PullError, "the request failed"),
    ],
)
def test_what_is_no_use_is_one_message(answer: Any, kind: type[Exception], what: str) -> None:
    with pytest.raises(kind, match=what) as caught:
        asked_until([answer])
    assert "\x1b" not in str(caught.value)


def test_a_huge_answer_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_statebase.pull.api.MAX_ANSWER", 2**20)
    with pytest.raises(PullError, match="more than 1 MB"):
        asked_until([(200, {}, b" " * 3 * 2**20)])


def test_no_server_is_no_session_that_failed() -> None:
    with Api("http://127.0.0.1:9", KEY, sleep=Slept().sleep) as api:
        with pytest.raises(Stopped, match=r"no server answers \(.*\), 6 times\n  Check --base-url"):
            api.get("/v1/sessions")
        assert (api.requests, api.repeated) == (6, 5)


def test_the_key_is_sent_and_never_shown(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []
    slept = Slept()

    def respond(path: str, query: dict[str, str]) -> Any:
        # A careless service that repeats what it was sent.
        return (
            {"seen": f"key {KEY}", "api_key": "other-secret-42", "of": KEY[:4]} if path == "/v1/a" else error(404, KEY)
        )

    with answering(respond) as (url, _), Api(url, KEY, sleep=slept.sleep, told=seen.append) as api:
        assert api.get("/v1/a") == {"seen": "key REDACTED", "api_key": "REDACTED", "of": KEY[:4]}
        with pytest.raises(Refused) as caught:
            api.get("/v1/b")
    assert KEY not in "".join([str(caught.value), caught.value.code, *seen, *capfd.readouterr()])
    assert KEY not in repr(api)


@pytest.mark.parametrize("text", [b"[" * 499 + b"]" * 499, b'"x"', b"{}"])
def test_other_json_is_read(text: bytes) -> None:
    assert asked_until([(200, {}, text)])[0] == json.loads(text)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "käy"])
def test_a_key_that_cannot_be_sent_is_not_shown_either(key: str) -> None:
    with pytest.raises(OptionError, match="characters that no key has") as caught:
        Api("https://api.example.com", key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "api.example.com",
        "ftp://x.y",
        "http://",
        "https://u:p@x.y",
        "https://x.y/?a=b",
        "http://[::1",
        "http://x.y:99999",
    ],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(OptionError, match="--base-url"):
        Api(address, KEY)


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_addresses_may_have_the_version_at_their_end(end: str) -> None:
    with answering(lambda path, query: {"path": path}) as (url, _), Api(url + end, None) as api:
        assert api.get("/v1/x") == {"path": "/v1/x"}


def test_the_libraries_are_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real: Callable[..., Any] = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "tenacity":
            raise ImportError(name, name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(OptionError, match=r"needs tenacity.*\n  pip install 'pytest-statebase\[pull\]'"):
        Api("https://api.example.com", KEY)
