"""The clock of a turn starts when it was recorded, and chance is the same on every run where that is asked for."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import random
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import freezegun
import pytest
import time_machine

from pytest_statebase import Ledger, replay, replay_async
from pytest_statebase.cassette import Cassette
from pytest_statebase.engine.tools import ToolCaller
from pytest_statebase.errors import OptionError
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted

AT = "2021-03-04T05:06:07.250000Z"
MOMENT = dt.datetime(2021, 3, 4, 5, 6, 7, 250000, tzinfo=dt.UTC)
Seen = list[dict[str, Any]]


def session(*times: str | None, name: str = "sess_1") -> Cassette:
    ledger = Ledger([SessionCreated(name)])
    for number, at in enumerate(times, start=1):
        ledger.append(TurnStarted(number, {"type": "text", "content": "go"}, at))
        ledger.append(TurnAdded({"type": "text", "content": "done"}))
    return Cassette.from_ledger(ledger)


def clocks() -> dict[str, Any]:
    return {
        "naive": dt.datetime.now(),
        "aware": dt.datetime.now(dt.UTC),
        "today": dt.date.today(),
        "time": time.time(),
        "ns": time.time_ns(),
        "gmtime": time.gmtime(),
        "monotonic": time.monotonic(),
        "counter": time.perf_counter(),
    }


def watching(seen: Seen) -> Callable[[str], str]:
    def agent(user_input: str) -> str:
        seen.append(clocks())
        return "done"

    return agent


def is_recorded(seen: dict[str, Any], moment: dt.datetime = MOMENT) -> bool:
    return dt.timedelta(0) <= seen["aware"] - moment < dt.timedelta(seconds=5)


def is_real(seen: dict[str, Any]) -> bool:
    return bool(abs(seen["aware"] - dt.datetime.now(dt.UTC)) < dt.timedelta(seconds=60))


def test_every_clock_of_day_starts_at_the_turn() -> None:
    seen: Seen = []
    before = clocks()
    result = replay(session(AT, "2022-01-01T00:00:00+02:00"), watching(seen))
    assert result.passed
    assert result.pinned == ("clock",)
    first, second = seen
    assert is_recorded(first)
    assert is_recorded(second, dt.datetime(2021, 12, 31, 22, tzinfo=dt.UTC))
    assert abs(first["time"] - MOMENT.timestamp()) < 5
    assert abs(first["ns"] / 1e9 - MOMENT.timestamp()) < 5
    assert abs(first["naive"].astimezone(dt.UTC) - MOMENT) < dt.timedelta(seconds=5)
    assert first["today"] == MOMENT.astimezone().date()
    assert first["gmtime"][:3] == (2021, 3, 4)
    assert 0 <= first["monotonic"] - before["monotonic"] < 5
    assert 0 <= first["counter"] - before["counter"] < 5
    assert is_real(clocks())
    assert result.duration_ms < 5000


def test_it_ticks_through_sleeps_threads_and_event_loops() -> None:
    seen: Seen = []

    async def agent(user_input: str) -> str:
        seen.append(clocks())
        await asyncio.wait_for(asyncio.sleep(0.05), 5)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(10), 0.02)
        thread = threading.Thread(target=lambda: seen.append(clocks()))
        thread.start()
        thread.join()
        await asyncio.to_thread(lambda: seen.append(clocks()))
        return "done"

    assert replay(session(AT), agent).passed
    assert all(map(is_recorded, seen))
    assert seen[1]["time"] - seen[0]["time"] >= 0.06


def test_other_threads_and_other_replays_keep_their_own() -> None:
    seen: Seen = []
    elsewhere: Seen = []
    go, done = threading.Event(), threading.Event()

    def bystander() -> None:
        go.wait(5)
        elsewhere.append(clocks())
        done.set()

    thread = threading.Thread(target=bystander)
    thread.start()

    def agent(user_input: str) -> str:
        go.set()
        done.wait(5)
        return watching(seen)(user_input)

    assert replay(session(AT), agent).passed
    thread.join()
    assert is_recorded(seen[0])
    assert is_real(elsewhere[0])


def test_two_replays_in_one_loop() -> None:
    seen: dict[str, Any] = {}

    async def agent(user_input: str, session_id: str) -> str:
        for _ in range(5):
            await asyncio.sleep(0.001)
            seen[session_id] = clocks()
        return "done"

    async def main() -> None:
        other = session("2022-01-01T00:00:00Z", name="sess_2")
        await asyncio.gather(replay_async(session(AT), agent), replay_async(other, agent))
        assert is_real(clocks())

    asyncio.run(main())
    assert is_recorded(seen["sess_1-fork-version-0"])
    assert is_recorded(seen["sess_2-fork-version-0"], dt.datetime(2022, 1, 1, tzinfo=dt.UTC))


@pytest.mark.parametrize(("times", "clock"), [([None], "recorded"), (["soon"], "recorded"), ([AT], "real")])
def test_otherwise_the_clock_is_real(times: list[str | None], clock: Any) -> None:
    seen: Seen = []
    result = replay(session(*times), watching(seen), clock=clock)
    assert is_real(seen[0])
    assert ("clock" in result.pinned) is (times == ["soon"])


@pytest.mark.parametrize("travel", [time_machine.travel, freezegun.freeze_time])
def test_a_clock_that_the_test_set_is_left_alone(travel: Any) -> None:
    seen: list[dt.datetime] = []

    def agent(user_input: str) -> str:
        seen.append(dt.datetime.now(dt.UTC))
        return "done"

    with travel("2019-01-01 00:00"):
        assert replay(session(AT), agent).pinned == ()
    assert [moment.year for moment in seen] == [2019]


def test_restored_after_an_interrupt() -> None:
    def agent(user_input: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(session(AT), agent, pin=("random", "uuid"))
    assert is_real(clocks())
    assert not time_machine.escape_hatch.is_travelling()
    assert uuid.uuid4() != uuid.uuid4()


def test_without_time_machine_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "time_machine", None)
    with pytest.raises(OptionError, match="needs time-machine") as caught:
        replay(session(AT), watching([]))
    assert "statebase_clock = real" in str(caught.value)
    assert replay(session(AT), watching([]), clock="real").passed


def test_a_clock_and_a_pin_that_are_none() -> None:
    with pytest.raises(OptionError, match="'frozen' is no clock"):
        replay(session(AT), watching([]), clock="frozen")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'dice' cannot be pinned"):
        replay(session(AT), watching([]), pin=["dice"])


def test_timestamps_of_the_turns_clock_match_the_recorded_ones() -> None:
    ledger = Ledger([SessionCreated("sess_1"), TurnStarted(1, {"type": "text", "content": "go"}, AT)])
    ledger.append(ToolCalled("log", {"at": MOMENT.isoformat()}, result="ok"))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))

    def agent(user_input: str, tools: ToolCaller) -> str:
        tools.call("log", {"at": dt.datetime.now(dt.UTC).isoformat()})
        return "done"

    for clock in ("recorded", "real"):
        result = replay(Cassette.from_ledger(ledger), agent, clock=clock)  # type: ignore[arg-type]
        assert result.verdicts == {"unchanged": 1}, clock


def chances(times: int = 1, *, pin: tuple[str, ...], name: str = "sess_1") -> list[Any]:
    seen: list[Any] = []

    def agent(user_input: str) -> str:
        from uuid import uuid4

        seen.append((random.random(), random.choice(range(1000)), uuid4(), uuid.uuid4()))
        return "done"

    for _ in range(times):
        replay(session(AT, AT, name=name), agent, pin=pin)
    return seen


def test_chance_is_the_same_on_every_run() -> None:
    first, second, again, further = chances(2, pin=("random", "uuid"))
    assert (first, second) == (again, further)
    assert first != second
    assert first[2] != first[3]
    assert first[2].version == 4
    assert chances(pin=("random", "uuid"), name="sess_2")[0] != first
    assert [seen[:2] for seen in chances(pin=("random",))] == [first[:2], second[:2]]
    assert [seen[2:] for seen in chances(pin=("uuid",))] == [first[2:], second[2:]]
    assert chances(pin=())[0][2] != first[2]


def test_generators_go_on_where_they_were() -> None:
    random.seed(7)
    wanted = [random.random(), random.random()]
    random.seed(7)
    found = [random.random()]
    chances(pin=("random", "uuid"))
    assert [*found, random.random()] == wanted


SETS = """
from pytest_statebase import replay, record_session
from pytest_statebase.cassette import Cassette
import uuid, datetime
def agent(user_input, tools):
    return ", ".join({"apple", "pear", "plum", "fig"}) + str(uuid.uuid4()) + str(datetime.date.today())
from tests.unit.engine.test_clock import session, AT
result = replay(session(AT, AT), agent, pin=["uuid"])
print(dict(result.verdicts), result.pinned)
"""


def test_the_order_of_sets_changes_no_verdict() -> None:
    root = Path(__file__).parents[3]
    outputs = set()
    for seed in "123":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", SETS], cwd=root, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1
