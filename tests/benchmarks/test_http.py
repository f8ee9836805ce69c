"""HTTP recordings against plain vcrpy, by the same client in the same run. Nothing here asserts a time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.cassette import read_http, write_http
from pytest_statebase.cassette.redaction import redacted
from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.web.models import ModelHosts
from pytest_statebase.engine.web.pool import Exchanges, Found
from pytest_statebase.wire.doors import Door
from pytest_statebase.wire.exchange import Answer, Exchange, Request, Response
from pytest_statebase.wire.intercept import intercepted

httpx = pytest.importorskip("httpx", reason="the client of both sides")
vcr = pytest.importorskip("vcr", reason="vcrpy is what it is compared with")

HEADERS = {"authorization": "Bearer sk-proj-abcdefghijklmnopqrstuvwx", "content-type": "application/json"}
WORDS = ("order", "refund", "parcel", "customer", "address", "delivery", "invoice", "payment", "return", "policy")


def text(seed: int, size: int) -> str:
    """Words that differ with the seed."""
    words = (WORDS[(seed * 7 + at * at) % len(WORDS)] for at in range(size // 7))
    return " ".join(words)


def model_call(number: int) -> tuple[str, bytes]:
    """A request of 20 KB to a model: a prompt, tools, a conversation of some messages and one that is its own."""
    talk = [{"role": ("user", "assistant")[at % 2], "content": text(at, 1_500)} for at in range(9)]
    parameters = {"type": "object", "properties": {name: {"type": "string"} for name in WORDS}}
    tools = [{"type": "function", "function": {"name": f"tool_{at}", "parameters": parameters}} for at in range(4)]
    messages = [{"role": "system", "content": text(1, 4_000)}, *talk, {"role": "user", "content": f"order {number}"}]
    body = {"model": "gpt-test", "temperature": 0, "tools": tools, "messages": messages}
    return "https://api.openai.com/v1/chat/completions", json.dumps(body).encode()


def small_post(number: int) -> tuple[str, bytes]:
    return "https://api.example.com/v1/orders", json.dumps({"order": number, "note": text(number, 200)}).encode()


Calls = Sequence[tuple[str, bytes]]


def recording(path: Path, calls: Calls) -> Path:
    """The calls with an answer each, in a file that both sides read."""
    with httpx.Client(headers=HEADERS) as client:
        requests = [client.build_request("POST", url, content=body) for url, body in calls]
    write_http(
        path,
        [
            Exchange(Request("POST", str(one.url), tuple(one.headers.items()), one.content), answer(at), turn=1)
            for at, one in enumerate(requests)
        ],
    )
    return path


def answer(number: int) -> Response:
    body = {"choices": [{"message": {"role": "assistant", "content": f"{number} {text(number, 600)}"}}]}
    return Response(200, "OK", (("content-type", "application/json"),), json.dumps(body).encode())


@contextmanager
def ours(path: Path) -> Iterator[None]:
    """What a replay does with each request."""
    recorded = read_http(path).exchanges
    pool = Exchanges(recorded, rules=IgnoreRules(), is_model=ModelHosts().is_model)

    def door(request: Request) -> Answer:
        found = pool.answer(redacted(request), 1)
        assert isinstance(found, Found)
        return found.answer

    decides: Door = door
    with intercepted(lambda: decides):
        yield


@contextmanager
def plain_vcrpy(path: Path) -> Iterator[None]:
    with vcr.use_cassette(str(path), record_mode="none", match_on=["method", "uri", "body"]):
        yield


def spent(side: Callable[[Path], Any], path: Path, calls: Calls) -> tuple[float, float]:
    """Seconds to load the recording, and for all calls."""
    with httpx.Client(headers=HEADERS) as client:
        began = time.perf_counter()
        with side(path):
            loaded = time.perf_counter()
            for at, (url, body) in enumerate(calls):
                found = client.post(url, content=body)
                assert found.json()["choices"][0]["message"]["content"].startswith(f"{at} ")
            ended = time.perf_counter()
    return loaded - began, ended - loaded


def test_500_model_calls_of_20_kb(benchmark: Any, tmp_path: Path) -> None:
    """Budget: at least twice as many calls a second as vcrpy."""
    calls = [model_call(number) for number in range(500)]
    path = recording(tmp_path / "models.yaml", calls)
    rounds: list[tuple[float, float, float, float]] = []

    def once() -> None:
        rounds.append((*spent(ours, path, calls), *spent(plain_vcrpy, path, calls)))

    benchmark.pedantic(once, rounds=3, iterations=1)
    load, mine, load_vcrpy, theirs = min(rounds, key=lambda one: one[1])
    benchmark.extra_info.update(
        kilobytes_a_call=round(len(calls[0][1]) / 1000, 1),
        milliseconds_a_call={"ours": round(mine / 500 * 1000, 2), "vcrpy": round(theirs / 500 * 1000, 2)},
        times_as_fast_a_call=sorted(round(other / own, 1) for _, own, _, other in rounds),
        seconds_to_load={"ours": round(load, 2), "vcrpy": round(load_vcrpy, 2)},
    )


def test_1000_posts_to_one_address(benchmark: Any, tmp_path: Path) -> None:
    """Budget: four times the posts take four times the time. vcrpy compares each with all that are left."""
    sizes = (250, 1_000)
    calls = [small_post(number) for number in range(sizes[1])]
    paths = {size: recording(tmp_path / f"{size}.yaml", calls[:size]) for size in sizes}
    rounds: list[dict[str, list[float]]] = []

    def once() -> None:
        sides = {"ours": ours, "vcrpy": plain_vcrpy}
        rounds.append(
            {name: [spent(side, paths[size], calls[:size])[1] for size in sizes] for name, side in sides.items()}
        )

    benchmark.pedantic(once, rounds=1, iterations=1, warmup_rounds=0)
    benchmark.extra_info.update(
        seconds={name: [round(time, 2) for time in times] for name, times in rounds[0].items()},
        growth_for_4_times_as_many={name: round(times[1] / times[0], 1) for name, times in rounds[0].items()},
    )
