"""What to do about a request that no recording answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.web.hints import hint_for
from pytest_statebase.engine.web.pool import Exchanges, Missed
from pytest_statebase.wire.exchange import Exchange, Request, Response

SEND = (
    "to send it for real: --statebase-http=new_episodes, review, then --statebase-accept; or record the session again"
)


def request(body: Any = None, url: str = "http://api.test:8080/refunds", method: str = "POST") -> Request:
    data = b"" if body is None else json.dumps(body).encode()
    return Request(method, url, (("content-type", "application/json"),), data)


def hints(asked: Request, *recorded: Request, model: bool = False) -> list[str]:
    pool = Exchanges([Exchange(one, Response(200), 1) for one in recorded], rules=IgnoreRules())
    missed = pool.why_not(asked, 1)
    assert isinstance(missed, Missed)
    return hint_for(asked, missed, model=model).splitlines()


def test_a_model_call_is_to_be_asked() -> None:
    told = hints(request({"model": "m", "messages": []}, "http://api.test/v1/chat/completions"), model=True)
    assert told == ["to ask the model, with the tools stubbed: --statebase-model=auto, review, then --statebase-accept"]


def test_a_request_that_differs_may_be_ignored_where_it_does() -> None:
    told = hints(request({"cents": 2, 'a "b".c': 1}), request({"cents": 1}))
    assert told[1:] == [SEND]
    head, _, paths = told[0].partition(": ignore: ")
    assert head == "where it makes no difference, in the plan or in statebase.yaml"
    paths = json.loads(paths)
    assert len(paths) == 2
    rules = IgnoreRules.parse(paths)
    pool = Exchanges([Exchange(request({"cents": 1}), Response(200), 1)], rules=rules)
    assert pool.find(request({"cents": 2, 'a "b".c': 1}), 1) is not None, "what is told to be pasted helps"


@pytest.mark.parametrize("recorded", [[], [request({"cents": 1}, "http://api.test:8080/orders")]])
def test_a_request_that_was_never_recorded(recorded: list[Request]) -> None:
    assert hints(request({"cents": 1}), *recorded) == [SEND]


@pytest.mark.parametrize(
    ("url", "host"),
    [("http://llm.test:8080/v1/chat/completions", "llm.test:8080"), ("https://llm.test/v1/messages", "llm.test")],
)
def test_a_path_of_a_model_on_a_host_that_nobody_named(url: str, host: str) -> None:
    told = hints(request({"model": "m", "messages": []}, url))
    assert told == [
        f"this path looks like a model's; if it is one, name it in the ini file: statebase_model_hosts = {host}",
        SEND,
    ]


@pytest.mark.parametrize(
    "asked",
    [
        request({"text": "hi", "to": "mia"}, "http://chat.test/messages"),
        request(None, "http://llm.test/v1/messages"),
        request([1], "http://llm.test/v1/messages"),
        request({"model": "m"}, "http://llm.test/v1/messages", "PUT"),
        request({"model": "m"}, "http://llm.test/v1/cars"),
    ],
)
def test_what_only_has_such_a_path_is_no_model(asked: Request) -> None:
    assert hints(asked) == [SEND]
