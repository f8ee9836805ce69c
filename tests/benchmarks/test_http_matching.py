"""Finding the recording of a request, without client or files, against vcrpy's own. Nothing here asserts a time."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.matching import Pool
from pytest_statebase.engine.web.inventions import Inventions
from pytest_statebase.engine.web.pool import Exchanges, Found
from pytest_statebase.ledger import Ledger, SessionCreated, TurnAdded, TurnStarted
from pytest_statebase.wire.exchange import Exchange, Request, Response

vcr = pytest.importorskip("vcr", reason="vcrpy is what it is compared with")

WORDS = ("order", "refund", "parcel", "customer", "address", "delivery", "invoice", "payment", "return", "policy")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROUNDS = 3


def request(url: str, body: Any) -> Request:
    return Request("POST", url, (("content-type", "application/json"),), json.dumps(body).encode())


def post(number: int) -> Request:
    return request(
        "https://api.example.com/v1/orders", {"order": number, "items": [{"sku": "S1", "count": number % 7}]}
    )


def model_call(number: int, run: str = "") -> Request:
    """20 KB; run: an id that is another one on each run."""
    talk = [" ".join(WORDS[(at * at + word) % 10] for word in range(340)) for at in range(8)]
    messages = [{"role": "user", "content": text} for text in [*talk, f"order {number} {run}"]]
    return request("https://api.openai.com/v1/chat/completions", {"model": "gpt-test", "messages": messages})


def seconds(work: Callable[[], Any]) -> float:
    """Processor time, the least of some rounds: other processes do not count."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def ours(recorded: Sequence[Request], asked: Sequence[Request]) -> None:
    """A pool as a replay has one, asked for each request."""
    started = TurnStarted(1, {"type": "text", "content": "Go on"}, NOW.isoformat())
    ledger = Ledger([SessionCreated("sess_1"), started, TurnAdded({"type": "text", "content": "Done."})])
    exchanges = [Exchange(one, Response(200, body=b"{}"), 1) for one in recorded]
    ids = Pool(ledger, 1, lambda tool, arguments, ordinal: arguments, lambda tool: True)
    pool = Exchanges(exchanges, rules=IgnoreRules(), inventions=Inventions(ids, ledger, exchanges, ()))
    assert all(isinstance(pool.answer(one, 1, [NOW]), Found) for one in asked)


def plain_vcrpy(recorded: Sequence[Request], asked: Sequence[Request]) -> None:
    from vcr.cassette import Cassette
    from vcr.matchers import body, method, uri
    from vcr.request import Request as Asked

    cassette = Cassette("none.yaml", match_on=(method, uri, body))
    known = [Asked(one.method, one.url, one.body, dict(one.headers)) for one in recorded]
    cassette.data = [(one, {"body": {"string": b"{}"}}) for one in known]
    for one in asked:
        cassette.play_response(Asked(one.method, one.url, one.body, dict(one.headers)))


def test_1000_posts_to_one_address(benchmark: Any) -> None:
    """Budget: four times the posts take four times the time."""
    posts = [post(number) for number in range(1_000)]

    def once() -> dict[str, list[float]]:
        sides = {"ours": ours, "vcrpy": plain_vcrpy}
        return {
            name: [seconds(lambda n=n, side=side: side(posts[:n], posts[:n])) for n in (250, 1_000)]
            for name, side in sides.items()
        }

    found = benchmark.pedantic(once, rounds=1, iterations=1)
    benchmark.extra_info.update(
        seconds={name: [round(time, 4) for time in times] for name, times in found.items()},
        growth_for_4_times_as_many={name: round(large / small, 1) for name, (small, large) in found.items()},
        times_as_fast=round(found["vcrpy"][1] / found["ours"][1]),
    )


@pytest.mark.parametrize("kind", ["equal", "with an id of the run"])
def test_model_calls_of_20_kb(benchmark: Any, kind: str) -> None:
    """Budget: linear from 500 to 2,000."""

    def run(count: int) -> float:
        fresh = (lambda: str(uuid.uuid4())) if kind != "equal" else str
        recorded = [model_call(number, fresh()) for number in range(count)]
        asked = [model_call(number, fresh()) for number in range(count)]
        return seconds(lambda: ours(recorded, asked))

    small, large = benchmark.pedantic(lambda: (run(500), run(2_000)), rounds=1, iterations=1)
    benchmark.extra_info.update(
        kilobytes_a_call=round(len(model_call(1).body) / 1_000, 1),
        milliseconds_a_call=[round(small / 500 * 1_000, 3), round(large / 2_000 * 1_000, 3)],
        growth_for_4_times_as_many=round(large / small, 1),
    )
