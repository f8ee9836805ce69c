"""Answering requests of httpx from a recording, against vcrpy with a matcher of plain bytes. Nothing asserts a time."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import vcr

from pytest_statebase import Ledger, Verdict, load_cassette, replay
from pytest_statebase.cassette import write_http, write_record
from pytest_statebase.ledger import SessionCreated, TurnAdded, TurnStarted
from pytest_statebase.wire.exchange import Exchange, Request, Response

WORDS = ("order", "refund", "parcel", "customer", "address", "delivery", "invoice", "payment", "return", "policy")
KIND = {"content-type": "application/json"}
MODEL = "https://api.openai.com/v1/chat/completions"
ORDERS = "https://api.example.com/v1/orders"


def model_call(number: int, run: str = "") -> bytes:
    """20 KB, no two texts alike; run: an id that is another one on each run."""
    talk = [f"{number} " + " ".join(WORDS[(at * at + word) % 10] for word in range(340)) for at in range(8)]
    messages = [{"role": "user", "content": text} for text in [*talk, f"order {number} {run}"]]
    return json.dumps({"model": "gpt-test", "messages": messages}).encode()


def order(number: int) -> bytes:
    return json.dumps({"order": number, "items": [{"sku": "S1", "count": number % 7}]}).encode()


def record(path: Path, url: str, bodies: Sequence[bytes]) -> Path:
    """A session of one turn that sends these."""
    path.mkdir()
    going = [TurnStarted(1, {"type": "text", "content": "go"}), TurnAdded({"type": "text", "content": "done"})]
    write_record(path / "s.record.yaml", Ledger([SessionCreated("sess_1"), *going]))
    answer = Response(200, "OK", tuple(KIND.items()), b'{"choices": [{"message": {"content": "ok"}}]}')
    write_http(
        path / "s.http.yaml", [Exchange(Request("POST", url, tuple(KIND.items()), b), answer, 1) for b in bodies]
    )
    (path / "s.session.yaml").write_text("cassette: 1\n", encoding="utf-8")
    return path


def send(url: str, bodies: Sequence[bytes]) -> float:
    """Processor seconds a call, without those of the first, for which the recording is looked through."""
    with httpx.Client() as client:
        client.post(url, content=bodies[0], headers=KIND).raise_for_status()
        began = time.process_time()
        for body in bodies[1:]:
            client.post(url, content=body, headers=KIND)
        return (time.process_time() - began) / (len(bodies) - 1)


def ours(path: Path, url: str, bodies: Sequence[bytes]) -> float:
    taken: list[float] = []

    def agent(user_input: str) -> str:
        taken.append(send(url, bodies))
        return "done"

    (turn,) = replay(load_cassette(path / "s.session.yaml"), agent, turn_timeout=0).turns
    assert turn.verdict is Verdict.UNCHANGED
    return taken[0]


def same_bytes(recorded: Any, asked: Any) -> None:
    if recorded.body != asked.body:
        raise AssertionError  # vcrpy wants one, and pytest would explain that of `assert` at length


def plain_vcrpy(path: Path, url: str, bodies: Sequence[bytes]) -> float:
    """Of a sample: it looks at all recordings that are left for each request."""
    player = vcr.VCR(record_mode="none", match_on=["method", "uri", "bytes"])
    player.register_matcher("bytes", same_bytes)
    with player.use_cassette(str(path / "s.http.yaml")):
        return send(url, bodies[:: len(bodies) // 20])


@pytest.mark.parametrize("kind", ["equal", "with an id of the run"])
def test_model_calls_of_20_kb(benchmark: Any, tmp_path: Path, kind: str) -> None:
    """Budget: half of vcrpy's time a call, which knows no ids, and gets equal bodies."""
    fresh: Callable[[], str] = str if kind == "equal" else lambda: str(uuid.uuid4())
    recorded = [model_call(number, fresh()) for number in range(500)]
    asked = [model_call(number, fresh()) for number in range(500)]
    path = record(tmp_path / "calls", MODEL, recorded)
    taken = benchmark.pedantic(ours, (path, MODEL, asked), rounds=1, iterations=1)
    vcrpy = plain_vcrpy(path, MODEL, recorded)
    benchmark.extra_info.update(
        kilobytes_a_call=round(len(asked[1]) / 1_000, 1),
        microseconds_a_call={"ours": round(taken * 1e6), "vcrpy": round(vcrpy * 1e6)},
        times_as_fast_as_vcrpy=round(vcrpy / taken, 1),
    )


def test_posts_to_one_address(benchmark: Any, tmp_path: Path) -> None:
    """Budget: a call takes as long among 1,000 as among 250."""

    def run(count: int) -> float:
        bodies = [order(number) for number in range(count)]
        return ours(record(tmp_path / str(count), ORDERS, bodies), ORDERS, bodies)

    small, large = benchmark.pedantic(lambda: (run(250), run(1_000)), rounds=1, iterations=1)
    benchmark.extra_info.update(
        microseconds_a_call=[round(small * 1e6), round(large * 1e6)],
        growth_a_call_for_4_times_as_many=round(large / small, 2),
    )
