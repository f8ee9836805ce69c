"""How many model calls go live, how long a provider is waited for, and that the agent's time does not run meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
import trio

from pytest_statebase import Ledger, ReplayResult, replay, replay_async
from pytest_statebase.cassette import Cassette
from pytest_statebase.engine.clock import shift_to, shiftable, shifted
from pytest_statebase.engine.handlers import own_handler
from pytest_statebase.engine.web.budget import Budget, WaitPolicy
from pytest_statebase.errors import OptionError
from pytest_statebase.ledger import SessionCreated, TurnAdded, TurnStarted
from pytest_statebase.wire.exchange import Answer, Failure, Response

NOW = 1_767_225_600.0
"""2026-01-01T00:00:00Z."""


def failed(status: int, **headers: str) -> Response:
    return Response(status, "", tuple((name.replace("_", "-"), value) for name, value in headers.items()))


def policy(**options: Any) -> WaitPolicy:
    return WaitPolicy(now=lambda: NOW, seed="", **options)


# --- The budget


def test_a_budget_is_used_up_once_by_many_threads() -> None:
    budget = Budget(500)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: budget.take(), range(2_000)))
    assert (sum(taken), budget.made) == (500, 500)
    assert budget.text().startswith("the budget of 500 model calls is used up (--statebase-max-model-calls)")


def test_budgets_of_one_of_none_and_without_end() -> None:
    assert Budget(1).take()
    assert "1 model call is" in Budget(1).text()
    assert not Budget(0).take()
    assert all(Budget().take() for _ in range(1_000))
    with pytest.raises(OptionError, match="-1 is no number of model calls"):
        Budget(-1)


def test_one_budget_of_several_processes(tmp_path: Path) -> None:
    budgets = [Budget(50, tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda number: budgets[number % 4].take(), range(400)))
    assert sum(taken) == 50
    assert not Budget(50, tmp_path).take(), "nor for a process that comes later"
    assert "50 model calls" in budgets[0].text()


def test_a_shared_budget_of_which_nothing_is_known_is_used_up(tmp_path: Path) -> None:
    budget = Budget(10**12, tmp_path / "gone")
    assert not budget.take()
    assert not budget.take()


# --- What is waited for, and how long


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_passes_is_waited_for(status: int) -> None:
    assert policy().again(failed(status), 1)


@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 403, 404, 413, 422, 501, 505])
def test_what_lasts_is_not(status: int) -> None:
    patient = policy()
    assert patient.again(failed(status), 1) is None
    assert (patient.reason, patient.waited) == (None, 0.0)


def test_a_provider_that_knows_better() -> None:
    assert policy().again(failed(429, x_should_retry="false"), 1) is None
    assert policy().again(failed(400, x_should_retry="true"), 1)
    assert policy().again(failed(200, x_should_retry="true"), 1) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"Retry_After": "0.02"}, 0.02),
        ({"retry_after_ms": "250", "retry_after": "7"}, 0.25),
        ({"retry_after": "Thu, 01 Jan 2026 00:00:09 GMT"}, 9.0),
        ({"retry_after": "Thu, 01 Jan 2026 01:00:09 GMT", "date": "Thu, 01 Jan 2026 01:00:00 GMT"}, 9.0),
        ({"retry_after": "Thu, 01 Jan 2026 00:00:09 -0000"}, 9.0),
    ],
)
def test_as_long_as_the_provider_says(headers: dict[str, str], seconds: float) -> None:
    patient = policy()
    assert patient.again(failed(429, **headers), 1) == seconds
    assert patient.waited == seconds


@pytest.mark.parametrize(
    "value",
    ["", "soon", "-5", "nan", "inf", "1e999", "0", "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 99 Jan 2026 00:00:00 GMT"],
)
def test_what_says_nothing_is_waited_for_as_usual(value: str) -> None:
    assert 0.375 <= (policy().again(failed(429, retry_after=value), 1) or 0) <= 0.5


def test_the_date_is_not_that_of_the_turns_clock() -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)

    def waited() -> float | None:
        with shifted(shift_to(datetime.fromtimestamp(NOW, UTC).isoformat())):
            assert abs(time.time() - NOW) < 5
            return WaitPolicy().again(failed(429, retry_after=then), 1)

    with shiftable():
        found = copy_context().run(waited)
    assert found is not None
    assert 25 < found <= 31


def test_longer_each_time_and_never_together() -> None:
    waits = [policy().again(failed(503), tries) for tries in (1, 2, 3, 4, 5)]
    assert waits == [policy().again(failed(503), tries) for tries in (1, 2, 3, 4, 5)], "the same in every run"
    assert all(one and 0.75 * whole <= one <= whole for one, whole in zip(waits, (0.5, 1, 2, 4, 8), strict=True))
    first = {WaitPolicy().again(failed(503), 1) for _ in range(50)}
    assert len(first) == 50


def run(patient: WaitPolicy, answer: Answer) -> int:
    """Tries until it is given up."""
    tries = 1
    while patient.again(answer, tries) is not None:
        tries += 1
    return tries


def test_it_is_given_up() -> None:
    patient = policy()
    assert run(patient, failed(503)) == 6
    assert patient.reason == f"the provider answered 503, 6 times in {patient.waited:.0f} s"
    assert 11 < patient.waited < 16


def test_no_longer_than_so_many_seconds() -> None:
    patient = policy(tries=100, longest=20)
    assert run(patient, Response(429, "Too Many Requests", (("retry-after", "7"),))) == 3
    assert patient.waited == 14
    assert patient.reason == "the provider answered 429 Too Many Requests, 3 times in 14 s, and asks to wait 7 s more"
    hourly = policy()
    assert hourly.again(failed(429, retry_after="3600"), 1) is None
    assert hourly.reason == "the provider answered 429, once in 0 s, and asks to wait 3,600 s more"


def test_who_is_offline_is_told_soon() -> None:
    patient = policy()
    assert run(patient, Failure("connect", "name not known")) == 3
    assert patient.reason == f"no answer came (connect: name not known), 3 times in {patient.waited:.0f} s"
    assert run(policy(), Failure("timeout")) == 3
    assert run(policy(), Failure("closed")) == 6


# --- The agent's time


def session() -> Cassette:
    ledger = Ledger([SessionCreated("sess_1")])
    ledger.append(TurnStarted(1, {"type": "text", "content": "go"}))
    ledger.append(TurnAdded({"type": "text", "content": "went"}))
    return Cassette.from_ledger(ledger)


LIMIT = 1.0
"""Seconds a turn may take: enough to get to its wait, on a busy machine too."""


@contextmanager
def waiting(seconds: float = 60) -> Iterator[None]:
    """For a provider."""
    handler: Any = own_handler()
    call = object()
    handler.run.wait_for(call, seconds)
    try:
        yield
    finally:
        handler.run.waited_for(call)


def waits(user_input: str) -> str:
    with waiting():
        time.sleep(1.2 * LIMIT)
    return "went"


def waits_in_a_thread(user_input: str) -> str:
    thread = threading.Thread(target=waits, args=("",))
    thread.start()
    thread.join()
    return "went"


async def waits_later(user_input: str) -> str:
    import asyncio

    with waiting():
        await asyncio.sleep(1.2 * LIMIT)
    return "went"


async def waits_in_trio(user_input: str) -> str:
    with waiting():
        await trio.sleep(1.2 * LIMIT)
    return "went"


async def waits_in_a_thread_of_trio(user_input: str) -> str:
    await trio.to_thread.run_sync(waits, "")
    return "went"


Agent = Callable[..., Any]


@pytest.mark.parametrize("agent", [waits, waits_in_a_thread, waits_later])
def test_what_is_waited_for_is_not_the_agents_time(agent: Agent) -> None:
    assert replay(session(), agent, turn_timeout=LIMIT).passed


@pytest.mark.parametrize("agent", [waits, waits_later])
def test_nor_in_another_thread(agent: Agent) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(replay, session(), agent, turn_timeout=LIMIT).result().passed


@pytest.mark.parametrize("agent", [waits_in_trio, waits_in_a_thread_of_trio])
def test_nor_in_trio(agent: Agent) -> None:
    async def main() -> ReplayResult:
        return await replay_async(session(), agent, turn_timeout=LIMIT)

    assert trio.run(main).passed


def sleeps_after(user_input: str) -> str:
    with waiting():
        time.sleep(1.2 * LIMIT)
    time.sleep(30)
    return "went"


async def sleeps_later_after(user_input: str) -> str:
    import asyncio

    with waiting():
        await asyncio.sleep(1.2 * LIMIT)
    await asyncio.sleep(30)
    return "went"


async def sleeps_in_trio_after(user_input: str) -> str:
    with waiting():
        await trio.sleep(1.2 * LIMIT)
    await trio.sleep(30)
    return "went"


def sleeps_inside(user_input: str) -> str:
    with waiting(2):
        time.sleep(30)
    return "went"


async def sleeps_later_inside(user_input: str) -> str:
    import asyncio

    with waiting(2), waiting(100):
        await asyncio.sleep(30)
    return "went"


async def sleeps_in_trio_inside(user_input: str) -> str:
    with waiting(2):
        await trio.sleep(30)
    return "went"


def replayed(agent: Agent) -> ReplayResult:
    if "trio" not in agent.__name__:
        return replay(session(), agent, turn_timeout=LIMIT)

    async def main() -> ReplayResult:
        return await replay_async(session(), agent, turn_timeout=LIMIT)

    return trio.run(main)


@pytest.mark.parametrize("agent", [sleeps_after, sleeps_later_after, sleeps_in_trio_after])
def test_what_comes_after_the_wait_still_ends(agent: Agent) -> None:
    result = replayed(agent)
    assert result.verdicts == {"error": 1}
    replayed_turn = result.turns[0].replayed
    assert replayed_turn is not None
    assert replayed_turn.error == {"type": "Runaway", "message": "the turn was ended: it took longer than 1 s"}


@pytest.mark.parametrize("agent", [sleeps_inside, sleeps_later_inside, sleeps_in_trio_inside])
def test_a_wait_that_takes_too_long_ends_and_says_nothing_of_the_agent(agent: Agent) -> None:
    result = replayed(agent)
    assert result.verdicts == {"inconclusive": 1}
    assert result.turns[0].reason == "the turn was ended: a live model call had no answer within 2 s"


def test_a_wait_never_shortens_a_turn() -> None:
    def agent(user_input: str) -> str:
        with waiting(0):
            time.sleep(0.2)
        return "went"

    assert replay(session(), agent, turn_timeout=30).passed
