"""The model server, to which every client is led by the environment, as in production."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import litter

from .harness import Bench
from .model_server import ModelServer


@pytest.fixture(scope="module", autouse=True)
def nothing_left() -> Iterator[None]:
    """Clients of frameworks keep connections that nobody closes."""
    yield
    litter.collect()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0000000000000000")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0000000000000000")
        yield server


@pytest.fixture
def bench(server: ModelServer, tmp_path: Path) -> Bench:
    return Bench(server, tmp_path)
