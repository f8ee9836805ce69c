"""The model server does as it is told."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from .harness import framework
from .model_server import ModelServer

framework("openai")

from openai import APIConnectionError, InternalServerError, OpenAI


def test_it_fails_on_demand_counts_and_closes(server: ModelServer) -> None:
    server.compressed = True
    with OpenAI(max_retries=2) as client:
        server.fail(2, 429, retry_after="0.01")
        assert client.responses.create(model="m", input="hello").output_text == "You said: hello"
        assert [request["path"] for request in server.requests] == ["/v1/responses"] * 3
        server.fail(1, 500)
        with pytest.raises(InternalServerError, match="told to fail with 500"):
            client.with_options(max_retries=0).responses.create(model="m", input="hello")
        server.stop()
        with pytest.raises(APIConnectionError):
            client.with_options(max_retries=0).responses.create(model="m", input="hello")
    assert server.count == 4


def test_it_is_closed_twice_without_harm() -> None:
    with ModelServer() as server:
        server.stop()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(server.url, timeout=1)
